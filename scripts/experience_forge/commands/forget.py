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

Entries that it was merged into, or from, may hold the same words: they are named, and the one answer can take them too.
Only at a terminal of yours, never below a client. Unlike undo it can't be taken back.
JSON: {"forgotten": id, "also": [id], "kin": [id that stays], "sha256", "files": [...]}"""


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
        files = [str(path) for path in plan.files]
        out.data({"forgotten": args.id, "also": [], "kin": list(plan.kin), "files": files, "dry_run": True})
        for path in files:
            out.line(path)
        _tell_kin(plan, plan.kin, out)
        return 0
    client = ancestry.client_above(os.environ)
    if client:
        raise Refused(Text("errors.forget_below", client=client), Text("errors.own_terminal"))
    _tell_kin(plan, plan.kin, out)
    every = " ".join((args.id, *plan.kin))
    asked = "forget.question_kin" if plan.kin else "forget.question"
    answer = out.ask_for_consent(out.text(asked, id=args.id, count=len(plan.files), all=every))
    if answer is None:
        raise NeedsConsent(Text("errors.forget_person", id=args.id), Text("errors.own_terminal"))
    chosen = answer.split()
    if chosen[:1] != [args.id] or not set(chosen[1:]) <= set(plan.kin):
        raise Refused(Text("errors.not_the_id"))
    done = {name: forgetting.carry_out(where, forgetting.plan(where, name)) for name in dict.fromkeys(chosen)}
    shared.refresh(where)
    left = tuple(name for name in plan.kin if name not in chosen)
    files = list(dict.fromkeys(str(path) for paths in done.values() for path in paths))
    out.data({"forgotten": args.id, "also": chosen[1:], "kin": list(left), "sha256": plan.sha256, "files": files})
    for name, paths in done.items():
        out.say("forget.done", id=name, count=len(paths))
    _tell_kin(plan, left, out)
    return 0


def _tell_kin(plan: forgetting.Plan, names: tuple[str, ...], out: Output) -> None:
    for name in names:
        out.talk(out.text("forget.heir" if name in plan.heirs else "forget.parent", heir=name, id=plan.id))
