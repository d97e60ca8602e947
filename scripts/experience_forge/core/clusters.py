"""Which pairs of a library are worth judging, and groups of entries that tell of the same thing.

Candidates come from an exact prefix-filter join over telling words, and from rare words, triggers and
choices that two entries have in common: a paraphrase shares few words, but it names the same case.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..fast import signature, tokens
from ..model import Entry, Kind
from . import similarity
from .word_groups import Groups

Pair = tuple[int, int]

VERSION: Final = 1
"""Raised when sketches change: those that are kept then count no more."""
ALL_PAIRS: Final = 160
"""Up to so many entries every pair is judged."""
JOIN: Final = 0.5
"""Jaccard over telling words from which the join names every pair."""
COMMON: Final = 0.01
"""A word that a larger share of the entries holds is no telling one, as a stop word is none."""
RARE: Final = 24
"""A word that more entries hold is a topic and no case: it leads to no candidates by itself."""
RAREST: Final = 14


@dataclass(frozen=True)
class Sketch:
    """What candidates are found by: words joined by blanks, keys of triggers, groups of choices."""

    words: str
    triggers: tuple[str, ...]
    choices: tuple[str, ...]


def sketch_of(entry: Entry, choices: Groups) -> Sketch:
    """The sketch of an entry; it depends on nothing but the entry and the rules."""
    texts = similarity.texts_of(entry)
    words = frozenset().union(*(tokens.terms(text) for text in texts.values()))
    errors = " ".join(sorted(set(signature.words(" ".join(c.error for c in entry.applies_when)))))
    triggers = {f"c {similarity.program(c.command)}" for c in entry.applies_when if c.command}
    triggers |= {f"p {c.path}" for c in entry.applies_when if c.path}
    named = () if entry.kind is Kind.PITFALL else choices.find(f"{entry.title}\n{entry.rule}".lower())
    found = {*triggers, *([f"e {errors}"] if errors else ())}
    return Sketch(" ".join(sorted(words)), tuple(sorted(found)), tuple(sorted(named)))


def counts_of(sketches: Iterable[Sketch]) -> Counter[str]:
    """How many entries hold each word."""
    counts: Counter[str] = Counter()
    for sketch in sketches:
        counts.update(sketch.words.split())
    return counts


def candidates(sketches: Sequence[Sketch], counts: Mapping[str, int]) -> set[Pair]:
    """Pairs (smaller place first) worth judging; all of them in a small library.

    Args:
        counts: those of `counts_of`.
    """
    count = len(sketches)
    if count <= ALL_PAIRS:
        return {(a, b) for b in range(count) for a in range(b)}
    shared, sizes, held = _numbered(sketches, counts, max(RARE, int(COMMON * count)))
    found = join(shared, sizes, JOIN)
    found |= _by_rare_words(shared, held)
    found |= _by_key([sketch.triggers for sketch in sketches], RARE)
    return found | _by_key([sketch.choices for sketch in sketches], 2 * RARE)


def _numbered(
    sketches: Iterable[Sketch], counts: Mapping[str, int], most: int
) -> tuple[list[list[int]], list[int], list[int]]:
    """Telling words (in at most `most` entries) as numbers, rarest first.

    Returns for each entry those that others hold too, and how many telling ones it has in all; and
    for each number how many entries hold the word.
    """
    telling = sorted((n, word) for word, n in counts.items() if 1 < n <= most)
    numbers = {word: number for number, (_, word) in enumerate(telling)}
    shared, sizes = [], []
    for sketch in sketches:
        words = sketch.words.split()
        own = sorted([numbers[word] for word in words if word in numbers])
        shared.append(own)
        sizes.append(len(own) + sum([counts[word] == 1 for word in words]))
    return shared, sizes, [n for n, _ in telling]


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
    for place, own in enumerate(sets):
        for number in [number for number in own if 1 < counts[number] <= RARE][:RAREST]:
            holders[number].append(place)
    once: set[Pair] = set()
    twice: set[Pair] = set()
    for places in holders.values():
        pairs = set(_pairs(places))
        twice |= pairs & once
        once |= pairs
    return twice


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
