"""`experience-forge measure on|off`: whether entries may be withheld by a coin, so that their effect shows."""

from __future__ import annotations

import argparse

from .. import shared
from ..report import Output
from ..store import config, home, measure_rules

HELP = "allow or forbid holdouts: withholding an entry now and then, to measure whether it helps"
EPILOG = """examples:
  experience-forge measure           what is set, and how many entries are under test
  experience-forge measure on        a logged coin may withhold (3 in 10 at first, fewer later)
  experience-forge measure off       everything that matches is shown

Guards, pinned, profile and project entries are never withheld.
JSON: {"holdouts": true, "under_test": ["id"], "changed": true}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("switch", nargs="?", choices=("on", "off"), help="without it: only show")
    parser.add_argument("--dry-run", action="store_true", help="say what would change, write nothing")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    before = config.load()["measure"].get("holdouts") is True
    wanted = before if args.switch is None else args.switch == "on"
    if args.dry_run:
        out.say(f"effect.measure_dry_{'on' if wanted else 'off'}")
        out.data({"holdouts": wanted, "changed": False, "dry_run": True})
        return 0
    if args.switch is not None:
        config.change({"measure": {"holdouts": wanted, "answered": True}})
        measure_rules.build(where)
        # At once: an entry under test leaves the index, and comes back when holdouts end.
        shared.project(where)
    tested = sorted(measure_rules.under_test(where)) if wanted else []
    if args.switch is None:
        out.say("effect.holdouts_on" if wanted else "effect.holdouts_off", count=len(tested))
    else:
        out.say("effect.measure_on" if wanted else "effect.measure_off", count=len(tested))
    out.data({"holdouts": wanted, "under_test": tested, "changed": wanted != before})
    return 0
