"""Readers of sessions: one small module a format, chosen by content, found by being in this folder.

A reader module has `CLIENT` (its name), `sniff(head: bytes) -> bool` and
`read(lines: Lines, position: Position, full: bool) -> Iterator[Event]`. It changes `position` as it
goes, so that reading can go on there later.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ...errors import Invalid, Refused, Text
from ...model import Event, SessionInfo
from .base import HEAD_BYTES, Lines, Position

__all__ = ["Position", "Session", "open_session", "reader_of"]


@cache
def _readers() -> tuple[Any, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")
    return tuple(importlib.import_module(f".{name}", __name__) for name in names)


def reader_of(head: bytes) -> Any | None:
    """The reader module for a file that begins with `head`, or None when no format is known."""
    for reader in _readers():
        if reader.sniff(head):
            return reader
    return None


class Session:
    """One transcript being read; `events()` may be called once, `info` and `position` hold after it."""

    def __init__(
        self, path: Path, reader: Any, position: Position, full: bool, telling: Sequence[str] | None = None
    ) -> None:
        self.path = path
        self.client: str = reader.CLIENT
        self.position = position
        self._reader = reader
        self._full = full
        self._telling = telling

    def events(self) -> Iterator[Event]:
        """The events after the position, in the order of the file.

        Raises:
            Refused: when the file can't be opened.
        """
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise Refused(
                Text("errors_store.cant_read", path=self.path, cause=error.strerror),
                Text("errors_store.check_permissions"),
            ) from error
        with file:
            yield from self._reader.read(Lines(file, self.position, self._telling), self.position, self._full)

    @property
    def info(self) -> SessionInfo:
        """What was learned about the session as a whole, so far."""
        at = self.position
        return SessionInfo(
            id=at.session or self.path.stem,
            client=self.client,
            cwd=at.cwd,
            started=at.started,
            turns=at.turn + 1,
            path=str(self.path),
            damaged=tuple(at.damaged),
        )


def open_session(
    path: Path, position: Position | None = None, *, full: bool = False, telling: Sequence[str] | None = None
) -> Session:
    """Choose the reader by content and make ready to read.

    Args:
        position: where an earlier reading ended. It is dropped when the file has become shorter
            than it, or holds another session.
        full: decode every record and keep the text of all tool results; slower by a factor of two
            to three, and finds damage inside records that the quick way passes over.
        telling: of the answers within a turn only those that may hold one of these phrases are given,
            and the last one; None gives all.

    Raises:
        Refused: when the file can't be read.
        Invalid: when no reader knows the format.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            size = file.seek(0, 2)
    except OSError as error:
        raise Refused(
            Text("errors_store.cant_read", path=path, cause=error.strerror), Text("errors_store.check_permissions")
        ) from error
    reader = reader_of(head)
    if reader is None:
        known = ", ".join(sorted(reader.CLIENT for reader in _readers()))
        raise Invalid(Text("errors_store.no_format", path=path), Text("errors_store.known_formats", names=known))
    if position is None or position.offset > size or not position.fits(head):
        position = Position()
    position.remember(head)
    return Session(path, reader, position, full, telling)


def damaged(path: Path) -> tuple[int, ...]:
    """Numbers of all lines that can't be read whole, every record decoded; at most 1,000 are named.

    Raises:
        Refused, Invalid: as `open_session`.
    """
    session = open_session(path, full=True)
    for _ in session.events():
        pass
    return session.info.damaged
