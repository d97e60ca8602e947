"""`experience-forge discard`: take a proposal out of the inbox."""

from __future__ import annotations

import argparse

from .. import shared
from ..report import Output
from ..store import home, proposals

HELP = "discard an open proposal, with the reason"
EPILOG = """examples:
  experience-forge discard use-pnpm --reason "one-off"

Only an explicit discard takes a proposal away; answering No in a dialog keeps it open.
JSON: {"discarded": id, "reason"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", help="id of the proposal")
    parser.add_argument("--reason", default="", help="why, in a few words; helps `tune`")
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and keep it")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    proposal = proposals.load(where, args.id, damaged=True)
    reason = proposals.reason(args.reason)
    if not args.dry_run:
        proposals.discard(where, proposal.id, reason)
    out.data({"discarded": proposal.id, "reason": reason, "dry_run": args.dry_run})
    out.say("library.would_discard" if args.dry_run else "library.discarded", id=proposal.id)
    return 0
