"""Patterns that are compiled when first used: the Stop hook loads the detectors each turn and needs few of them."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Pattern:
    """A regular expression for text, compiled at its first use."""

    __slots__ = ("_compiled", "_flags", "_text")

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags
        self._compiled: re.Pattern[str] | None = None

    def _ready(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    def search(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.search`."""
        return self._ready().search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.match`."""
        return self._ready().match(text)

    def findall(self, text: str) -> list[Any]:
        """As `re.Pattern.findall`."""
        return self._ready().findall(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As `re.Pattern.finditer`."""
        return self._ready().finditer(text)

    def split(self, text: str) -> list[str | Any]:
        """As `re.Pattern.split`."""
        return self._ready().split(text)

    def sub(self, new: Any, text: str) -> str:
        """As `re.Pattern.sub`."""
        return self._ready().sub(new, text)
