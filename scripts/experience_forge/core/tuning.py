"""Counts of what users made of suggestions and drafts, changes of rules that follow, and tuning laid over rules."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

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
    revoked = set()
    records = list(journal)
    for record in records:
        if record.get("what") == "revoked":
            revoked.add(record.get("of"))
    for record in records:
        if record.get("what") == "change" and record.get("change") == "draft" and record.get("seq") not in revoked:
            outcome = "edited" if record.get("edited") else "accepted"
        elif record.get("what") == "discard" and record.get("change") in ("draft", None):
            outcome = "discarded"
        else:
            continue
        for name in set(record.get(what, ())):
            counts[str(name)][outcome] += 1
    for session in ledgers if what == "signals" else ():
        for kinds, outcome in suggestions(session):
            for name in kinds:
                counts[name][outcome] += 1
    return {name: Tally(dict(found)) for name, found in sorted(counts.items())}


def suggestions(records: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[str, ...], str]]:
    """The suggestions of one session, each with its kinds of signals and what became of it."""
    found: list[tuple[tuple[str, ...], str]] = []
    for number, record in enumerate(records):
        if record.get("what") == "suggestion":
            later = [r for r in records[number + 1:] if r.get("what") == "answer"]
            answer = str(later[0].get("answer", "")) if later else ""
            outcome = {"yes": "accepted", "no": "discarded"}.get(answer, "ignored")
            found.append((tuple(str(kind) for kind in record.get("kinds", ())), outcome))
    return found


def proposed(found: Mapping[str, Tally], weights: Mapping[str, float], rules: Mapping[str, Any]) -> dict[str, float]:
    """New weights by signal kind, only of those that the counts speak against."""
    changed = {}
    for kind, weight in weights.items():
        tally = found.get(kind, Tally())
        low = tally.answered >= rules["least"] and tally.interval[1] < rules["low"]
        if low and weight - rules["step"] >= rules["floor"]:
            changed[kind] = weight - rules["step"]
    return changed


def rescored(
    sessions: Iterable[tuple[Sequence[str], str]], before: Mapping[str, float], after: Mapping[str, float], limit: float
) -> dict[str, int]:
    """How many past sessions would have brought a suggestion, before and after, and how many accepted ones stay.

    Args:
        sessions: kinds of signals of each, and what became of its suggestion (empty: none was made).
        limit: the score from which to suggest.
    """
    counts = {"sessions": 0, "before": 0, "after": 0, "accepted": 0, "kept": 0}
    for kinds, outcome in sessions:
        was = outcome != "" or sum(before.get(kind, 0.0) for kind in set(kinds)) >= limit
        now = sum(after.get(kind, 0.0) for kind in set(kinds)) >= limit
        counts["sessions"] += 1
        counts["before"] += was
        counts["after"] += now
        counts["accepted"] += outcome == "accepted"
        counts["kept"] += outcome == "accepted" and now
    return counts


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
