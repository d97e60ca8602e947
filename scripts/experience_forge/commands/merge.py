"""`experience-forge merge`: propose one entry in place of several."""

from __future__ import annotations

import argparse
import sys

from .. import shared, tidy_steps
from ..core import changes, codec
from ..model import Entry
from ..report import Output
from ..store import handed, home
from ..store.launcher import confirm_command

HELP = "propose one entry in place of several; their ids lead to it from then on"
EPILOG = """examples:
  experience-forge merge use-pnpm pnpm-not-npm            the first one's text, conditions of both
  experience-forge merge use-pnpm pnpm-not-npm --from -   a text written for it, as an entry on stdin
  experience-forge merge use-pnpm pnpm-not-npm --dry-run

Both parents stay as superseded. The merged entry is refused when it would not fire in a kept session
in which a parent fired.

Entries that do not tell of the same thing are merged with a warning; never those whose errors differ.

JSON: {"proposal": {"id", "change", "digest", "text", "confirm_command"}, "warnings"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="ids of the entries, the one with the best text first")
    parser.add_argument("--from", dest="source", metavar="FILE", help="take title, sections, aliases from it")
    parser.add_argument("--dry-run", action="store_true", help="print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    change = tidy_steps.merge(where, args.ids, out.text, _told(args.source))
    doubts = tidy_steps.doubts(where, change, out.text)
    text = changes.render(change)
    if args.dry_run:
        out.data({"proposal": {"id": "", "change": "merge", "text": text}, "warnings": doubts})
        out.line(text.rstrip("\n"))
        _warn(doubts, out)
        return 0
    proposal = tidy_steps.propose(where, "", change, doubts)
    command = confirm_command(where, proposal.id, proposal.digest)
    out.data({"proposal": {"id": proposal.id, "change": "merge", "digest": proposal.digest,
                           "text": proposal.text, "confirm_command": command}, "warnings": doubts})
    out.line(proposal.text.rstrip("\n"))
    _warn(doubts, out)
    out.explain(out.text("library.proposal_open", command=command))
    return 0


def _warn(doubts: list[str], out: Output) -> None:
    for doubt in doubts:
        out.talk(doubt)


def _told(source: str | None) -> Entry | None:
    if not source:
        return None
    return tidy_steps.checked(codec.parse(sys.stdin.read() if source == "-" else handed.text(source)))
