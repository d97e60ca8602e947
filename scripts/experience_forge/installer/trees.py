"""Removes whole folders that we made."""

from __future__ import annotations

from pathlib import Path

from ..store import files


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it; links are removed, never followed; none there is fine."""
    if folder.is_symlink() or not folder.is_dir():
        files.remove(folder)
        return
    for inner in folder.iterdir():
        remove(inner)
    files.remove_empty_folder(folder)
