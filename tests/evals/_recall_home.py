"""Homes for evaluation: entries as confirmed ones, real files where they are to be delivered."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experience_forge.core import codec
from experience_forge.model import Entry, Track
from experience_forge.store import entries, files, journal
from experience_forge.store.entries import StoredEntry
from experience_forge.store.home import Home
from experience_forge.store.journal import Confirmed


def key_of(entry: Entry) -> str:
    """Where an entry stands below `entries/`."""
    place = {Track.DOMAIN: entry.domain, Track.PROJECT: entry.project}.get(entry.track, "")
    return "/".join(part for part in (entry.track.value, place, f"{entry.id}.md") if part)


def confirm(home: Home, found: Iterable[Entry]) -> list[StoredEntry]:
    """Write entries and one journal record that confirms them; read back as the store reads them."""
    listed = []
    for entry in found:
        data = codec.render(entry).encode("utf-8")
        path = home.entries.joinpath(*key_of(entry).split("/"))
        files.make_folder(path.parent)
        path.write_bytes(data)
        listed.append({"path": key_of(entry), "before": None, "after": files.sha256(data)})
    journal.append(home, {
        "what": "change", "change": "draft", "files": listed,
        "consent": {"by": "terminal", "at": "2026-01-01T00:00:00Z", "proof": "terminal"},
    })
    return list(entries.load_all(home).entries)


def written(home: Home, found: Iterable[Entry]) -> list[StoredEntry]:
    """Entries as confirmed ones with their files, without a journal: for hooks, which read file and index only."""
    stored = []
    for entry in found:
        data = codec.render(entry).encode("utf-8")
        path = home.entries.joinpath(*key_of(entry).split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        digest = files.sha256(data)
        stored.append(StoredEntry(entry, path, key_of(entry), digest, Confirmed(digest, "terminal", 1, "", "")))
    return stored


def unwritten(found: Iterable[Entry]) -> list[StoredEntry]:
    """Entries as confirmed ones without a file: enough for an index that nothing is delivered from."""
    return [
        StoredEntry(entry, Path(key_of(entry)), key_of(entry), "0" * 64, Confirmed("0" * 64, "terminal", 1, "", ""))
        for entry in found
    ]
