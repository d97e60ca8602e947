"""The records of installation: `<home>/install.json`, and the mark `.installed.json` in a skill folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import Refused
from ..fast.home import RECORD
from . import files

NAME = "install.json"


def known(home: Path) -> list[dict[str, Any]]:
    """All installs that this data home knows of; an unreadable record counts as none."""
    try:
        return read(home)
    except Refused:
        return []


def read(home: Path) -> list[dict[str, Any]]:
    """As `known`, for those who write or remove what it names.

    Raises:
        Refused: when the file is there and can't be read: what goes by it would be lost.
    """
    data = files.read_record(home / NAME)
    found = data.get("installs") if isinstance(data, dict) else None
    return [one for one in found or () if isinstance(one, dict) and one.get("skill_folder")]


def of(home: Path, skill_folder: Path) -> dict[str, Any]:
    """The install in one skill folder; empty when there is none."""
    return next((one for one in known(home) if one["skill_folder"] == str(skill_folder)), {})


def put(home: Path, install: Mapping[str, Any]) -> None:
    """Add an install, or replace the one in the same skill folder."""
    others = [one for one in read(home) if one["skill_folder"] != install["skill_folder"]]
    _write(home, [*others, dict(install)])


def change(home: Path, skill_folder: Path, values: Mapping[str, Any]) -> None:
    """Change these values of the install in one skill folder; Refused as `read`."""
    mine = next((one for one in read(home) if one["skill_folder"] == str(skill_folder)), {})
    put(home, {"skill_folder": str(skill_folder), **mine, **values})


def drop(home: Path, skill_folder: Path) -> None:
    """Forget an install; without any left, the record goes."""
    left = [one for one in read(home) if one["skill_folder"] != str(skill_folder)]
    if left:
        _write(home, left)
    else:
        files.remove(home / NAME)


def lives(install: Mapping[str, Any]) -> bool:
    """Whether the skill folder of an install is still there: a project may have been removed with its install."""
    return Path(str(install["skill_folder"]), "scripts", "forge.py").is_file()


def launched(home: Path, newest: Path | None = None, project: bool = False) -> list[Path]:
    """The skill folders that the launcher tries, in order: the user's own before a project's, the newest first.

    Args:
        newest: the skill folder of an install that is being made, recorded or not; `project` belongs to it.
    """
    found = [one for one in known(home) if lives(one) and one["skill_folder"] != str(newest)]
    if newest is not None:
        found.append({"skill_folder": str(newest), "project": project})
    found.reverse()
    return [Path(str(one["skill_folder"])) for one in sorted(found, key=lambda one: bool(one.get("project")))]


def mark(skill_folder: Path) -> dict[str, Any]:
    """The record in a skill folder; empty when there is none."""
    try:
        data = files.read_record(skill_folder / RECORD)
    except Refused:
        return {}
    return data if isinstance(data, dict) else {}


def write_mark(skill_folder: Path, values: Mapping[str, Any]) -> None:
    """Write the record that makes hooks act; unchanged bytes are not written."""
    _write_changed(skill_folder / RECORD, dumped(values))


def dumped(values: Mapping[str, Any]) -> str:
    """A record as text."""
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def _write(home: Path, found: list[dict[str, Any]]) -> None:
    _write_changed(home / NAME, dumped({"schema": 1, "installs": found}))


def _write_changed(path: Path, text: str) -> None:
    try:
        if files.read_text(path) == text:
            return
    except (OSError, Refused):
        pass
    files.write_text(path, text)
