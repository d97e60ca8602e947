"""Confirmed entries on disk: `entries/<track>/[<domain or project>/]<id>.md`."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..errors import Refused, Text
from ..model import Entry, Status
from . import entry_cache, files, journal, kept
from .entry_cache import Outline, Sort, state_of
from .entry_cache import is_id as is_id
from .home import Home
from .journal import Confirmed

Unreadable = tuple[tuple[Path, str], ...]
"""Files that could not be read, each with its reason."""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class StoredEntry:
    """An entry with the file it stands in and what the journal says of those bytes."""

    entry: Entry
    path: Path
    key: str
    sha256: str
    confirmed: Confirmed | None = None

    @property
    def state(self) -> str:
        """`confirmed`, `pending`, `edited` (other bytes than confirmed) or `unconfirmed`."""
        return state_of(self.confirmed, self.sha256)

    @property
    def deliverable(self) -> bool:
        """Whether a client may be given it: confirmed, unchanged and active."""
        return self.state == "confirmed" and self.entry.status is Status.ACTIVE


class Outlined(NamedTuple):
    """The outline of an entry with its place below `entries/` and what the journal says of its bytes."""

    outline: Outline
    key: str
    confirmed: Confirmed | None

    @property
    def state(self) -> str:
        """As `StoredEntry.state`."""
        return state_of(self.confirmed, self.outline.sha256)


@dataclass(frozen=True)
class Library:
    """All entries that could be read, and the files that could not, each with its reason."""

    entries: tuple[StoredEntry, ...]
    unreadable: Unreadable = ()

    def by_id(self) -> dict[str, StoredEntry]:
        """Entries by id."""
        return {stored.entry.id: stored for stored in self.entries}

    def deliverable(self) -> tuple[StoredEntry, ...]:
        """Entries that clients may be given."""
        return tuple(stored for stored in self.entries if stored.deliverable)


def path_below(home: Home, key: str) -> Path:
    """Where the file of a key stands that a walk below `entries/` came upon."""
    return home.entries.joinpath(*key.split("/"))


def path_of(home: Home, key: str) -> Path:
    """The file of a key, checked to lie inside the home after resolving links.

    Raises:
        Refused: when it does not.
    """
    path = path_below(home, key)
    if not path.resolve().is_relative_to(home.entries.resolve()):
        raise Refused(Text("errors_store.outside", key=key, base=home.entries), Text("errors_store.other_id"))
    return path


def load_all(home: Home, *, verify: bool = False) -> Library:
    """All entries, by track and id.

    Args:
        verify: read every file and every record again rather than trusting what is kept of unchanged ones.
    """
    confirmed = journal.state(home, anew=verify).confirmed or {}

    def work(items: Iterator[entry_cache.Item]) -> list[StoredEntry]:
        found = []
        for item in items:
            if item.entry is not None and item.outline is not None:
                key = _key(item.folder, item.name)
                path = Path(home.entries, item.folder, item.name)
                found.append(StoredEntry(item.entry, path, key, item.outline.sha256, confirmed.get(key)))
        return found

    found, unreadable = _items(home, work, parsed=True, trusted=not verify)
    return Library(tuple(found), unreadable)


def survey(home: Home, work: Callable[[Iterator[Outlined]], _Result]) -> tuple[_Result, Unreadable]:
    """What `work` makes of the outlines of all entries, by track and id, and the files that could not be read.

    The whole entries are neither parsed nor held, so that 100,000 can be listed; a file that changed is read.

    Args:
        work: takes the outlines one by one; it may be asked a second time, and has to begin anew then.
    """
    confirmed = journal.confirmed(home)

    def outlines(items: Iterator[entry_cache.Item]) -> Iterator[Outlined]:
        for item in items:
            if item.outline is not None:
                key = _key(item.folder, item.name)
                yield Outlined(item.outline, key, confirmed.get(key))

    return _items(home, lambda items: work(outlines(items)), parsed=False)


def census(
    home: Home, records: journal.State, advance: Callable[[int], None] = lambda count: None
) -> tuple[Counter[Sort], Unreadable]:
    """How many entries of each sort there are, and the files that could not be read.

    When neither the journal's bytes nor any file's size and time changed since they were counted, so they are told.

    Args:
        records: the journal's state; `brief` will do.
        advance: is told how many were counted, whenever a file has to be read.
    """
    def work(cache: entry_cache.Cache) -> tuple[Counter[Sort], Unreadable]:
        found = list(_walk(home))
        stamp = entry_cache.stamp_of(records.stamp, found) if records.stamp else ""
        known = cache.known(stamp) if stamp else None
        if known is not None:
            return known, ()
        confirmed = journal.confirmed(home) if records.confirmed is None else records.confirmed
        counts, faults = cache.counted(found, confirmed, advance)
        if stamp and not faults:
            cache.keep(stamp, counts)
        return counts, tuple((Path(home.entries, one.folder, one.name), one.fault) for one in faults)

    return _cached(home, work)


def _items(
    home: Home, work: Callable[[Iterator[entry_cache.Item]], _Result], *, parsed: bool, trusted: bool = True
) -> tuple[_Result, Unreadable]:
    """What `work` makes of all entry files, from what is kept of the unchanged ones."""
    def through(cache: entry_cache.Cache) -> tuple[_Result, Unreadable]:
        faults: list[tuple[Path, str]] = []

        def told() -> Iterator[entry_cache.Item]:
            for item in cache.items(_walk(home), parsed=parsed):
                if item.fault:
                    faults.append((Path(home.entries, item.folder, item.name), item.fault))
                yield item

        return work(told()), tuple(faults)

    return _cached(home, through, trusted=trusted)


def _cached(home: Home, work: Callable[[entry_cache.Cache], _Result], *, trusted: bool = True) -> _Result:
    def through(connection: sqlite3.Connection) -> _Result:
        cache = entry_cache.Cache(home.entries, connection, trusted=trusted)
        result = work(cache)
        cache.save()
        return result

    if os.path.isdir(home.entries):
        return kept.worked(home, entry_cache.NAME, entry_cache.SCHEMA, entry_cache.VERSION, through)
    # None yet, or none that can be looked into, which the walk refuses: nothing to keep.
    return kept.in_memory(entry_cache.SCHEMA, through)


def get(home: Home, entry_id: str) -> StoredEntry:
    """One entry; an id that was merged away resolves to the entry that took it over.

    Raises:
        Refused: when there is none, naming near ids.
    """
    found = find(home, entry_id)
    if found is None:
        import difflib

        ids = [name[:-3] for _, _, names in _folders(home) for name in names if is_id(name[:-3])]
        near = difflib.get_close_matches(entry_id, ids, 3, 0.5)
        see = Text("errors.see", command="experience-forge list")
        hint = Text("errors_store.near", ids=", ".join(near)) if near else see
        raise Refused(Text("errors_store.no_entry", id=entry_id), hint)
    return found


def resolved(home: Home, entry_id: str) -> StoredEntry:
    """The entry that an id stands for today: of one that was merged away, the entry that took it over.

    Raises:
        Refused: when there is none, naming near ids.
    """
    found = find(home, entry_id)
    if found is None or found.entry.status is Status.SUPERSEDED:
        found = heir(home, entry_id) or found
    return found or get(home, entry_id)


def family(home: Home, entry: Entry) -> frozenset[str]:
    """An entry's id and those of all that were merged into it, also over several merges."""
    if not entry.parents:
        return frozenset({entry.id})
    parents, _ = survey(home, lambda found: {one.outline.id: one.outline.parents for one in found})
    known, waiting = {entry.id}, list(entry.parents)
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += parents.get(name, "").split()
    return frozenset(known)


def find(home: Home, entry_id: str) -> StoredEntry | None:
    """One entry by its id without reading the others; None when there is none."""
    name = f"{entry_id}.md"
    for folder, place, names in _folders(home):
        if name in names and is_id(entry_id):
            return _read(home, _key(place, name), Path(folder, name))
    return None


def read_key(home: Home, key: str) -> StoredEntry:
    """The entry at one path below `entries/`."""
    return _read(home, key, path_of(home, key))


def heir(home: Home, entry_id: str) -> StoredEntry | None:
    """The entry that an id stands for today: itself, or the active one that names it as a parent."""
    def outlines(found: Iterator[Outlined]) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
        known: dict[str, tuple[str, str]] = {}
        heirs: dict[str, str] = {}
        for one in found:
            known[one.outline.id] = (one.key, one.outline.status)
            for parent in one.outline.parents.split():
                heirs.setdefault(parent, one.outline.id)
        return known, heirs

    (known, heirs), _ = survey(home, outlines)
    seen: set[str] = set()
    current = entry_id
    while current not in seen:
        seen.add(current)
        key, status = known.get(current, ("", ""))
        if (key and status != Status.SUPERSEDED.value) or current not in heirs:
            return read_key(home, key) if key else None
        current = heirs[current]
    return read_key(home, known[entry_id][0]) if entry_id in known else None


def _read(home: Home, key: str, path: Path) -> StoredEntry:
    data = files.read_bytes(path)
    entry = entry_cache.parse_bytes(data, path)
    return StoredEntry(entry, path, key, files.sha256(data), journal.confirmed(home).get(key))


def _key(place: str, name: str) -> str:
    return f"{place}/{name}" if place else name


def _walk(home: Home) -> Iterator[tuple[str, entry_cache.Files]]:
    """Folders with their entry files and what the system says of them."""
    for folder, place, names in _folders(home):
        found = {}
        with files.standing_in(folder) as look:
            for name in names:
                try:
                    info = look(name)
                except OSError as error:
                    files.unlistable(error)
                else:
                    found[name] = (info.st_size, info.st_mtime_ns)
        yield place, found


def _folders(home: Home) -> Iterator[tuple[str, str, list[str]]]:
    """Folders, each with its place below `entries/` and the names of its files that may be entries.

    Conflict copies and temp files have other names: `is_id` tells, for the names of which nothing is kept.
    """
    base = str(home.entries)
    for folder, folders, names in os.walk(base, onerror=files.unlistable):
        folders.sort()
        place = folder[len(base):].strip(os.sep).replace(os.sep, "/")
        yield folder, place, [name for name in names if name.endswith(".md")]


def to_json(stored: StoredEntry) -> dict[str, Any]:
    """An entry as commands print it in JSON."""
    entry = stored.entry
    document: dict[str, Any] = json.loads(json.dumps(entry_cache.plain(entry)))
    document["sections"] = dict(entry.sections)
    document["path"] = str(stored.path)
    document["sha256"] = stored.sha256
    document["state"] = stored.state
    return document
