"""`experience-forge move`: propose another track for an entry."""

from __future__ import annotations

import argparse
import dataclasses

from .. import shared
from ..core import changes, codec
from ..errors import Refused, Text, Usage
from ..model import Entry, Track
from ..report import Output
from ..store import afterwards, home, journal, projects
from ..store.launcher import confirm_command

HELP = "propose to move an entry to another track, domain or project"
EPILOG = """examples:
  experience-forge move use-pnpm --to profile
  experience-forge move pip-in-debian --to domain --domain python
  experience-forge move use-pnpm --to project            the project of this folder

JSON: {"proposal": {"id", "change", "digest", "text", "confirm_command"}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", help="id of the entry")
    parser.add_argument("--to", required=True, choices=[track.value for track in Track], help="the track to move it to")
    parser.add_argument("--domain", default="", help="domain, with --to domain")
    parser.add_argument("--project", default="", help="project id, with --to project; the present folder's otherwise")
    parser.add_argument("--dry-run", action="store_true", help="print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    stored = shared.active_entry(where, args.id, out.talk)
    track = Track(args.to)
    domain = _domain(track, args.domain, stored.entry.domain)
    project = _project(where, args.project) if track is Track.PROJECT else ""
    moved = dataclasses.replace(
        stored.entry, track=track, domain=domain, project=project,
        revision=stored.entry.revision + 1, updated=journal.now()[:10],
    )
    key = changes.key_of(moved)
    if key == stored.key and domain == stored.entry.domain:
        raise Refused(Text("errors.one_level", id=stored.entry.id, level=key), Text("errors.choose_place"))
    writes = [changes.Write(key, stored.sha256 if key == stored.key else "", codec.render(moved))]
    if key != stored.key:
        writes.append(changes.Write(stored.key, stored.sha256, None))
    change = changes.Change(
        "move", moved.title, moved.rule, track.value, moved.language,
        out.text("library.moved", before=_place(stored.entry, out), after=_place(moved, out),
                 when=out.text(f"confirm.acts_{track.value}")),
        {"entry": moved.id}, tuple(writes),
    )
    change = afterwards.explained(where, change)
    if args.dry_run:
        out.data({"proposal": {"id": "", "change": "move", "text": changes.render(change)}})
        out.line(changes.render(change).rstrip("\n"))
        return 0
    proposal = shared.propose(where, change, f"move-{moved.id}"[:64], {})
    command = confirm_command(where, proposal.id, proposal.digest)
    out.data({"proposal": {"id": proposal.id, "change": "move", "digest": proposal.digest,
                           "text": proposal.text, "confirm_command": command}})
    out.line(proposal.text.rstrip("\n"))
    out.explain(out.text("library.proposal_open", command=command))
    return 0


def _place(entry: Entry, out: Output) -> str:
    """The track of an entry in words, with its domain or its project's name."""
    named = next((one.name for one in projects.all(home.current()) if entry.project in one.ids), entry.project)
    more = {Track.DOMAIN: entry.domain, Track.PROJECT: named}.get(entry.track, "")
    return " ".join(filter(None, (out.word("track", entry.track.value), more)))


def _domain(track: Track, asked: str, present: str) -> str:
    domain = shared.domain(asked or present, listed=True)
    if track is Track.DOMAIN and not domain:
        raise Usage(Text("errors.needs_domain"), Text("errors.one_of", names=", ".join(shared.domains())))
    return domain


def _project(where: home.Home, asked: str) -> str:
    if not asked:
        here = projects.current(where)
        projects.record(where, here)
        return here.id
    for project in projects.all(where):
        if asked in (*project.ids, project.name):
            return project.id
    raise Usage(Text("errors.no_project", project=asked), Text("errors.see", command="experience-forge projects"))
