"""The changes that tidying proposes: one entry from several, another status, another track, a later review."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..errors import Refused, Text
from ..model import Condition, Entry, Guard, Kind, Status, Track
from . import changes, checks, codec
from .changes import Change, Write


@dataclass(frozen=True)
class Base:
    """An entry with the bytes that a change replaces."""

    entry: Entry
    key: str
    sha256: str


def merged(entries: Sequence[Entry], new_id: str, today: str, text: Entry | None = None) -> Entry:
    """One entry that fires wherever one of several did; their words are kept, none is rewritten.

    The first entry's text is taken, a stated one's before one that was only observed; `text` has
    title, sections and aliases that somebody wrote for the merged entry.

    Raises:
        Refused: when all conditions together are more than an entry may have.
    """
    ordered = sorted(entries, key=lambda entry: entry.origin != "stated")
    first = ordered[0]
    told = text or first
    applies = _conditions(entries, "applies_when")
    fails = _conditions(entries, "fails_when")
    if max(len(applies), len(fails)) > checks.MAX_LIST:
        raise Refused(
            Text("errors_entry.merge_many", count=max(len(applies), len(fails)), limit=checks.MAX_LIST),
            Text("errors_entry.merge_fewer"),
        )
    projects = {entry.project for entry in entries}
    track, project, domain = first.track, first.project, first.domain
    if len({entry.track for entry in entries}) > 1 or len(projects) > 1:
        track, project, domain = _widest(entries)
    return Entry(
        id=new_id, title=told.title, kind=first.kind, track=track, domain=domain, project=project,
        sections=_sections(told, ordered), aliases=_aliases(told, ordered), language=told.language,
        applies_when=applies, fails_when=fails, guard=_guard(entries, track, project),
        pinned=any(e.pinned for e in entries),
        versions=_union(e.versions for e in entries), tags=_union(e.tags for e in entries),
        cites=tuple(dict.fromkeys(c for e in entries for c in e.cites))[: checks.MAX_LIST],
        origin="stated" if any(e.origin == "stated" for e in entries) else "observed",
        sources=tuple(dict.fromkeys(s for e in ordered for s in e.sources))[: checks.MAX_LIST],
        parents=tuple(e.id for e in entries), created=min(e.created for e in entries) or today, updated=today,
        extra=dict(first.extra),
    )


def merge(bases: Sequence[Base], entry: Entry, summary: str, reason: str) -> Change:
    """The change that puts a merged entry in place and keeps its parents as superseded, with the reason."""
    writes = [Write(changes.key_of(entry), "", codec.render(entry))]
    for base in bases:
        old = dataclasses.replace(
            base.entry, status=Status.SUPERSEDED, status_reason=reason,
            revision=base.entry.revision + 1, updated=entry.updated,
        )
        writes.append(Write(base.key, base.sha256, codec.render(old)))
    data = {"entry": entry.id, "parents": list(entry.parents)}
    return Change("merge", entry.title, entry.rule, entry.track.value, entry.language, summary, data, tuple(writes))


def together(changes_: Sequence[Change], title: str, summary: str) -> Change:
    """Several changes of one kind as one, to be confirmed and undone as one."""
    first = changes_[0]
    writes = tuple(write for one in changes_ for write in one.writes)
    lines = "\n".join([summary, *(line for one in changes_ for line in one.summary.split("\n"))])
    return Change(first.change, title, "", "", first.language, lines, {}, writes)


def status(base: Base, to: Status, reason: str, today: str, summary: str) -> Change:
    """The change of an entry's status; the text stays, for audit."""
    return _rewritten(base, summary, today, status=to, status_reason=reason)


def renewed(base: Base, review: str, today: str, summary: str) -> Change:
    """The change that notes a review: the entry holds, look again at `review` (ISO date)."""
    return _rewritten(base, summary, today, review=review)


def moved(base: Base, track: Track, domain: str, project: str, today: str, summary: str) -> Change:
    """The change that puts an entry on another track."""
    entry = dataclasses.replace(
        base.entry, track=track, domain=domain if track is Track.DOMAIN else base.entry.domain,
        project=project if track is Track.PROJECT else "", revision=base.entry.revision + 1, updated=today,
    )
    key = changes.key_of(entry)
    writes = [Write(key, base.sha256 if key == base.key else "", codec.render(entry))]
    if key != base.key:
        writes.append(Write(base.key, base.sha256, None))
    return Change("move", entry.title, entry.rule, track.value, entry.language, summary, {"entry": entry.id},
                  tuple(writes))


def _rewritten(base: Base, summary: str, today: str, **fields: object) -> Change:
    entry = dataclasses.replace(base.entry, revision=base.entry.revision + 1, updated=today, **fields)  # type: ignore[arg-type]
    return Change("status", entry.title, entry.rule, entry.track.value, entry.language, summary,
                  {"entry": entry.id}, (Write(base.key, base.sha256, codec.render(entry)),))


def _conditions(entries: Iterable[Entry], name: str) -> tuple[Condition, ...]:
    found = []
    own_errors = name == "applies_when" and any(c.error for e in entries for c in e.applies_when)
    for entry in entries:
        found += list(getattr(entry, name))
        symptom = entry.section("symptom")
        if own_errors and entry.kind is Kind.PITFALL and symptom and not any(c.error for c in entry.applies_when):
            # Alone it was known by its symptom; beside an error condition that would count no more.
            found += [Condition(error=line.strip()[: checks.MAX_RULE]) for line in symptom.splitlines() if line.strip()]
    return tuple(dict.fromkeys(found))


def _aliases(told: Entry, entries: Iterable[Entry]) -> tuple[str, ...]:
    """Aliases of the text first, then a title in each other language, then the rest."""
    titles = [e.title for e in entries if e.language != told.language]
    rest = [alias for e in entries for alias in e.aliases]
    found = dict.fromkeys([*told.aliases[:2], *titles, *told.aliases, *rest])
    return tuple(alias for alias in found if alias != told.title)[: checks.MAX_ALIASES]


def _sections(told: Entry, entries: Sequence[Entry]) -> tuple[tuple[str, str], ...]:
    """The text's sections; one that it lacks comes from the next entry of its kind that has it."""
    have = dict(told.sections)
    for entry in entries:
        if entry.kind is told.kind:
            have = {**dict(entry.sections), **have}
    order = [name for name, _ in told.sections]
    return tuple((name, have[name]) for name in [*order, *(name for name in have if name not in order)])


def _union(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for items in lists for item in items))[: checks.MAX_LIST]


def _widest(entries: Sequence[Entry]) -> tuple[Track, str, str]:
    order = (Track.PROFILE, Track.PERSONAL, Track.DOMAIN, Track.PROJECT)
    widest = min(entries, key=lambda entry: order.index(entry.track))
    if widest.track is not Track.PROJECT:
        return widest.track, "", widest.domain
    if len({entry.project for entry in entries}) == 1:
        return Track.PROJECT, widest.project, widest.domain
    if widest.kind is Kind.PREFERENCE:
        return Track.PROFILE, "", widest.domain
    return Track.PERSONAL, "", widest.domain


def taken_wider(entries: Iterable[Entry], into: Entry) -> list[Entry]:
    """Of entries that are merged, those with a guard whose track is another than that of the merged one."""
    return [entry for entry in entries if entry.guard is not Guard.REMIND and not _at(entry, into.track, into.project)]


def _at(entry: Entry, track: Track, project: str) -> bool:
    return entry.track is track and entry.project == project


def _guard(entries: Sequence[Entry], track: Track, project: str) -> Guard:
    """The strictest guard of those on the track; without any the one that all have: nobody asked for it there."""
    order = (Guard.REMIND, Guard.HOLD, Guard.ASK, Guard.DENY)
    guards = {entry.guard for entry in entries}
    there = [entry.guard for entry in entries if _at(entry, track, project)]
    return max(there, key=order.index) if there else guards.pop() if len(guards) == 1 else Guard.REMIND
