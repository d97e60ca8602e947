"""What all records of the journal together say, kept in `derived/journal.sqlite` so that only new lines are read.

Kept is what follows from the bytes up to the last end of a line, with a hash of these bytes: when they are others
now, in whatever way, all is read again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from . import files, kept
from .home import Home
from .journal_fold import Fault, Fold, Unknown
from .journal_lines import Confirmed, Line, line_of, paths

NAME = "journal.sqlite"
VERSION = 1
SCHEMA = """
CREATE TABLE parts (name TEXT, size INTEGER, lines INTEGER, hash TEXT);
CREATE TABLE chain (previous TEXT, seq INTEGER, records INTEGER);
CREATE TABLE faults (kind TEXT, file TEXT, line INTEGER, number TEXT, due INTEGER);
CREATE TABLE confirmed (path TEXT PRIMARY KEY, sha256 TEXT, proof TEXT, seq INTEGER, at TEXT, by TEXT, own INTEGER);
CREATE TABLE proofs (seq INTEGER PRIMARY KEY, proof TEXT);
CREATE TABLE settled (seq INTEGER PRIMARY KEY);
CREATE TABLE pending (record TEXT);
"""
TABLES = ("parts", "chain", "faults", "confirmed", "proofs", "settled", "pending")
Advance = Callable[[int], None]


@dataclass(frozen=True)
class State:
    """The whole journal in short.

    `confirmed` is by path below `entries/`, None where it was not asked for; `pending` are changes whose proof is
    open, oldest first; `faults` are sentences about the chain; `records` counts what could be read; `stamp` is of
    all bytes, empty when the last line has no end.
    """

    confirmed: dict[str, Confirmed] | None
    pending: list[dict[str, Any]]
    faults: list[str]
    records: int
    stamp: str


class _Part(NamedTuple):
    """So many bytes of a file, whole lines, and their hash."""

    name: str
    size: int
    lines: int
    hash: str


class _Changed(Exception):
    """The bytes that something is kept of are others now."""


def load(home: Home, *, anew: bool = False, brief: bool = False, advance: Advance = lambda count: None) -> State:
    """The state of the journal as its bytes are now.

    Args:
        anew: read every line again, whatever is kept.
        brief: `confirmed` is not needed; it is None then when it was not at hand.
        advance: is told how many bytes were read so far.

    Raises:
        Refused: when a file of the journal can't be read.
    """
    if not paths(home):
        return State({}, [], [], 0, "")

    def work(connection: sqlite3.Connection) -> State:
        parts = [_Part(*row) for row in connection.execute("SELECT * FROM parts ORDER BY rowid")]
        kept_fold = functools.partial(_fold, connection) if parts else Fold
        try:
            if anew:
                raise _Changed
            fold, new, volatile = _read(home, parts, kept_fold, advance)
            if fold is None and brief and parts:
                return _state(_rest(connection), new, None)
            fold = fold or kept_fold()
            if new != parts:
                _keep(connection, fold, parts, new)
        except (_Changed, Unknown):
            fold, new, volatile = _read(home, [], Fold, advance)
            fold = fold or Fold()
            _keep(connection, fold, parts, new, anew=True)
        for line in volatile:
            fold.line(line)
        return _state(fold, [] if volatile else new, fold.confirmed)

    return kept.worked(home, NAME, SCHEMA, VERSION, work)


def _state(fold: Fold, parts: list[_Part], confirmed: dict[str, Confirmed] | None) -> State:
    pending, faults = [dict(one) for one in fold.pending], [one.told() for one in fold.faults]
    return State(confirmed, pending, faults, fold.records, " ".join(f"{one.name} {one.hash}" for one in parts))


def size(home: Home) -> int:
    """Bytes of all files of the journal."""
    return sum(path.stat().st_size for path in paths(home))


def _read(
    home: Home, parts: list[_Part], base: Callable[[], Fold], advance: Advance
) -> tuple[Fold | None, list[_Part], list[Line]]:
    """Add to a fold (`base` makes it) what the files hold beyond the known parts; None when that is nothing.

    With it the parts as they are now, and a line without its end, which may yet get one: it counts, and nothing of
    it is kept.

    Raises:
        _Changed: when a known part is another one now, or lines came before it.
    """
    found = paths(home)
    if len(found) < len(parts):
        raise _Changed
    new: list[_Part] = []
    volatile: list[Line] = []
    before = 0
    fold = None
    for number, path in enumerate(found):
        reader = _Reader(path, parts[number] if number < len(parts) else None)
        last = number == len(found) - 1
        for raw in reader.lines(to_end=not last):
            if number < len(parts) - 1:
                raise _Changed
            if raw.strip():
                fold = fold or base()
                fold.line(line_of(path, reader.count, raw))
            advance(before + reader.size)
        new.append(reader.part())
        before += reader.size
        if last and reader.rest.strip():
            fold = fold or base()
            volatile.append(line_of(path, reader.count + 1, reader.rest))
    return fold, new, volatile


class _Reader:
    """Reads one file once: the part that is known for its hash, the lines behind it one by one."""

    def __init__(self, path: Path, known: _Part | None) -> None:
        self._name, self._hash, self.size = path.name, hashlib.sha256(), 0
        self._blocks = files.blocks(path)
        self.count, self.rest = 0, b""
        if known is not None:
            self._pass_over(known)

    def lines(self, *, to_end: bool) -> Iterator[bytes]:
        """Whole lines behind the known part; `rest` is then what has no end, unless `to_end` takes it for a line."""
        while True:
            *whole, self.rest = self.rest.split(b"\n")
            for raw in whole:
                self._eat(raw + b"\n")
                yield raw
            block = next(self._blocks, b"")
            if not block:
                break
            self.rest += block
        if to_end and self.rest:
            raw, self.rest = self.rest, b""
            self._eat(raw)
            yield raw

    def part(self) -> _Part:
        """What was read up to here."""
        return _Part(self._name, self.size, self.count, self._hash.hexdigest())

    def _eat(self, raw: bytes) -> None:
        self._hash.update(raw)
        self.size += len(raw)
        self.count += 1

    def _pass_over(self, known: _Part) -> None:
        while self.size < known.size and (block := next(self._blocks, b"")):
            own = block[: known.size - self.size]
            self._hash.update(own)
            self.size += len(own)
            self.rest = block[len(own):]
        self.count = known.lines
        if self.part() != known:
            raise _Changed


def _fold(connection: sqlite3.Connection) -> Fold:
    fold = _rest(connection)
    rows = connection.execute("SELECT * FROM confirmed")
    fold.confirmed = {row[0]: Confirmed._make(row[1:6]) for row in rows}
    fold.own = {row[0] for row in connection.execute("SELECT path FROM confirmed WHERE own")}
    fold.proofs = dict(connection.execute("SELECT seq, proof FROM proofs"))
    fold.settled = {row[0] for row in connection.execute("SELECT seq FROM settled")}
    return fold


def _rest(connection: sqlite3.Connection) -> Fold:
    """A fold without what there may be 100,000 of."""
    fold = Fold(hashes=None)
    fold.pending = [json.loads(row[0]) for row in connection.execute("SELECT record FROM pending ORDER BY rowid")]
    fold.faults = [Fault(*row) for row in connection.execute("SELECT * FROM faults ORDER BY rowid")]
    fold.previous, fold.seq, fold.records = connection.execute("SELECT * FROM chain").fetchone()
    return fold


def _keep(
    connection: sqlite3.Connection, fold: Fold, before: list[_Part], now: list[_Part], *, anew: bool = False
) -> None:
    """Write what follows from more bytes than before, unless another process did.

    What can't be written (a locked or full disk, an odd text) is worked out again next time.
    """
    with contextlib.suppress(sqlite3.OperationalError, UnicodeEncodeError, OverflowError), connection:
        connection.execute("BEGIN IMMEDIATE")
        if [_Part(*row) for row in connection.execute("SELECT * FROM parts ORDER BY rowid")] != before:
            return
        for table in TABLES if anew else ("parts", "chain", "faults", "proofs", "settled", "pending"):
            connection.execute(f"DELETE FROM {table}")
        connection.executemany("INSERT INTO parts VALUES (?,?,?,?)", now)
        connection.execute("INSERT INTO chain VALUES (?,?,?)", (fold.previous, fold.seq, fold.records))
        connection.executemany("INSERT INTO faults VALUES (?,?,?,?,?)", fold.faults)
        connection.executemany("INSERT INTO proofs VALUES (?,?)", fold.proofs.items())
        connection.executemany("INSERT INTO settled VALUES (?)", ((one,) for one in fold.settled))
        records = ((json.dumps(dict(one), ensure_ascii=False),) for one in fold.pending)
        connection.executemany("INSERT INTO pending VALUES (?)", records)
        _keep_confirmed(connection, fold)


def _keep_confirmed(connection: sqlite3.Connection, fold: Fold) -> None:
    gone = [(path,) for path in fold.touched if path not in fold.confirmed]
    connection.executemany("DELETE FROM confirmed WHERE path = ?", gone)
    rows = ((path, *fold.confirmed[path], path in fold.own) for path in fold.touched if path in fold.confirmed)
    connection.executemany("INSERT OR REPLACE INTO confirmed VALUES (?,?,?,?,?,?,?)", rows)
