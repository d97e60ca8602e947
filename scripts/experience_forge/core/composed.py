"""Brings what people read into Unicode's composed form (NFC), so that what looks alike has the same bytes.

Code, quotes and what is matched against commands, files and outputs stay as they are. So do the compatibility
forms of Chinese characters, which NFC would replace by others.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Callable

from ..model import Condition, Entry

_COMPATIBLE = re.compile("[\uf900-\ufaff\U0002f800-\U0002fa1f]+")
_CODE = re.compile(r"^(?:```|~~~)[^\n]*\n[\s\S]*?(?:^(?:```|~~~)[ \t]*$|\Z)|(`{1,3})(?!`)[^\n]{1,2000}?\1(?!`)", re.M)


def entry(given: Entry) -> Entry:
    """The entry with title, aliases, tags, words to match prompts with, and sections composed."""
    return dataclasses.replace(
        given,
        title=line(given.title),
        aliases=tuple(map(line, given.aliases)),
        tags=tuple(map(line, given.tags)),
        applies_when=tuple(map(_condition, given.applies_when)),
        fails_when=tuple(map(_condition, given.fails_when)),
        sections=tuple((name, body(text)) for name, text in given.sections),
    )


def line(text: str) -> str:
    """One text without code, composed."""
    return text if unicodedata.is_normalized("NFC", text) else _between(_COMPATIBLE, text, _nfc)


def body(text: str) -> str:
    """A text in Markdown, composed outside its code."""
    return text if unicodedata.is_normalized("NFC", text) else _between(_CODE, text, line)


def _condition(given: Condition) -> Condition:
    return dataclasses.replace(given, words=line(given.words))


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _between(kept: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    done = 0
    for match in kept.finditer(text):
        parts += (change(text[done : match.start()]), match.group())
        done = match.end()
    return "".join((*parts, change(text[done:])))
