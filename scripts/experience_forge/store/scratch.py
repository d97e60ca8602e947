"""A private file for the user's editor, gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import files
from .home import Home


@contextmanager
def file(home: Home, name: str, text: str) -> Iterator[Path]:
    """A file with this text in `<home>/derived/edit/`, removed at the end.

    Raises:
        Refused: when it can't be written.
    """
    path = home.derived / "edit" / name
    files.write_text(path, text)
    try:
        yield path
    finally:
        files.remove(path)


def read(path: Path) -> str:
    """What the editor left, line ends as `\\n`.

    Raises:
        Refused: when it is no UTF-8.
    """
    return files.read_text(path).replace("\r\n", "\n")
