"""What a line of a Claude Code transcript holds, told by its raw bytes: forms, names, and searches.

A quotation mark inside a JSON string is escaped, so `"type":"thinking"` with bare quotes is always
structure, never text.
"""

from __future__ import annotations

import json
import re
from codecs import utf_8_decode
from collections.abc import Sequence
from functools import lru_cache
from json.decoder import scanstring  # type: ignore[attr-defined]

from .tools import EDITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_raw_decode = json.JSONDecoder().raw_decode


def _of_line(line: bytes) -> Any:
    """As `json.loads` of a line that is known to begin with an object in UTF-8; two thirds of its time."""
    text = line.decode("utf-8", "surrogatepass")
    value, end = _raw_decode(text)
    if end != len(text):
        raise ValueError("more than one value")
    return value


quick_loads, line_loads = json.loads, _of_line
try:  # an installed faster library is used, never required
    from orjson import loads as _orjson  # type: ignore[import-not-found, unused-ignore]

    quick_loads = line_loads = _orjson
except ImportError:
    pass

PASSIVE = frozenset(
    {
        b"Read",
        b"Grep",
        b"Glob",
        b"LS",
        b"TodoWrite",
        b"TodoRead",
        b"WebFetch",
        b"WebSearch",
        b"Task",
        b"Agent",
        b"TaskCreate",
        b"TaskUpdate",
        b"TaskList",
        b"TaskGet",
        b"NotebookRead",
        b"ToolSearch",
        b"BashOutput",
        b"TaskOutput",
    }
)
"""Tools that change nothing and check nothing: no detector looks at them."""

_CHECKED = 16 << 10
STEM = 5
"""Letters by which phrases are looked for first; many share them."""
THINKING, CALL, TOOL, ANSWER, RESULT, RESULT_BY_ID = 1, 3, 4, 5, 6, 7
FORM_BYTES = 17
FORMS = {
    b' [{"type": "think': THINKING,
    b'[{"type":"thinkin': THINKING,
    b' [{"type": "redac': THINKING,
    b'[{"type":"redacte': THINKING,
    b' [{"type": "tool_': TOOL,
    b'[{"type":"tool_us': CALL,
    b'[{"type":"tool_re': RESULT,
    b' [{"type": "text"': ANSWER,
    b'[{"type":"text","': ANSWER,
    b' [{"tool_use_id":': RESULT_BY_ID,
    b'[{"tool_use_id":"': RESULT_BY_ID,
}
"""What a line holds by the 17 bytes behind `"content":`, in both spacings of keys. `TOOL`: the next one tells."""
NO_END = frozenset(b"\\ :,[")
"""Behind one of these a quotation mark may stand within a string or open one."""
_STRING = rb'"([^"\\]*(?:\\.[^"\\]*)*)"'
WHOLE_CALL = re.compile(
    rb' ?\[\{"type": ?"tool_use", ?"id": ?"([^"\\]+)", ?"name": ?"(?:Bash", ?"input": ?\{'
    rb'(?:"description": ?"[^"\\]*", ?)?"command": ?' + _STRING + rb"|("
    + b"|".join(sorted(name.encode() for name in EDITS))
    + rb')", ?"input": ?\{(?:"replace_all": ?\w+, ?)?"(?:file_path|notebook_path)": ?' + _STRING
    + rb'|([^"\\]+)")'
)
"""The head of a call: its id, then a command, or an edit and its path, or else the tool's name."""
_TEXT_HEAD = re.compile(rb' ?\[\{"type": ?"text", ?"text": ?"')


def unescaped(text: bytes) -> str:
    """The text of a JSON string's inside."""
    plain = text.decode("utf-8")
    return str(scanstring(plain + '"', 0)[0]) if "\\" in plain else plain


class Telling:
    """Finds some phrases in a raw answer; may say yes too often, never no wrongly."""

    def __init__(self, phrases: Sequence[str]) -> None:
        stems: dict[str, list[str]] = {}
        other = []
        for phrase in phrases:
            raw = json.dumps(phrase.lower(), ensure_ascii=False)[1:-1]
            if not raw.isascii():
                other.append(plainly(raw.encode()))
            elif raw.strip():
                stems.setdefault(raw.split()[0][:STEM], []).append(raw)
        # The longer what is looked for, the further a search leaps.
        self._plain = tuple((_shared(group), group) for group in stems.values())
        self._other = tuple(other)
        self._leads = frozenset(raw[:1] for raw in other)

    def may_hold(self, raw: bytes, begin: int, end: int) -> bool:
        """Whether one of the phrases may stand between two bytes of a line, in any case, escaped or not."""
        low = plainly(raw[begin:end].lower())
        for start, group in self._plain:
            if start in low and any(map(low.__contains__, group)):
                return True
        if "\\u" in low:
            return True
        if low.isascii() or not any(map(low.__contains__, self._leads)):
            return False
        return any(map(low.__contains__, self._other))


def _shared(texts: Sequence[str]) -> str:
    """How all of these texts begin."""
    first, last = min(texts), max(texts)
    same = next((place for place, char in enumerate(first) if last[place] != char), len(first))
    return first[:same]


@lru_cache(maxsize=4)
def telling(phrases: tuple[str, ...]) -> Telling:
    """The search for these phrases; there are thousands of sessions, and always the same phrases."""
    return Telling(phrases)


def plainly(raw: bytes) -> str:
    """Bytes as a string of as many characters: looking whether it holds something takes half the time."""
    return raw.decode("latin-1")


def is_utf8(raw: bytes) -> bool:
    """Whether the bytes are UTF-8; a little at a time, since the text made of many takes four times their room."""
    place, view = 0, memoryview(raw)
    try:
        while len(raw) - place > _CHECKED:
            place += utf_8_decode(view[place : place + _CHECKED], "strict", False)[1]
        utf_8_decode(view[place:], "strict", True)
    except UnicodeDecodeError:
        return False
    return True


def text_at(raw: bytes, place: int) -> str | None:
    """The text of the answer whose content stands at byte `place` of a line; None when the line has to be decoded.

    That is so when the record says anything of its origin that matters, or holds what may not be its content.
    """
    text = plainly(raw)
    if is_side(raw, 0, len(raw)) or '"sdk' in text or '"toolUseResult"' in text or '"user"' in text or '}{"' in text:
        return None
    found = _TEXT_HEAD.match(raw, place)
    try:
        return str(scanstring(raw[found.end() :].decode("utf-8"), 0)[0]) if found else None
    except ValueError:
        return None


def another(piece: bytes, place: int, end: int) -> bool:
    """Whether a second part of a message, whose first one stands at `place`, begins before `end`.

    Where the first brace that closes stands behind the end of a string, and the list behind it closes too,
    nothing more comes. Looking for one byte costs a tenth of looking for many, and is enough for most lines.
    """
    find = piece.find
    close = find(b"}", place, end)
    if piece[close - 1] == 34 and piece[close - 2] not in NO_END:
        after = piece[close + 1]
        if after == 125:
            after = piece[close + 2]
        if after == 93 and find(b"[", place + 2, close) < 0:
            return False
    if piece[place] == 32:
        return find(b'}, {"', place, end) >= 0 and find(b', {"type": "t', place, end) >= 0
    return find(b'},{"', place, end) >= 0 and find(b',{"type":"t', place, end) >= 0


def is_side(piece: bytes, begin: int, end: int) -> bool:
    """Whether a record says, between two bytes of its line, that it belongs to a subagent."""
    side = piece.find(b'"isSidechain":', begin, end)
    if side < 0:
        return False
    said = piece[side + 14]
    return said == 116 or (said == 32 and piece[side + 15] == 116)
