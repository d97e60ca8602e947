"""A user's edit of a draft: a private file that stays until it was taken, or the draft was decided.

It lies in `derived/edit/`, so that no backup holds it and `forget` takes it along.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import Refused
from . import files
from .home import Home
from .proposals import Proposal

MARK = "# experience-forge: "
"""Begins the lines on top of an edit that name its faults; they are taken off again."""


def begin(home: Home, proposal: Proposal) -> tuple[Path, bool]:
    """The file to edit, and whether it holds an earlier edit of the same text.

    Raises:
        Refused: when it can't be written.
    """
    path = _folder(home) / f"{proposal.id}.{proposal.digest[:16]}.md"
    if path.exists():
        return path, True
    files.write_text(path, proposal.text)
    return path, False


def read(path: Path) -> str:
    """What the editor left, without the lines that name faults, line ends as `\\n`.

    Raises:
        Refused: when it is gone, or no UTF-8.
    """
    lines = files.read_text(path).replace("\r\n", "\n").split("\n")
    while lines and lines[0].startswith(MARK.rstrip()):
        del lines[0]
    return "\n".join(lines)


def mark(path: Path, faults: Sequence[str]) -> None:
    """Name the faults on top of the file, in place of earlier ones; its text stays as it is.

    Raises:
        Refused: when it can't be written.
    """
    files.write_text(path, "".join(f"{MARK}{fault}\n" for fault in faults) + read(path))


def drop(home: Home, proposal_id: str) -> None:
    """Remove what was kept of a proposal's edits; what can't be removed stays, and binds nothing."""
    for path in _folder(home).glob(f"{proposal_id}.*.md"):
        with suppress(Refused):
            files.remove(path)


def _folder(home: Home) -> Path:
    return home.derived / "edit"
