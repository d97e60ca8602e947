"""Where reading of a session stands, and lines of bounded length from what was opened; opens nothing itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields

from ..fast import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

BLOCK_BYTES = 1 << 20
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
        return asdict(self)

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

    def __init__(self, file: BinaryIO, position: Position) -> None:
        self._file = file
        self._position = position
        self.torn = False

    def blocks(self) -> Iterator[list[bytes | None]]:
        """Lists of lines; the position moves past a list when the next one is asked for."""
        self._file.seek(self._position.offset)
        carry: list[bytes] = []
        size = 0
        while block := self._file.read(BLOCK_BYTES):
            parts: list[bytes | None] = list(block.split(b"\n"))
            last = parts.pop()
            if not parts:
                size += len(block)
                if size <= LONGEST_LINE:
                    carry.append(block)
                continue
            first = parts[0] or b""
            size += len(first)
            parts[0] = b"".join([*carry, first]) if size <= LONGEST_LINE else None
            yield parts
            self._position.line += len(parts)
            self._position.offset += size + sum(len(part) for part in parts[1:] if part) + len(parts)
            carry, size = [last or b""], len(last or b"")
        if size:
            self.torn = True
            yield [b"".join(carry) if size <= LONGEST_LINE else None]
            if self.torn:
                self._position.line += 1
                self._position.offset += size

    def __iter__(self) -> Iterator[tuple[int, bytes | None]]:
        """Each line with its number, counted from 1 in the file."""
        for block in self.blocks():
            number = self._position.line
            for line in block:
                number += 1
                yield number, line

    def give_back(self) -> None:
        """The torn last line was not whole: reading starts with it next time."""
        self.torn = False
