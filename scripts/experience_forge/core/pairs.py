"""What two entries are to each other: the same, contradicting, siblings, near, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..fast import signature
from ..model import Entry
from . import contradictions, similarity
from .contradictions import Contradiction, Stance
from .similarity import Shape

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
        similarity.rules_of(tidy, stances["choices"]), contradictions.rules_of(stances), signature.background(everyday)
    )


class Judge:
    """Judges pairs of a fixed set of entries; shapes and stances are made when they are asked for.

    Args:
        words: the words of each entry, when they are known already.
    """

    def __init__(self, entries: Sequence[Entry], rules: Rules, words: Sequence[Iterable[str]] | None = None) -> None:
        self.entries = tuple(entries)
        self.rules = rules
        self._shapes: dict[int, Shape] = {}
        self._stances: dict[int, Stance] = {}
        sets = words if words is not None else [self.shape(place).words for place in range(len(self.entries))]
        self.weights = similarity.Weights(sets, rules.background)

    def shape(self, place: int) -> Shape:
        """What is compared of one entry, by its place."""
        if place not in self._shapes:
            self._shapes[place] = similarity.shape_of(self.entries[place], self.rules.similarity)
        return self._shapes[place]

    def relation(self, one: int, other: int) -> Relation:
        """What two entries, by their places, are to each other."""
        a, b = self.shape(one), self.shape(other)
        share = similarity.share(a, b, self.weights)
        trigger = similarity.trigger_shared(a, b)
        if share < self.rules.similarity.near / 2 and not trigger:
            return Relation(OTHER, share, {})
        apart = similarity.apart(a, b)
        clash = contradictions.between(
            self.entries[one], self.entries[other], self._stance(one), self._stance(other),
            share=share, trigger=trigger, apart=apart,
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
