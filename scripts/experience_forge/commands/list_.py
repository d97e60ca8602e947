"""`experience-forge list`: entries, proposals or changes."""

from __future__ import annotations

import argparse
import json
from typing import Any

import yaml

from .. import shared, usage
from ..core import codec
from ..model import Guard, Status, Track
from ..report import Output
from ..store import effects, entries, entry_cache, home, journal, projects, proposals

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
    library = entries.load_all(where)
    args.domain = shared.domain_of(library, args.domain) if args.domain else None
    projects.known(where, args.project, (stored.entry.project for stored in library.entries))
    last = _last_deliveries(where)
    chosen = [stored for stored in library.entries if _wanted(stored, args, last.get(stored.entry.id, ""), where)]
    out.data({
        "entries": [_summary(stored, last.get(stored.entry.id, "")) for stored in chosen],
        "unreadable": [{"path": str(path), "reason": reason} for path, reason in library.unreadable],
    })
    if not chosen:
        out.say("library.list_none" if library.entries else "library.list_empty")
    else:
        columns = [out.text(f"library.column_{name}") for name in ("id", "track", "title", "state")]
        out.table(columns, [(s.entry.id, _place(s, out), s.entry.title, _state(s, out)) for s in chosen], prose=(2,))
    for path, reason in library.unreadable:
        out.talk(out.text("library.unreadable", path=path, reason=reason))
    return 0


def _last_deliveries(where: home.Home) -> dict[str, str]:
    """The ISO date of each entry's last delivery."""
    found: dict[str, str] = {}
    for ledger in effects.ledgers(where):
        for shown in ledger.exposures:
            found[shown.entry] = max(found.get(shown.entry, ""), shown.at[:10])
    return found


def _wanted(stored: entries.StoredEntry, args: argparse.Namespace, last: str, where: home.Home) -> bool:
    entry = stored.entry
    states = {entry.status.value} if stored.state == "confirmed" else {entry.status.value, stored.state}
    return (
        (args.all or args.state is not None or entry.status is Status.ACTIVE)
        and (args.state is None or args.state in states)
        and (args.delivered_since is None or last >= args.delivered_since)
        and (args.not_delivered_since is None or last < args.not_delivered_since)
        and (args.track is None or entry.track.value == args.track)
        and (args.domain is None or entry.domain == args.domain)
        and args.project in (None, entry.project, projects.name_of(where, entry.project) if entry.project else None)
    )


def _state_name(stored: entries.StoredEntry) -> str:
    """One of `STATES`: the status of an entry that is as it was confirmed, else what is wrong with it."""
    return stored.entry.status.value if stored.state == "confirmed" else stored.state


def _place(stored: entries.StoredEntry, out: Output) -> str:
    entry = stored.entry
    part = entry.domain if entry.track is Track.DOMAIN else entry.project if entry.track is Track.PROJECT else ""
    track = out.word("track", entry.track.value)
    return f"{track}/{part}" if part else track


def _state(stored: entries.StoredEntry, out: Output) -> str:
    entry = stored.entry
    mark = "⚠ " if entry.status is Status.OUTDATED else ""
    status = "" if entry.status is Status.ACTIVE else mark + out.word("status", entry.status.value)
    state = "" if stored.state == "confirmed" else out.word("state", stored.state)
    level = out.word("guard", entry.guard.value)
    guard = "" if entry.guard is Guard.REMIND else out.text("words.guarded", level=level)
    return out.listed(part for part in (status, state, guard) if part) or out.word("status", "active")


def _summary(stored: entries.StoredEntry, last: str) -> dict[str, Any]:
    entry = stored.entry
    plain = entry_cache.plain(entry)
    names = ("id", "title", "kind", "track", "domain", "project", "status", "guard", "language", "updated")
    return {**{name: json.loads(json.dumps(plain[name])) for name in names}, "rule": entry.rule,
            "state": _state_name(stored), "last_delivery": last, "path": str(stored.path)}


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
