"""`experience-forge guard`: propose how strongly an entry acts when its trigger matches a call."""

from __future__ import annotations

import argparse
import dataclasses

from .. import shared
from ..core import changes, codec
from ..errors import Refused, Text
from ..model import Guard
from ..report import Output
from ..store import afterwards, home, journal
from ..store.launcher import confirm_command

HELP = "propose what an entry does when a call matches it: remind, hold, ask or deny"
EPILOG = """examples:
  experience-forge guard use-pnpm deny       the call never runs; the model reads the rule
  experience-forge guard use-pnpm hold       the first match in a session is refused, the same call then passes
  experience-forge guard use-pnpm ask        the user is asked each time
  experience-forge guard use-pnpm remind     the rule comes with the result (what every entry does at first)

JSON: {"proposal": {"id", "change", "digest", "text", "confirm_command"}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", help="id of the entry")
    parser.add_argument("level", choices=[level.value for level in Guard], help="what happens at a match")
    parser.add_argument("--dry-run", action="store_true", help="print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    stored = shared.active_entry(where, args.id, out.talk)
    level = Guard(args.level)
    if level is stored.entry.guard:
        raise Refused(Text("errors.one_level", id=stored.entry.id, level=level.value), Text("errors.choose_level"))
    if level is not Guard.REMIND and not _acts(stored.entry.applies_when):
        raise Refused(
            Text("errors.no_lone_condition", id=stored.entry.id),
            Text("errors.no_lone_condition_hint"),
        )
    changed = dataclasses.replace(
        stored.entry, guard=level, revision=stored.entry.revision + 1, updated=journal.now()[:10]
    )
    before, after = (out.word("guard", one.value) for one in (stored.entry.guard, level))
    summary = out.text("recall.guard_summary", id=stored.entry.id, before=before, after=after,
                       effect=out.text(f"recall.guard_{level.value}"))
    change = changes.Change(
        "guard", changed.title, changed.rule, changed.track.value, changed.language, summary,
        {"entry": changed.id}, (changes.Write(stored.key, stored.sha256, codec.render(changed)),),
    )
    change = afterwards.explained(where, change)
    if args.dry_run:
        out.data({"proposal": {"id": "", "change": "guard", "text": changes.render(change)}})
        out.line(changes.render(change).rstrip("\n"))
        return 0
    proposal = shared.propose(where, change, f"guard-{changed.id}"[:64], {})
    command = confirm_command(where, proposal.id, proposal.digest)
    out.data({"proposal": {"id": proposal.id, "change": "guard", "digest": proposal.digest,
                           "text": proposal.text, "confirm_command": command}})
    out.line(proposal.text.rstrip("\n"))
    out.explain(out.text("library.proposal_open", command=command))
    return 0


def _acts(conditions: tuple[object, ...]) -> bool:
    # A condition that also waits for an error or a prompt does not match a call by itself.
    return any(
        (getattr(one, "command", "") or getattr(one, "path", ""))
        and not getattr(one, "error", "") and not getattr(one, "words", "")
        for one in conditions
    )
