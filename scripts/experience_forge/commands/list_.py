"""`experience-forge list`: entries, proposals or changes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from .. import shared, usage
from ..core import codec
from ..model import Guard, Status, Track
from ..report import Output
from ..store import effects, entries, home, journal, projects, proposals

HELP = "list entries, open proposals or journalled changes"
EPILOG = """examples:
  experience-forge list                          all active entries of the four tracks
  experience-forge list --track personal --all   outdated and superseded ones too
  experience-forge list --state outdated
  experience-forge list --not-delivered-since 2026-01-01
  experience-forge list --proposals              what awaits your consent
  experience-forge list --changes                what was changed, with the numbers that undo takes

JSON: {"entries": [{"id", "title", "kind", "track", "domain", "project", "status", "guard", "language", "updated",
       "rule", "state", "last_delivery", "path"}], "unreadable": [{"path", "reason"}]} |
      {"proposals": [{"id", "change", "digest", "created", "score", "title"}]} |
      {"changes": [{"seq", "at", "what", "change", "entries", "files", "consent", ...}]}"""

STATES = ("active", "outdated", "superseded", "pending", "edited", "unconfirmed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--track", choices=[track.value for track in Track], help="only this track")
    parser.add_argument("--domain", help="only this domain")
    parser.add_argument("--project", help="only this project (id or name)")
    parser.add_argument("--state", choices=STATES, metavar="STATE", help=f"only this state: {', '.join(STATES)}")
    parser.add_argument("--delivered-since", type=usage.date, metavar="DATE",
                        help="only those delivered on or after this ISO date")
    parser.add_argument("--not-delivered-since", type=usage.date, metavar="DATE",
                        help="only those not delivered since this ISO date")
    parser.add_argument("--all", action="store_true", help="outdated and superseded entries too")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--proposals", action="store_true", help="list open proposals instead")
    what.add_argument("--changes", action="store_true", help="list journalled changes instead, newest first")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    if args.proposals:
        return _proposals(where, out)
    if args.changes:
        return _changes(where, out)
    args.domain = shared.domains_meant(args.domain) if args.domain else None
    last = effects.last_deliveries(where)
    names = {one: project.name for project in projects.all(where) for one in project.ids if project.name}

    def choose(found: Iterator[entries.Outlined]) -> tuple[list[entries.Outlined], set[str]]:
        chosen, used = [], set()
        for one in found:
            used.add(one.outline.project)
            if _wanted(one, args, last.get(one.outline.id, ""), names):
                chosen.append(one)
        return chosen, used

    (chosen, used), unreadable = entries.survey(where, choose)
    projects.known(where, args.project, used)
    out.data({
        "entries": [_summary(where, one, last.get(one.outline.id, "")) for one in chosen] if out.as_json else [],
        "unreadable": [{"path": str(path), "reason": reason} for path, reason in unreadable],
    })
    if not chosen:
        out.say("library.list_none" if used else "library.list_empty")
    else:
        columns = [out.text(f"library.column_{name}") for name in ("id", "track", "title", "state")]
        rows = [(one.outline.id, _place(one, names, out), one.outline.title, _state(one, out)) for one in chosen]
        out.table(columns, rows, prose=(2,))
    for path, reason in unreadable:
        out.talk(out.text("library.unreadable", path=path, reason=reason))
    return 0


def _wanted(one: entries.Outlined, args: argparse.Namespace, last: str, names: Mapping[str, str]) -> bool:
    entry, state = one.outline, one.state
    states = {entry.status} if state == "confirmed" else {entry.status, state}
    return (
        (args.all or args.state is not None or entry.status == Status.ACTIVE.value)
        and (args.state is None or args.state in states)
        and (args.delivered_since is None or last >= args.delivered_since)
        and (args.not_delivered_since is None or last < args.not_delivered_since)
        and (args.track is None or entry.track == args.track)
        and (args.domain is None or entry.domain in args.domain)
        and args.project in (None, entry.project, names.get(entry.project))
    )


def _state_name(one: entries.Outlined) -> str:
    """One of `STATES`: the status of an entry that is as it was confirmed, else what is wrong with it."""
    return one.outline.status if one.state == "confirmed" else one.state


def _place(one: entries.Outlined, names: Mapping[str, str], out: Output) -> str:
    """The track, with its domain or its project's name (its id where no name is known)."""
    entry = one.outline
    project = names.get(entry.project, entry.project)
    part = entry.domain if entry.track == "domain" else project if entry.track == "project" else ""
    track = out.word("track", entry.track)
    return f"{track}/{part}" if part else track


def _state(one: entries.Outlined, out: Output) -> str:
    entry = one.outline
    mark = "⚠ " if entry.status == Status.OUTDATED.value else ""
    status = "" if entry.status == Status.ACTIVE.value else mark + out.word("status", entry.status)
    state = "" if one.state == "confirmed" else out.word("state", one.state)
    guard = "" if entry.guard == Guard.REMIND.value else out.text("words.guarded", level=out.word("guard", entry.guard))
    return out.listed(part for part in (status, state, guard) if part) or out.word("status", "active")


def _summary(where: home.Home, one: entries.Outlined, last: str) -> dict[str, Any]:
    plain = one.outline._asdict()
    names = ("id", "title", "kind", "track", "domain", "project", "status", "guard", "language", "updated")
    return {**{name: plain[name] for name in names}, "rule": plain["rule"],
            "state": _state_name(one), "last_delivery": last, "path": str(entries.path_below(where, one.key))}


def _proposals(where: home.Home, out: Output) -> int:
    found = proposals.all(where)
    out.data({"proposals": [
        {"id": p.id, "change": p.change, "digest": p.digest, "created": p.meta.get("created", ""),
         "score": p.meta.get("score"), "title": _title(p)} for p in found
    ]})
    if not found:
        out.say("library.no_proposals")
        return 0
    columns = [out.text(f"library.column_{name}") for name in ("id", "change", "title", "created")]
    out.table(columns, [
        (p.id, out.word("change", p.change), _title(p), out.moment(str(p.meta.get("created", "")))) for p in found
    ], prose=(2,))
    out.talk(out.text("library.review_hint"))
    return 0


def _title(proposal: proposals.Proposal) -> str:
    line = next((line for line in proposal.text.splitlines() if line.startswith("title:")), "")
    try:
        return str(codec.load_front(line).get("title", ""))
    except yaml.YAMLError:
        return line[6:].strip()


def _changes(where: home.Home, out: Output) -> int:
    found = [r for r in reversed(journal.read(where)) if r.get("what") in ("change", "revoked", "forget", "discard")]
    out.data({"changes": found})
    if not found:
        out.say("library.no_changes")
        return 0
    columns = [out.text(f"library.column_{name}") for name in ("number", "at", "change", "entries", "how")]
    out.table(columns, [
        (r["seq"], out.moment(r["at"]),
         out.word("change", r.get("change", r["what"]) if r["what"] == "change" else r["what"]),
         ", ".join(r.get("entries", ())) or r.get("proposal", ""),
         out.word("by", (r.get("consent") or {}).get("by", "")))
        for r in found
    ], prose=(3,))
    return 0
