"""Which pairs of a library are worth judging, and groups of entries that tell of the same thing.

Candidates come from an exact prefix-filter join over words, and from rare words, code words, triggers
and choices that two entries have in common; a paraphrase shares few words, but it names the same case.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from .similarity import Shape

Pair = tuple[int, int]

ALL_PAIRS: Final = 160
"""Up to so many entries every pair is judged."""
JOIN: Final = 0.5
"""Jaccard over words from which the join names every pair, whatever the words are."""
RARE: Final = 24
"""A word that more entries hold is a topic and no case: it leads to no candidates by itself."""
RAREST: Final = 14
CODE: Final = 8


def candidates(shapes: Sequence[Shape], chosen: Sequence[Iterable[tuple[str, str]]] = ()) -> set[Pair]:
    """Pairs (smaller place first) worth judging.

    Args:
        chosen: for each entry the (group, member) pairs it chooses; members of one group meet.
    """
    count = len(shapes)
    if count <= ALL_PAIRS:
        return {(a, b) for b in range(count) for a in range(b)}
    found = join([shape.words for shape in shapes], JOIN)
    found |= _by_rare_words(shapes)
    found |= _by_key([_triggers(shape) for shape in shapes], RARE)
    found |= _by_key([{group for group, _ in choices} for choices in chosen], 3 * RARE)
    return found


def join(sets: Sequence[frozenset[str]], least: float) -> set[Pair]:
    """All pairs whose Jaccard similarity is at least `least` (0 to 1, exclusive of 0): exact, by prefixes."""
    counts: Counter[str] = Counter()
    for words in sets:
        counts.update(words)
    # Equal order everywhere, rarest first: two sets that are similar share one of their first words.
    ranked = [sorted(words, key=lambda word: (counts[word], word)) for words in sets]
    order = sorted(range(len(sets)), key=lambda place: len(ranked[place]))
    index: dict[str, list[int]] = defaultdict(list)
    found: set[Pair] = set()
    for place in order:
        words = ranked[place]
        size = len(words)
        if not size:
            continue
        prefix = words[: size - math.ceil(least * size) + 1]
        near: set[int] = set()
        for word in prefix:
            near.update(index[word])
            index[word].append(place)
        for other in near:
            smaller = len(ranked[other])
            if smaller < least * size:
                continue
            common = len(sets[place] & sets[other])
            if common >= least * (size + smaller - common):
                found.add((min(place, other), max(place, other)))
    return found


def _by_rare_words(shapes: Sequence[Shape]) -> set[Pair]:
    counts: Counter[str] = Counter()
    for shape in shapes:
        counts.update(shape.words)
        counts.update(shape.names - shape.words)
    holders: dict[str, list[int]] = defaultdict(list)
    for place, shape in enumerate(shapes):
        rare = sorted((counts[w], w) for w in shape.words | shape.names if 1 < counts[w] <= RARE)[:RAREST]
        for _, word in rare:
            holders[word].append(place)
    shared: Counter[Pair] = Counter()
    for word, places in holders.items():
        # One code word that few entries hold says as much as two rare words.
        value = 2 if len(places) <= CODE and not word.isalpha() and word.isascii() else 1
        for pair in _pairs(places):
            shared[pair] += value
    return {pair for pair, value in shared.items() if value > 1}


def _triggers(shape: Shape) -> set[str]:
    error = " ".join(sorted(shape.error_words))
    return {*(f"c {c}" for c in shape.commands), *(f"p {p}" for p in shape.paths), *([f"e {error}"] if error else ())}


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
