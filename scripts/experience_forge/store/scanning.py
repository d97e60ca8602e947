"""Goes through all sessions on the machine, and goes on where it stopped: states in `derived/scan.db`.

Nothing is written to memory. What is found stays as redacted excerpts in `evidence/`, since clients
delete their transcripts. On large amounts several processes read side by side.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import findings, scoring
from ..core.findings import Finding
from ..errors import ForgeError
from . import evidence, files, processes, readers, session_signals
from .home import Home

NAME = "scan.db"
VERSION = 5
PARALLEL_BYTES = 48 << 20
"""Below this much to read a second process costs more than it gains."""
ROWS_HELD = 256
KEPT_A_SESSION = 20
STATE_LIMIT = 200_000

_text = json.JSONEncoder(ensure_ascii=False).encode
"""As `json.dumps`, which makes such an encoder anew for each value."""

_TABLE = (
    "CREATE TABLE IF NOT EXISTS sessions (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, id TEXT, cwd TEXT,"
    " started TEXT, turns INTEGER, score REAL, findings TEXT, damaged TEXT, state TEXT)"
)


@dataclass(frozen=True)
class Scanned:
    """One session as far as it was read: `damaged` names lines, `fault` says why nothing could be read."""

    path: str
    id: str
    cwd: str
    started: str
    turns: int
    score: float
    findings: tuple[Finding, ...]
    damaged: tuple[int, ...] = ()
    fault: str = ""


@dataclass(frozen=True)
class Scan:
    """The result of one run: all sessions asked for, and how many bytes were read now."""

    sessions: tuple[Scanned, ...]
    read_bytes: int
    changed: int


def scan(
    home: Home, paths: Sequence[Path], advance: Callable[[int], None] = lambda done: None, *, keep: bool = True
) -> Scan:
    """Read what is new in these sessions.

    Args:
        paths: transcripts; the ones that did not change since the last scan are not opened.
        advance: told how many sessions are done.
        keep: remember positions and results; off for a dry run.

    Raises:
        Refused: when the state can't be written.
    """
    files.make_folder(home.derived)
    with closing(_open(home)) as connection:
        known = {row[0]: row[1:] for row in connection.execute("SELECT path, size, mtime FROM sessions")}
        todo, sizes = _changed(paths, known)
        results: dict[str, Scanned] = {}
        rows: list[tuple[Any, ...]] = []
        changed = 0
        states = _states(connection, [path for path, _ in todo]) if known else {}
        read_bytes = sum(size - _offset(states.get(path, "")) for path, size in todo)
        for done, (path, scanned, state) in enumerate(_read(todo, states, read_bytes), 1):
            results[path] = scanned
            rows.append(_row(scanned, sizes[path], state))
            changed += 1
            if len(rows) >= ROWS_HELD:
                _keep_rows(connection, rows, keep)
            advance(len(paths) - len(todo) + done)
        _keep_rows(connection, rows, keep)
        wanted = {str(path) for path in paths}
        old = _kept(connection, wanted - set(results))
    return Scan((*results.values(), *old), max(0, read_bytes), changed)


def _keep_rows(connection: sqlite3.Connection, rows: list[tuple[Any, ...]], keep: bool) -> None:
    if keep and rows:
        with connection:
            connection.executemany(f"INSERT OR REPLACE INTO sessions VALUES ({','.join('?' * 11)})", rows)
    rows.clear()


def grouped(scanned: Scan, threshold: float) -> list[list[tuple[Scanned, Finding]]]:
    """Findings worth a look, the same problem of several sessions together, best first.

    A forked or resumed session repeats the records of the one before it: a finding with the same words
    at the same time and place is one.
    """
    by_key: dict[str, Scanned] = {}
    pairs = []
    seen: set[tuple[str, int, str]] = set()
    for session in sorted(scanned.sessions, key=lambda item: (item.started, item.path)):
        for number, finding in enumerate(session.findings):
            mark = (session.started, finding.line, finding.quote[:80])
            if finding.score >= threshold and mark not in seen:
                seen.add(mark)
                key = f"{session.path}\0{number}"
                by_key[session.path] = session
                pairs.append((key, finding))
    joined = findings.groups((key.split("\0", 1)[0], finding) for key, finding in pairs)
    return [[(by_key[path], finding) for path, finding in group] for group in joined]


def keep_evidence(home: Home, groups: Iterable[Sequence[tuple[Scanned, Finding]]]) -> int:
    """Copy what was found into `evidence/`, redacted, with its address; returns how many excerpts."""
    by_session: dict[str, list[dict[str, Any]]] = {}
    kept: dict[str, list[dict[str, Any]]] = {}
    for group in groups:
        for session, finding in group[:5]:
            if session.id not in kept:
                kept[session.id] = evidence.get(home, session.id)
            record = _kept_record(kept[session.id], session, finding) or _record(session, finding)
            by_session.setdefault(session.id, []).append(record)
    for name, records in by_session.items():
        old = [item for item in kept[name] if all(item.get("sha256") != new["sha256"] for new in records)]
        if kept[name] != [*old, *records]:
            evidence.put(home, name, [*old, *records])
    return sum(map(len, by_session.values()))


def _record(session: Scanned, finding: Finding) -> dict[str, Any]:
    return evidence.record(
        session.id,
        session.path,
        finding.line,
        finding.quote,
        kind=finding.kinds[0],
        turn=finding.turn,
        detector=finding.detector,
        errors=[evidence.excerpt(error) for error in finding.errors],
    )


def _kept_record(kept: Iterable[dict[str, Any]], session: Scanned, finding: Finding) -> dict[str, Any] | None:
    """What was kept of this finding before: a second scan has no need of the redactor, which takes long to load."""
    digest = evidence.digest(finding.quote)
    wanted = (session.path, finding.line, digest, finding.kinds[0], finding.turn, finding.detector)
    for item in kept:
        found = tuple(item.get(name) for name in ("path", "line", "sha256", "kind", "turn", "detector"))
        if found == wanted and len(item.get("errors") or ()) == len(finding.errors):
            return item
    return None


def read_one(path: str, state: str) -> tuple[str, Scanned, str]:
    """Read one session from where its state says; the state to go on from comes back. Never raises for bad data."""
    try:
        position, watch = _resumed(state)
        session = readers.open_session(Path(path), position, telling=session_signals.detectors().telling)
        if session.position.offset == 0:
            watch = session_signals.detectors().watch(keep_turns=False)
        for event in session.events():
            watch.feed(event)
    except ForgeError as error:
        return path, Scanned(path, Path(path).stem, "", "", 0, 0.0, (), fault=error.what), ""
    info, signals = session.info, watch.all_signals()
    total = scoring.score(signals, watch.weights).total
    found = findings.of_session(signals, watch.episodes(), watch.weights.rework_rounds)[:KEPT_A_SESSION]
    after = _text({"at": session.position.to_json(), "watch": watch.to_json()})
    scanned = Scanned(path, info.id, info.cwd, info.started, info.turns, total, tuple(found), info.damaged[:50])
    return path, scanned, after if len(after) <= STATE_LIMIT else ""


def _read(todo: Sequence[tuple[str, int]], states: dict[str, str], size: int) -> Iterator[tuple[str, Scanned, str]]:
    names = [path for path, _ in sorted(todo, key=lambda item: -item[1])]
    given = [states.get(path, "") for path in names]
    if size < PARALLEL_BYTES or processes.cores() < 2 or len(names) < 2:
        yield from map(read_one, names, given)
        return
    each = max(1, min(16, len(names) // 16))
    yield from processes.spread(read_one, names, given, count=processes.cores(), each=each)


def _resumed(state: str) -> tuple[readers.Position | None, Any]:
    watch = session_signals.detectors().watch(keep_turns=False)
    if not state:
        return None, watch
    data = json.loads(state)
    watch.resume(data["watch"])
    return readers.Position.from_json(data["at"]), watch


def _changed(paths: Iterable[Path], known: dict[str, Any]) -> tuple[list[tuple[str, int]], dict[str, tuple[int, int]]]:
    todo, sizes = [], {}
    for path in paths:
        try:
            info = os.stat(path)
        except OSError:
            continue
        name = str(path)
        if known.get(name) != (info.st_size, info.st_mtime_ns):
            todo.append((name, info.st_size))
            sizes[name] = (info.st_size, info.st_mtime_ns)
    return todo, sizes


def _open(home: Home) -> sqlite3.Connection:
    path = home.derived / NAME
    try:
        return _prepared(path)
    except sqlite3.DatabaseError:
        files.remove(path)
        return _prepared(path)


def _prepared(path: Path) -> sqlite3.Connection:
    files.make_private(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        connection.execute("DROP TABLE IF EXISTS sessions")
        connection.execute(f"PRAGMA user_version={VERSION}")
    connection.execute(_TABLE)
    return connection


def _states(connection: sqlite3.Connection, paths: Sequence[str]) -> dict[str, str]:
    found = {}
    for path in paths:
        row = connection.execute("SELECT state FROM sessions WHERE path = ?", (path,)).fetchone()
        if row and row[0]:
            found[path] = str(row[0])
    return found


def _offset(state: str) -> int:
    return int(json.loads(state)["at"].get("offset", 0)) if state else 0


def _row(item: Scanned, size: tuple[int, int], state: str) -> tuple[Any, ...]:
    found = _text([vars(finding) for finding in item.findings]) if item.findings else ""
    damaged = json.dumps({"lines": item.damaged, "fault": item.fault}) if item.damaged or item.fault else ""
    return (item.path, *size, item.id, item.cwd, item.started, item.turns, item.score, found, damaged, state)


def _kept(connection: sqlite3.Connection, wanted: set[str]) -> list[Scanned]:
    if not wanted:
        return []
    rows = connection.execute("SELECT path, id, cwd, started, turns, score, findings, damaged FROM sessions")
    return [_scanned(row) for row in rows if row[0] in wanted]


def _scanned(row: Sequence[Any]) -> Scanned:
    path, ident, cwd, started, turns, total, found, damaged = row
    items = tuple(map(_finding, json.loads(found))) if found else ()
    faults = json.loads(damaged) if damaged else {}
    return Scanned(
        path, ident, cwd, started, turns, total, items, tuple(faults.get("lines", ())), str(faults.get("fault", ""))
    )


def _finding(item: dict[str, Any]) -> Finding:
    finding = object.__new__(Finding)  # what we wrote ourselves; field by field it takes three times as long
    finding.__dict__.update({key: tuple(value) if isinstance(value, list) else value for key, value in item.items()})
    return finding
