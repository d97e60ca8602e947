"""Looks over the data home: what does not parse, was edited, is cut or waits; and mends what is derived."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ForgeError
from ..fast import visible
from . import config, derived, entries, files, journal, library, proposals, recall_index, redaction, tidying
from .home import Home

LEDGERS_READ = 200
LOG_LINES = 3
DIFF_LINES, DIFF_WIDTH = 24, 200
FREE_LEAST = 1024 * 1024
"""Bytes that a disk must have left: an index of some hundred entries takes about as much."""
DAMAGED = ".damaged"
_CONFLICT_MARKS = ("conflicted copy", ".sync-conflict-", "冲突", ".conflict-")


@dataclass(frozen=True)
class Finding:
    """One thing that doctor saw.

    `level` is `ok`, `note` (worth knowing), `warn` (something does not work as it should) or `fault`
    (data is damaged); `text` names a message, `values` its fields; `repair` says that --repair mends it.
    """

    level: str
    area: str
    text: str
    values: dict[str, Any]
    repair: bool = False

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {"level": self.level, "area": self.area, "finding": self.text, **self.values, "repair": self.repair}


def finding(level: str, area: str, text: str, repair: bool = False, **values: Any) -> Finding:
    """A finding with its fields as keywords."""
    return Finding(level, area, text, {name: str(value) for name, value in values.items()}, repair)


def examine(home: Home) -> list[Finding]:
    """Everything of the data home that is worth telling, by area."""
    if not home.root.exists():
        return [finding("note", "home", "no_home", path=home.root)]
    checks = (_entries, _journal, _proposals, _lines, _left_overs, _settings, _logs)
    return [one for check in checks for one in check(home)]


def activity(home: Home) -> dict[str, dict[str, Any]]:
    """What hooks recorded, by event: how many lines of which kind, and when last; newest sessions only."""
    found: dict[str, dict[str, Any]] = {}
    for path in _newest(home.ledger.glob("*.jsonl"), LEDGERS_READ):
        for record in _records(path):
            event = str(record.get("event") or "").split(":")[0]
            if not event:
                continue
            entry = found.setdefault(event, {"count": 0, "last": "", "kinds": {}})
            entry["count"] += 1
            entry["last"] = max(entry["last"], str(record.get("at") or ""))
            kind = str(record.get("what") or "?")
            entry["kinds"][kind] = entry["kinds"].get(kind, 0) + 1
    return found


def repair(home: Home, stamp: str, dry_run: bool = False) -> list[tuple[str, dict[str, str]]]:
    """Move damaged lines and left-overs aside, finish cut changes, and make derived data anew.

    Nothing that a person confirmed is changed. What is moved goes below `<home>/kept/<stamp>/`.

    Returns what was done: message names with their fields.
    """
    done: list[tuple[str, dict[str, str]]] = []
    kept = home.root / "kept" / stamp
    for path, bad in _damaged(home):
        values = {"path": str(path), "count": str(len(bad)), "kept": str(kept / path.name)}
        done.append(("would_lines" if dry_run else "did_lines", values))
        if not dry_run:
            _move_lines(path, bad, kept / path.name)
    for path in _derived_files(home):
        values = {"path": str(path), "kept": str(kept / "derived" / path.name)}
        done.append(("would_derived" if dry_run else "did_derived", values))
        if not dry_run:
            files.move(path, kept / "derived" / path.name)
    if dry_run:
        return [*done, ("would_rebuild", {"path": str(home.derived)})]
    done += [("did_recover", {"what": line}) for line in library.recover(home)]
    swept = files.sweep_temps(home.root)
    if swept:
        done.append(("did_sweep", {"count": str(swept)}))
    counts = derived.rebuild(home)
    # Which of two contradicting entries is delivered goes by what tidying found.
    tidying.catch_up(home)
    done.append(("did_rebuild", {"path": str(home.derived), "entries": str(counts.get("entries", 0))}))
    return done


def _entries(home: Home) -> Iterator[Finding]:
    found = entries.load_all(home, verify=True)
    states: dict[str, int] = {}
    for stored in found.entries:
        states[stored.state] = states.get(stored.state, 0) + 1
        if stored.state in ("edited", "unconfirmed"):
            shown = difference(home, stored.key, stored.path) if stored.state == "edited" else ""
            values = {"id": stored.entry.id, "path": str(stored.path), **({"difference": shown} if shown else {})}
            yield Finding("warn", "entries", f"entry_{stored.state}", values)
    for path, reason in found.unreadable:
        yield finding("warn", "entries", "entry_unreadable", path=path, reason=reason)
    told = {path for path, _ in found.unreadable}
    for path in sorted(home.entries.rglob("*.md")):
        if path not in told and not entries.is_id(path.stem):
            conflict = any(mark in path.name for mark in _CONFLICT_MARKS)
            yield finding("warn", "entries", "entry_conflict" if conflict else "entry_misnamed", path=path)
    yield finding("ok", "entries", "entries", count=len(found.entries), confirmed=states.get("confirmed", 0))


def difference(home: Home, key: str, path: Path) -> str:
    """A short diff from the confirmed text of an entry to what its file holds now, redacted and escaped."""
    try:
        before, after = library.confirmed_text(home, key), files.read_bytes(path).decode("utf-8", "replace")
    except (OSError, ForgeError):
        return ""
    return short_diff(before, after) if before is not None else ""


def short_diff(before: str, after: str) -> str:
    """A unified diff of two texts, at most `DIFF_LINES` lines, each safe to look at."""
    old, new = (redaction.clean(text)[0].splitlines() for text in (before, after))
    lines = list(difflib.unified_diff(old, new, "confirmed", "now", n=1, lineterm=""))
    cut = lines[:DIFF_LINES] + (["…"] if len(lines) > DIFF_LINES else [])
    return "\n".join(visible.escape(line[:DIFF_WIDTH]) for line in cut)


def _journal(home: Home) -> Iterator[Finding]:
    # Read from the records themselves a moment ago, to look over the entries.
    state = journal.state(home, brief=True)
    for fault in state.faults:
        yield finding("fault", "journal", "chain", fault=fault)
    for record in state.pending:
        names = [Path(str(one.get("path", ""))).stem for one in record.get("files", ())]
        yield finding("warn", "journal", "pending", seq=record.get("seq"), at=record.get("at"), names=", ".join(names))
    if not state.faults:
        yield finding("ok", "journal", "chain_holds", count=state.records)
    for path in sorted(home.root.glob("intent-*.json")):
        yield finding("warn", "journal", "intent", repair=True, path=path)


def _proposals(home: Home) -> Iterator[Finding]:
    for reason in proposals.unreadable(home):
        yield finding("warn", "proposals", "unreadable", reason=reason)
    yield finding("ok", "proposals", "proposals", count=len(proposals.all(home)))


def _lines(home: Home) -> Iterator[Finding]:
    for path, bad in _damaged(home):
        yield finding("warn", "ledger", "damaged_lines", repair=True, path=path, count=len(bad))


def _left_overs(home: Home) -> Iterator[Finding]:
    if not os.access(home.root, os.W_OK):
        yield finding("warn", "home", "read_only", path=home.root)
    elif shutil.disk_usage(home.root).free < FREE_LEAST:
        yield finding("warn", "home", "disk_full", path=home.root)
    temps = sum(1 for _ in home.root.glob(f"*/**/{files.TEMP_MARK}*"))
    if temps:
        yield finding("note", "home", "temps", repair=True, count=temps)
    if recall_index.broken(home):
        yield finding("warn", "home", "index_broken", repair=True, path=home.derived)
    else:
        foreign = recall_index.foreign(home)
        if foreign:
            yield finding("warn", "home", "index_foreign", repair=True, path=home.derived, ids=", ".join(foreign[:10]))
    if home.entries.exists() and not home.derived.exists():
        yield finding("warn", "home", "no_derived", repair=True, path=home.derived)


def _settings(home: Home) -> Iterator[Finding]:
    try:
        config.load()
        if derived.settings_behind(home):
            yield finding("warn", "home", "settings_behind", repair=True, path=home.config)
    except ForgeError as error:
        reason = "; ".join((error.what, *error.faults))
        yield finding("warn", "home", "config_unread", path=home.config, reason=reason)


def _logs(home: Home) -> Iterator[Finding]:
    for path in sorted(home.logs.glob("*.log")):
        lines = _tail(path, LOG_LINES)
        if lines:
            yield finding("note", "logs", "log", path=path, lines=" ⏎ ".join(line[:200] for line in lines))


def _damaged(home: Home) -> Iterator[tuple[Path, list[int]]]:
    """Ledger files with the numbers of their lines that are no JSON object; the journal is never touched."""
    for path in sorted(home.ledger.glob("*.jsonl")):
        try:
            data = files.read_bytes(path)
        except (OSError, ForgeError):
            continue
        bad = [number for number, line in enumerate(data.split(b"\n")) if line.strip() and _object(line) is None]
        if bad:
            yield path, bad


def _move_lines(path: Path, bad: list[int], kept: Path) -> None:
    lines = files.read_bytes(path).split(b"\n")
    wrong = set(bad)
    aside = b"".join(b"line %d: %s\n" % (number + 1, lines[number]) for number in bad)
    files.write_whole(kept, aside)
    left = [line for number, line in enumerate(lines) if number not in wrong and line]
    files.write_whole(path, b"".join(line + b"\n" for line in left))


def _derived_files(home: Home) -> list[Path]:
    return sorted(path for path in home.derived.glob("*") if path.is_file()) if home.derived.is_dir() else []


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        data = files.read_bytes(path)
    except (OSError, ForgeError):
        return
    for line in data.split(b"\n"):
        record = _object(line) if line.strip() else None
        if record is not None:
            yield record


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _newest(paths: Iterable[Path], count: int) -> list[Path]:
    dated = []
    for path in paths:
        try:
            dated.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(dated, reverse=True)[:count]]


def _tail(path: Path, count: int) -> list[str]:
    try:
        data = files.read_bytes(path)[-8192:]
    except (OSError, ForgeError):
        return []
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-count:]


def stamp() -> str:
    """A name for this moment's folder below `kept/`."""
    return time.strftime("%Y%m%d-%H%M%S")
