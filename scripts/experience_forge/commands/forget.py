"""`experience-forge forget`: erase an entry and everything it left, for good."""

from __future__ import annotations

import argparse
import os

from .. import shared
from ..clients import ancestry
from ..errors import NeedsConsent, Refused, Text
from ..report import Output
from ..store import forgetting, home

HELP = "erase an entry and its evidence for good (a secret that slipped in); only a tombstone stays"
EPILOG = """examples:
  experience-forge forget leaked-token            asks for the id again, then erases
  experience-forge forget leaked-token --dry-run  what would be erased

Only at a terminal of yours, never below a client. Unlike undo it can't be taken back.
JSON: {"forgotten": id, "sha256", "files": [...]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", help="id of the entry")
    parser.add_argument("--dry-run", action="store_true", help="list what would be erased, and erase nothing")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    plan = forgetting.plan(where, args.id)
    if args.dry_run:
        out.data({"forgotten": args.id, "files": [str(path) for path in plan.files], "dry_run": True})
        for path in plan.files:
            out.line(str(path))
        _tell_heirs(plan, out)
        return 0
    client = ancestry.client_above(os.environ)
    if client:
        raise Refused(Text("errors.forget_below", client=client), Text("errors.own_terminal"))
    answer = out.ask(out.text("forget.question", id=args.id, count=len(plan.files)))
    if answer is None:
        raise NeedsConsent(Text("errors.forget_person", id=args.id), Text("errors.own_terminal"))
    if answer != args.id:
        raise Refused(Text("errors.not_the_id"))
    done = forgetting.carry_out(where, plan)
    shared.refresh(where)
    out.data({"forgotten": args.id, "sha256": plan.sha256, "files": [str(path) for path in done]})
    out.say("forget.done", id=args.id, count=len(done))
    _tell_heirs(plan, out)
    return 0


def _tell_heirs(plan: forgetting.Plan, out: Output) -> None:
    for heir in plan.heirs:
        out.talk(out.text("forget.heir", heir=heir, id=plan.id))

