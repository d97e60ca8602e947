"""What has grown in the home: what was confirmed, whether any session listed or loaded it, and what followed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core import changes, growing
from ..core.effect import SessionLedger
from ..fast import home as fast_home
from . import files, journal, library
from .home import Home

QUIET_SESSIONS = 20
"""Sessions without a load after which a grown skill is called unused."""


@dataclass(frozen=True)
class Skill:
    """A confirmed skill, command or agent (`form`); `at` and `seq` are those of its change."""

    name: str
    form: str
    text: str
    entries: tuple[str, ...]
    prompts: tuple[str, ...]
    at: str
    seq: int


@dataclass(frozen=True)
class Use:
    """Sessions since it is there, those that listed it, those that loaded it, the last load, and what followed.

    `followed` counts what became of its entries' triggers after the loads: good, bad, unknown.
    """

    sessions: int
    listed: int
    loaded: int
    last: str = ""
    followed: Mapping[str, int] = field(default_factory=dict)

    @property
    def unused(self) -> bool:
        """Whether nothing loaded it although there were sessions enough to."""
        return not self.loaded and self.sessions >= QUIET_SESSIONS


def confirmed(home: Home) -> list[Skill]:
    """What has grown and has the bytes that a person confirmed."""
    found = []
    for key, state in sorted(journal.confirmed(home).items()):
        grown = growing.form_of_key(key)
        if grown is None or not state.proven:
            continue
        try:
            data = files.read_bytes(library.path_of(home, key))
        except FileNotFoundError:
            continue
        if files.sha256(data) == state.sha256:
            fields = _fields(home, key, state.sha256)
            found.append(Skill(grown[1], grown[0], data.decode("utf-8"), _names(fields, "entries"),
                               _names(fields, "prompts"), state.at, state.seq))
    return found


def use_of(skill: Skill, transcripts: Iterable[Path], ledgers: Iterable[SessionLedger] = ()) -> Use:
    """How it fared in the client's own records since it was confirmed.

    Args:
        ledgers: what is known of the triggers of its entries in each session.
    """
    sessions = listed = 0
    loads: dict[str, str] = {}
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
        lines = [line for line in data.split(b"\n") if name in line]
        times = [at for at in _loads(lines, skill) if at >= skill.at]
        listed += bool(times) or any(b"_listing" in line for line in lines)
        if times:
            loads[path.stem] = min(times)
            last = max(last, *times)
    return Use(sessions, listed, len(loads), last, _followed(skill, loads, ledgers))


def _followed(skill: Skill, loads: Mapping[str, str], ledgers: Iterable[SessionLedger]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for ledger in ledgers:
        if ledger.session in loads:
            begun = loads[ledger.session][:19]
            counts.update(chance.outcome or "unknown" for chance in ledger.opportunities
                          if chance.entry in skill.entries and chance.at[:19] >= begun)
    return dict(counts)


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


def _loads(lines: Iterable[bytes], skill: Skill) -> Iterator[str]:
    """Times of the calls that loaded it (of an agent: that started it), and of the user's own `/name`."""
    name = skill.name
    tools = ("Task", "Agent") if skill.form == "agent" else ("Skill", "SlashCommand")
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        message = record.get("message") if isinstance(record, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else []
        called = any(isinstance(b, dict) and b.get("name") in tools and _calls(b.get("input"), name) for b in blocks)
        typed = isinstance(content, str) and f"<command-name>/{name}<" in f"{content}<"
        if called or typed:
            yield str(record.get("timestamp", ""))


def _calls(given: object, name: str) -> bool:
    """Whether one value of a call is the name, or a line that begins with it as a command."""
    values = given.values() if isinstance(given, dict) else ()
    return any(str(value).strip() and str(value).split()[0].lstrip("/") == name for value in values)


def _fields(home: Home, key: str, sha256: str) -> Mapping[str, Any]:
    """The machine fields of the newest change that wrote these bytes."""
    for record in reversed(journal.read(home)):
        wrote = any(f.get("path") == key and f.get("after") == sha256 for f in record.get("files", ()))
        if wrote and record.get("change") == "grow":
            text = journal.kept_text(home, str(record.get("digest", "")))
            return changes.parse("grow", text).data if text else {}
    return {}


def _names(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def before(home: Home, name: str, form: str) -> str:
    """The sha256 of its present text; empty when there is none."""
    try:
        return files.sha256(files.read_bytes(library.path_of(home, growing.key_of(name, form))))
    except FileNotFoundError:
        return ""
