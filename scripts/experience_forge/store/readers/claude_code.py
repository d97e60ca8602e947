"""Claude Code transcripts: one JSON record a line.

Most bytes are thinking, file contents and bookkeeping that no detector needs. A line is passed over
on its raw form when its beginning says so beyond doubt (both spacings of keys); every other line is
decoded. A quotation mark inside a JSON string is escaped, so `"type":"thinking"` with bare quotes is
always structure, never text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core import checks_output, speakers
from ...model import Event, EventKind, Speaker
from .base import Lines, Position

try:  # an installed faster library is used, never required
    import orjson
    _quick_loads: Any = orjson.loads
except ImportError:
    _quick_loads = json.loads

CLIENT = "claude-code"

EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit", "Update", "Create", "ApplyPatch", "apply_patch"})
PASSIVE = frozenset({
    b"Read", b"Grep", b"Glob", b"LS", b"TodoWrite", b"TodoRead", b"WebFetch", b"WebSearch", b"Task", b"Agent",
    b"TaskCreate", b"TaskUpdate", b"TaskList", b"TaskGet", b"NotebookRead", b"ToolSearch", b"BashOutput", b"TaskOutput",
})
"""Tools that change nothing and check nothing: no detector looks at them."""

TEXT_KEPT = 20_000
RESULT_KEPT = 4_000
OPEN_CALLS = 500
INTERRUPT = "[Request interrupted by user"

_KNOWN_TYPE = re.compile(
    rb'"type": ?"(?:user|assistant|system|summary|attachment|progress|queue-operation|last-prompt|mode|file-history-snapshot)"'
)
_CONTENT = re.compile(rb'"content": ?(?:\[\{|")')
_SIMPLE_CALL = re.compile(rb'"content": ?\[\{"type": ?"tool_use", ?"id": ?"([^"\\]+)", ?"name": ?"([^"\\]+)"')
_CALL_PATH = re.compile(rb'"(?:file_path|notebook_path)": ?("(?:[^"\\]|\\.)*")')
_RESULT_ID = re.compile(rb'"tool_use_id": ?"([^"\\]+)"')
_FAULT = re.compile(rb'"is_error": ?true')
_TIMESTAMP = re.compile(rb'"timestamp": ?"([^"\\]+)"')
_DENIED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "The tool use was rejected",
    "User rejected",
)
_USER_SAID = re.compile(r"(?:the user said|provided the following (?:reason|feedback)[^:]*):\s*\n?(.+)", re.S)


def sniff(head: bytes) -> bool:
    """Whether a file that begins with `head` holds records of this client; a damaged start is allowed."""
    lines = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n")
    if not any(line.lstrip().startswith(b"{") for line in lines[:50]):
        return False
    return bool(_KNOWN_TYPE.search(head)) or b'"sessionId"' in head or b'"uuid"' in head


def read(lines: Lines, position: Position, full: bool) -> Iterator[Event]:
    """The events of a transcript from `position` on; damaged lines are named there and passed over."""
    walk = _Walk(position, full)
    for raw in lines:
        if raw is None:
            position.name_damaged(position.line)
            continue
        if not full and _passed_over(raw, position.calls):
            continue
        line = raw.strip(b" \t\r\xef\xbb\xbf")
        if not line:
            continue
        if not full:
            quick = walk.quick(line)
            if quick is not None:
                yield from quick
                continue
        record = _decoded(line, position)
        if record is None:
            if lines.torn:
                lines.give_back(raw)
                position.name_damaged(position.line + 1)
            else:
                position.name_damaged(position.line)
            continue
        yield from walk.record(record)


def _passed_over(raw: bytes, calls: Mapping[str, list[str]]) -> bool:
    """Whether a whole line may be skipped unseen: it is intact at both ends and of a kind nobody needs."""
    if not raw.startswith(b'{"') or not raw.endswith((b"}", b"}\r")):
        return False
    begin = raw.find(b'"content":')
    if begin < 0:
        return b'"user"' not in raw and b'"assistant"' not in raw and b"compact_boundary" not in raw
    form = raw[begin + 10 : begin + 44].lstrip()
    if form.startswith((b'[{"type":"thinking"', b'[{"type": "thinking"', b'[{"type":"redacted', b'[{"type": "redacted')):
        return _utf8(raw) and b'"text"' not in raw and b'"tool_use", "id"' not in raw and b'"tool_use","id"' not in raw
    if form.startswith((b'[{"type":"tool_use"', b'[{"type": "tool_use"')):
        call = _SIMPLE_CALL.match(raw, begin)
        if call is None or call.group(2) not in PASSIVE or not _utf8(raw):
            return False
        rest = raw[call.end():]
        return b'"tool_use", "id"' not in rest and b'"tool_use","id"' not in rest
    if form.startswith((b'[{"tool_use_id"', b'[{"type":"tool_result"', b'[{"type": "tool_result"')):
        ident = _RESULT_ID.search(raw, begin)
        if ident is None or ident.group(1).decode("ascii", "replace") in calls or not _utf8(raw):
            return False
        if b'"is_error":true' in raw or b'"is_error": true' in raw:
            return False
        return len(_RESULT_ID.findall(raw[ident.end() : ident.end() + len(raw)])) == 0
    if b'"isSidechain":true' in raw or b'"isSidechain": true' in raw:
        return True
    return b'"type":"user"' not in raw and b'"type": "user"' not in raw and b'"assistant"' not in raw and (
        b"compact_boundary" not in raw
    )


def _utf8(raw: bytes) -> bool:
    if raw.isascii():
        return True
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decoded(line: bytes, position: Position) -> dict[str, Any] | None:
    """One record, or None when the line holds none; broken UTF-8 is read with marks and named."""
    try:
        record = _quick_loads(line)
    except (ValueError, RecursionError):
        try:
            record = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        if not _utf8(line):
            position.name_damaged(position.line)
    return record if isinstance(record, dict) else None


class _Walk:
    """Turns records into events; what must outlive one call is in the position."""

    def __init__(self, position: Position, full: bool) -> None:
        self.at = position
        self.full = full

    def quick(self, line: bytes) -> list[Event] | None:
        """Events of a line by its raw form, without decoding; None when it has to be decoded."""
        begin = line.find(b'"content":')
        if begin < 0 or not line.startswith(b'{"') or not line.endswith(b"}") or not _utf8(line):
            return None
        if b'"isSidechain":true' in line or b'"isSidechain": true' in line:
            return []
        form = line[begin + 10 : begin + 44].lstrip()
        if form.startswith((b'[{"type":"tool_use"', b'[{"type": "tool_use"')):
            return self._quick_edit(line, begin)
        if form.startswith((b'[{"tool_use_id"', b'[{"type":"tool_result"', b'[{"type": "tool_result"')):
            return self._quick_result(line, begin)
        return None

    def _quick_edit(self, line: bytes, begin: int) -> list[Event] | None:
        call = _SIMPLE_CALL.match(line, begin)
        if call is None or call.group(2).decode("utf-8") not in EDITS:
            return None
        rest = line[call.end():]
        if b'"tool_use", "id"' in rest or b'"tool_use","id"' in rest or b'"file_path":["' in rest:
            return None
        path = _CALL_PATH.search(line, call.end())
        if path is None:
            return None
        return [self._call(call.group(1).decode("utf-8"), call.group(2).decode("utf-8"), "", json.loads(path.group(1)), "")]

    def _quick_result(self, line: bytes, begin: int) -> list[Event] | None:
        ident = _RESULT_ID.search(line, begin)
        if ident is None or _RESULT_ID.search(line, ident.end()) or _FAULT.search(line, begin):
            return None
        call = self.at.calls.get(ident.group(1).decode("utf-8"))
        if call is None or (not call[2] and checks_output.raw_failure(line)):
            return None
        del self.at.calls[ident.group(1).decode("utf-8")]
        return [self._event(EventKind.RESULT, Speaker.TOOL, "", call_id=ident.group(1).decode("utf-8"), call=call)]

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Events of one decoded record."""
        self._learn(record)
        if record.get("isSidechain") is True:
            return
        kind = record.get("type")
        message = record.get("message")
        if kind == "system" and record.get("subtype") == "compact_boundary":
            yield self._event(EventKind.MARKER, Speaker.MACHINE, "", marker="compact", record=record)
        elif kind == "user" and isinstance(message, dict):
            yield from self._user(record, message.get("content"))
        elif kind == "assistant" and isinstance(message, dict):
            yield from self._assistant(record, message.get("content"))
        elif kind == "attachment" and self.full:
            yield from self._attachment(record)

    def _learn(self, record: dict[str, Any]) -> None:
        at = self.at
        for name, key in (("session", "sessionId"), ("cwd", "cwd"), ("started", "timestamp")):
            value = record.get(key)
            if not getattr(at, name) and isinstance(value, str):
                setattr(at, name, value)
        if record.get("promptSource") == "sdk" or record.get("entrypoint") == "sdk-cli":
            at.headless = True

    def _user(self, record: dict[str, Any], content: Any) -> Iterator[Event]:
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
        text = "\n".join(part for part in texts if isinstance(part, str))
        for block in results:
            yield from self._result(record, block)
        if results or record.get("isMeta") is True or record.get("isCompactSummary") is True:
            return
        if text.lstrip().startswith(INTERRUPT):
            yield self._event(EventKind.MARKER, Speaker.PERSON, text, marker="interrupt", record=record)
        elif speakers.counts_as_turn(text):
            yield self._prompt(record, text)
        else:
            yield self._event(EventKind.MARKER, Speaker.MACHINE, text, marker="machine", record=record)

    def _prompt(self, record: dict[str, Any], text: str) -> Event:
        self.at.turn += 1
        person = not (self.at.headless or speakers.is_machine(text) or _machine_origin(record))
        source = record.get("uuid")
        seen = self.at.mode.setdefault("prompts", [])
        if isinstance(source, str):
            # A resumed session may hold a record twice; it keeps its number but speaks only once.
            person = person and source not in seen
            self.at.mode["prompts"] = [*seen[-199:], source]
        return self._event(EventKind.PROMPT, Speaker.PERSON if person else Speaker.MACHINE, text, record=record)

    def _result(self, record: dict[str, Any], block: dict[str, Any]) -> Iterator[Event]:
        ident = str(block.get("tool_use_id"))
        text = _flat(block.get("content"))
        call = self.at.calls.pop(ident, None)
        failed = block.get("is_error") is True
        denied = failed and (text.startswith(_DENIED) or record.get("toolDenialKind") == "user-rejected")
        if call is None and not (denied or self.full):
            return
        command = call[1] if call else ""
        if command and not failed:
            failed = checks_output.failed(text)
        kept = text[:RESULT_KEPT] if failed or self.full else ""
        yield self._event(
            EventKind.RESULT, Speaker.TOOL, kept, call_id=ident, call=call, failed=failed, denied=denied, record=record
        )
        if denied:
            said = _USER_SAID.search(text)
            words = said.group(1).strip() if said else ""
            yield self._event(EventKind.MARKER, Speaker.PERSON, words, marker="denied", record=record)

    def _assistant(self, record: dict[str, Any], content: Any) -> Iterator[Event]:
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in blocks:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                yield self._event(EventKind.ANSWER, Speaker.MODEL, block["text"], record=record)
            elif block.get("type") == "tool_use":
                given = block.get("input") if isinstance(block.get("input"), dict) else {}
                name = str(block.get("name"))
                if name.encode() in PASSIVE and not self.full:
                    continue
                path = given.get("file_path") or given.get("notebook_path") or given.get("path")
                command = given.get("command")
                yield self._call(
                    str(block.get("id")), name, command if isinstance(command, str) else "",
                    path if isinstance(path, str) else "", record,
                )

    def _attachment(self, record: dict[str, Any]) -> Iterator[Event]:
        attachment = record.get("attachment")
        if isinstance(attachment, dict):
            marker = str(attachment.get("type"))
            yield self._event(
                EventKind.MARKER, Speaker.MACHINE, _flat(attachment.get("content")), marker=marker, record=record
            )

    def _call(self, ident: str, tool: str, command: str, path: str, record: Any) -> Event:
        calls = self.at.calls
        if len(calls) >= OPEN_CALLS:
            calls.pop(next(iter(calls)))
        calls[ident] = [tool, command[:TEXT_KEPT], path]
        return self._event(EventKind.CALL, Speaker.MODEL, "", call_id=ident, call=calls[ident], record=record)

    def _event(
        self, kind: EventKind, speaker: Speaker, text: str, *, call_id: str = "", call: list[str] | None = None,
        failed: bool = False, denied: bool = False, marker: str = "", record: Any = None,
    ) -> Event:
        values = record if isinstance(record, dict) else {}
        at, source = values.get("timestamp"), values.get("uuid")
        tool, command, path = call or ("", "", "")
        return Event(
            kind, self.at.line, self.at.turn, speaker, text[:TEXT_KEPT], at if isinstance(at, str) else "", tool, call_id,
            command, path, failed, denied, marker, source if isinstance(source, str) else "",
        )


def _machine_origin(record: dict[str, Any]) -> bool:
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return isinstance(kind, str) and kind != "human"


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (block.get("text") if isinstance(block, dict) else block for block in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""
