"""The plan of a tidying: merges, contradictions, outdated entries, reviews, moves, skills to grow.

Each step has an id, a reason and its evidence, and does nothing by itself: a step becomes a proposal,
and a person confirms it.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..model import Entry, Guard, Kind, Status, Track
from . import clusters, growing, pairs
from .clusters import Pair, Sketches
from .eprocess import CLAIM

KINDS: Final = ("merge", "contradiction", "outdated", "review", "widen", "narrow", "grow")
"""Kinds of steps, in the order in which they are shown."""


@dataclass(frozen=True)
class Facts:
    """What is known of one entry besides its text.

    `last` is the ISO date of its last match, empty when it never matched; `places` counts matches by
    project; `sessions` are those in which it acted; `drift` is (reason, detail) when what it stands on
    changed; `helps` and `hurts` are e-values.
    """

    last: str = ""
    matches: int = 0
    places: Mapping[str, int] = field(default_factory=dict)
    sessions: frozenset[str] = frozenset()
    drift: tuple[str, str] = ("", "")
    helps: float = 1.0
    hurts: float = 1.0


@dataclass(frozen=True)
class Lifetimes:
    """Data of `rules/lifetimes.yaml`."""

    days: Mapping[str, int]
    shown: int
    general: tuple[str, ...]
    narrow_matches: int
    grow_entries: int
    grow_sessions: int
    grow_rules: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One step: `reason` names a message `tidy.reason_<reason>` with `values`; `evidence` are lines to show.

    `observed` holds (id, times, sessions) of entries that were only observed.
    """

    id: str
    kind: str
    entries: tuple[str, ...]
    reason: str
    values: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    observed: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True)
class Plan:
    """All steps, and how many reviews are due beyond those shown."""

    steps: tuple[Step, ...]
    more_reviews: int = 0
    compared: int = 0


def lifetimes_of(data: Mapping[str, Any], grow: Mapping[str, Any] | None = None) -> Lifetimes:
    """From the data of `rules/lifetimes.yaml`, and of `rules/grow.yaml` for what entries become."""
    general = tuple(str(word).lower() for words in data["general"].values() for word in words)
    days = {str(kind): int(days) for kind, days in data["days"].items()}
    return Lifetimes(days, int(data["shown"]), general, int(data["narrow_matches"]), int(data["grow_entries"]),
                     int(data["grow_sessions"]), grow or {})


def plan(
    entries: Sequence[Entry],
    sketches: Sketches,
    facts: Mapping[str, Facts],
    rules: pairs.Rules,
    lifetimes: Lifetimes,
    today: str,
    domains: Mapping[str, str] | None = None,
    known: MutableMapping[Pair, pairs.Relation] | None = None,
) -> Plan:
    """The plan for all active entries of a library.

    Args:
        sketches: those of the entries, in their order.
        facts: by id; an entry without any counts as never matched.
        today: ISO date.
        domains: the domain that each entry's words belong to, by id, where it states none.
        known: relations that were judged before, by place; those judged now are put in, all others taken out.
    """
    judge = pairs.Judge(entries, rules, sketches.count_by_word(), sketches.words_of)
    candidates = clusters.candidates(sketches)
    same: dict[Pair, float] = {}
    clashes: dict[Pair, pairs.Relation] = {}
    earlier = dict(known or {})
    if known is not None:
        known.clear()
    for pair in candidates:
        relation = earlier.get(pair) or judge.relation(*pair)
        if known is not None:
            known[pair] = relation
        if relation.what == pairs.SAME:
            same[pair] = relation.share
        elif relation.what == pairs.CONTRADICTION:
            clashes[pair] = relation
    steps = [*_merges(judge, same, clashes), *_contradictions(judge, clashes)]
    merged = {entry_id for step in steps for entry_id in step.entries if step.kind == "merge"}
    outdated = _outdated(entries, facts)
    gone = {step.entries[0] for step in outdated}
    reviews = _reviews([e for e in entries if e.id not in gone], facts, lifetimes, today)
    steps += [*outdated, *reviews[: lifetimes.shown]]
    free = [entry for entry in entries if entry.id not in merged | gone]
    steps += [*_widen(free, lifetimes), *_narrow(free, facts, lifetimes)]
    steps += _grow(free, facts, lifetimes, domains or {})
    steps.sort(key=lambda step: KINDS.index(step.kind))
    return Plan(tuple(steps), max(0, len(reviews) - lifetimes.shown), len(candidates))


def near(
    entry: Entry, others: Sequence[Entry], sketches: Sketches, rules: pairs.Rules, count: int
) -> list[tuple[Entry, pairs.Relation]]:
    """At most `count` entries nearest to a new one, each with what they are to each other."""
    own = clusters.sketch_of(entry, rules.contradictions.choices)
    numbers = {number for number, word in enumerate(sketches.vocabulary) if word in own.words}
    keys = {*own.triggers, *own.choices}

    def nearness(place: int) -> tuple[int, str]:
        common = len(numbers.intersection(sketches.words[place]))
        shared = len(keys.intersection((*sketches.triggers[place], *sketches.choices[place])))
        return -common - 3 * shared, others[place].id

    rough = sorted(range(len(others)), key=nearness)[: 10 * count]
    chosen = [others[place] for place in rough if others[place].id != entry.id]
    judge = pairs.Judge([entry, *chosen], rules)
    found = [(other, judge.relation(0, number)) for number, other in enumerate(chosen, 1)]
    kept = [(other, relation) for other, relation in found if relation.what != pairs.OTHER]
    order = (pairs.SAME, pairs.CONTRADICTION, pairs.NEAR, pairs.SIBLING)
    return sorted(kept, key=lambda item: (order.index(item[1].what), -item[1].share, item[0].id))[:count]


def step_id(kind: str, entries: Iterable[str]) -> str:
    """The id of a step: the same as long as kind and entries are."""
    names = sorted(entries)
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:6]
    return f"{kind}-{names[0][:40]}-{digest}"


def _merges(judge: pairs.Judge, same: Mapping[Pair, float], clashes: Mapping[Pair, Any]) -> list[Step]:
    def may_join(one: int, other: int) -> bool:
        pair = (min(one, other), max(one, other))
        return pair in same or (pair not in clashes and judge.relation(*pair).what in (pairs.NEAR, pairs.OTHER))

    steps = []
    for group in clusters.clusters(same, judge.rules.similarity.cluster_most, may_join):
        entries = [judge.entries[place] for place in group]
        ids = tuple(entry.id for entry in entries)
        shares = [same[min(group[0], place), max(group[0], place)] for place in group[1:]]
        projects = {entry.project for entry in entries if entry.project}
        kind, reason = ("widen", "alike_in_projects") if len(projects) > 1 else ("merge", "same")
        lines = tuple(f"{entry.id}: {entry.title}" for entry in entries)
        values = {"count": len(ids), "share": round(min(shares), 2), "projects": len(projects)}
        steps.append(Step(step_id(kind, ids), kind, ids, reason, values, lines, counted(entries)))
    return steps


def counted(entries: Sequence[Entry]) -> tuple[tuple[str, int, int], ...]:
    """Of entries that were only observed: id, how often and in how many sessions."""
    return tuple((entry.id, *entry.seen) for entry in entries if entry.origin == "observed")


def _contradictions(judge: pairs.Judge, clashes: Mapping[Pair, pairs.Relation]) -> list[Step]:
    steps = []
    for (one, other), relation in sorted(clashes.items()):
        clash = relation.contradiction
        if clash is None:
            continue
        a, b = judge.entries[one], judge.entries[other]
        wins = narrower(a, b)
        values = {"class": clash.what, "one": clash.one, "other": clash.other, "wins": wins.id if wins else "-"}
        lines = tuple(f"{e.id} ({_place(e)}): {e.rule}" for e in (a, b))
        reason = "contradiction_scopes" if wins else "contradiction"
        steps.append(Step(step_id("contradiction", (a.id, b.id)), "contradiction", (a.id, b.id), reason, values, lines))
    return steps


def _place(entry: Entry) -> str:
    guard = "" if entry.guard is Guard.REMIND else f", {entry.guard.value}"
    return f"{entry.track.value}{guard}"


def narrower(one: Entry, other: Entry) -> Entry | None:
    """The one of two entries with the narrower scope, which wins until the user decides; None when equal."""
    order = (Track.PROJECT, Track.DOMAIN, Track.PERSONAL, Track.PROFILE)
    first, second = order.index(one.track), order.index(other.track)
    return None if first == second else one if first < second else other


def _outdated(entries: Iterable[Entry], facts: Mapping[str, Facts]) -> list[Step]:
    steps = []
    for entry in entries:
        own = facts.get(entry.id, Facts())
        reason, detail = own.drift
        if own.hurts >= CLAIM:
            reason, detail = "hurts", f"E = {own.hurts:.0f}"
        if reason in ("gone", "changed", "version", "hurts"):
            steps.append(Step(step_id("outdated", [entry.id]), "outdated", (entry.id,), f"outdated_{reason}",
                              {"detail": detail, "title": entry.title}, (f"{entry.id}: {entry.title}", detail)))
    return steps


def _reviews(entries: Iterable[Entry], facts: Mapping[str, Facts], lifetimes: Lifetimes, today: str) -> list[Step]:
    due = []
    none = Facts()
    for entry in entries:
        if entry.pinned or entry.guard is not Guard.REMIND:
            continue
        if entry.review and entry.review <= today:
            due.append((entry.review, entry, "review_date", 0))
            continue
        since = max(facts.get(entry.id, none).last, entry.updated, entry.created)[:10]
        # Dates compare as texts: reading 10,000 of them takes longer than everything else here.
        if since and since < _cutoff(_lifetime(entry, lifetimes), today) and not entry.review > today:
            passed = _days(since, today)
            due.append((since, entry, "review_unused", passed))
    due.sort(key=lambda item: (item[0], item[1].id))
    return [
        Step(step_id("review", [entry.id]), "review", (entry.id,), reason,
             {"since": since, "days": passed, "title": entry.title}, (f"{entry.id}: {entry.title}",))
        for since, entry, reason, passed in due
    ]


def _lifetime(entry: Entry, lifetimes: Lifetimes) -> int:
    days = lifetimes.days.get(entry.kind.value, 0)
    project = lifetimes.days.get("project", 0) if entry.track is Track.PROJECT else 0
    if entry.kind is Kind.PREFERENCE:
        return project
    return min(days, project) if days and project else days or project


@functools.lru_cache(maxsize=64)
def _cutoff(days: int, today: str) -> str:
    """The ISO date before which an entry that lasts so many days is due; empty when it lasts for ever."""
    if not days:
        return ""
    return (datetime.date.fromisoformat(today) - datetime.timedelta(days=days)).isoformat()


def _days(since: str, today: str) -> int:
    try:
        return (datetime.date.fromisoformat(today) - datetime.date.fromisoformat(since[:10])).days
    except ValueError:
        return 0


def _widen(entries: Iterable[Entry], lifetimes: Lifetimes) -> list[Step]:
    steps = []
    for entry in entries:
        if entry.track is not Track.PROJECT or entry.origin != "stated":
            continue
        said = "\n".join((entry.rule, *(source.quote for source in entry.sources))).lower()
        hint = next((word for word in lifetimes.general if word in said), "")
        if hint:
            steps.append(Step(step_id("widen", [entry.id]), "widen", (entry.id,), "said_general",
                              {"hint": hint, "title": entry.title}, (f"{entry.id}: {entry.rule}",)))
    return steps


def _narrow(entries: Iterable[Entry], facts: Mapping[str, Facts], lifetimes: Lifetimes) -> list[Step]:
    projects = {place for own in facts.values() for place in own.places}
    steps = []
    for entry in entries:
        own = facts.get(entry.id, Facts())
        if entry.track in (Track.PROJECT, Track.PROFILE) or len(projects) < 2 or len(own.places) != 1:
            continue
        place, count = next(iter(own.places.items()))
        if count >= lifetimes.narrow_matches and not entry.pinned:
            values = {"project": place, "count": count, "title": entry.title}
            lines = (f"{entry.id}: {entry.title}",)
            steps.append(Step(step_id("narrow", [entry.id]), "narrow", (entry.id,), "one_project", values, lines))
    return steps


def _grow(
    entries: Iterable[Entry], facts: Mapping[str, Facts], lifetimes: Lifetimes, domains: Mapping[str, str]
) -> list[Step]:
    by_domain: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        domain = entry.domain or domains.get(entry.id, "")
        if domain and entry.status is Status.ACTIVE and entry.track is not Track.PROJECT:
            by_domain[domain].append(entry)
    steps = []
    for domain, mine in sorted(by_domain.items()):
        group = together(mine, facts, lifetimes.grow_sessions)
        if len(group) >= lifetimes.grow_entries:
            ids = tuple(entry.id for entry in group)
            sessions = len(frozenset().union(*(facts[entry_id].sessions for entry_id in ids)))
            form = growing.form_of(group, lifetimes.grow_rules) if lifetimes.grow_rules else "skill"
            steps.append(Step(step_id("grow", [domain]), "grow", ids, f"act_together_{form}",
                              {"domain": domain, "count": len(ids), "sessions": sessions, "form": form},
                              tuple(f"{entry.id}: {entry.title}" for entry in group)))
    return steps


def together(entries: Sequence[Entry], facts: Mapping[str, Facts], least: int) -> list[Entry]:
    """The largest group around one entry of those that acted with it in at least `least` sessions."""
    best: list[Entry] = []
    for centre in entries:
        own = facts.get(centre.id, Facts()).sessions
        if len(own) < least:
            continue
        near_by = [e for e in entries if e.id == centre.id or len(own & facts.get(e.id, Facts()).sessions) >= least]
        if len(near_by) > len(best):
            best = near_by
    return best
