"""`experience-forge worker`: catches up on ended sessions; started by hooks, harmless by hand."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from .. import shared
from ..clients import meaning
from ..errors import ForgeError, Refused
from ..report import Output
from ..store import candidates, entries, files, home, journal, log, outcomes, proofs, recall_search, settle, tidying

HELP = "catch up on ended sessions: settle consents, leave candidates, check deliveries, judge outcomes"
HIDDEN = True
EPILOG = """examples:
  experience-forge worker          what the hooks start in the background

It ends at once when another worker runs.
JSON: {"settled", "candidates", "proofs", "outcomes", "meaning", "tidying"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    # Hooks of a client that this process might start must see that it is ours.
    os.environ["EXPERIENCE_FORGE_WORKER"] = "1"
    where = home.current()
    if not where.root.exists():
        return 0
    parts: dict[str, Callable[[home.Home], Any]] = {
        "settled": settle.settle, "candidates": candidates.catch_up,
        "proofs": proofs.catch_up, "outcomes": outcomes.catch_up, "meaning": meaning.catch_up,
        "tidying": tidying.catch_up,
    }
    done: dict[str, Any] = {}
    try:
        with files.locked(where.root / "worker.lock", wait=0.0):
            files.sweep_temps(where.root)
            shared.begin(where)
            if not all((where.derived / name).exists() for name in ("settings.json", "signals.json", "recall.txt")):
                # Lost, or never made: without them every hook is silent.
                shared.refresh(where)
            elif recall_search.ensure(where):
                log.fault("worker", "the recall index was damaged and was made anew")
            for name, part in parts.items():
                try:
                    done[name] = part(where)
                except ForgeError as error:
                    log.fault("worker", f"{name}: {error}")
            if done.get("settled", {}).get("proved") or done.get("settled", {}).get("revoked"):
                shared.refresh(where)
            elif done.get("tidying", {}).get("changed"):
                shared.project(where)
            # So that `status` need not: counting 100,000 entries anew takes a second or two.
            entries.census(where, journal.state(where, brief=True))
    except Refused:
        out.data({"busy": True})
        return 0
    out.data(done)
    return 0
