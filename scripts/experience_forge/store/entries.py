"""Confirmed entries on disk: `entries/<track>/[<domain or project>/]<id>.md`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import checks
from ..errors import ForgeError, Refused, Text
from ..model import Entry, Status
from . import entry_cache, files, journal
from .home import Home
from .journal import Confirmed


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
        if self.confirmed is None:
            return "unconfirmed"
        if self.confirmed.sha256 != self.sha256:
            return "edited"
        return "confirmed" if self.confirmed.proven else "pending"

    @property
    def deliverable(self) -> bool:
        """Whether a client may be given it: confirmed, unchanged and active."""
        return self.state == "confirmed" and self.entry.status is Status.ACTIVE


@dataclass(frozen=True)
class Library:
    """All entries that could be read, and the files that could not, each with its reason."""

    entries: tuple[StoredEntry, ...]
    unreadable: tuple[tuple[Path, str], ...] = ()

    def by_id(self) -> dict[str, StoredEntry]:
        """Entries by id."""
        return {stored.entry.id: stored for stored in self.entries}

    def deliverable(self) -> tuple[StoredEntry, ...]:
        """Entries that clients may be given."""
        return tuple(stored for stored in self.entries if stored.deliverable)


def path_of(home: Home, key: str) -> Path:
    """The file of a key, checked to lie inside the home after resolving links.

    Raises:
        Refused: when it does not.
    """
    path = home.entries.joinpath(*key.split("/"))
    if not path.resolve().is_relative_to(home.entries.resolve()):
        raise Refused(Text("errors_store.outside", key=key, base=home.entries), Text("errors_store.other_id"))
    return path


def load_all(home: Home, *, verify: bool = False) -> Library:
    """All entries, by track and id.

    Args:
        verify: read every file again rather than trusting size and time of the parse cache.
    """
    cache = entry_cache.Cache(home, trusted=not verify)
    confirmed = journal.confirmed(home)
    found: list[StoredEntry] = []
    unreadable: list[tuple[Path, str]] = []
    for key, path, info in _walk(home):
        try:
            entry, digest = cache.get(key, path, info)
        except ForgeError as error:
            unreadable.append((path, "; ".join((error.what, *error.faults))))
            continue
        found.append(StoredEntry(entry, path, key, digest, confirmed.get(key)))
    cache.save()
    return Library(tuple(found), tuple(unreadable))


def get(home: Home, entry_id: str) -> StoredEntry:
    """One entry; an id that was merged away resolves to the entry that took it over.

    Raises:
        Refused: when there is none, naming near ids.
    """
    found = find(home, entry_id)
    if found is None:
        import difflib

        ids = [path.stem for _, path, _ in _walk(home)]
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
        found = successor(load_all(home), entry_id) or found
    return found or get(home, entry_id)


def family(home: Home, entry: Entry) -> frozenset[str]:
    """An entry's id and those of all that were merged into it, also over several merges."""
    if not entry.parents:
        return frozenset({entry.id})
    by_id = load_all(home).by_id()
    known, waiting = {entry.id}, list(entry.parents)
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += by_id[name].entry.parents if name in by_id else ()
    return frozenset(known)


def find(home: Home, entry_id: str) -> StoredEntry | None:
    """One entry by its id without reading the others; None when there is none."""
    for key, path, _ in _walk(home):
        if path.stem == entry_id:
            return _read(home, key, path)
    return None


def read_key(home: Home, key: str) -> StoredEntry:
    """The entry at one path below `entries/`."""
    return _read(home, key, path_of(home, key))


def successor(library: Library, entry_id: str) -> StoredEntry | None:
    """The entry that an id stands for today: itself, or the active one that names it as a parent."""
    by_id = library.by_id()
    seen: set[str] = set()
    current = entry_id
    while current not in seen:
        seen.add(current)
        stored = by_id.get(current)
        if stored is not None and stored.entry.status is not Status.SUPERSEDED:
            return stored
        heirs = [s for s in library.entries if current in s.entry.parents]
        if not heirs:
            return stored
        current = heirs[0].entry.id
    return by_id.get(entry_id)


def _read(home: Home, key: str, path: Path) -> StoredEntry:
    data = files.read_bytes(path)
    entry = entry_cache.parse_bytes(data, path)
    return StoredEntry(entry, path, key, files.sha256(data), journal.confirmed(home).get(key))


def _walk(home: Home) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Entry files with their keys; conflict copies and temp files have other names and are left out."""
    base = str(home.entries)
    for folder, folders, names in os.walk(base, onerror=files.unlistable):
        folders.sort()
        place = folder[len(base):].strip(os.sep).replace(os.sep, "/")
        for name in sorted(names):
            if name.endswith(".md") and is_id(name[:-3]):
                full = os.path.join(folder, name)
                try:
                    info = os.stat(full)
                except OSError as error:
                    files.unlistable(error)
                    continue
                yield f"{place}/{name}" if place else name, Path(full), info


def is_id(text: str) -> bool:
    """Whether a file name (without ending) is a well-formed id."""
    return bool(checks.ID.fullmatch(text))


def to_json(stored: StoredEntry) -> dict[str, Any]:
    """An entry as commands print it in JSON."""
    entry = stored.entry
    document: dict[str, Any] = json.loads(json.dumps(entry_cache.plain(entry)))
    document["sections"] = dict(entry.sections)
    document["path"] = str(stored.path)
    document["sha256"] = stored.sha256
    document["state"] = stored.state
    return document
