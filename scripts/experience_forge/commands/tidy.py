"""`experience-forge tidy`: the plan of a tidying, and proposals from its steps."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .. import shared, tidy_steps
from ..core import changes, merging, tidy
from ..core.changes import Change
from ..core.tidy import Plan, Step
from ..errors import ForgeError, Usage
from ..report import Output
from ..store import entries, home, journal, tidying
from ..store.launcher import confirm_command

HELP = "plan what to merge, decide, mark as outdated, look at again, move or grow; change nothing"
EPILOG = """examples:
  experience-forge tidy                                   the plan; nothing is written
  experience-forge tidy --apply merge-use-pnpm-1a2b3c     a proposal from one step
  experience-forge tidy --apply --kind merge --dry-run    what all merges would change
  experience-forge tidy --apply contradiction-x-1a2b3c --keep use-pnpm

Each proposal is confirmed by you, one by one: `experience-forge review`.

JSON: {"steps": [{"id", "kind", "entries", "reason", "values", "evidence"}], "compared", "more_reviews"}
JSON with --apply: {"proposals": [{"id", "step", "change", "digest", "title", "confirm_command", "targets"}],
       "skipped": [{"step", "what"}], "dry_run"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--apply", nargs="*", metavar="STEP", help="make proposals from these steps")
    parser.add_argument("--kind", choices=tidy.KINDS, metavar="KIND",
                        help=f"show or apply only steps of this kind: {', '.join(tidy.KINDS)}")
    parser.add_argument("--keep", default="", metavar="ID", help="of a contradiction: the entry that stays")
    parser.add_argument("--together", action="store_true",
                        help="with --apply: one proposal for all of them, to be confirmed and undone as one")
    parser.add_argument("--dry-run", action="store_true", help="with --apply: print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    with tidying.without_collector():
        library = entries.load_all(where)
        found = tidying.plan(where, library, journal.now()[:10])
    if args.apply is None:
        return _show(found, args.kind, len(library.deliverable()), out)
    if not args.apply and not args.kind:
        raise Usage(out.text("tidy.nothing_chosen"), out.text("tidy.nothing_chosen_hint"))
    steps = [tidying.step_of(found, step_id) for step_id in args.apply]
    steps += [step for step in found.steps if not args.apply and step.kind == args.kind]
    return _apply(where, steps, args, out)


def _show(found: Plan, kind: str | None, count: int, out: Output) -> int:
    steps = [step for step in found.steps if kind in (None, step.kind)]
    out.data({"steps": [_document(step) for step in steps], "compared": count, "more_reviews": found.more_reviews})
    if not steps:
        out.say("tidy.nothing", count=count)
        return 0
    out.say("tidy.head", steps=len(steps), count=count)
    for name in tidy.KINDS:
        mine = [step for step in steps if step.kind == name]
        if mine:
            out.line()
            out.line(f"{out.text(f'tidy.kind_{name}')} ({len(mine)})")
        for step in mine:
            _tell(step, out)
    if found.more_reviews:
        out.say("tidy.more_reviews", count=found.more_reviews)
    out.talk(out.text("tidy.how"))
    return 0


def _tell(step: Step, out: Output) -> None:
    values = dict(step.values)
    if "class" in values:
        values["class"] = out.text(f"tidy.class_{values['class']}")
    out.prose(f"- {step.id}: {out.text(f'tidy.reason_{step.reason}', **values)}")
    for line in step.evidence:
        out.prose(f"  {line}")
    for name, times, sessions in step.observed:
        said = "tidy.observed_once" if times == 1 else "tidy.observed" if times and sessions else "tidy.observed_none"
        out.prose("  " + out.text(said, id=name, times=times, sessions=sessions))
    if step.kind == "contradiction":
        one, other = step.entries
        out.prose(f"  {out.text('tidy.how_contradiction', id=step.id, one=one, other=other)}")
    if step.kind == "grow":
        out.prose(f"  {out.text('tidy.how_grow', domain=step.values['domain'])}")


def _apply(where: home.Home, steps: Sequence[Step], args: argparse.Namespace, out: Output) -> int:
    made: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    found: list[tuple[str, Change]] = []
    # A second proposal for the same entry could not be confirmed after the first; of one step another decision may be.
    waiting = tidy_steps.waiting(where) if len(steps) > 1 else {}
    for step in steps:
        if step.id in waiting:
            skipped.append({"step": step.id, "what": out.text("tidy.waiting", id=waiting[step.id])})
            continue
        if step.kind == "grow":
            skipped.append({"step": step.id, "what": out.text("tidy.how_grow", domain=step.values["domain"])})
        try:
            found += [(step.id, change) for change in tidy_steps.changes_of(where, step, out.text, args.keep)]
        except ForgeError as error:
            if len(steps) == 1:
                raise
            skipped.append({"step": step.id, "what": error.what})
    if args.together and len(found) > 1:
        alone = [step_id for step_id, change in found if tidy_steps.needs_a_look(where, change)]
        skipped += [{"step": step_id, "what": out.text("tidy.guard_alone", id=step_id)} for step_id in alone]
        found = [(step_id, change) for step_id, change in found if step_id not in alone]
    if args.together and len(found) > 1:
        found = _together(found, out)
    made = [_proposed(where, step_id, change, args.dry_run, out) for step_id, change in found]
    out.data({"proposals": made, "skipped": skipped, "dry_run": bool(args.dry_run)})
    for item in skipped:
        out.talk(out.text("tidy.skipped", id=item["step"], what=item["what"]))
    if made and not args.dry_run:
        out.talk(out.text("tidy.applied", count=len(made)))
    return 0


def _together(found: Sequence[tuple[str, Change]], out: Output) -> list[tuple[str, Change]]:
    """One change in place of several; they must be of one kind, since the dialog asks one question."""
    kinds = sorted({change.change for _, change in found})
    if len(kinds) > 1:
        raise Usage(out.text("tidy.together_kinds", kinds=", ".join(kinds)), out.text("tidy.together_hint"))
    title = out.text("tidy.together_title", count=len(found), kind=out.word("change", kinds[0]))
    one = merging.together([change for _, change in found], title, out.text("tidy.together_summary", count=len(found)))
    return [(" ".join(step_id for step_id, _ in found), one)]


def _proposed(where: home.Home, step_id: str, change: Change, dry_run: bool, out: Output) -> dict[str, Any]:
    affected = tidy_steps.targets(where, change)
    if dry_run:
        out.line(changes.render(change).rstrip("\n"))
        for target in affected:
            out.say("tidy.would", path=target["path"])
            out.line(target["diff"].rstrip("\n"))
        return {"id": "", "step": step_id, "change": change.change, "title": change.title, "targets": affected}
    proposal = tidy_steps.propose(where, step_id, change)
    out.say("tidy.proposal", id=proposal.id, change=out.word("change", change.change), title=change.title)
    return {
        "id": proposal.id, "step": step_id, "change": change.change, "digest": proposal.digest, "title": change.title,
        "confirm_command": confirm_command(where, proposal.id, proposal.digest), "targets": affected,
    }


def _document(step: Step) -> dict[str, Any]:
    return {"id": step.id, "kind": step.kind, "entries": list(step.entries), "reason": step.reason,
            "values": dict(step.values), "evidence": list(step.evidence),
            "observed": [{"id": name, "times": times, "sessions": sessions} for name, times, sessions in step.observed]}
