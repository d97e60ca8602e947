"""Grown skills in the home: what was confirmed, and whether any session listed or loaded them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import changes, growing
from ..fast import home as fast_home
from . import files, journal, library
from .home import Home

QUIET_SESSIONS = 20
"""Sessions without a load after which a grown skill is called unused."""


@dataclass(frozen=True)
class Skill:
    """A confirmed grown skill; `at` and `seq` are those of its change."""

    name: str
    text: str
    entries: tuple[str, ...]
    prompts: tuple[str, ...]
    at: str
    seq: int


@dataclass(frozen=True)
class Use:
    """Sessions since a skill is there, those that listed it and those that loaded it, and the last load."""

    sessions: int
    listed: int
    loaded: int
    last: str = ""

    @property
    def unused(self) -> bool:
        """Whether nothing loaded it although there were sessions enough to."""
        return not self.loaded and self.sessions >= QUIET_SESSIONS


def confirmed(home: Home) -> list[Skill]:
    """Grown skills whose bytes are the ones that a person confirmed."""
    found = []
    for key, state in sorted(journal.confirmed(home).items()):
        if not key.startswith("@skills/") or not state.proven:
            continue
        try:
            data = files.read_bytes(library.path_of(home, key))
        except FileNotFoundError:
            continue
        if files.sha256(data) == state.sha256:
            fields = _fields(home, key, state.sha256)
            found.append(Skill(key.split("/")[1], data.decode("utf-8"), _names(fields, "entries"),
                               _names(fields, "prompts"), state.at, state.seq))
    return found


def use_of(skill: Skill, transcripts: Iterable[Path]) -> Use:
    """How a skill fared in the client's own records since it was confirmed."""
    sessions = listed = loaded = 0
    last = ""
    name = skill.name.encode()
    for path in transcripts:
        if path.stat().st_mtime < fast_seconds(skill.at):
            continue
        sessions += 1
        try:
            data = files.read_bytes(path)
        except OSError:
            continue
        if name not in data:
            continue
        listed += 1
        times = [at for at in _loads(data, skill.name) if at >= skill.at]
        if times:
            loaded += 1
            last = max(last, *times)
    return Use(sessions, listed, loaded, last)


def transcripts() -> list[Path]:
    """All sessions that the client keeps on this machine."""
    return sorted(Path(fast_home.client_folder(), "projects").glob("*/*.jsonl"))


def fast_seconds(at: str) -> float:
    """Seconds since 1970 of a journal time; 0 when it is none."""
    import datetime

    try:
        return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _loads(data: bytes, name: str) -> Iterator[str]:
    """Times of the tool calls that loaded a skill, and of the user's own `/name`."""
    for line in data.split(b"\n"):
        if name.encode() not in line:
            continue
        try:
            record = json.loads(line)
        except ValueError:
            continue
        message = record.get("message") if isinstance(record, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else []
        called = any(isinstance(b, dict) and b.get("name") == "Skill" and name in json.dumps(b.get("input", {}))
                     for b in blocks)
        typed = isinstance(content, str) and f"<command-name>/{name}" in content
        if called or typed:
            yield str(record.get("timestamp", ""))


def _fields(home: Home, key: str, sha256: str) -> Mapping[str, Any]:
    """The machine fields of the newest change that wrote these bytes."""
    for record in reversed(journal.read(home)):
        wrote = any(f.get("path") == key and f.get("after") == sha256 for f in record.get("files", ()))
        if wrote and record.get("change") == "grow":
            text = library.kept_text(home, str(record.get("digest", "")))
            return changes.parse("grow", text).data if text else {}
    return {}


def _names(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def wanted(home: Home) -> dict[str, str]:
    """Name to text of each grown skill that clients are given."""
    return {skill.name: skill.text for skill in confirmed(home)}


def before(home: Home, name: str) -> str:
    """The sha256 of the present text of a grown skill; empty when there is none."""
    try:
        return files.sha256(files.read_bytes(library.path_of(home, growing.key_of(name))))
    except FileNotFoundError:
        return ""
