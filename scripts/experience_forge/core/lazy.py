"""Patterns that are compiled when first used: the Stop hook loads the detectors each turn and needs few of them."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_METHODS = ("search", "match", "findall", "finditer", "split", "sub")


class Pattern:
    """A regular expression for text, compiled at its first use; then its methods are those of `re.Pattern`."""

    if TYPE_CHECKING:
        search: Callable[[str], re.Match[str] | None]
        match: Callable[[str], re.Match[str] | None]
        findall: Callable[[str], list[Any]]
        finditer: Callable[[str], Iterator[re.Match[str]]]
        split: Callable[[str], list[Any]]
        sub: Callable[[Any, str], str]

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        if not self._flags & (re.M | re.X) and _at_start(self._text):
            self.search = compiled.match  # `search` would try each place of the text, and fail
        return getattr(self, name)


def _at_start(text: str) -> bool:
    """Whether every alternative of a pattern is bound to the beginning of the text; no when in doubt."""
    depth, inside, place = 0, False, 0
    begins = [0]
    while place < len(text):
        char = text[place]
        if char == "\\":
            place += 1
        elif inside:
            inside = char != "]"
        elif char == "[":
            inside = True
            place += text.startswith(("]", "^]"), place + 1) + text.startswith("^]", place + 1)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            begins.append(place + 1)
        place += 1
    return all(text.startswith("^", begin) and text[begin + 1 : begin + 2] not in "*?{" for begin in begins)
