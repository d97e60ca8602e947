"""Judges one value: is it a placeholder, a word, a piece of code, or does it look like a secret?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .literal_search import any_of

_CHUNK = re.compile(r"[a-z]*(?:[A-Z]+[a-z]+)*(?:[A-Z]{1,24})?[0-9]{0,3}", re.A)
_HUMP = re.compile(r"[a-z](?=[A-Z])", re.A)
_VERSION = re.compile(r"[vV]?[0-9]+(?:[.:\-/][0-9]+)+(?:[\-+.]?[A-Za-z]{1,8}[.\-]?[0-9]{0,8})?", re.A)
_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?[A-Za-z%]{1,7}[0-9]{0,3}", re.A)
_SAME = re.compile(r"(.)\1{4,}", re.S)
_HEX = re.compile(r"[0-9a-fA-F]+", re.A)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.A)
_SPLIT = re.compile(r"[_\-./:\\]+")
LOOK = 160
"""Characters of a value that are judged: what begins as a secret is one, and work stays bounded."""
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+", re.A)
_WORD_NUMBER = re.compile(r"[A-Za-z]{4,24}[0-9]{2,6}", re.A)
_STRONG_SIGNS = frozenset("!#$&*~?^%@+=|")
_SIGNS = frozenset("!#$&*~?^%@+=|_.-")
_ROMAN_ONLY = re.compile(r"[A-Za-z_.\-]+", re.A)


@dataclass(frozen=True)
class Placeholders:
    """Words and pieces that stand for a secret without being one, all lower case."""

    exact: frozenset[str]
    parts: re.Pattern[str]
    starts: tuple[str, ...]
    endings: tuple[str, ...]
    url: frozenset[str]

    @classmethod
    def of(cls, rules: Mapping[str, Iterable[object]]) -> Placeholders:
        """From the `placeholders` mapping of the rule file."""
        lists = {name: tuple(str(item).lower() for item in items) for name, items in rules.items()}
        return cls(
            frozenset(lists["exact"]),
            re.compile(any_of(lists["parts"])),
            lists["starts"],
            lists["endings"],
            frozenset(lists["url"]),
        )

    def is_dummy(self, value: str) -> bool:
        """Whether a value in a provider's format is filled up, cut by dots, or says that it is an example."""
        value = value[:LOOK]
        low = value.lower()
        return (
            (_SAME.search(value) is not None
            and len(set(low)) < 12)
            or self.parts.search(low) is not None
        )

    def holds(self, value: str) -> bool:
        """Whether a labelled value stands for a secret, or names where one lies."""
        low = value[:LOOK].lower()
        return (
            low.strip("*•.-_ ") in self.exact
            or not low.strip("*•.x-_ ")
            or low.startswith(self.starts)
            or value[-16:].lower().endswith(self.endings)
            or self.is_dummy(value)
        )


def wordy(value: str) -> bool:
    """Whether every piece between `_ - . /` is a word, a camel-case name or a short number."""
    return all(_wordy_chunk(chunk) for chunk in _SPLIT.split(value))


def _wordy_chunk(chunk: str) -> bool:
    if len(chunk) > 32 or (len(chunk) > 16 and (chunk.islower() or chunk.isupper())):
        return False
    if chunk.isdigit():
        return len(chunk) <= 4
    # Camel case has words of three letters and more on average; random letters turn sooner.
    return _CHUNK.fullmatch(chunk) is not None and (len(_HUMP.findall(chunk)) + 1) * 3 <= max(
        3, len(chunk.rstrip("0123456789"))
    )


def random_looking(value: str) -> bool:
    """Whether a run of token characters is too irregular for a name (16 characters and more)."""
    value = value[:LOOK]
    if (
        len(value) < 12
        or sum(len(chunk) for chunk in _SPLIT.split(value) if not _wordy_chunk(chunk)) < 12
    ):
        return False
    if any(char.isdigit() for char in value):
        return any(char.isalpha() for char in value)
    middle = value[1:]
    return sum(char.isupper() for char in middle) >= 3 and sum(char.islower() for char in middle) >= 3


def strong(value: str) -> bool:
    """Whether a bare word in prose looks like a password or key: three classes of characters, or long and mixed."""
    value = value[:LOOK]
    if len(value) < 8 or plain(value):
        return False
    digit = any(char.isdigit() for char in value)
    lower = any(char.islower() for char in value)
    upper = any(char.isupper() for char in value)
    sign = any(char in _STRONG_SIGNS for char in value)
    soft = any(char in "_.-" for char in value)
    if "/" in value and not sign and len(value) < 32:
        return False
    classes = digit + lower + upper + sign
    if classes >= 3:
        return (digit and (sign or not wordy(value) or (soft and upper and _long_number(value)))) or len(
            value
        ) >= 10
    return digit and (lower or upper) and (sign or (len(value) >= 16 and random_looking(value)))


def restless(value: str) -> bool:
    """Whether a value changes between words, numbers and signs every few characters, as names do not."""
    return len(value) <= 2.6 * len(_PIECE.findall(value))


def word_and_number(value: str) -> bool:
    """Whether a value is a word with a number of two digits and more behind it: what people take for a password."""
    return _WORD_NUMBER.fullmatch(value) is not None


def _long_number(value: str) -> bool:
    return re.search(r"[0-9]{3}", value) is not None


def plain(value: str) -> bool:
    """Whether a value is a hash, UUID, version, date, amount or path: known forms that hold no secret."""
    if _UUID.fullmatch(value) or _VERSION.fullmatch(value) or _AMOUNT.fullmatch(value):
        return True
    return len(value) >= 6 and _HEX.fullmatch(value) is not None


def long_hex(value: str) -> bool:
    """Whether a value is 32 hex digits or more: beside the name of a secret it is a key, not a hash."""
    return len(value) >= 32 and _HEX.fullmatch(value[:LOOK]) is not None


def assigned(value: str, *, password: bool, quoted: bool, shell: bool) -> bool:
    """Whether a value that a secret's name was set to is a secret.

    Args:
        password: the name speaks of a password (short and simple values are taken too).
        shell: it stands in a line such as `DB_PASSWORD=...`, where code is unlikely.
    """
    value = value[:LOOK]
    if len(value) < (4 if password else 8):
        return False
    if value.isdigit():
        return password and len(value) >= 6
    if _ROMAN_ONLY.fullmatch(value):
        return _letters(value, password=password, shell=shell)
    if _VERSION.fullmatch(value) or (_AMOUNT.fullmatch(value) and not (password and len(value) >= 6)):
        return False
    digit = any(char.isdigit() for char in value)
    if not digit:
        return any(char in _STRONG_SIGNS for char in value) and (quoted or shell or len(value) >= 8)
    if password:
        return len(value) >= 6 or any(char in _SIGNS for char in value)
    return (
        shell
        or quoted
        or not wordy(value)
        or any(char in _STRONG_SIGNS for char in value)
        or _long_number(value)
    )


def _letters(value: str, *, password: bool, shell: bool) -> bool:
    """Letters, dots and dashes alone: mostly names; a secret when irregular, or a password set in a shell line."""
    if password and shell:
        return len(value) >= 6
    return len(value) >= 12 and "." not in value and not wordy(value) and random_looking(value)
