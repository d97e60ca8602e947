"""Which pairs of a library are worth judging, and groups of entries that tell of the same thing.

Candidates come from an exact prefix-filter join over telling words, and from rare words, triggers and
choices that two entries have in common: a paraphrase shares few words, but it names the same case.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..fast import signature, tokens
from ..model import Entry, Kind
from . import similarity
from .word_groups import Groups

Pair = tuple[int, int]

VERSION: Final = 2
"""Raised when sketches change: those that are kept then count no more."""
ALL_PAIRS: Final = 160
"""Up to so many entries every pair is judged."""
JOIN: Final = 0.6
"""Jaccard over telling words from which the join names every pair."""
COMMON: Final = 0.01
"""A word that a larger share of the entries holds is no telling one, as a stop word is none."""
RARE: Final = 24
"""A word that more entries hold is a topic and no case: it leads to no candidates by itself."""
RAREST: Final = 14


@dataclass(frozen=True)
class Sketch:
    """What candidates are found by: words (each once, in their order), keys of triggers, groups of choices."""

    words: tuple[str, ...]
    triggers: tuple[str, ...]
    choices: tuple[str, ...]


class Numbers(dict[str, int]):
    """Numbers of words; one that was not met before gets the next."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class Sketches:
    """The sketches of a library, their words as numbers of one vocabulary.

    Args:
        vocabulary: the words by their numbers.
        words: the numbers of each entry's words.
        triggers, choices: of each entry, in the same order.
    """

    def __init__(
        self, vocabulary: Sequence[str], words: Sequence[Sequence[int]], triggers: Sequence[Sequence[str]],
        choices: Sequence[Sequence[str]],
    ) -> None:
        self.vocabulary, self.words, self.triggers, self.choices = vocabulary, words, triggers, choices
        self.counts = [0] * len(vocabulary)
        for own in words:
            for number in own:
                self.counts[number] += 1

    def __len__(self) -> int:
        return len(self.words)

    def words_of(self, place: int) -> frozenset[str]:
        """The words of one entry, by its place."""
        return frozenset([self.vocabulary[number] for number in self.words[place]])

    def count_by_word(self) -> dict[str, int]:
        """How many entries hold each word."""
        return dict(zip(self.vocabulary, self.counts, strict=True))


def sketch_of(entry: Entry, choices: Groups, known: dict[str, list[str]] | None = None) -> Sketch:
    """The sketch of an entry; it depends on nothing but the entry and the rules.

    Args:
        known: terms of words that were met before; new ones are put in.
    """
    words: list[str] = []
    for text in similarity.texts_of(entry).values():
        words += tokens.terms(text, known=known)
    shown = [c.error for c in entry.applies_when if c.error]
    errors = " ".join(sorted(set(signature.words(" ".join(shown))))) if shown else ""
    triggers = {f"c {similarity.program(c.command)}" for c in entry.applies_when if c.command}
    triggers |= {f"p {c.path}" for c in entry.applies_when if c.path}
    named = () if entry.kind is Kind.PITFALL else choices.find(f"{entry.title}\n{entry.rule}".lower())
    found = {*triggers, *([f"e {errors}"] if errors else ())}
    return Sketch(tuple(dict.fromkeys(words)), tuple(sorted(found)), tuple(sorted(named)))


def gathered(sketches: Sequence[Sketch]) -> Sketches:
    """Sketches with one vocabulary."""
    numbers = Numbers()
    words = [list(map(numbers.__getitem__, sketch.words)) for sketch in sketches]
    return Sketches(list(numbers), words, [s.triggers for s in sketches], [s.choices for s in sketches])


def candidates(sketches: Sketches) -> set[Pair]:
    """Pairs (smaller place first) worth judging; all of them in a small library."""
    count = len(sketches)
    if count <= ALL_PAIRS:
        return {(a, b) for b in range(count) for a in range(b)}
    shared, sizes, held = _ranked(sketches, max(RARE, int(COMMON * count)))
    found = join(shared, sizes, JOIN)
    found |= _by_rare_words(shared, held)
    found |= _by_key(sketches.triggers, RARE)
    return found | _by_key(sketches.choices, 2 * RARE)


def _ranked(sketches: Sketches, most: int) -> tuple[list[list[int]], list[int], list[int]]:
    """Telling words (in at most `most` entries) by their rank, rarest first.

    Returns for each entry those that others hold too, and how many telling ones it has in all; and
    for each rank how many entries hold the word.
    """
    counts = sketches.counts
    telling = sorted([number for number, held in enumerate(counts) if 1 < held <= most], key=counts.__getitem__)
    rank = [-1] * len(counts)
    for place, number in enumerate(telling):
        rank[number] = place
    once = bytes(held == 1 for held in counts)
    shared, sizes = [], []
    for words in sketches.words:
        own = [rank[number] for number in words if rank[number] >= 0]
        own.sort()
        shared.append(own)
        sizes.append(len(own) + sum([once[number] for number in words]))
    return shared, sizes, [counts[number] for number in telling]


def join(sets: Sequence[Sequence[int]], sizes: Sequence[int], least: float) -> set[Pair]:
    """All pairs whose Jaccard similarity is at least `least` (0 exclusive to 1): exact, by prefixes.

    Args:
        sets: sorted numbers of what others hold too, in one order, rarest first: of two sets that are
            similar the first of each have one in common.
        sizes: how many each has in all; those that nobody else holds come before all others.
    """
    order = sorted(range(len(sets)), key=lambda place: sizes[place])
    index: dict[int, list[int]] = defaultdict(list)
    found: set[Pair] = set()
    for place in order:
        words, size = sets[place], sizes[place]
        prefix = size - math.ceil(least * size) + 1 - (size - len(words))
        if prefix <= 0:
            continue
        near: set[int] = set()
        for word in words[:prefix]:
            places = index[word]
            near.update(places)
            places.append(place)
        own = set(words)
        for other in near:
            smaller = sizes[other]
            if smaller < least * size:
                continue
            common = len(own.intersection(sets[other]))
            if common >= least * (size + smaller - common):
                found.add((min(place, other), max(place, other)))
    return found


def _by_rare_words(sets: Sequence[Sequence[int]], counts: Sequence[int]) -> set[Pair]:
    holders: dict[int, list[int]] = defaultdict(list)
    found: set[Pair] = set()
    for place, own in enumerate(sets):
        once: set[int] = set()
        for number in own[:RAREST]:
            if counts[number] > RARE:
                break
            before = holders[number]
            found.update([(other, place) for other in once.intersection(before)])
            once.update(before)
            before.append(place)
    return found


def _by_key(keys: Sequence[Iterable[str]], most: int) -> set[Pair]:
    holders: dict[str, list[int]] = defaultdict(list)
    for place, own in enumerate(keys):
        for key in own:
            holders[key].append(place)
    return {pair for places in holders.values() if len(places) <= most for pair in _pairs(places)}


def _pairs(places: Sequence[int]) -> Iterator[Pair]:
    return ((a, b) for index, b in enumerate(places) for a in places[:index])


def clusters(same: Mapping[Pair, float], most: int, may_join: Callable[[int, int], bool]) -> list[list[int]]:
    """Groups of at most `most` places around a centre, which stands first; a place is in one group.

    Args:
        same: pairs that are the same, with their share.
        may_join: whether two members may stand in one group (siblings of each other may not).
    """
    near: dict[int, dict[int, float]] = defaultdict(dict)
    for (one, other), share in same.items():
        near[one][other] = share
        near[other][one] = share
    taken: set[int] = set()
    groups = []
    for centre in sorted(near, key=lambda place: (-sum(near[place].values()), place)):
        if centre in taken:
            continue
        group = [centre]
        for place, _ in sorted(near[centre].items(), key=lambda item: (-item[1], item[0])):
            if len(group) >= most:
                break
            if place not in taken and all(may_join(place, member) for member in group[1:]):
                group.append(place)
        if len(group) > 1:
            taken.update(group)
            groups.append(group)
    return groups
