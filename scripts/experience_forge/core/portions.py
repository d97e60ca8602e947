"""Divides a large text: what stood in it before is not read again, and the rest can be read in several processes.

A finding depends on no more than `REACH` characters on either side (private keys apart, which are looked for in the
whole text), so a portion is read with that much around it, and keeps the findings that begin within itself.
"""

from __future__ import annotations

import bisect
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .labels import Found

REACH = 10_000
"""More than the longest pattern of the rules with its look-behind (8,000 characters of a Kubernetes key)."""
LARGE = 500_000
"""From this many characters on a text is divided; a smaller portion is read sooner than a process begins."""
_WORTH = 4 * REACH
"""Characters that must come again in a row before they are left out."""

Read = Callable[[Sequence[str]], Iterable[Sequence[Found]]]
"""Texts to the findings in each, in no order."""


_start = operator.attrgetter("start")


class _Part(NamedTuple):
    """Characters `begin` to `end`, which stand `distance` before as well (0: they are new)."""

    begin: int
    end: int
    distance: int


def find(text: str, read: Read, readers: int) -> list[Found]:
    """The findings in a text; those of a large one in the order of their beginnings.

    Args:
        read: reads what has to be read.
        readers: how many texts it reads at once.
    """
    if len(text) < LARGE:
        return [found for one in read([text]) for found in one]
    parts = list(_divided(text, max(LARGE, -(-len(text) // readers))))
    fresh = [part for part in parts if not part.distance]
    done = iter(read([text[max(0, part.begin - REACH) : part.end + REACH] for part in fresh]))
    all_found: list[Found] = []
    starts: list[int] = []
    for part in parts:
        for found in _again(all_found, starts, part) if part.distance else _within(next(done), part):
            all_found.append(found)
            starts.append(found.start)
    return all_found


def _within(read: Iterable[Found], part: _Part) -> list[Found]:
    """What begins in a part, of what was found in it and around it; at one place in the order of the finders."""
    shift = max(0, part.begin - REACH)
    moved = (Found(start + shift, end + shift, kind) for start, end, kind in read)
    return sorted((found for found in moved if part.begin <= found.start < part.end), key=_start)


def _again(all_found: Sequence[Found], starts: Sequence[int], part: _Part) -> Iterator[Found]:
    """What begins in a part that stood in the text before; the part may be longer than its distance."""
    at = bisect.bisect_left(starts, part.begin - part.distance)
    while at < len(all_found) and starts[at] < part.end - part.distance:
        start, end, kind = all_found[at]
        yield Found(start + part.distance, end + part.distance, kind)
        at += 1


def _divided(text: str, most: int) -> Iterator[_Part]:
    """All of a text in order: what comes again, and portions of at most `most` characters of the rest."""
    done = 0
    for again in (*_repeated(text), _Part(len(text), len(text), 0)):
        count = -(-(again.begin - done) // most)
        for number in range(count):
            begin, end = (done + (again.begin - done) * at // count for at in (number, number + 1))
            yield _Part(begin, end, 0)
        if again.distance:
            yield again
        done = again.end


def _repeated(text: str) -> Iterator[_Part]:
    """The stretches whose lines stood in the same order before, without the `REACH` at either end of them."""
    lines = text.split("\n")
    last: dict[str, int] = {}
    places = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    begun, back = 0, 0
    for at, line in enumerate(lines):
        if back and lines[at - back] != line:
            yield from _worth(places[begun], places[at], places[begun] - places[begun - back])
            back = 0
        if line:
            if not back and line in last:
                begun, back = at, at - last[line]
            last[line] = at
    if back:
        yield from _worth(places[begun], len(text), places[begun] - places[begun - back])


def _worth(begin: int, end: int, distance: int) -> Iterator[_Part]:
    if end - begin >= _WORTH:
        yield _Part(begin + REACH, end - REACH, distance)
