"""Compiles what hooks check at delivery, and binds the cites of a draft to the files as they are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import freshness
from ..errors import Refused
from ..fast import freshness as fast
from ..model import Cite, Entry
from . import files

if TYPE_CHECKING:
    from .home import Home


def build(home: Home, entries: Iterable[Entry]) -> int:
    """Write `derived/freshness.tsv`; returns how many entries are bound to something."""
    lines = [freshness.compiled(entry) for entry in entries]
    text = "".join(line + "\n" for found in lines for line in found)
    files.write_text(home.root / fast.RULES, text)
    return sum(1 for found in lines if found)


def note_versions(home: Home, seen: Mapping[str, tuple[str, str]]) -> None:
    """Keep the last version that each program told in a session: name to (version, ISO time)."""
    path = home.root / fast.SEEN
    known = {name: (version, at) for name, version, at in _rows(path)}
    for name, (version, at) in seen.items():
        # An older session scanned later must not set the clock back.
        if name not in known or at >= known[name][1]:
            known[name] = (version, at)
    lines = (f"{name}\t{version}\t{at}\n" for name, (version, at) in sorted(known.items()))
    files.write_text(path, "".join(lines))


def bind(cites: Iterable[Cite], folder: Path) -> tuple[tuple[Cite, ...], tuple[str, ...]]:
    """Cites with their hashes, and what could not be bound as `path: reason name`."""
    bound, faults = [], []
    for cite in cites:
        text = _text(folder / os.path.expanduser(cite.path))
        fault = freshness.bind_fault(cite, text)
        if fault or text is None:
            faults.append(f"{cite.path}: {fault}")
            bound.append(cite)
        else:
            bound.append(freshness.bind(cite, text))
    return tuple(bound), tuple(faults)


def state(home: Home, entry: Entry, folder: str, today: str, project: str = "") -> tuple[str, str, str, str]:
    """State, reason, detail and delivery of one entry now, as `fast.freshness.check`."""
    return check(home, entry.id, entry.kind.value, folder, today, project)


def check(home: Home, entry_id: str, kind: str, folder: str, today: str, project: str) -> tuple[str, str, str, str]:
    """The same for an entry of which only id and kind are at hand."""
    return fast.check(str(home.root), entry_id, kind, folder, today, project)


def _text(path: Path) -> str | None:
    try:
        return files.read_text(path, fast.MAX_BYTES)
    except (OSError, Refused):
        return None


def _rows(path: Path) -> list[tuple[str, str, str]]:
    text = _text(path) or ""
    rows = [tuple(line.split("\t")) for line in text.splitlines()]
    return [(row[0], row[1], row[2]) for row in rows if len(row) == 3]
