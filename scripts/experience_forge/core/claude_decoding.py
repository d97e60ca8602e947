"""Decoded records of Claude Code transcripts as events (`claude_records` says which lines come here)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ..model import Event, EventKind, Speaker
from . import checks_output, speakers
from .claude_forms import PASSIVE, is_utf8, line_loads, quick_loads, telling, text_at
from .lazy import Pattern
from .lines import Lines, Position

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_new = object.__new__
"""A frozen dataclass sets its fields one by one, which costs three times as much as filling its dictionary."""
_CALL, _RESULT, _ANSWER = EventKind.CALL, EventKind.RESULT, EventKind.ANSWER
_MODEL, _TOOL = Speaker.MODEL, Speaker.TOOL

TEXT_KEPT = 20_000
RESULT_KEPT = 4_000
END_KEPT = 400
"""Of an answer that tells nothing, only its end counts."""
OPEN_CALLS = 500
PROMPTS_KEPT = 200
INTERRUPT = "[Request interrupted by user"

_DENIED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "The tool use was rejected",
    "User rejected",
)
_USER_SAID = Pattern(r"(?:the user said|provided the following (?:reason|feedback)[^:]*):\s*\n?(.+)", re.S)


class Decoding:
    """Turns records into events; what must outlive one call is in the position."""

    def __init__(self, position: Position, full: bool, phrases: Sequence[str] | None) -> None:
        self.at = position
        self.full = full
        self.line = position.line
        self.held: tuple[int, bytes, int] | None = None
        """The last answer that tells nothing: its line's number, the line, and where its content stands."""
        self.telling = None if phrases is None else telling(tuple(phrases))

    def last_answer(self) -> Iterator[Event]:
        """The last answer of a turn, when it tells nothing: only whether it asks counts."""
        held, self.held = self.held, None
        if held is None:
            return
        line, raw, place = held
        at, now = self.at, self.line
        self.line = line
        text = text_at(raw, place) if at.session and at.cwd and at.started else None
        if text is not None:
            yield self._event(_ANSWER, _MODEL, text[:TEXT_KEPT][-END_KEPT:])
        else:
            record = self._decoded(raw)
            if record is not None:
                yield from self.record(record)
        self.line = now

    def _told(self, kind: EventKind, speaker: Speaker, tool: str, call_id: str, command: str, path: str) -> Event:
        """A call or a result of which all is known without decoding its record."""
        event = _new(Event)
        event.__dict__.update(
            kind=kind, line=self.line, turn=self.at.turn, speaker=speaker, tool=tool, call_id=call_id,
            command=command, path=path,
        )  # fmt: skip
        return event

    def slow(self, raw: bytes, number: int, lines: Lines) -> Iterator[Event]:
        """Events of a line by decoding it; a line that holds no record is named."""
        self.line = number
        line = raw.strip(b" \t\r\xef\xbb\xbf")
        if not line:
            return
        record = self._decoded(line)
        if record is not None:
            yield from self.record(record)
            return
        self.at.name_damaged(number)
        if lines.torn:
            lines.give_back()

    def _decoded(self, line: bytes) -> dict[str, Any] | None:
        """One record, or None when the line holds none; broken UTF-8 is read with marks and named."""
        try:
            record = line_loads(line) if line[:2] == b'{"' else quick_loads(line)
        except (ValueError, RecursionError):
            try:
                record = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                return None
            if not is_utf8(line):
                self.at.name_damaged(self.line)
        return record if isinstance(record, dict) else None

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
            yield from self.last_answer()
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
            seen.append(source)
            del seen[:-PROMPTS_KEPT]
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
        if command and not failed and not checks_output.only_looks(command):
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
                self.held = None  # not the last one any more
                yield self._event(EventKind.ANSWER, Speaker.MODEL, block["text"], record=record)
            elif block.get("type") == "tool_use":
                value = block.get("input")
                given: dict[str, Any] = value if isinstance(value, dict) else {}
                name = str(block.get("name"))
                if name.encode() in PASSIVE and not self.full:
                    continue
                path = given.get("file_path") or given.get("notebook_path") or given.get("path")
                command = given.get("command")
                yield self._call(
                    str(block.get("id")),
                    name,
                    command if isinstance(command, str) else "",
                    path if isinstance(path, str) else "",
                    record,
                )

    def _attachment(self, record: dict[str, Any]) -> Iterator[Event]:
        attachment = record.get("attachment")
        if isinstance(attachment, dict):
            marker = str(attachment.get("type"))
            yield self._event(
                EventKind.MARKER, Speaker.MACHINE, _flat(attachment.get("content")), marker=marker, record=record
            )

    def _call(self, ident: str, tool: str, command: str, path: str, record: Any) -> Event:
        at = self.at
        command = command[:TEXT_KEPT]
        if len(at.calls) >= OPEN_CALLS:
            # The client lost these results; insertion order says which are oldest.
            at.calls = dict(list(at.calls.items())[OPEN_CALLS // 2 :])
        at.calls[ident] = [tool, command, path]
        if record is None:
            return self._told(_CALL, _MODEL, tool, ident, command, path)
        return self._event(EventKind.CALL, Speaker.MODEL, "", call_id=ident, call=at.calls[ident], record=record)

    def _event(
        self,
        kind: EventKind,
        speaker: Speaker,
        text: str,
        *,
        call_id: str = "",
        call: list[str] | None = None,
        failed: bool = False,
        denied: bool = False,
        marker: str = "",
        record: Any = None,
    ) -> Event:
        values = record if isinstance(record, dict) else {}
        at, source = values.get("timestamp"), values.get("uuid")
        tool, command, path = call or ("", "", "")
        event = _new(Event)
        event.__dict__.update(
            kind=kind, line=self.line, turn=self.at.turn, speaker=speaker, text=text[:TEXT_KEPT],
            at=at if isinstance(at, str) else "", tool=tool, call_id=call_id, command=command, path=path,
            failed=failed, denied=denied, marker=marker, source=source if isinstance(source, str) else "",
        )  # fmt: skip
        return event


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
