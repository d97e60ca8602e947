"""Finds secrets in Markdown tables by the heads of their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from . import plausible

LOOK = 8000
"""Characters of a table that are read: a portion of a text has as many around it."""
_RULE = re.compile(r"[ \t]{0,8}\|?(?:[ \t]{0,8}:?-{1,200}:?[ \t]{0,8}\|){1,40}[ \t]{0,8}(?::?-{1,200}:?[ \t]{0,8})?")
_SEEN = re.compile(r"-:? {0,3}\|")
_VALUE = re.compile(r"[!-_a-{}~]{6,200}")


def find(text: str, secret: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """Places of the values below a head that names a secret; `secret` says whether a head does."""
    seen = _SEEN.search(text) if "|" in text else None
    while seen:
        place = seen.start()
        start, end = text.rfind("\n", max(0, place - 400), place) + 1, _end(text, place)
        if start and _RULE.fullmatch(text, start, end):
            head = text.rfind("\n", max(0, start - 2000), start - 1) + 1
            columns = [at for at, (one, two) in enumerate(_cells(text, head, start - 1)) if secret(text[one:two])]
            stop = end + LOOK
            while columns and end < min(stop, len(text)) and "|" in text[end + 1 : _end(text, end + 1)]:
                row, end = end + 1, _end(text, end + 1)
                cells = _cells(text, row, end)
                yield from (cells[at] for at in columns if at < len(cells) and _is_value(text, *cells[at]))
        seen = _SEEN.search(text, max(end, place + 1))


def _end(text: str, place: int) -> int:
    end = text.find("\n", place, place + 2000)
    return end if end >= 0 else min(len(text), place + 2000)


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The places of a row's cells, blanks and back quotes around them left out."""
    start += len(text[start:end]) - len(text[start:end].lstrip(" \t|"))
    cells: list[tuple[int, int]] = []
    while start < end and len(cells) < 40:
        stop = text.find("|", start, end)
        stop = stop if stop >= 0 else end
        cell = text[start:stop]
        left = start + len(cell) - len(cell.lstrip(" \t`"))
        cells.append((left, max(left, stop - len(cell) + len(cell.rstrip(" \t`\r")))))
        start = stop + 1
    return cells


def _is_value(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    return _VALUE.fullmatch(value) is not None and plausible.strong(value)
