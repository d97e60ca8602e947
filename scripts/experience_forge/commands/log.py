"""`experience-forge log`: when an entry reached a session, and where the client's record shows it."""

from __future__ import annotations

import argparse
import itertools

from .. import shared, usage
from ..report import Output
from ..store import entries, home, ledger, receipt_lines

HELP = "show when an entry last reached a session, with its proof"
EPILOG = """examples:
  experience-forge log use-pnpm
  experience-forge log use-pnpm --limit 50 --json

What entries delivered that were merged into it is listed with it.

JSON: {"entry", "deliveries": [{"entry", "at", "session", "event", "place", "form", "characters", "why", "sha256",
       "verdict": "delivered" | "not_delivered" | "unknown" | "open", "source", "source_exists", "excerpt"}]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", help="id of the entry")
    parser.add_argument("--limit", type=usage.positive, default=10,
                        help="at most so many deliveries, newest session first")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    stored = shared.named(where, args.id, out.talk)
    found = list(itertools.islice(ledger.exposures(where, entries.family(where, stored.entry)), args.limit))
    lines = [receipt_lines.of(where, one) for one in found]
    out.data({"entry": stored.entry.id, "deliveries": [line.to_json() for line in lines]})
    for line in lines:
        whose = "" if line.entry == stored.entry.id else f"[{line.entry}] "
        out.line(whose + line.text(out.text, out.word, out.moment))
    if not lines:
        out.say("recall.never", id=stored.entry.id)
    return 0
