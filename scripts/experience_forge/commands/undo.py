"""`experience-forge undo`: propose to take back a journalled change."""

from __future__ import annotations

import argparse
import dataclasses

from .. import shared
from ..core import changes
from ..core.changes import Change
from ..errors import Refused
from ..report import Output
from ..store import afterwards, home, journal, library
from ..store.launcher import confirm_command

HELP = "propose to take back a change; the undo is confirmed like any other"
EPILOG = """examples:
  experience-forge undo            the newest change
  experience-forge undo 12         the change with this number (see `list --changes`)
  experience-forge undo use-pnpm   the newest change of this entry; when its file was edited by hand, that edit

JSON: {"proposal": {"id", "change", "digest", "text", "confirm_command"}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("what", nargs="?", default="", help="number of a change, or id of an entry")
    parser.add_argument("--dry-run", action="store_true", help="print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    change = library.restoring(where, args.what) if args.what else None
    if change is None:
        change = afterwards.explained(where, _titled(where, library.undo_of(where, _seq(where, args.what, out))))
    text = changes.render(change)
    if args.dry_run:
        out.data({"proposal": {"id": "", "change": "undo", "text": text}})
        out.line(text.rstrip("\n"))
        return 0
    proposal = shared.propose(where, change, f"undo-{change.data['of']}", {})
    command = confirm_command(where, proposal.id, proposal.digest)
    out.data({"proposal": {"id": proposal.id, "change": "undo", "digest": proposal.digest,
                           "text": proposal.text, "confirm_command": command}})
    out.line(proposal.text.rstrip("\n"))
    out.explain(out.text("library.proposal_open", command=command))
    return 0


def _titled(where: home.Home, change: Change) -> Change:
    """The undo with what will be true afterwards, and the rule when it is about one entry."""
    touched = afterwards.turns(where, change)
    known = [turn.entry for turn in touched if turn.entry is not None]
    rule = known[0].rule if len(known) == 1 else ""
    return dataclasses.replace(change, rule=rule, summary=afterwards.undone(touched))


def _seq(where: home.Home, what: str, out: Output) -> int:
    records = journal.read(where)
    # A number may also be an entry's id ("2024"): the change goes first, its form is the one in `list --changes`.
    if what.isdecimal() and any(int(record["seq"]) == int(what) for record in records):
        return int(what)
    for record in reversed(records):
        if record.get("what") == "change" and (not what or what in record.get("entries", ())):
            return int(record["seq"])
    last = max((int(record["seq"]) for record in records if record.get("what") == "change"), default=0)
    if not last:
        raise Refused(out.text("library.undo_nothing"), out.text("library.undo_nothing_hint"))
    name = "library.no_change" if what.isdecimal() else "library.no_change_of"
    raise Refused(out.text(name, what=what), out.text("library.undo_last", last=last))
