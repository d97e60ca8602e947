"""How many tokens a text costs, from above: the unit of all budgets.

The client's own tokenizer is not public. The weights below were fitted so that the estimate stays
above the counts of three tokenizers that are (cl100k_base, o200k_base, the older Claude one) on
every sample text of `tests/evals/tokens.py`, which prints the ratios; docs/projections.md has them.
"""

from __future__ import annotations

import math
import re

_PIECES = re.compile(
    r"(?P<capitals>[A-Z]{2,}(?![a-z]))|(?P<word>[A-Z]?[a-z]+|[A-Z])|(?P<digits>[0-9]+)|(?P<lines>\n+)"
    r"|(?P<gap>[ \t]+(?=[0-9]))|(?P<blanks>[ \t]+)|(?P<han>[\u3400-\u9fff]+)|(?P<other>.)",
    re.DOTALL,
)
_HAN = 1.5
_HAN_SPREAD = 1.2
"""Common words of two characters take one token, others three a character: the spread grows with the root."""
_RARE = 1.0
"""On top for a character outside the 3,755 common ones (level 1 of GB 2312)."""
_MARGIN = 1.05
_START = 3


def estimate(text: str) -> int:
    """Tokens of a text, rounded up; meant for whole files, so it is generous with a few words."""
    total = 0.0
    han = 0
    for match in _PIECES.finditer(text):
        name = match.lastgroup
        piece = match.group()
        if name == "word":
            total += 1 + max(0, len(piece) - 4) / 4
        elif name in ("capitals", "digits"):
            total += (len(piece) + 1) // 2
        elif name == "han":
            han += len(piece)
            total += _RARE * _rare(piece)
        elif name == "lines":
            total += 1
        elif name == "blanks":
            # One blank belongs to the word after it, never to a number; more are a token of their own.
            total += len(piece) > 1
        elif name == "gap":
            total += 1 + (len(piece) > 1)
        else:
            total += _other(ord(piece))
    total += han * _HAN + _HAN_SPREAD * math.sqrt(han)
    return math.ceil(total * _MARGIN) + (_START if text else 0)


def _rare(run: str) -> int:
    data = run.encode("gb2312", "replace").replace(b"?", b"\xff\xff")
    return sum(first >= 0xD8 for first in data[::2])


def _other(code: int) -> float:
    """Tokens of one character outside letters, digits, blanks and Han, by its bytes in UTF-8."""
    if code < 0x80:
        return 1
    if code < 0x800:
        return 1.5
    return 2 if code < 0x10000 else 4
