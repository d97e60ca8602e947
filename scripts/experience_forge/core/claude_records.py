"""Records of Claude Code transcripts, one JSON object a line, as events.

Most bytes are thinking, file contents and bookkeeping that no detector needs. A line is passed over
on its raw form when its beginning says so beyond doubt (both spacings of keys); every other line is
decoded (`claude_forms` has the forms).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ..model import Event, EventKind, Speaker
from . import checks_output, speakers
from .claude_forms import (
    CALL,
    CALL_HEAD,
    CALL_PATH,
    COMMAND,
    EDITS_RAW,
    FORM,
    FORMS,
    PASSIVE,
    RESULT,
    RESULT_BY_ID,
    RESULT_ID,
    THINKING,
    Telling,
    is_side,
    is_utf8,
    line_loads,
    quick_loads,
    unescaped,
)
from .lazy import Pattern
from .lines import Lines, Position

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_new = object.__new__
"""A frozen dataclass sets its fields one by one, which costs three times as much as filling its dictionary."""
_CALL, _RESULT, _MODEL, _TOOL = EventKind.CALL, EventKind.RESULT, Speaker.MODEL, Speaker.TOOL

TEXT_KEPT = 20_000
RESULT_KEPT = 4_000
OPEN_CALLS = 500
INTERRUPT = "[Request interrupted by user"

_DENIED_RAW = b"The user doesn't want to"
_DENIED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "The tool use was rejected",
    "User rejected",
)
_USER_SAID = Pattern(r"(?:the user said|provided the following (?:reason|feedback)[^:]*):\s*\n?(.+)", re.S)


def read(lines: Lines, position: Position, full: bool) -> Iterator[Event]:
    """The events of a transcript from `position` on; damaged lines are named there and passed over."""
    walk = _Walk(position, full, lines.telling)
    for piece in lines.chunks():
        if piece is None:
            position.name_damaged(position.line + 1)
        elif full or lines.torn:
            yield from walk.one_by_one(piece, lines)
        else:
            yield from walk.leaping(piece, lines)
    yield from walk.last_answer()


class _Walk:
    """Turns records into events; what must outlive one call is in the position."""

    def __init__(self, position: Position, full: bool, telling: Sequence[str] | None) -> None:
        self.at = position
        self.full = full
        self.line = position.line
        self.held: tuple[int, bytes] | None = None
        self.telling = None if telling is None else Telling(telling)

    def one_by_one(self, piece: bytes, lines: Lines) -> Iterator[Event]:
        """Events of a piece, each line decoded or looked at on its own; the form is looked at for nothing."""
        number = self.at.line
        for raw in piece.removesuffix(b"\n").split(b"\n"):
            number += 1
            events = None if self.full else self.quick(raw, number)
            yield from self.slow(raw, number, lines) if events is None else events

    def leaping(self, piece: bytes, lines: Lines) -> Iterator[Event]:
        """Events of a piece that ends with a newline; the same as `one_by_one`, which costs three times as much.

        What stands right behind `"content":` names most lines that nobody needs by one lookup.
        """
        number, telling, form_of = self.at.line, self.telling, FORMS.get
        cut = piece.split(b"\n")
        cut.pop()
        lines.counted = len(cut)
        plain = piece.isascii()
        for raw in cut:
            number += 1
            place = raw.find(b'"content":') + 10
            form = form_of(raw[place : place + 18]) or form_of(raw[place : place + 16], 0)
            if form and place > 9 and raw[-1] == 125 and raw[:2] == b'{"' and (plain or raw.isascii() or is_utf8(raw)):
                if form >= RESULT:
                    self.line = number
                    result = self._result_at(raw, place, form)
                    if result is True:
                        continue
                    if result:
                        yield result
                        continue
                elif raw.find(b', {"type": "t' if raw[place] == 32 else b',{"type":"t', place) < 0:
                    if form == THINKING:
                        continue
                    if form == CALL:
                        call = CALL_HEAD.match(raw, place)
                        if call is not None:
                            ident, name = call.groups()
                            if name in PASSIVE or is_side(raw, place):
                                continue
                            self.line = number
                            event = self._known_call(raw, call.end(), ident, name)
                            if event is not None:
                                yield event
                                continue
                    elif raw.find(b'"user"', 0, place) < 0 and not is_side(raw, place):
                        if telling is not None and not telling.may_hold(raw, place):
                            self.held = (number, raw)
                            self.line = number
                            continue
                        self.held = None
            events = self.quick(raw, number)
            if events is None:
                yield from self.slow(raw, number, lines)
            elif events:
                yield from events

    def _result_at(self, raw: bytes, place: int, form: int) -> Event | bool:
        """A line with one result: its event, True when it needs none, False when it has to be decoded."""
        key = place + 2 if form == RESULT_BY_ID else raw.find(b'"tool_use_id":', place)
        begin = raw.find(b'"', key + 14) + 1
        end = raw.find(b'"', begin)
        if key < place or end < begin or raw.find(b'"tool_use_id":', end) >= 0:
            return False
        ident = raw[begin:end].decode()
        call = self.at.calls.get(ident)
        if call is None:
            return raw.find(_DENIED_RAW, place, place + 290) < 0
        said = raw.find(b'"is_error":', place)
        if (said >= 0 and (b'"is_error":true' in raw or b'"is_error": true' in raw)) or is_side(raw, place):
            return False
        command = call[1]
        if command and not checks_output.only_looks(command) and checks_output.raw_failed(raw, place - 10):
            return False
        del self.at.calls[ident]
        return self._passing(ident, call) if command else True

    def quick(self, raw: bytes, number: int) -> Sequence[Event] | None:
        """Events of a line by its raw form, without decoding; None when it has to be decoded.

        Searching is what costs here: every search is bounded, or has a needle with both spacings known.
        """
        if raw[:2] != b'{"' or raw[-1:] != b"}" or not (raw.isascii() or is_utf8(raw)):
            return None
        begin = raw.find(b'"content":')
        if begin < 0:
            return () if b'"user"' not in raw and b'"assistant"' not in raw and b"compact_boundary" not in raw else None
        form = FORM.match(raw, begin)
        if form is None:
            return self._quick_other(raw)
        kind, end = form.lastindex or 0, form.end()
        another = b', {"type": "t' if raw[begin + 10] == 32 else b',{"type":"t'
        if kind == THINKING or (kind == CALL and form.group(3) in PASSIVE):
            return () if raw.find(another, end) < 0 else None
        if is_side(raw, begin):
            return ()
        self.line = number
        if kind >= RESULT:
            return self._quick_result(raw, begin)
        if raw.find(another, end) >= 0:
            return None
        if kind == CALL:
            event = self._known_call(raw, form.end(), form.group(2), form.group(3))
            return None if event is None else (event,)
        if raw.find(b'"user"', 0, begin) >= 0:
            return None
        if self.telling is None or self.telling.may_hold(raw, begin):
            self.held = None
            return None
        self.held = (number, raw)
        return ()

    def _quick_other(self, raw: bytes) -> Sequence[Event] | None:
        if b'"isSidechain":true' in raw or b'"isSidechain": true' in raw:
            return ()
        wanted = b'"user"' in raw or b'"assistant"' in raw or b"compact_boundary" in raw
        return None if wanted else ()

    def _known_call(self, raw: bytes, end: int, ident: bytes, name: bytes) -> Event | None:
        """The call of a command or an edit whose input begins at byte `end`; None when it has to be decoded."""
        form = COMMAND if name == b"Bash" else CALL_PATH if name in EDITS_RAW else None
        found = form.match(raw, end) if form else None
        if found is None:
            return None
        try:
            given = unescaped(found.group(1))
        except ValueError:
            return None
        command, path = (given, "") if form is COMMAND else ("", given)
        return self._call(ident.decode(), name.decode(), command, path, None)

    def _quick_result(self, raw: bytes, begin: int) -> Sequence[Event] | None:
        place = raw.find(b'"tool_use_id":', begin)
        found = RESULT_ID.match(raw, place) if place >= 0 else None
        if found is None or raw.find(b'"tool_use_id":', found.end()) >= 0:
            return None
        ident = found.group(1).decode()
        call = self.at.calls.get(ident)
        if call is None and raw.find(_DENIED_RAW, begin, begin + 300) < 0:
            return ()
        if call is None or b'"is_error":true' in raw or b'"is_error": true' in raw:
            return None
        if call[1] and not checks_output.only_looks(call[1]) and checks_output.raw_failed(raw, begin):
            return None
        del self.at.calls[ident]
        if not call[1]:
            return ()
        return (self._passing(ident, call),)

    def _passing(self, ident: str, call: list[str]) -> Event:
        event = _new(Event)
        event.__dict__.update(
            kind=_RESULT, line=self.line, turn=self.at.turn, speaker=_TOOL, tool=call[0], call_id=ident,
            command=call[1], path=call[2],
        )  # fmt: skip
        return event

    def last_answer(self) -> Iterator[Event]:
        """The last answer of a turn, when it tells nothing: only whether it asks counts."""
        held, self.held = self.held, None
        if held is not None:
            line, self.line = self.line, held[0]
            record = self._decoded(held[1])
            if record is not None:
                yield from self.record(record)
            self.line = line

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
        if len(at.calls) >= OPEN_CALLS:
            # The client lost these results; insertion order says which are oldest.
            at.calls = dict(list(at.calls.items())[OPEN_CALLS // 2 :])
        at.calls[ident] = [tool, command[:TEXT_KEPT], path]
        if record is None:
            event = _new(Event)
            event.__dict__.update(
                kind=_CALL, line=self.line, turn=at.turn, speaker=_MODEL, tool=tool, call_id=ident,
                command=command[:TEXT_KEPT], path=path,
            )  # fmt: skip
            return event
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
