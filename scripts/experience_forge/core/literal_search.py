"""Finds many literals in one walk through a text, and holds a text in the forms that are searched."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import re
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

_SHARES = dict(
    zip("etaoinsrhldcumfpgwybvkxjqz 0123456789", (125, 93, 80, 76, 76, 72, 65, 63, 51, 41, 38, 33, 27, 25, 24, 21, 19,
        17, 17, 15, 11, 5, 2, 2, 1, 1, 180, *[20] * 10), strict=True)
)
"""How often a character stands in a text, in thousandths: letters as Norvig counted them (norvig.com/mayzner.html)."""

_SAMPLED = 200_000
"""From this many characters on it pays to count the pairs of the text itself, and to look for those it has least."""

_COMMON = 500
"""A pair that stands oftener than once in so many characters costs more than a search for the literal alone."""
_NEVER = float("inf")

Owner = TypeVar("Owner")
Sought = TypeVar("Sought", str, bytes)


class Views:
    """One text in the forms that are searched: in all of them a character has the place that it has in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = text.encode("ascii", "replace")
        """One byte a character; what ASCII does not hold is a `?`."""

    @functools.cached_property
    def low(self) -> bytes:
        """`plain` in lower case."""
        return self.plain.lower()

    @functools.cached_property
    def backwards(self) -> str:
        """The text from its end to its beginning; the sign for kelvin is the letter that it is in lower case."""
        return self.text[::-1].replace("\u212a", "k")


class Literals(Generic[Owner]):
    """Literals with an owner each, found together.

    Of each literal one pair of characters is looked for, the rarest. Read as UTF-16 a text is a row of such
    pairs, and one class of characters finds all of them; a second reading, one byte on, has the pairs between.

    Args:
        items: (literal of two characters or more, whether Latin letters of any case count, owner).
    """

    def __init__(self, items: Iterable[tuple[str, bool, Owner]]) -> None:
        self._owners: list[Owner] = []
        self._literals: list[_Literal] = []
        self._other: list[tuple[str, int]] = []
        slots: dict[int, int] = {}
        for literal, any_case, owner in items:
            slot = slots.setdefault(id(owner), len(self._owners))
            if slot == len(self._owners):
                self._owners.append(owner)
            if literal.isascii() and "?" not in literal:
                self._literals.append(_Literal(literal.lower() if any_case else literal, any_case, slot))
            else:
                self._other.append((literal, slot))
        self._usual = _plan(self._literals, _share, _NEVER)

    def places(self, views: Views) -> list[tuple[Owner, list[int]]]:
        """Each owner whose literals occur, in the order in which they were given, with the places, in order."""
        found: list[list[int]] = [[] for _ in self._owners]
        by_pair, common = self._usual
        if len(views.plain) > _SAMPLED:
            pieces = _pieces(views.plain)
            counts = _counts(pieces)
            by_pair, common = _plan(self._literals, counts.__getitem__, len(pieces) // _COMMON)
        for literal, slot in self._other if not views.text.isascii() else ():
            _add_all(views.text.find, literal, found[slot])
        for text, any_case, slot in common:
            _add_all((views.low if any_case else views.plain).find, text.encode("ascii"), found[slot])
        for shift in (0, 1) if by_pair else ():
            _walk(views, shift, by_pair, found)
        return [(owner, _in_order(places)) for owner, places in zip(self._owners, found, strict=True) if places]


class _Literal(NamedTuple):
    text: str
    any_case: bool
    slot: int


_ByPair = dict[str, list[tuple[bytes, int, bool, int]]]
"""Of each pair, as one character, the literals that are looked for by it: (literal, place in it, any case, slot)."""


def _plan(
    literals: Iterable[_Literal], share: Callable[[str], float], most: float
) -> tuple[_ByPair, list[_Literal]]:
    """The literals by their pair that `share` says to be the rarest, and those that have none rarer than `most`."""
    by_pair: _ByPair = {}
    common: list[_Literal] = []
    for literal in literals:
        text, any_case, slot = literal
        ways = [_cases(text[at : at + 2], any_case) for at in range(len(text) - 1)]
        shares = [sum(map(share, pairs)) for pairs in ways]
        if min(shares) > most:
            common.append(literal)
            continue
        offset = shares.index(min(shares))
        for pair in ways[offset]:
            by_pair.setdefault(_unit(pair), []).append((text.encode("ascii"), offset, any_case, slot))
    return by_pair, common


def _add_all(find: Callable[[Sought, int], int], literal: Sought, places: list[int]) -> None:
    at = find(literal, 0)
    while at >= 0:
        places.append(at)
        at = find(literal, at + 1)


def _in_order(places: list[int]) -> list[int]:
    places.sort()
    return places if all(map(operator.lt, places, places[1:])) else list(dict.fromkeys(places))


def _walk(views: Views, shift: int, by_pair: _ByPair, found: list[list[int]]) -> None:
    """Add the places of the literals whose pair stands at an even place (`shift` 0) or an odd one (1)."""
    plain, low = views.plain, views.low
    for hit in re.finditer("[" + "".join(map(re.escape, sorted(by_pair))) + "]", _units(plain[shift:])):
        at = 2 * hit.start() + shift
        for literal, offset, any_case, slot in by_pair[hit[0]]:
            if at >= offset and (low if any_case else plain).startswith(literal, at - offset):
                found[slot].append(at - offset)


def _cases(pair: str, any_case: bool) -> list[str]:
    cases = [sorted({char, char.upper()}) if any_case else [char] for char in pair]
    return ["".join(chars) for chars in itertools.product(*cases)]


def _unit(pair: str) -> str:
    return pair.encode("ascii").decode("utf-16-be")


def _units(plain: bytes) -> str:
    return (plain + b" " * (len(plain) % 2)).decode("utf-16-be")


def _pieces(plain: bytes) -> bytes:
    """64 pieces of a text, 1,024 characters each."""
    return b"".join(plain[at : at + 1024] for at in range(0, len(plain), max(1, len(plain) // 64)))


def _counts(pieces: bytes) -> collections.Counter[str]:
    """How often each pair stands in `pieces`, at even places and at odd ones."""
    counts = collections.Counter(_units(pieces))
    counts.update(_units(pieces[1:]))
    return collections.Counter({unit.encode("utf-16-be").decode("ascii"): count for unit, count in counts.items()})


def _share(pair: str) -> float:
    """How often a pair of characters may stand in a text, for comparing pairs."""
    first, second = (_SHARES.get(char.lower(), 8) / (8 if char.isupper() else 1) for char in pair)
    return first * second


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, by shared beginnings: a search tries few branches at a place."""
    tree: dict[str, list[str]] = {}
    for word in sorted(set(words)):
        tree.setdefault(word[:1], []).append(word[1:])
    if "" in tree:
        return ""
    branches = [re.escape(first) + (any_of(rest) if "" not in rest else "") for first, rest in tree.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def longest_of(words: Iterable[str]) -> str:
    """A pattern that matches what `|` between the words, longest first, would, with few tries at a place."""
    tree: dict[str, list[str]] = {}
    for word in sorted(set(words)):
        tree.setdefault(word[:1], []).append(word[1:])
    branches = [re.escape(first) + (longest_of(rest) if rest != [""] else "") for first, rest in tree.items() if first]
    return f"(?:{'|'.join(branches)}){'?' if '' in tree else ''}"
