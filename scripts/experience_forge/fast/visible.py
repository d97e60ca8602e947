"""Text made safe to look at: what hides, reorders or steers a terminal becomes a visible escape.

Hooks have no `unicodedata`, so the classes stand here; a test compares them with it.
"""

import re

CONTROLS = (
    "\\x00-\\x1f\\x7f-\\x9f"  # Cc
    "\\xad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b-\\u200f\\u202a-\\u202e"
    "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\U000110bd\\U000110cd\\U00013430-\\U0001343f"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0001\\U000e0020-\\U000e007f"  # Cf
    "\\ud800-\\udfff"  # Cs
    "\\ue000-\\uf8ff\\U000f0000-\\U0010ffff"  # Co
    "\\u2028\\u2029"  # Zl, Zp
)
IGNORABLE = (
    "\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u3164\\ufe00-\\ufe0f\\uffa0\\ufff0-\\ufff8"
    "\\U000e0000-\\U000e0fff\\u2800"
)
"""Letters and marks that draw nothing: variation selectors can carry a whole hidden text."""

_UNSAFE = re.compile("[" + CONTROLS + IGNORABLE + "]")
_CONTROLS_BUT_NEWLINE = CONTROLS.replace("\\x00-\\x1f", "\\x00-\\x09\\x0b-\\x1f")
_UNSAFE_BUT_NEWLINE = re.compile("[" + _CONTROLS_BUT_NEWLINE + IGNORABLE + "]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def escape(text: str, keep_newlines: bool = False) -> str:
    """The text with unsafe characters as `\\uXXXX` (`\\n`, `\\t`, `\\r` short).

    Args:
        keep_newlines: leave line feeds as they are, for a text of many lines.
    """
    return (_UNSAFE_BUT_NEWLINE if keep_newlines else _UNSAFE).sub(_escaped, text)


def width(text: str) -> int:
    """Columns of an escaped text, never too few: all from U+1100 on counts as wide."""
    return len(text) + sum(1 for letter in text if letter >= "\u1100")


def rows(text: str, columns: int, rows: int) -> list[str]:
    """The text escaped, broken at `columns`, at most `rows` rows, the last cut with `…`; a list."""
    found: list[str] = []
    row, used = "", 0
    for letter in escape(text):
        size = 2 if letter >= "\u1100" else 1
        if used + size > columns:
            found.append(row)
            row, used = "", 0
            if len(found) == rows:
                return [*found[:-1], _cut(found[-1], columns)]
        row += letter
        used += size
    return [*found, row] if row or not found else found


def _cut(row: str, columns: int) -> str:
    while width(row) + 2 > columns:
        row = row[:-1]
    return row + "\u2026"


def _escaped(match: re.Match[str]) -> str:
    letter = match.group()
    code = ord(letter)
    return _SHORT.get(letter) or ("\\u%04x" % code if code <= 0xFFFF else "\\U%08x" % code)
