"""Finds the long runs of token characters, in which alone most tokens can stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .literal_search import Views

LEAST = 16
"""Characters of the shortest run: a separator or a capital, and the 15 or 16 that the finders ask behind it."""
_RUN = bytes(97 if chr(code).isalnum() or chr(code) in "_-." else 32 for code in range(128)) + b" " * 128
_SIGNS = bytes(45 if chr(code) in "_-." else 32 for code in range(256))
_FORMS = bytes(
    65 if chr(code).isupper() else 48 if chr(code).isdigit() else 97 if chr(code).islower() or code == 43 else 32
    for code in range(128)
) + b" " * 128
_SEPARATOR = re.compile(r"[_\-.](?<=[A-Za-z0-9].)(?=[A-Za-z0-9_\-]{16})", re.A)
# The look-behinds stand after the sign, so that `re` can leap to it.
_CAPITAL = re.compile(
    r"[A-Z](?<![A-Za-z0-9+].)(?=[A-Za-z0-9_\-.]{15}|[A-Z]?[0-9]{2}[A-Z0-9 ]{5})", re.A
)


def starts(views: Views) -> tuple[list[int], list[int]]:
    """The places, in order, of separators and of capitals that a token may stand at.

    The first are those of `_SEPARATOR` in the text, the second those of `_CAPITAL`.
    """
    separators: list[int] = []
    capitals: set[int] = set()
    for begin, end, parted in _runs(views):
        if parted:
            separators += (hit.start() for hit in _SEPARATOR.finditer(views.text, begin, end))
            capitals.update(hit.start() for hit in _CAPITAL.finditer(views.text, begin, end))
        elif views.plain[begin] < 97 and _CAPITAL.match(views.text, begin):
            capitals.add(begin)
    capitals.update(_numbered(views))
    return separators, sorted(capitals)


def _runs(views: Views) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each long run, and whether a separator stands in it with enough behind."""
    runs, signs, needle = views.plain.translate(_RUN), views.plain.translate(_SIGNS), b"a" * LEAST
    begin = runs.find(needle)
    while begin >= 0:
        end = runs.find(b" ", begin + LEAST)
        end = len(runs) if end < 0 else end
        yield begin, end, signs.find(b"-", begin, end - LEAST + 1) >= 0
        begin = runs.find(needle, end)


def _numbered(views: Views) -> Iterator[int]:
    """Capitals, one or two, with digits behind: an IBAN or the number of a person may begin there."""
    forms = views.plain.translate(_FORMS)
    for capitals in (b"A", b"AA"):
        if forms.startswith(capitals + b"00") and _CAPITAL.match(views.text):
            yield 0
        needle = b" " + capitals + b"00"
        place = forms.find(needle)
        while place >= 0:
            if _CAPITAL.match(views.text, place + 1):
                yield place + 1
            place = forms.find(needle, place + 1)
