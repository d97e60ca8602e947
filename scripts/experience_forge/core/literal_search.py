"""Finds many literals in one walk through a text, and lowers a text without moving a character."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Generic, TypeVar

_LATIN_LOWER = bytes(
    place + 32 if 65 <= place <= 90 or (192 <= place <= 222 and place != 215) else place for place in range(256)
)
_STEMS = ("pass", "hook", "uth", "use", "identified", "ibaakca", "byqgsm49age", "pw", " -")
"""Pieces that many literals of the rules share: one search for the piece stands for a search for each of them."""

Owner = TypeVar("Owner")


class Literals(Generic[Owner]):
    """Literals with an owner each, found together.

    Args:
        items: (literal, whether Latin letters of any case count, owner).
    """

    def __init__(self, items: Iterable[tuple[str, bool, Owner]]) -> None:
        self._by_stem: dict[str, list[tuple[str, int, bool, Owner]]] = {}
        for literal, any_case, owner in items:
            low = literal.lower()
            stem = next((stem for stem in _STEMS if stem in low), low)
            self._by_stem.setdefault(stem, []).append((literal, low.index(stem), any_case, owner))

    def places(self, text: str, low: str) -> list[tuple[Owner, list[int]]]:
        """Each owner whose literals occur, with the places where they begin, in order; `low` is `lowered(text)`."""
        found: dict[int, tuple[Owner, list[int]]] = {}
        for stem, literals in self._by_stem.items():
            searched = low if stem.isascii() else text
            at = searched.find(stem)
            while at >= 0:
                for literal, offset, any_case, owner in literals:
                    if (low if any_case and stem.isascii() else text).startswith(literal, at - offset) and at >= offset:
                        found.setdefault(id(owner), (owner, []))[1].append(at - offset)
                at = searched.find(stem, at + 1)
        return [(owner, sorted(set(places))) for owner, places in found.values()]


def lowered(text: str) -> str:
    """A text of the same length in which Latin letters are small; what Latin-1 does not hold may be a `?`.

    Ten times as fast as `str.lower` on a text with Chinese in it. Words that Latin-1 does not hold must be looked
    for in the text itself.
    """
    if text.isascii():
        return text.lower()
    return text.encode("latin-1", "replace").translate(_LATIN_LOWER).decode("latin-1")


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, by shared beginnings: a search tries few branches at a place."""
    tree: dict[str, list[str]] = {}
    for word in sorted(set(words)):
        tree.setdefault(word[:1], []).append(word[1:])
    if "" in tree:
        return ""
    branches = [re.escape(first) + (any_of(rest) if "" not in rest else "") for first, rest in tree.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
