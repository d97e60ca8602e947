"""Entries as they were parsed, kept in `derived/entries.sqlite`, so that 100,000 files need not be parsed each time.

An item counts while size and time of its file are the same; the truth stays in the files. Beside each parsed form
stands its outline, which is all that counting and listing need.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..core import checks, codec
from ..errors import ForgeError, Invalid, Text
from ..model import Cite, Condition, Entry, Guard, Kind, Provenance, Source, Status, Track
from . import files
from .journal_lines import Confirmed

NAME = "entries.sqlite"
VERSION = 2
MAX_FILE_BYTES = 96 * 1024
SCHEMA = """
CREATE TABLE outlines (
  folder TEXT, name TEXT, size INTEGER, time INTEGER, sha256 TEXT, id TEXT, track TEXT, domain TEXT, project TEXT,
  status TEXT, kind TEXT, guard TEXT, language TEXT, updated TEXT, parents TEXT, title TEXT, rule TEXT,
  PRIMARY KEY (folder, name)) WITHOUT ROWID;
CREATE TABLE census (stamp TEXT, counts TEXT);
CREATE TABLE parsed (folder TEXT, name TEXT, entry TEXT, PRIMARY KEY (folder, name));
"""
Mark = tuple[int, int]
"""Size and time (ns) of a file: while they are the same, what was read of it holds."""
Files = dict[str, Mark]
"""The files of one folder that may be entries, by name."""


class Outline(NamedTuple):
    """What counting and listing need of an entry; a tuple, since there may be 100,000. `parents` are ids."""

    sha256: str
    id: str
    track: str
    domain: str
    project: str
    status: str
    kind: str
    guard: str
    language: str
    updated: str
    parents: str
    title: str
    rule: str


class Sort(NamedTuple):
    """What entries are counted by; `state` as in `entries.StoredEntry`."""

    track: str
    status: str
    state: str
    domain: str
    project: str


class Item(NamedTuple):
    """One entry file with what was kept or read of it, or why it can't be read (`fault`)."""

    folder: str
    name: str
    outline: Outline | None
    entry: Entry | None
    fault: str


_COUNTED = ("name", "size", "time", "sha256", "track", "status", "domain", "project")


class Cache:
    """One run's view of what is kept.

    Args:
        trusted: use items whose size and time fit; else every file is read.
    """

    def __init__(self, base: Path, connection: sqlite3.Connection, *, trusted: bool = True) -> None:
        self._base, self._connection, self._trusted = str(base), connection, trusted
        self._fresh: list[tuple[tuple[Any, ...], tuple[str, str, str]]] = []
        self._gone: list[tuple[str, str]] = []
        self._census: tuple[str, str] | None = None

    def items(self, found: Iterable[tuple[str, Files]], *, parsed: bool) -> Iterator[Item]:
        """What is kept of each file, read where it changed; `parsed` gives the whole entries too.

        Args:
            found: folders below `entries/` (with `/`), each with its files.
        """
        seen = set()
        for folder, names in found:
            seen.add(folder)
            for name, mark, row in self._matched(folder, names, parsed=parsed):
                if row is not None and self._trusted and row[2:4] == mark:
                    entry = from_plain(json.loads(row[17])) if parsed else None
                    yield Item(folder, name, Outline._make(row[4:17]), entry, "")
                    continue
                item = self._anew(folder, name, mark)
                if row is not None and item.outline is None:
                    self._gone.append((folder, name))
                yield item
        self._drop_folders(seen)

    def known(self, stamp: str) -> Counter[Sort] | None:
        """What `counted` gave when journal and files had this stamp (`stamp_of`)."""
        row = self._connection.execute("SELECT counts FROM census WHERE stamp = ?", (stamp,)).fetchone()
        return Counter({Sort._make(sort): int(count) for sort, count in json.loads(row[0])}) if row else None

    def keep(self, stamp: str, counts: Counter[Sort]) -> None:
        """Keep counts for `known`, in place of those before."""
        self._census = (stamp, json.dumps(list(counts.items())))

    def counted(
        self, found: Iterable[tuple[str, Files]], confirmed: Mapping[str, Confirmed], advance: Callable[[int], None]
    ) -> tuple[Counter[Sort], list[Item]]:
        """The entries counted by sort, and the files that can't be read: as `items`, in one loop for 100,000."""
        seen: set[str] = set()
        counts: dict[tuple[str, ...], int] = {}
        faults = []
        for folder, names in found:
            seen.add(folder)
            before = f"{folder}/" if folder else ""
            rows = self._connection.execute(f"SELECT {', '.join(_COUNTED)} FROM outlines WHERE folder = ?", (folder,))
            for name, size, time, sha256, track, status, domain, project in rows:
                if names.get(name) == (size, time):
                    del names[name]
                    sort = (track, status, state_of(confirmed.get(before + name), sha256), domain, project)
                    counts[sort] = counts.get(sort, 0) + 1
                elif name not in names:
                    self._gone.append((folder, name))
            for name in sorted(filter(_is_entry, names)):
                item = self._anew(folder, name, names[name])
                advance(sum(counts.values()) + 1)
                if item.outline is None:
                    self._gone.append((folder, name))
                    faults.append(item)
                    continue
                one = item.outline
                state = state_of(confirmed.get(before + name), one.sha256)
                sort = (one.track, one.status, state, one.domain, one.project)
                counts[sort] = counts.get(sort, 0) + 1
        self._drop_folders(seen)
        return Counter({Sort._make(sort): count for sort, count in counts.items()}), faults

    def _drop_folders(self, seen: set[str]) -> None:
        """Forget what is kept of folders that are gone."""
        rows = self._connection.execute("SELECT DISTINCT folder FROM outlines").fetchall()
        for (folder,) in (row for row in rows if row[0] not in seen):
            names_of = self._connection.execute("SELECT name FROM outlines WHERE folder = ?", (folder,))
            self._gone += [(folder, name) for (name,) in names_of]

    def save(self) -> None:
        """Keep what was read; a failure is no failure of the command."""
        if not (self._fresh or self._gone or self._census):
            return
        with contextlib.suppress(sqlite3.OperationalError, UnicodeEncodeError, OverflowError), self._connection as put:
            put.execute("BEGIN IMMEDIATE")
            # What was read anew may be counted otherwise, though size and time are those of before (`doctor`).
            put.execute("DELETE FROM census")
            put.executemany("INSERT INTO census VALUES (?,?)", [self._census] if self._census else [])
            for table in ("outlines", "parsed"):
                put.executemany(f"DELETE FROM {table} WHERE folder = ? AND name = ?", self._gone)
            marks = ",".join("?" * 17)
            put.executemany(f"INSERT OR REPLACE INTO outlines VALUES ({marks})", (o for o, _ in self._fresh))
            put.executemany("INSERT OR REPLACE INTO parsed VALUES (?,?,?)", (p for _, p in self._fresh))

    def _matched(
        self, folder: str, names: Files, *, parsed: bool
    ) -> Iterator[tuple[str, Mark, tuple[Any, ...] | None]]:
        """Files beside what is kept of them: both sorted by name, so that neither is held as a whole."""
        source = "outlines JOIN parsed USING (folder, name)" if parsed else "outlines"
        rows = self._connection.execute(f"SELECT * FROM {source} WHERE folder = ? ORDER BY name", (folder,))
        row = rows.fetchone()
        for name in sorted(names):
            mark = names[name]
            while row is not None and row[1] < name:
                self._gone.append((folder, row[1]))
                row = rows.fetchone()
            if row is not None and row[1] == name:
                yield name, mark, row
                row = rows.fetchone()
            elif _is_entry(name):
                yield name, mark, None
        while row is not None:
            self._gone.append((folder, row[1]))
            row = rows.fetchone()

    def _anew(self, folder: str, name: str, mark: Mark) -> Item:
        path = Path(self._base, folder, name)
        try:
            data = _read(path, mark[0])
            entry = parse_bytes(data, path)
        except ForgeError as error:
            return Item(folder, name, None, None, "; ".join((error.what, *error.faults)))
        found = outline(entry, files.sha256(data))
        self._fresh.append((
            (folder, name, *mark, *found),
            (folder, name, json.dumps(plain(entry), ensure_ascii=False, separators=(",", ":"))),
        ))
        return Item(folder, name, found, entry, "")


def stamp_of(records: str, found: Iterable[tuple[str, Files]]) -> str:
    """One hash of the journal's stamp and of name, size and time of all files: equal only when all are the same."""
    seen = hashlib.sha256(records.encode("utf-8"))
    for folder, names in found:
        seen.update(repr((folder, names)).encode("utf-8", "surrogateescape"))
    return seen.hexdigest()


def state_of(confirmed: Confirmed | None, sha256: str) -> str:
    """`confirmed`, `pending`, `edited` (other bytes than confirmed) or `unconfirmed`."""
    if confirmed is None:
        return "unconfirmed"
    if confirmed.sha256 != sha256:
        return "edited"
    return "confirmed" if confirmed.proven else "pending"


def is_id(text: str) -> bool:
    """Whether a file name (without ending) is a well-formed id."""
    return bool(checks.ID.fullmatch(text))


def _is_entry(name: str) -> bool:
    return is_id(name.removesuffix(".md"))


def outline(entry: Entry, sha256: str) -> Outline:
    """The outline of an entry whose bytes have this digest."""
    return Outline(
        sha256, entry.id, entry.track.value, entry.domain, entry.project, entry.status.value, entry.kind.value,
        entry.guard.value, entry.language, entry.updated, " ".join(entry.parents), entry.title, entry.rule,
    )


def _read(path: Path, size: int) -> bytes:
    """The bytes of a file that had this size a moment ago; of anything unusual `files` tells what it is."""
    if size <= MAX_FILE_BYTES:
        try:
            with open(path, "rb", buffering=0) as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    data = file.read(MAX_FILE_BYTES + 1)
                    if len(data) == size:
                        return data
        except OSError:
            pass
    return files.read_bytes(path, MAX_FILE_BYTES)


def parse_bytes(data: bytes, path: Path) -> Entry:
    """An entry from a file's bytes.

    Raises:
        Invalid: also when its id is not the file's name.
    """
    if b"\0" in data:
        raise Invalid(Text("errors_store.nul_bytes", path=path), Text("errors_store.nul_bytes_hint"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(
            Text("errors_store.not_utf8", path=path, byte=error.start), Text("errors_store.save_utf8")
        ) from error
    entry = codec.parse(text)
    if entry.id != path.stem:
        raise Invalid(Text("errors_store.other_entry_id", path=path, id=entry.id), Text("errors_store.same_id"))
    return entry


def plain(entry: Entry) -> dict[str, Any]:
    """An entry as JSON values; `from_plain` takes it back."""
    data: dict[str, Any] = {}
    for item in fields(entry):
        value = getattr(entry, item.name)
        if item.name in ("applies_when", "fails_when"):
            value = [condition.parts() for condition in value]
        elif item.name in ("sources", "cites"):
            value = [{f.name: getattr(part, f.name) for f in fields(part)} for part in value]
        elif item.name == "extra":
            value = json.loads(json.dumps(dict(value), default=str))
        data[item.name] = value
    return data


def from_plain(data: dict[str, Any]) -> Entry:
    """An entry from the JSON values of `plain`."""
    values = dict(data)
    values["kind"] = _KINDS[values["kind"]]
    values["track"] = _TRACKS[values["track"]]
    values["status"] = _STATES[values["status"]]
    values["guard"] = _GUARDS[values["guard"]]
    values["sections"] = tuple([(name, text) for name, text in values["sections"]])
    for name in ("applies_when", "fails_when"):
        values[name] = tuple([_made(Condition, {**_NO_CONDITION, **parts}) for parts in values[name]])
    values["sources"] = tuple([
        _made(Source, {**part, "provenance": _PROVENANCES[part["provenance"]]}) for part in values["sources"]
    ])
    values["cites"] = tuple([_made(Cite, part) for part in values["cites"]])
    for name in ("aliases", "versions", "tags", "parents"):
        values[name] = tuple(values[name])
    return _made(Entry, values)


_KINDS, _TRACKS = {item.value: item for item in Kind}, {item.value: item for item in Track}
_STATES, _GUARDS = {item.value: item for item in Status}, {item.value: item for item in Guard}
_PROVENANCES = {item.value: item for item in Provenance}
_NO_CONDITION = {item.name: "" for item in fields(Condition)}
_Made = TypeVar("_Made")


def _made(kind: type[_Made], values: dict[str, Any]) -> _Made:
    # What `plain` wrote has every field: __init__ of a frozen class would take three times as long.
    one = object.__new__(kind)
    one.__dict__.update(values)
    return one
