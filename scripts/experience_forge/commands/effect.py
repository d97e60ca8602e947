"""`experience-forge effect [id]`: what may be said of whether entries help, and what may not."""

from __future__ import annotations

import argparse
from typing import Any

from ..report import Output
from ..store import effect_report, home

HELP = "whether entries help: counts of both arms, the evidence, and what remains unknown"
EPILOG = """examples:
  experience-forge effect                    all entries by state, the cost of the holdouts
  experience-forge effect npm-eacces         one entry: falsifiable? last influence? worse without it?
  experience-forge effect npm-eacces --backtest    also run its conditions over your own sessions

JSON of one: {"entry", "title", "version", "state", "verdict", "counts": {name: n}, "coins",
       "evidence": {"helps", "hurts"}, "under_test", "cost": {"withheld", "came_back"}, "tokens", "exposures", "proved",
       "tokens_per_return", "last": {"at", "session", "place", "proof"}, "applies_when": [...], "fails_when": [...],
       "opportunities": [{"session", "at", "arm", "outcome", "reason", "line"}], "earlier": [...],
       "freshness": {"state", "reason", "detail", "delivery"}, "backtest", "faults": [...]}
JSON of all: {"entries": [...], "cost": {"withheld", "came_back"}, "tokens", "exposures", "proved", "tokens_per_return",
       "unknowable": {state: n}, "claimed_together": [...], "faults": [...], "question"}"""

COLUMNS = ("id", "state", "shown", "withheld", "back", "evidence", "last")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", nargs="?", help="an entry's id; without it all entries")
    parser.add_argument("--backtest", action="store_true", help="run the conditions over the scanned sessions, too")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    if args.id:
        with out.progress("sessions", effect_report.history_count(where)) as advance:
            document = effect_report.one(where, args.id, out.language, backtest=args.backtest, advance=advance)
        if document["entry"] != args.id:
            out.talk(out.text("library.resolved", id=args.id, heir=document["entry"]))
        for line in effect_report.lines_of_one(document, out.text):
            out.prose(line)
        out.data(document)
        return 0
    document = effect_report.all_of(where, out.language)
    _print_all(document, out)
    out.data(document)
    return 0


def _print_all(document: dict[str, Any], out: Output) -> None:
    if not document["entries"]:
        out.say("effect.no_entries")
        return
    out.table([out.text(f"effect.column_{name}") for name in COLUMNS], [_row(one, out) for one in document["entries"]])
    for line in effect_report.lines_of_all(document, out.text):
        out.prose(line)


def _row(one: dict[str, Any], out: Output) -> list[str]:
    counts = one["counts"]
    back = f"{counts['shown_bad']}/{counts['shown_judged']}, {counts['withheld_bad']}/{counts['withheld_judged']}"
    claimed = one["state"] in ("helps", "hurts")
    evidence = f"{one['evidence'][one['state']]:.0f}" if claimed else "< 20" if one["coins"] else "-"
    last = one["last"]["at"][:10] if one["last"] else "-"
    state = out.text(f"effect.state_{one['state']}")
    return [one["entry"], state, str(counts["shown"]), str(counts["withheld"]), back, evidence, last]
