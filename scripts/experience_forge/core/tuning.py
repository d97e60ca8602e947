"""Counts of what users made of suggestions and drafts, changes of rules that follow, and tuning laid over rules."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from . import drafts, scoring

Z: Final = 1.96
"""Normal quantile of a 95 % interval."""
OUTCOMES: Final = ("accepted", "edited", "discarded", "ignored")


@dataclass(frozen=True)
class Tally:
    """What became of suggestions and drafts with one signal (or detector)."""

    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def answered(self) -> int:
        """Those that a person decided on; silence is counted beside them, and judged as nothing."""
        return sum(self.counts.get(name, 0) for name in ("accepted", "edited", "discarded"))

    @property
    def taken(self) -> int:
        """Those that were saved, as they were or edited."""
        return self.counts.get("accepted", 0) + self.counts.get("edited", 0)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval (Wilson) of the share that was taken; 0 to 1 without any."""
        return wilson(self.taken, self.answered)


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's score."""
    if not total:
        return 0.0, 1.0
    share = hits / total
    centre = share + Z * Z / (2 * total)
    spread = Z * math.sqrt(share * (1 - share) / total + Z * Z / (4 * total * total))
    scale = 1 + Z * Z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def tallies(
    journal: Iterable[Mapping[str, Any]], ledgers: Iterable[Sequence[Mapping[str, Any]]], what: str = "signals"
) -> dict[str, Tally]:
    """Tallies by signal kind, or by detector with `what="detectors"`.

    Args:
        journal: its records: drafts that were confirmed, drafts that were discarded.
        ledgers: the records of each session: a suggestion and its answer.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record, outcome in decided(journal):
        for name in set(record.get(what, ())):
            counts[str(name)][outcome] += 1
    for session in ledgers:
        for found, outcome in suggestions(session):
            for name in {one.kind if what == "signals" else one.detector for one in found} - {""}:
                counts[name][outcome] += 1
    return {name: Tally(dict(found)) for name, found in sorted(counts.items())}


def decided(journal: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The journal's decisions on drafts, each with its outcome; those that were revoked are left out."""
    records = list(journal)
    revoked = {record.get("of") for record in records if record.get("what") == "revoked"}
    for record in records:
        if record.get("what") == "change" and record.get("change") == "draft" and record.get("seq") not in revoked:
            yield record, "edited" if record.get("edited") else "accepted"
        elif record.get("what") == "discard" and record.get("change") in ("draft", None):
            yield record, "discarded"


def fields(journal: Iterable[Mapping[str, Any]]) -> dict[str, Tally]:
    """Tallies by field and section of confirmed drafts: as it was, edited, or taken out (`discarded`)."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record, outcome in decided(journal):
        if outcome == "discarded":
            continue
        emptied, changed = set(record.get("emptied", ())), set(record.get("changed", ()))
        for name in {*map(str, record.get("fields", ())), *map(str, emptied)}:
            counts[name]["discarded" if name in emptied else "edited" if name in changed else "accepted"] += 1
    return {name: Tally(dict(found)) for name, found in sorted(counts.items())}


def reasons(journal: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Why drafts were discarded, in the user's words, the most frequent first."""
    said = (" ".join(str(r.get("reason", "")).lower().split()) for r, outcome in decided(journal)
            if outcome == "discarded")
    return dict(Counter(reason for reason in said if reason).most_common())


@dataclass(frozen=True)
class Found:
    """One signal of a past session, as far as it is known; `weak` ones count by their share."""

    kind: str
    detector: str = ""
    weak: bool = False


def suggestions(records: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[Found, ...], str]]:
    """The suggestions of one session, each with its signals and what became of it."""
    found: list[tuple[tuple[Found, ...], str]] = []
    for number, record in enumerate(records):
        if record.get("what") == "suggestion":
            later = [r for r in records[number + 1:] if r.get("what") == "answer"]
            answer = str(later[0].get("answer", "")) if later else ""
            # Who types the words of the skill has taken the offer up.
            outcome = {"yes": "accepted", "words": "accepted", "no": "discarded"}.get(answer, "ignored")
            found.append((_signals(record), outcome))
    return found


def _signals(record: Mapping[str, Any]) -> tuple[Found, ...]:
    told = [one for one in record.get("found", ()) if isinstance(one, list) and len(one) == 3]
    if told:
        return tuple(Found(str(kind), scoring.family(str(name)), how == "weak") for kind, name, how in told)
    return tuple(Found(str(kind)) for kind in record.get("kinds", ()))


def proposed(
    journal: Sequence[Mapping[str, Any]], ledgers: Sequence[Sequence[Mapping[str, Any]]],
    weights: Mapping[str, Any], rules: Mapping[str, Any],
) -> dict[str, Any]:
    """Values by dotted path that the counts speak for; empty when they speak for none.

    A detector that is nearly always declined is made quiet before its whole signal weighs less; the
    threshold rises when suggestions as a whole are declined; a field that is always taken out is left out.

    Args:
        weights: the data of `rules/scoring.yaml`.
        rules: the data of `rules/tuning.yaml`.
    """
    def declined(tally: Tally) -> bool:
        return tally.answered >= int(rules["least"]) and tally.interval[1] < float(rules["low"])

    def alone(kind: str, quiet: Collection[str]) -> Tally:
        """The tally of a kind without what the detectors that become quiet found."""
        return tallies(
            [r for r in journal if set(quiet).isdisjoint(r.get("detectors", ()))],
            [s for s in ledgers if not any(one.detector in quiet for found, _ in suggestions(s) for one in found)],
        ).get(kind, Tally())

    by_detector = tallies(journal, ledgers, "detectors")
    by_kind = tallies(journal, ledgers)
    quiet = {name for name, tally in by_detector.items() if declined(tally) and name not in weights["quiet"]}
    # One detector that does all the work of its signal: the signal weighs less, and others may still join it.
    quiet -= {name for name in quiet if any(
        tally.answered and not alone(kind, {name}).answered and declined(tally) for kind, tally in by_kind.items())}
    changed: dict[str, Any] = {"scoring.quiet": sorted({*weights["quiet"], *quiet})} if quiet else {}
    for kind, weight in weights["weights"].items():
        if declined(alone(kind, quiet)) and weight - rules["step"] >= rules["floor"]:
            changed[f"scoring.weights.{kind}"] = weight - rules["step"]
    offers = Tally(Counter(outcome for session in ledgers for _, outcome in suggestions(session)))
    limit = weights["thresholds"]["suggest"]
    if not changed and declined(offers) and limit + rules["step"] <= weights["thresholds"]["stress"]:
        changed["scoring.thresholds.suggest"] = limit + rules["step"]
    may = (*drafts.MAY_LACK, *drafts.MAY_BE_DASH)
    out = [name for name in always_emptied(journal, rules) if name in may and name not in rules["leave_out"]]
    if out:
        changed["tuning.leave_out"] = [*rules["leave_out"], *out]
    return changed


def always_emptied(journal: Iterable[Mapping[str, Any]], rules: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Fields that nearly all drafts that were edited lost, each with how often and of how many."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for record, outcome in decided(journal):
        if outcome == "edited":
            emptied = set(map(str, record.get("emptied", ())))
            for name in {*map(str, record.get("fields", ())), *emptied}:
                counts[name][0] += name in emptied
                counts[name][1] += 1
    return {name: (lost, had) for name, (lost, had) in sorted(counts.items())
            if had >= rules["emptied_least"] and lost >= rules["emptied_share"] * had}


def rescored(
    sessions: Iterable[tuple[Sequence[Found], str]], before: scoring.Weights, after: scoring.Weights, limit: float,
    then: float,
) -> dict[str, int]:
    """How many past sessions would have brought a suggestion, before and after, and how many accepted ones stay.

    Args:
        sessions: the signals of each, and what became of its suggestion (empty: none was made).
        before, after: the weights.
        limit, then: the score from which to suggest, before and after.
    """
    counts = {"sessions": 0, "before": 0, "after": 0, "accepted": 0, "kept": 0}
    for found, outcome in sessions:
        old, new = _sum(found, before), _sum(found, after)
        was = outcome != "" or old >= limit
        # What was said then, under whatever rules, is still said when the change takes nothing from it.
        now = new >= then or (outcome != "" and new >= old and then <= limit)
        counts["sessions"] += 1
        counts["before"] += was
        counts["after"] += now
        counts["accepted"] += outcome == "accepted"
        counts["kept"] += outcome == "accepted" and now
    return counts


def _sum(found: Iterable[Found], weights: scoring.Weights) -> float:
    best: dict[str, float] = {}
    for one in found:
        if weights.counts(one.detector):
            weight = weights.kinds.get(one.kind, 0.0) * (weights.weak if one.weak else 1.0)
            best[one.kind] = max(best.get(one.kind, 0.0), weight)
    return sum(best.values())


def laid_over(shipped: Mapping[str, Any], tuning: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Shipped rules with a user's tuning over them, and where both changed (there the tuning holds).

    Args:
        tuning: `values`, a tree of what the user set, and `base`, the same tree as it was shipped then.
    """
    conflicts: list[str] = []
    values, base = tuning.get("values") or {}, tuning.get("base") or {}
    return _merged(shipped, values, base, "", conflicts), conflicts


def _merged(shipped: Any, values: Any, base: Any, where: str, conflicts: list[str]) -> Any:
    if not isinstance(values, Mapping) or not isinstance(shipped, Mapping):
        if base != shipped and values != shipped:
            conflicts.append(f"{where}: shipped {base} -> {shipped}, yours {values}")
        return values
    result = dict(shipped)
    for name, value in values.items():
        old = base.get(name) if isinstance(base, Mapping) else None
        place = f"{where}.{name}" if where else str(name)
        result[name] = _merged(shipped.get(name), value, old, place, conflicts) if name in shipped else value
    return result


def tree_of(path: str, value: Any) -> dict[str, Any]:
    """A tree with one leaf from a dotted path, as in `weights.design`."""
    names = path.split(".")
    tree: Any = value
    for name in reversed(names):
        tree = {name: tree}
    return dict(tree)


def joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees as one; the second one's leaves count."""
    result = dict(one)
    for name, value in other.items():
        mine = result.get(name)
        result[name] = joined(mine, value) if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return result


def leaf(tree: Any, path: str) -> Any:
    """The value at a dotted path; None when there is none."""
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree
