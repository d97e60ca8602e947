"""Finds private keys in PEM and PuTTY form: whole, escaped on one line, or cut at either end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .labels import Found

_PEM_HEAD = re.compile(
    r"-{0,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,8} ?-{0,5}|Private-Lines: [0-9]{1,4}"
)
_PEM_GAP = r"(?:\\[nrt]|[\s\"'+,>|\\])*"
_PEM_BODY = re.compile(
    rf"(?:{_PEM_GAP}(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n\\]{{0,200}}|[A-Za-z0-9+/=]{{16,}}))*"
    rf"(?:{_PEM_GAP}[A-Za-z0-9+/=]{{1,15}}(?={_PEM_GAP}(?:-----|=[A-Za-z0-9+/]{{4}}|\Z|…|\.\.\.|\[)))?"
)
_PEM_LINE = re.compile(r"[\s>|]*[A-Za-z0-9+/=]{4,100}[\s\\n]*\Z", re.A)


_WORDS = ("PRIVATE KEY", "Private-Lines: ")
"""What stands at the head of every private key."""


def find(text: str) -> Iterator[Found]:
    """The bodies of all private keys."""
    done = 0
    for word in _WORDS:
        for place in _places(text, word):
            line = max(0, place - 60)
            begin = text.rfind("-BEGIN ", line, place) if word == "PRIVATE KEY" else place
            begin = text.rfind("- BEGIN ", line, place) if begin < 0 else begin
            end_mark = text.rfind("END ", line, place)
            if begin >= 0 and begin > end_mark:
                head = _PEM_HEAD.match(text, begin)
                if head and head.end() > done:
                    body = _PEM_BODY.match(text, head.end())
                    if body:
                        start, stop = _stripped(text, body.start(), body.end())
                        done = max(done, stop)
                        if stop - start >= 12:
                            yield Found(start, stop, "private-key")
            elif end_mark >= 0 and text[end_mark - 5 : end_mark].count("-") >= 4:
                yield from _pem_tail(text, end_mark, done)


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _pem_tail(text: str, place: int, done: int) -> Iterator[Found]:
    """The lines above an END mark whose BEGIN was cut away."""
    stop = text.rfind("\n", 0, place)
    start = stop
    while start > done:
        line = text.rfind("\n", max(0, start - 120), start)
        if line < 0:
            line = -1 if start <= 120 else start - 121
        if not _PEM_LINE.match(text[line + 1 : start]) or line < done - 1:
            break
        start = line
    start = max(start, done - 1)
    if stop - start > 40:
        first, last = _stripped(text, start + 1, stop)
        yield Found(first, last, "private-key")


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    gap = " \t\r\n\"'+,>|"
    while start < end and (text[start] in gap or text[start] == "\\"):
        start += 2 if text[start] == "\\" and text[start + 1 : start + 2] in ("n", "r", "t") else 1
    while end > start and text[end - 1] in gap:
        end -= 1
    return start, end
