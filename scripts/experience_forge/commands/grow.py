"""`experience-forge grow`: a skill, a slash command or an agent from entries that act together."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import shared, tidy_steps
from ..clients import claude_files
from ..core import changes, growing, tokens_estimate
from ..core.rendering import Safe
from ..errors import Refused, Text, Usage
from ..model import Entry, Track
from ..report import Output
from ..store import config, effects, entries, grown, handed, home, journal, ruleset, templates, tidying
from ..store.launcher import confirm_command

HELP = "propose a skill, slash command or agent made of five or more entries that act together"
EPILOG = """examples:
  experience-forge grow                        what has grown, and whether anything loads it
  experience-forge grow docker                 the entries, and the template to write the file from
  experience-forge grow docker --from SKILL.md --prompt "ship the image" --prompt "发布镜像"
  experience-forge grow docker --as command --name ship-image-experience --from ship.md

Workflows with ordered steps become a slash command, those that look through something and report an
agent, everything else a skill; --as chooses otherwise. It is installed after you confirm it, and taken
back with `experience-forge undo`.

JSON: {"skills": [{"name", "form", "at", "seq", "entries", "sessions", "listed", "loaded", "last", "followed",
                   "unused"}]} |
      {"domain", "form", "name", "entries", "template", "tokens"} |
      {"proposal": {"id", "change", "digest", "text", "confirm_command"},
       "form", "name", "listed_tokens", "loaded_tokens", "unheard"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("domain", nargs="?", default="", help="domain of the entries")
    parser.add_argument("--from", dest="source", metavar="FILE", help="the file that was written, `-` for stdin")
    parser.add_argument("--as", dest="form", choices=growing.FORMS, help="what it becomes (by its entries)")
    parser.add_argument("--name", default="", help="name of a slash command (by the domain)")
    parser.add_argument("--ids", nargs="+", metavar="ID", help="these entries rather than those that act together")
    parser.add_argument("--prompt", action="append", default=[], metavar="TEXT", help="a request that should load it")
    parser.add_argument("--dry-run", action="store_true", help="print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    if not args.domain:
        return _skills(where, out)
    args.domain = shared.domain_of(entries.load_all(where), args.domain)
    chosen = _entries(where, args.domain, args.ids, out)
    rules = ruleset.load("grow")
    form = args.form or growing.form_of(chosen, rules)
    name = args.name or f"{args.domain}-work{rules['suffix']}"
    if not args.source:
        return _outline(args, form, name, chosen, out)
    return _propose(where, args, form, name, chosen, out)


def _skills(where: home.Home, out: Output) -> int:
    ledgers = effects.ledgers(where)
    found = [(skill, grown.use_of(skill, grown.transcripts(), ledgers)) for skill in grown.confirmed(where)]
    out.data({"skills": [
        {"name": s.name, "form": s.form, "at": s.at, "seq": s.seq, "entries": list(s.entries),
         "sessions": use.sessions, "listed": use.listed, "loaded": use.loaded, "last": use.last,
         "followed": dict(use.followed), "unused": use.unused} for s, use in found
    ]})
    if not found:
        out.say("tidy.grow_no_skills")
    for skill, use in found:
        last = out.text("tidy.grow_last", at=use.last[:10]) if use.last else ""
        out.say("tidy.grow_used", name=skill.name, form=out.text(f"tidy.form_{skill.form}"), at=skill.at[:10],
                sessions=use.sessions, listed=use.listed, loaded=use.loaded, last=last)
        if use.followed:
            counts = {what: use.followed.get(what, 0) for what in ("good", "bad", "unknown")}
            out.say("tidy.grow_followed", **counts)
        if use.unused:
            out.say("tidy.grow_unused", name=skill.name, seq=skill.seq)
    return 0


def _entries(where: home.Home, domain: str, ids: Sequence[str] | None, out: Output) -> list[Entry]:
    """The entries that a skill grows from: those named, else those of the domain that act together, else all of it."""
    library = entries.load_all(where)
    stored = library.deliverable()
    least = tidying.lifetimes().grow_entries
    if ids:
        by_id = {one.entry.id: one.entry for one in stored}
        missing = [entry_id for entry_id in ids if entry_id not in by_id]
        if missing:
            raise Refused(
                Text("errors.no_active_entry", ids=", ".join(missing)),
                Text("errors.see", command="experience-forge list"),
            )
        chosen = [by_id[entry_id] for entry_id in dict.fromkeys(ids)]
    else:
        plan = tidying.plan(where, library, journal.now()[:10])
        named = [s.entries for s in plan.steps if s.kind == "grow" and s.values["domain"] == domain]
        known = tidying.domains(stored)
        mine = [one.entry for one in stored if (one.entry.domain or known.get(one.entry.id)) == domain
                and one.entry.track is not Track.PROJECT]
        chosen = [entry for entry in mine if not named or entry.id in named[0]]
    if len(chosen) < least:
        raise Refused(out.text("tidy.grow_few", domain=domain, count=len(chosen), least=least),
                      out.text("tidy.grow_few_hint", domain=domain))
    return chosen


def _outline(args: argparse.Namespace, form: str, name: str, chosen: Sequence[Entry], out: Output) -> int:
    book, language = templates.shipped(), config.language()
    lines = "\n".join(book.render("grown-line", language, values).rstrip("\n") for values in growing.lines_of(chosen))
    text = book.render(f"grown-{form}", language, {"name": name, "lines": Safe(lines)})
    cost = tokens_estimate.estimate(lines)
    out.data({"domain": args.domain, "form": form, "name": name, "entries": [entry.id for entry in chosen],
              "template": text, "tokens": cost})
    fits = growing.looks_through if form == "agent" else growing.is_procedure
    ordered = sum(fits(entry, ruleset.load("grow")) for entry in chosen)
    out.talk(out.text(f"tidy.grow_form_{form}", name=name, ordered=ordered, count=len(chosen)))
    out.talk(out.text("tidy.grow_head", domain=args.domain, count=len(chosen), tokens=cost))
    head = "tidy.grow_head_command" if form == "command" else "tidy.grow_head_prompts"
    out.talk(out.text(head, command=f"experience-forge grow {args.domain}{_chosen(args)} --from"))
    out.line(text.rstrip("\n"))
    return 0


def _chosen(args: argparse.Namespace) -> str:
    """What was chosen by hand, as it has to be given again with the file."""
    given = f" --as {args.form}" if args.form else ""
    given += f" --name {args.name}" if args.name else ""
    return given + (f" --ids {' '.join(args.ids)}" if args.ids else "")


def _propose(
    where: home.Home, args: argparse.Namespace, form: str, name: str, chosen: Sequence[Entry], out: Output
) -> int:
    rules = ruleset.load("grow")
    prompts = [" ".join(prompt.split()) for prompt in args.prompt]
    if form != "command" and len(prompts) < rules["prompts_least"]:
        raise Usage(out.text("tidy.grow_prompts_needed", least=rules["prompts_least"]),
                    out.text("tidy.grow_prompts_hint"))
    text = sys.stdin.read() if args.source == "-" else handed.text(args.source)
    skill = growing.parse(text, [entry.id for entry in chosen], rules, form, name)
    tidy_steps.checked_text(skill.name, skill.description, skill.text)
    summary = [out.text(
        "tidy.grow_summary", form=out.text(f"tidy.form_{form}"), count=len(skill.entries), listed=skill.listed_tokens,
        loaded=skill.loaded_tokens, budget=rules["list_budget_tokens"],
    )]
    summary += [out.text("tidy.grow_typed", name=skill.name)] if form == "command" else []
    summary += [out.text("tidy.grow_prompts", prompts=" · ".join(prompts))] if prompts else []
    place = claude_files.grown_path(Path("~/.claude"), form, skill.name).as_posix()
    before = grown.before(where, skill.name, form)
    change = growing.change(skill, before, prompts, config.language(), "\n".join(summary), place)
    unheard = growing.unheard(skill, prompts)
    warnings = [out.text("tidy.grow_unheard", prompt=prompt) for prompt in unheard]
    document: dict[str, Any] = {
        "form": form, "name": skill.name, "listed_tokens": skill.listed_tokens, "loaded_tokens": skill.loaded_tokens,
        "unheard": unheard,
    }
    if args.dry_run:
        out.data({"proposal": {"id": "", "change": "grow", "text": changes.render(change)}, **document})
        out.line(changes.render(change).rstrip("\n"))
        return 0
    proposal = shared.propose(where, change, f"grow-{skill.name}"[:64], {"warnings": warnings})
    command = confirm_command(where, proposal.id, proposal.digest)
    out.data({"proposal": {"id": proposal.id, "change": "grow", "digest": proposal.digest, "text": proposal.text,
                           "confirm_command": command}, **document})
    out.line(proposal.text.rstrip("\n"))
    for warning in warnings:
        out.talk(warning)
    out.explain(out.text("library.proposal_open", command=command))
    return 0
