"""What two entries are to each other: the same, contradicting, siblings, near, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..fast import signature
from ..model import Entry, Kind
from . import contradictions, similarity
from .contradictions import Contradiction, Stance
from .similarity import Shape

CASES = frozenset(("error", "number", "words", "names", "remedy", "path"))
"""What tells two cases apart, of which both may hold whatever is said of them."""

SAME, CONTRADICTION, SIBLING, NEAR, OTHER = "same", "contradiction", "sibling", "near", "other"


@dataclass(frozen=True)
class Relation:
    """What a pair is, its share of words (0 to 1), and what tells the two apart."""

    what: str
    share: float
    apart: Mapping[str, str]
    contradiction: Contradiction | None = None


@dataclass(frozen=True)
class Rules:
    """The data that pairs are judged by; `background` gives weights of everyday words."""

    similarity: similarity.Rules
    contradictions: contradictions.Rules
    background: Mapping[str, float]


def rules_of(tidy: Mapping[str, Any], stances: Mapping[str, Any], calibration: Mapping[str, Any]) -> Rules:
    """Rules from the data of `tidy.yaml`, `contradictions.yaml` and `calibration.yaml`."""
    everyday = [str(line) for name in ("errors", "prompts") for line in calibration[name]]
    return Rules(
        similarity.rules_of(tidy, stances), contradictions.rules_of(stances), signature.background(everyday)
    )


class Judge:
    """Judges pairs of a fixed set of entries; shapes and stances are made when they are asked for.

    Args:
        counts: how many of the entries hold each word, when that is known already.
        words: the words of an entry by its place, when they are known already.
    """

    def __init__(
        self, entries: Sequence[Entry], rules: Rules, counts: Mapping[str, int] | None = None,
        words: Callable[[int], frozenset[str]] | None = None,
    ) -> None:
        self.entries = tuple(entries)
        self.rules = rules
        self._words = words
        self._shapes: dict[int, Shape] = {}
        self._stances: dict[int, Stance] = {}
        if counts is None:
            counts = Counter(word for place in range(len(self.entries)) for word in self.shape(place).words)
        self.weights = similarity.Weights(counts, len(self.entries), rules.background)

    def shape(self, place: int) -> Shape:
        """What is compared of one entry, by its place."""
        if place not in self._shapes:
            known = self._words(place) if self._words else None
            self._shapes[place] = similarity.shape_of(self.entries[place], self.rules.similarity, known)
        return self._shapes[place]

    def relation(self, one: int, other: int) -> Relation:
        """What two entries, by their places, are to each other."""
        a, b = self.shape(one), self.shape(other)
        share = similarity.share(a, b, self.weights)
        trigger = similarity.trigger_shared(a, b)
        if share < self.rules.similarity.near / 2 and not trigger:
            return Relation(OTHER, share, {})
        apart = similarity.apart(a, b)
        clash = None
        if not (a.kind is b.kind is Kind.PITFALL) and CASES.isdisjoint(apart):
            clash = contradictions.between(
                self.entries[one], self.entries[other], self._stance(one), self._stance(other),
                self.rules.contradictions, share=share, trigger=trigger, apart=apart,
            )
        if clash is not None:
            return Relation(CONTRADICTION, share, apart, clash)
        if apart:
            return Relation(SIBLING if share >= self.rules.similarity.near else OTHER, share, apart)
        if similarity.same(a, b, share, self.rules.similarity):
            return Relation(SAME, share, {})
        return Relation(NEAR if share >= self.rules.similarity.near else OTHER, share, {})

    def _stance(self, place: int) -> Stance:
        if place not in self._stances:
            self._stances[place] = contradictions.stance_of(self.entries[place], self.rules.contradictions)
        return self._stances[place]
