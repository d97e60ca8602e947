"""Adds up signals: what the sum is, why, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import Invalid, Text
from ..model import Score, Signal, SignalKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Weights:
    """Weights by kind of signal, the two thresholds, and detectors that count for nothing (`rules/scoring.yaml`)."""

    kinds: Mapping[str, float]
    weak: float
    suggest: float
    stress: float
    rework_rounds: int
    quiet: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> Weights:
        """The weights in a rule file.

        Raises:
            Invalid: naming every fault.
        """
        kinds = rules.get("weights")
        faults = [
            Text("errors_entry.weight_number", name=kind.value)
            for kind in SignalKind
            if not isinstance(kinds, dict) or not isinstance(kinds.get(kind.value), (int, float))
        ]
        thresholds = rules.get("thresholds")
        faults += [
            Text("errors_entry.threshold_number", name=name)
            for name in ("suggest", "stress")
            if not isinstance(thresholds, dict) or not isinstance(thresholds.get(name), (int, float))
        ]
        if faults:
            raise Invalid(Text("errors_entry.scoring_fault"), Text("errors.restore_file"), faults)
        assert isinstance(kinds, dict) and isinstance(thresholds, dict)
        return cls(
            {str(kind): float(weight) for kind, weight in kinds.items()},
            float(rules.get("weak_share", 0.0)),
            float(thresholds["suggest"]),
            float(thresholds["stress"]),
            int(rules.get("rework_rounds", 2)),
            frozenset(map(str, rules.get("quiet") or ())),
        )

    def counts(self, detector: str) -> bool:
        """Whether what this detector finds counts at all."""
        return family(detector) not in self.quiet

    def of_signal(self, kind: SignalKind, strength: str = "strong") -> float:
        """The weight of one signal; a weak one counts by the share in the file."""
        return self.kinds[kind.value] * (1.0 if strength == "strong" else self.weak)


def family(detector: str) -> str:
    """A detector's name without the count at its end: `rework-3` is `rework`."""
    name, _, count = detector.rpartition("-")
    return name if name and count.isdigit() else detector


def score(signals: Iterable[Signal], weights: Weights, threshold: float | None = None) -> Score:
    """The score of a session or a draft.

    Each kind counts once, by its best signal: three corrections are one reason to keep something, and
    a correction of rework that was counted is the same reason.

    Args:
        threshold: the score from which to suggest, when the user's own differs from the file's.
    """
    best: dict[SignalKind, Signal] = {}
    more: dict[SignalKind, int] = {}
    given = list(signals)
    stated = {signal.turn for signal in given if signal.kind is SignalKind.PREFERENCE and signal.line}
    for signal in given:
        if signal.kind is SignalKind.CORRECTION and signal.turn in stated:
            continue  # one statement that corrects and asks for it to last is one reason
        more[signal.kind] = more.get(signal.kind, 0) + 1
        if signal.kind not in best or signal.weight > best[signal.kind].weight:
            best[signal.kind] = signal
    lines = []
    total = 0.0
    for kind in SignalKind:
        if kind in best:
            signal = best[kind]
            total += signal.weight
            others = f" (+{more[kind] - 1} more, counted once)" if more[kind] > 1 else ""
            lines.append(
                f"{signal.weight:g} {kind.value}: {signal.detector}, turn {signal.turn}: {signal.quote[:80]}{others}"
            )
    limit = weights.suggest if threshold is None else threshold
    return Score(total, total >= limit, total >= weights.stress, tuple(lines))


def of_kinds(kinds: Iterable[str], rules: Mapping[str, Any]) -> Score:
    """The score of a draft by the kinds of signals that it names; unknown names add nothing.

    Args:
        kinds: such as `rework`, `preference`.
        rules: the mapping of `rules/scoring.yaml`.

    Raises:
        Invalid: when the rules do not hold.
    """
    weights = Weights.of(rules)
    known = {kind.value: kind for kind in SignalKind}
    signals = [
        Signal(known[kind], weights.of_signal(known[kind]), 0, 0, "", "named in the draft")
        for kind in kinds
        if kind in known
    ]
    best = dict.fromkeys(signal.kind for signal in signals)
    lines = tuple(f"{weights.of_signal(kind):g} {kind.value}" for kind in best)
    total = score(signals, weights)
    return Score(total.total, total.suggest, total.stress, lines)
