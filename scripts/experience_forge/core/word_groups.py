"""Finds words of known groups (products, environments, languages) in a text by one pass over its words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

_LATIN = re.compile(r"[a-z0-9+#.-]*[a-z0-9+#]")
LONGEST = 3
"""Words of a Latin phrase that is looked up: `material ui`, `keep a changelog`."""


class Groups:
    """Which members of which groups a text names.

    Args:
        data: group to member to the words that name it; Latin ones are found as whole words, others
            anywhere.
    """

    def __init__(self, data: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        self._latin: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._other: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for group, members in data:
            for member, words in members.items():
                for word in words:
                    low = str(word).lower()
                    table, key = (self._latin, _key(low)) if low.isascii() else (self._other, low)
                    table[key].append((str(group), str(member)))
        self._firsts = frozenset(key.partition(" ")[0] for key in self._latin)

    def find(self, text: str) -> dict[str, frozenset[str]]:
        """Group to the members that a text in lower case names; a longer phrase wins over a word in it."""
        found: dict[str, set[str]] = defaultdict(set)
        words = _LATIN.findall(text)
        at = 0
        while at < len(words):
            taken = 1
            if words[at] in self._firsts:
                for size in range(min(LONGEST, len(words) - at), 0, -1):
                    places = self._latin.get(" ".join(words[at:at + size]))
                    if places:
                        taken = size
                        for group, member in places:
                            found[group].add(member)
                        break
            at += taken
        if not text.isascii():
            for word, places in self._other.items():
                if word in text:
                    for group, member in places:
                        found[group].add(member)
        return {group: frozenset(members) for group, members in found.items()}


def _key(word: str) -> str:
    return " ".join(_LATIN.findall(word))
