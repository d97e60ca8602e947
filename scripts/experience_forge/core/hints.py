"""Finds which of many word lists have a word in a text: by the words of the text once there are many texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FEW = 20
"""Prompts from which looking hints up by words pays; the Stop hook reads fewer."""
WORD_KEPT, WORDS_KEPT = 24, 20_000
"""Words of a text that are remembered: how long, how many."""


class Hints:
    """The hints of many holders.

    Args:
        hints: for each holder its hints, plain pieces of text in lower case.
    """

    def __init__(self, hints: Iterable[Sequence[str]]) -> None:
        self._every = _indexed(hints)
        self._by_start: dict[str, list[tuple[str, str, set[int]]]] = {}
        self._known: dict[str, tuple[tuple[str, set[int]], ...]] = {}
        self._idle: set[str] = set()
        self._asked = 0

    def of(self, text: str) -> set[int]:
        """Numbers of the holders of which a hint stands in this text."""
        found: set[int] = set()
        if self._asked < FEW:
            self._asked += 1
            for hint, numbers in self._every[text.isascii()]:
                if hint in text:
                    found |= numbers
            return found
        known = self._known
        for token in set(text.split()) - self._idle:
            held = known.get(token)
            for hint, numbers in self._held_by(token) if held is None else held:
                if hint in text:
                    found |= numbers
        return found

    def _held_by(self, token: str) -> tuple[tuple[str, set[int]], ...]:
        """The hints whose longest word is part of this word of a text; remembered, since words come again."""
        if not self._by_start:
            for hint, numbers in self._every[0]:
                word = max(hint.split(), key=len)
                self._by_start.setdefault(word[:3], []).append((word, hint, numbers))
        starts = {token[place : place + size] for size in (1, 2, 3) for place in range(len(token))}
        some = [item for start in starts for item in self._by_start.get(start, ())]
        held = tuple((hint, numbers) for word, hint, numbers in some if word in token)
        if len(token) > WORD_KEPT:
            return held
        if len(self._known) + len(self._idle) >= WORDS_KEPT:
            self._known.clear()
            self._idle.clear()
        if held:
            self._known[token] = held
        else:
            self._idle.add(token)
        return held


def _indexed(hints: Iterable[Sequence[str]]) -> tuple[list[tuple[str, set[int]]], list[tuple[str, set[int]]]]:
    """All hints with the numbers of their holders: first every one, then those in ASCII."""
    holders: dict[str, set[int]] = {}
    for number, own in enumerate(hints):
        for hint in own:
            holders.setdefault(hint, set()).add(number)
    every = list(holders.items())
    return every, [(hint, numbers) for hint, numbers in every if hint.isascii()]
