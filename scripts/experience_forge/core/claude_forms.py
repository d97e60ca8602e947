"""What a line of a Claude Code transcript holds, told by its raw bytes: forms, names, and searches.

A quotation mark inside a JSON string is escaped, so `"type":"thinking"` with bare quotes is always
structure, never text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
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

EDITS_RAW = frozenset(name.encode() for name in EDITS)
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

STEM = 5
"""Letters by which phrases are looked for first; many share them."""
FORM = re.compile(
    rb'"content": ?\[\{(?:"type": ?"(?:(thinking|redacted_thinking)"'
    rb'|tool_use", ?"id": ?"([^"\\]+)", ?"name": ?"([^"\\]+)", ?"input": ?|(text)"|(tool_result)")|"(tool_use_id)")'
)
THINKING, CALL, ANSWER, RESULT, RESULT_BY_ID = 1, 3, 4, 5, 6
FORMS = {
    b' [{"type": "thinki': THINKING,
    b'[{"type":"thinking': THINKING,
    b' [{"type": "redact': THINKING,
    b'[{"type":"redacted': THINKING,
    b' [{"type": "tool_u': CALL,
    b'[{"type":"tool_use': CALL,
    b' [{"type": "text",': ANSWER,
    b'[{"type":"text","t': ANSWER,
    b' [{"type": "tool_r': RESULT,
    b'[{"type":"tool_res': RESULT,
    b' [{"tool_use_id": ': RESULT_BY_ID,
    b'[{"tool_use_id":': RESULT_BY_ID,
}
"""What a line holds by the 18 (or 16) bytes behind `"content":`, in both spacings of keys."""
CALL_HEAD = re.compile(rb' ?\[\{"type": ?"tool_use", ?"id": ?"([^"\\]+)", ?"name": ?"([^"\\]+)"')
_STRING = rb'"([^"\\]*(?:\\.[^"\\]*)*)"'
COMMAND = re.compile(rb'(?:, ?"input": ?)?\{(?:"description": ?"[^"\\]*", ?)?"command": ?' + _STRING)
CALL_PATH = re.compile(rb'(?:, ?"input": ?)?\{(?:"replace_all": ?\w+, ?)?"(?:file_path|notebook_path)": ?' + _STRING)
RESULT_ID = re.compile(rb'"tool_use_id": ?"([^"\\]+)"')


def unescaped(text: bytes) -> str:
    """The text of a JSON string's inside."""
    plain = text.decode("utf-8")
    return str(scanstring(plain + '"', 0)[0]) if "\\" in plain else plain


class Telling:
    """Finds some phrases in a raw answer; may say yes too often, never no wrongly."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self.plain: dict[bytes, list[bytes]] = {}
        self.other = []
        for phrase in phrases:
            raw = json.dumps(phrase.lower(), ensure_ascii=False)[1:-1].encode()
            if not raw.isascii():
                self.other.append(raw)
            elif raw.strip():
                self.plain.setdefault(raw.split()[0][:STEM], []).append(raw)

    def may_hold(self, raw: bytes, begin: int) -> bool:
        """Whether one of the phrases may stand in the line from byte `begin` on, in any case, escaped or not."""
        low = raw[begin:].lower()
        for stem in self.plain:
            if stem in low and any(map(low.__contains__, self.plain[stem])):
                return True
        return b"\\u" in low or (not low.isascii() and any(map(low.__contains__, self.other)))


def is_utf8(raw: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_side(raw: bytes, before: int) -> bool:
    """Whether a record says, before byte `before`, that it belongs to a subagent."""
    if raw.find(b'"isSidechain": false', 0, before) >= 0 or raw.find(b'"isSidechain":false', 0, before) >= 0:
        return False
    side = raw.find(b'"isSidechain":', 0, before)
    return side >= 0 and raw[side + 14 : side + 19].lstrip().startswith(b"true")
