"""`experience-forge status`: what there is, what awaits consent, what is switched off."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from .. import shared
from ..model import Track
from ..report import Output
from ..store import config, entries, home, journal, launcher, projects, proposals
from ..store.entry_cache import Sort

HELP = "show at a glance what is stored, open, pending and switched off"
EPILOG = """examples:
  experience-forge status
  experience-forge status --track domain --domain docker

JSON: {"home", "installed", "entries": {track: n}, "states": {state: n}, "unreadable", "proposals",
       "pending", "suggest", "recall", "measure", "hooks", "journal_faults"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--track", choices=[track.value for track in Track], help="count only this track's entries")
    parser.add_argument("--domain", help="count only this domain's entries")
    parser.add_argument("--project", help="count only this project's entries (id or name)")


def _wanted(counts: Counter[Sort], args: argparse.Namespace, where: home.Home) -> Iterator[tuple[Sort, int]]:
    for sort, count in counts.items():
        names = (None, sort.project, projects.name_of(where, sort.project) if sort.project else None)
        in_domain = args.domain is None or sort.domain in args.domain
        if args.track in (None, sort.track) and in_domain and args.project in names:
            yield sort, count


def _examined(where: home.Home, out: Output) -> tuple[journal.State, Counter[Sort], entries.Unreadable]:
    """The journal, the entries counted, and what can't be read; long only when nothing is kept of them yet."""
    with out.progress(out.text("status.progress_journal"), journal.size(where)) as advance:
        known = journal.state(where, brief=True, advance=advance)
    with out.progress(out.text("status.progress_entries"), known.records) as advance:
        counts, unreadable = entries.census(where, known, advance)
    return known, counts, unreadable


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    args.domain = shared.domains_meant(args.domain) if args.domain else None
    known, counts, unreadable = _examined(where, out)
    projects.known(where, args.project, {sort.project for sort in counts})
    tracks, states = Counter[str](), Counter[str]()
    for sort, count in _wanted(counts, args, where):
        states[sort.state] += count
        if sort.status == "active":
            tracks[sort.track] += count
    settings = config.load()
    open_proposals = proposals.all(where)
    record, hooks = launcher.record(), launcher.hooks_wired()
    out.data({
        "home": str(where.root),
        "installed": record or None,
        "entries": {track.value: tracks.get(track.value, 0) for track in Track},
        "states": dict(states),
        "unreadable": len(unreadable),
        "proposals": len(open_proposals),
        "pending": len(known.pending),
        "suggest": settings["suggest"],
        "recall": settings["recall"],
        "measure": settings["measure"],
        "hooks": hooks,
        "journal_faults": known.faults,
    })
    out.say("status.home", path=where.root)
    out.say("status.installed" if record else "status.not_installed", version=record.get("version", ""),
            hooks=out.text("status.on" if hooks else "status.off"))
    for track in Track:
        name = out.text(f"status.track_{track.value}")
        out.line("  " + out.text("words.count", name=name, count=tracks.get(track.value, 0)))
    if open_proposals:
        out.say("status.proposals", count=len(open_proposals))
    for state in ("pending", "edited", "unconfirmed"):
        if states.get(state):
            out.say(f"status.{state}", count=states[state])
    suggest = settings["suggest"]
    on = out.text("status.on" if hooks else "status.on_no_hooks")
    switch = on if suggest["on"] else out.text("status.off")
    out.say("status.suggest", state=switch, threshold=f"{suggest['threshold']:g}")
    if int(suggest.get("declined_in_a_row", 0)) >= 2:
        out.say("status.suggest_declined", threshold=f"{suggest['threshold']:g}")
    off = set(settings["recall"].get("off_projects", ())) & set(projects.current(where).ids)
    recall_on = settings["recall"]["on"] and not off
    out.say("status.recall", state=on if recall_on else out.text("status.off_here" if off else "status.off"))
    out.say("status.measure", state=out.text("status.on" if settings["measure"]["holdouts"] else "status.off"))
    odd = [values["name"] for _, values in config.oddities()]
    if odd:
        out.say("status.config_odd", names=out.listed(odd))
    for path, reason in unreadable:
        out.talk(out.text("library.unreadable", path=path, reason=reason))
    for fault in known.faults:
        out.talk(out.text("status.journal_fault", fault=fault))
    return 0
