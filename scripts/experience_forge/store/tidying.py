"""Gathers what a tidying goes by: entries, what the ledgers say of each, what each stands on today."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..core import clusters, codec, merging, pairs, tidy, tracks
from ..core.merging import Base
from ..core.tidy import Facts, Plan, Step
from ..errors import Refused, Text
from ..fast import signature
from ..model import Entry, Status, Track
from . import (
    backtest,
    condition_rules,
    config,
    effects,
    entries,
    files,
    freshness,
    journal,
    projects,
    relations,
    ruleset,
    sketches,
)
from .entries import Library, StoredEntry
from .home import Home

NEAREST = 12
"""Of a large library a changed entry is judged against so many near ones at once; the next plan judges all."""
RULES = ("tidy", "contradictions", "calibration")


@functools.cache
def rules() -> pairs.Rules:
    """The data that pairs are judged by."""
    return pairs.rules_of(*(ruleset.load(name) for name in RULES))


def rules_digest() -> str:
    """A digest of that data, under which what was worked out with it is kept."""
    body = json.dumps([ruleset.load(name) for name in RULES], sort_keys=True, default=str)
    return files.sha256(body.encode("utf-8"))[:16]


def lifetimes() -> tidy.Lifetimes:
    """How long entries of a kind last without a look."""
    return tidy.lifetimes_of(ruleset.load("lifetimes"), ruleset.load("grow"))


def plan(home: Home, library: Library, today: str) -> Plan:
    """The plan for the entries that a client may be given.

    Args:
        today: ISO date.
    """
    stored = library.deliverable()
    with without_collector():
        made_by, digests = rules_digest(), [one.sha256 for one in stored]
        found = sketches.of(home, stored, rules().contradictions.choices, made_by)
        known = facts(home, stored, today)
        acted = [one for one in stored if one.entry.id in known and known[one.entry.id].sessions]
        judged = relations.load(home, digests, made_by)
        before = dict(judged)
        made = tidy.plan(
            [one.entry for one in stored], found, known, rules(), lifetimes(), today, domains(acted), judged
        )
        if judged != before:
            relations.save(home, digests, made_by, judged)
    keep_contradictions(home, made)
    return made


def keep_contradictions(home: Home, found: Plan) -> None:
    """Write `derived/contradictions.json`: for each entry the ones it contradicts and which of them wins for now."""
    pairs_of: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for step in found.steps:
        if step.kind == "contradiction":
            one, other = step.entries
            wins = str(step.values["wins"])
            pairs_of[one].append((other, wins))
            pairs_of[other].append((one, wins))
    _keep(home, pairs_of)


def catch_up(home: Home) -> dict[str, Any]:
    """Keep what tidying goes by ready, after the library changed: for the worker, so that a plan starts at once.

    Returns:
        `planned` (whether there was something to do) and `changed` (whether contradictions are others now).
    """
    mark = home.derived / "planned.json"
    seq = max((int(r["seq"]) for r in journal.read(home) if r.get("what") in ("change", "revoked", "proof")), default=0)
    try:
        if json.loads(files.read_text(mark)) == seq:
            return {"planned": False, "changed": False}
    except (FileNotFoundError, Refused, ValueError):
        pass
    before = conflicts(home)
    plan(home, entries.load_all(home), journal.now()[:10])
    files.write_text(mark, json.dumps(seq))
    return {"planned": True, "changed": conflicts(home) != before}


def conflicts(home: Home) -> dict[str, list[tuple[str, str]]]:
    """For each entry the ones that it contradicts, as it was found last: their ids, and which of the two counts."""
    return _contradictions(home)


def keep_up(home: Home, changed: Sequence[str]) -> None:
    """Bring the contradictions of these entries up to date, so that deliveries say so at once.

    Args:
        changed: ids of entries that were written, or taken away.
    """
    _keep(home, _renewed(home, changed, entries.load_all(home).deliverable()))


def expected(home: Home, changed: Mapping[str, Entry | None]) -> dict[str, list[tuple[str, str]]]:
    """What `conflicts` would be once these entries are so (None: not there any more); nothing is written."""
    stored = [one for one in entries.load_all(home).deliverable() if one.entry.id not in changed]
    for entry in changed.values():
        if entry is not None and entry.status is Status.ACTIVE:
            stored.append(StoredEntry(entry, home.entries, "", files.sha256(codec.render(entry).encode("utf-8"))))
    return _renewed(home, list(changed), stored)


def _renewed(home: Home, changed: Sequence[str], stored: Sequence[StoredEntry]) -> dict[str, list[tuple[str, str]]]:
    """The conflicts as they were found last, with those of the changed entries found anew among `stored`."""
    kept = {
        name: [pair for pair in others if pair[0] not in changed]
        for name, others in conflicts(home).items() if name not in changed
    }
    for one in stored:
        if one.entry.id in changed:
            for other in _contradicted(home, one.entry, stored):
                winner = tidy.narrower(one.entry, other)
                wins = winner.id if winner else "-"
                kept.setdefault(one.entry.id, []).append((other.id, wins))
                if other.id not in changed:
                    kept.setdefault(other.id, []).append((one.entry.id, wins))
    return {name: others for name, others in kept.items() if others}


def _contradicted(home: Home, entry: Entry, stored: Sequence[StoredEntry]) -> list[Entry]:
    others = [one.entry for one in stored if one.entry.id != entry.id]
    if len(others) > clusters.ALL_PAIRS:
        found = sketches.of(home, stored, rules().contradictions.choices, rules_digest())
        near_by = tidy.near(entry, [one.entry for one in stored], found, rules(), NEAREST)
        return [other for other, relation in near_by if relation.what == pairs.CONTRADICTION]
    judge = pairs.Judge([entry, *others], rules())
    return [other for place, other in enumerate(others, 1) if judge.relation(0, place).what == pairs.CONTRADICTION]


def _contradictions(home: Home) -> dict[str, list[tuple[str, str]]]:
    try:
        data = json.loads(files.read_text(home.derived / "contradictions.json"))
        return {name: [(str(one["with"]), str(one["wins"])) for one in found] for name, found in data.items()}
    except (FileNotFoundError, Refused, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _keep(home: Home, found: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    path = home.derived / "contradictions.json"
    if found or path.exists():
        document = {name: [{"with": other, "wins": wins} for other, wins in others] for name, others in found.items()}
        with contextlib.suppress(Refused):
            files.write_text(path, json.dumps(document, ensure_ascii=False))


def near(home: Home, entry: Entry, count: int) -> list[dict[str, Any]]:
    """The entries nearest to a new one, each with what the two are to each other."""
    stored = entries.load_all(home).deliverable()
    found = sketches.of(home, stored, rules().contradictions.choices, rules_digest())
    return [
        {"id": other.id, "title": other.title, "rule": other.rule, "track": other.track.value,
         "share": round(relation.share, 2), "where": "entries", "relation": relation.what,
         "apart": dict(relation.apart)}
        for other, relation in tidy.near(entry, [one.entry for one in stored], found, rules(), count)
    ]


def facts(home: Home, stored: Sequence[StoredEntry], today: str) -> dict[str, Facts]:
    """What ledgers and files say of each entry; those of which nothing is known are left out."""
    matched: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for ledger in effects.ledgers(home):
        for chance in ledger.opportunities:
            matched[chance.entry].append((chance.at[:10], ledger.session))
        for shown in ledger.exposures:
            matched[shown.entry].append((shown.at[:10], ledger.session))
    tallies = effects.tallies(home)
    where = _places(home)
    roots = {project_id: project.root for project in projects.all(home) for project_id in project.ids}
    found = {}
    for one in stored:
        own = sorted(set(matched.get(one.entry.id, ())))
        tally = tallies.get((one.entry.id, one.sha256))
        drift = _drift(home, one.entry, roots, today)
        if not own and tally is None and not drift[0]:
            continue
        sessions = frozenset(session for _, session in own)
        places = Counter(where[session] for session in sessions if session in where)
        found[one.entry.id] = Facts(
            own[-1][0] if own else "", len(own), dict(places), sessions, drift,
            tally.helps if tally else 1.0, tally.hurts if tally else 1.0,
        )
    return found


def base_of(home: Home, entry_id: str) -> Base:
    """An entry whose bytes are confirmed, as a base for a change.

    Raises:
        Refused: when there is none, or its bytes are others than were confirmed.
    """
    stored = entries.get(home, entry_id)
    if stored.state in ("edited", "unconfirmed"):
        raise Refused(
            Text("errors.other_bytes", id=entry_id),
            Text("errors.other_bytes_hint"),
        )
    return Base(stored.entry, stored.key, stored.sha256)


def merged(home: Home, ids: Sequence[str], text: Entry | None = None) -> tuple[list[Base], Entry]:
    """The entry that several become, checked to fire wherever one of them fired in the kept sessions.

    Raises:
        Refused: when it would not, when one of them is not active, or when they can't be one.
    """
    bases = [base_of(home, entry_id) for entry_id in dict.fromkeys(ids)]
    if len(bases) < 2:
        raise Refused(Text("errors_store.merge_two"), Text("errors_store.merge_two_hint"))
    for base in bases:
        if base.entry.status is not Status.ACTIVE:
            status = Text(f"errors.status_{base.entry.status.value}")
            what = Text("errors_store.merge_status", id=base.entry.id, status=status)
            raise Refused(what, Text("errors_store.merge_active"))
    entry = merging.merged([base.entry for base in bases], _free_id(home, bases[0].entry.id), journal.now()[:10], text)
    codec.parse(codec.render(entry))
    lost = lost_fires(home, [base.entry for base in bases], entry)
    if lost:
        raise Refused(Text("errors_store.merge_silent"), Text("errors_store.merge_silent_hint"), lost)
    return bases, entry


def unlike(entries_: Sequence[Entry]) -> list[tuple[str, str, pairs.Relation]]:
    """Pairs among entries that are to be merged and that we would not call the same, each with what it is.

    Raises:
        Refused: when the errors of two of them differ: those are two cases, however alike they read.
    """
    judge = pairs.Judge(entries_, rules())
    found = []
    for other in range(1, len(entries_)):
        for one in range(other):
            relation = judge.relation(one, other)
            names = entries_[one].id, entries_[other].id
            if "error" in relation.apart or _errors_apart(entries_[one], entries_[other]):
                raise Refused(Text("errors_tidy.errors_differ", one=names[0], other=names[1]),
                              Text("errors_tidy.errors_differ_hint"))
            if relation.what != pairs.SAME:
                found.append((*names, relation))
    return found


def _errors_apart(one: Entry, other: Entry) -> bool:
    """Whether each is known by errors of which none has half its words in one of the other's."""
    mine, theirs = ([set(signature.words(c.error)) for c in entry.applies_when if c.error] for entry in (one, other))
    return bool(mine and theirs) and not any(
        len(a & b) * 2 >= min(len(a), len(b)) for a in mine for b in theirs)


def lost_fires(home: Home, parents: Sequence[Entry], entry: Entry) -> list[Text]:
    """Places in the kept sessions where a parent's trigger fires and the merged entry's does not."""
    after = _fires(home, entry)
    return [Text("errors_store.merge_lost", id=parent.id, session=session, line=line) for parent in parents
            for session, line in sorted(_fires(home, parent) - after)]


def _fires(home: Home, entry: Entry) -> set[tuple[str, int]]:
    from ..core import backtest as replay
    from ..core import conditions

    folder = backtest.folder(home)
    if not entry.applies_when or not folder.is_dir():
        return set()
    trigger = replay.side(conditions.matchers(entry.applies_when, condition_rules.weights()))
    found = set()
    for path in sorted(folder.glob("*.jsonl")):
        try:
            data = files.read_bytes(path)
        except (OSError, Refused):
            continue
        found |= {(path.stem, step.line) for step in trigger.hits(data)}
    return found


def _free_id(home: Home, first: str) -> str:
    known = {path.stem for path in home.entries.rglob("*.md")}
    stem = re.sub(r"(-merged(-\d+)?)+$", "", first)[:52].rstrip("-")
    for number in range(1, 1000):
        wanted = f"{stem}-merged" if number == 1 else f"{stem}-merged-{number}"
        if wanted not in known:
            return wanted
    raise Refused(Text("errors_store.merges_full", id=first), Text("errors_store.undo_some"))


def domains(stored: Sequence[StoredEntry]) -> dict[str, str]:
    """The domain of each entry's words, by id, of those that state none."""
    known = tracks.rules_of(ruleset.load("tracks"), config.load().get("domains"))
    return {one.entry.id: tracks.domain_of(one.entry, known) for one in stored if not one.entry.domain}


def _places(home: Home) -> dict[str, str]:
    """The project of each kept session, by the folder that its history names."""
    known = [(project.root, project.id) for project in projects.all(home) if project.root]
    found = {}
    folder = backtest.folder(home)
    for path in folder.glob("*.jsonl") if folder.is_dir() else ():
        cwd = _cwd(path)
        if cwd:
            inside = [(len(root), project_id) for root, project_id in known
                      if cwd == root or cwd.startswith(root.rstrip("/\\") + os.sep)]
            found[path.stem] = max(inside)[1] if inside else cwd
    return found


def _cwd(path: Any) -> str:
    try:
        with open(path, "rb") as file:
            head = json.loads(file.readline(65536))
        return str(head.get("cwd", "")) if isinstance(head, Mapping) else ""
    except (OSError, ValueError):
        return ""


def _drift(home: Home, entry: Entry, roots: Mapping[str, str], today: str) -> tuple[str, str]:
    if not entry.cites and not entry.versions:
        return "", ""
    folder = roots.get(entry.project, "") if entry.track is Track.PROJECT else os.getcwd()
    if not folder or not os.path.isdir(folder):
        return "", ""
    state, reason, detail, _ = freshness.state(home, entry, folder, today, entry.project)
    return (reason, detail) if state == "drifted" and reason != "review" else ("", "")


@contextmanager
def without_collector() -> Iterator[None]:
    """Keep Python's cycle collector off while many small objects are made."""
    # Hundreds of thousands of small tuples make the collector run over all entries again and again.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # What was made is held until the command ends: looking through it again finds nothing.
            gc.freeze()
            gc.enable()


def step_of(found: Plan, step_id: str) -> Step:
    """One step by its id.

    Raises:
        Refused: when the plan has none of that id.
    """
    for step in found.steps:
        if step.id == step_id:
            return step
    raise Refused(Text("errors_store.no_step", step=step_id), Text("errors_store.no_step_hint"))


