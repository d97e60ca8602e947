"""Records of Claude Code transcripts, one JSON object a line, as events.

Most bytes are thinking, file contents and bookkeeping that no detector needs. A line is passed over
on its raw form when its beginning says so beyond doubt (both spacings of keys; `claude_forms` has the
forms); every other line is decoded (`claude_decoding`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model import Event, EventKind, Speaker
from . import checks_output
from .claude_decoding import Decoding
from .claude_forms import (
    CALL,
    FORM_BYTES,
    FORMS,
    NO_END,
    PASSIVE,
    RESULT,
    RESULT_BY_ID,
    THINKING,
    TOOL,
    WHOLE_CALL,
    another,
    is_side,
    is_utf8,
    unescaped,
)
from .lines import Lines, Position

_RESULT, _TOOL = EventKind.RESULT, Speaker.TOOL
_KEY = b'"content":'
_ID_KEY = b'"tool_use_id":'
_DENIED_RAW = b"The user doesn't want to"
_DENIED_REACH = 290
_MAIN = frozenset({b'"isSidechain":false', b'"isSidechain": fals'})
_BY_MODEL = frozenset({b'"assistant",', b'assistant", '})
"""The twelve bytes before the content of an answer."""
_NOTHING: tuple[Event, ...] = ()


def read(lines: Lines, position: Position, full: bool) -> Iterator[Event]:
    """The events of a transcript from `position` on; damaged lines are named there and passed over."""
    walk = _Walk(position, full, lines.telling)
    for piece in lines.chunks():
        if piece is None:
            position.name_damaged(position.line + 1)
        elif full or lines.torn or not (piece.isascii() or is_utf8(piece)):
            yield from walk.one_by_one(piece, lines)
        else:
            yield from walk.leaping(piece, lines)
    yield from walk.last_answer()


class _Walk(Decoding):
    """Goes through lines where they stand in a block: cutting each one out would take as long as all else."""

    def __init__(self, position: Position, full: bool, phrases: Sequence[str] | None) -> None:
        super().__init__(position, full, phrases)
        self.side = 0

    def one_by_one(self, piece: bytes, lines: Lines) -> Iterator[Event]:
        """Events of a piece of which a line may be damaged, each line cut out; with `full` every line is decoded."""
        number = self.at.line
        for raw in piece.removesuffix(b"\n").split(b"\n"):
            number += 1
            self.line = number
            passed = not self.full and (raw.isascii() or is_utf8(raw))
            place = raw.find(_KEY) + len(_KEY)
            form = FORMS.get(raw[place : place + FORM_BYTES], 0)
            events = self._quick(raw + b"\n", 0, place, len(raw), form) if passed else None
            yield from self.slow(raw, number, lines) if events is None else events

    def leaping(self, piece: bytes, lines: Lines) -> Iterator[Event]:
        """Events of a piece of whole lines in UTF-8 that ends with a newline.

        What stands right behind `"content":` names most lines that nobody needs by one lookup.
        """
        number, find, form_of, quick = self.at.line, piece.find, FORMS.get, self._quick
        begin, size = 0, len(piece)
        while begin < size:
            end = find(b"\n", begin)
            number += 1
            place = find(_KEY, begin, end) + 10
            form = form_of(piece[place : place + FORM_BYTES], 0)
            if form == THINKING:
                close = find(b"}", place, end)
                if (
                    piece[close + 1] == 93 and piece[close - 1] == 34 and piece[close - 2] not in NO_END
                    and piece[begin] == 123 and piece[end - 1] == 125 and place > begin
                ):  # fmt: skip
                    begin = end + 1
                    continue
            self.line = number
            events = quick(piece, begin, place, end, form)
            if events is None:
                yield from self.slow(piece[begin:end], number, lines)
            elif events:
                yield from events
            begin = end + 1
        lines.counted = number - self.at.line

    def _quick(self, piece: bytes, begin: int, place: int, end: int, form: int) -> Sequence[Event] | None:
        """Events of the line from `begin` to `end` by its raw form; None when it has to be decoded.

        Args:
            place: behind the first `"content":` of the line; ten above nothing when it has none.
            form: what `FORMS` says of the bytes there.
        """
        if piece[begin] != 123 or piece[begin + 1] != 34 or piece[end - 1] != 125:
            return None
        if not form or place <= begin:
            return self._formless(piece, begin, place, end)
        if form == TOOL:
            form = CALL if piece[place + FORM_BYTES] == 117 else RESULT
        if form >= RESULT:
            return self._result_at(piece, begin, place, end, form)
        if another(piece, place, end):
            return None
        if form == CALL:
            return self._call_at(piece, begin, place, end)
        if form == THINKING:
            return _NOTHING
        if piece[place - 22 : place - 10] not in _BY_MODEL and piece.find(b'"user"', begin, place) >= 0:
            return None
        if self._aside(piece, begin, place):
            return _NOTHING
        if self.telling is None or self.telling.may_hold(piece, place, end):
            self.held = None
            return None
        self.held = (self.line, piece[begin:end], place - begin)
        return _NOTHING

    def _aside(self, piece: bytes, begin: int, place: int) -> bool:
        """Whether a record belongs to a subagent; what says so mostly stands where it stood in the line before."""
        there = begin + self.side
        if piece[there : there + 19] in _MAIN:
            return False
        self.side = max(0, piece.find(b'"isSidechain":', begin, place) - begin)
        return is_side(piece, begin, place)

    def _formless(self, piece: bytes, begin: int, place: int, end: int) -> Sequence[Event] | None:
        find = piece.find
        said = find(b'"user"', begin, end) >= 0 or find(b'"assistant"', begin, end) >= 0
        if not said and find(b"compact_boundary", begin, end) < 0:
            return _NOTHING
        return _NOTHING if place > begin + 9 and is_side(piece, begin, end) else None

    def _call_at(self, piece: bytes, begin: int, place: int, end: int) -> Sequence[Event] | None:
        """A line with one call: of a command, an edit, or of what no detector looks at."""
        found = WHOLE_CALL.match(piece, place, end)
        if found is None:
            return None
        ident, command, edit, path, name = found.groups()
        if name in PASSIVE or self._aside(piece, begin, place):
            return _NOTHING
        if name:
            return None
        try:
            given = unescaped(path if command is None else command)
        except ValueError:
            return None
        if command is None:
            return (self._call(ident.decode(), edit.decode(), "", given, None),)
        return (self._call(ident.decode(), "Bash", given, "", None),)

    def _result_at(self, piece: bytes, begin: int, place: int, end: int, form: int) -> Sequence[Event] | None:
        """A line with one result: its event when a command passed, None when it has to be decoded."""
        find = piece.find
        first = find(b'"', place + 16 if form == RESULT_BY_ID else find(_ID_KEY, place, end) + len(_ID_KEY), end) + 1
        last = find(b'"', first, end)
        if first <= place or last < first or find(_ID_KEY, last, end) >= 0:
            return None
        ident = piece[first:last].decode()
        calls = self.at.calls
        call = calls.get(ident)
        if call is None:
            return _NOTHING if find(_DENIED_RAW, place, place + _DENIED_REACH) < 0 else None
        if self._aside(piece, begin, place):
            return _NOTHING
        said = find(b'"is_error":', place, end) + 11
        if said > 10 and piece[said : said + 5].lstrip()[:4] == b"true":
            return None
        tool, command, path = call
        if not command:
            del calls[ident]
            return _NOTHING
        if not checks_output.only_looks(command) and checks_output.raw_failed(piece[place - 10 : end]):
            return None
        del calls[ident]
        return (self._told(_RESULT, _TOOL, tool, ident, command, path),)
