"""Where reading of a session stands, and lines of bounded length from what was opened; opens nothing itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from ..fast import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, BinaryIO

BLOCK_BYTES = 96 << 10
"""Below what the C library maps anew for each block, which costs as much as all reading of the block."""
LONGEST_LINE = 16 << 20
"""A line above this is passed over and named as damaged: it is a pasted binary, never a person's words."""

DAMAGED_KEPT = 1000


@dataclass
class Position:
    """Where reading stands: enough to go on without reading anything twice.

    `offset` counts bytes, `line` the lines before it, `turn` is the last user turn (-1 before the
    first). `calls` maps open tool calls to `[tool, command, path]`; `mode` is the reader's own state.
    """

    offset: int = 0
    line: int = 0
    turn: int = -1
    session: str = ""
    cwd: str = ""
    started: str = ""
    headless: bool = False
    calls: dict[str, list[str]] = field(default_factory=dict)
    damaged: list[int] = field(default_factory=list)
    mode: dict[str, Any] = field(default_factory=dict)
    head: str = ""

    def name_damaged(self, line: int) -> None:
        """Note a line that could not be read; the list is capped at 1,000."""
        if len(self.damaged) < DAMAGED_KEPT:
            self.damaged.append(line)

    def fits(self, head: bytes) -> bool:
        """Whether `head` begins as the file did when this position was taken."""
        return not self.head or self.head == _mark(head)

    def remember(self, head: bytes) -> None:
        """Keep a mark of the file's beginning."""
        self.head = _mark(head)

    def to_json(self) -> dict[str, Any]:
        """A mapping that `from_json` takes back."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Any) -> Position:
        """The position in `data`; the beginning when a field is missing or of the wrong type."""
        start = cls()
        if not isinstance(data, dict):
            return start
        values = {}
        for item in fields(cls):
            value = data.get(item.name, getattr(start, item.name))
            if type(value) is not type(getattr(start, item.name)):
                return start
            values[item.name] = value
        return cls(**values)


def _mark(head: bytes) -> str:
    first = head.split(b"\n", 1)[0][:4096]
    return str(system.sha256(first))[:16]


class Lines:
    """Lines of a binary file from a position on, a block at a time, never a whole file.

    A last line without its newline is marked by `torn`; the reader gives it back when it was not
    whole. Lines above 16 MB come as `None`.
    """

    def __init__(self, file: BinaryIO, position: Position, telling: Sequence[str] | None = None) -> None:
        self._file = file
        self._position = position
        self.telling = telling
        """Of the answers within a turn only those with one of these phrases are wanted; None: all."""
        self.torn = False
        self.counted = -1
        """How many lines the last piece has, when its reader has counted them; -1 otherwise."""

    def chunks(self) -> Iterator[bytes | None]:
        """Whole lines, many in one piece that ends with a newline; the position moves past a piece afterwards."""
        position = self._position
        self._file.seek(position.offset)
        carry: list[bytes] = []
        size = 0
        while block := self._file.read(BLOCK_BYTES):
            end = block.rfind(b"\n") + 1
            if not end:
                size += len(block)
                carry = [*carry, block] if size <= LONGEST_LINE else []
                continue
            first = block.find(b"\n") + 1 if size > LONGEST_LINE else 0
            if first:
                yield None
                position.line += 1
                position.offset += size + first
                carry, size = [], 0
            if first < end:
                self.counted = -1
                yield (piece := b"".join([*carry, memoryview(block)[first:end]]))
                position.line += piece.count(b"\n") if self.counted < 0 else self.counted
                position.offset += len(piece)
            carry, size = [block[end:]], len(block) - end
        if size:
            self.torn = True
            yield b"".join(carry) if size <= LONGEST_LINE else None
            if self.torn:
                position.line += 1
                position.offset += size

    def __iter__(self) -> Iterator[tuple[int, bytes | None]]:
        """Each line with its number, counted from 1 in the file."""
        for piece in self.chunks():
            number = self._position.line
            if piece is None:
                yield number + 1, None
                continue
            for line in piece.removesuffix(b"\n").split(b"\n"):
                number += 1
                yield number, line

    def give_back(self) -> None:
        """The torn last line was not whole: reading starts with it next time."""
        self.torn = False
