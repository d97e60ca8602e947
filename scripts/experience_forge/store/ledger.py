"""The ledger: one append-only file a session with exposures, opportunities, outcomes, states and proofs.

Hooks append through `fast.spool`, commands and the worker through here; the lines are the same.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..fast import spool
from . import files, journal
from .home import Home


def path_of(home: Home, session: str) -> Path:
    """The ledger file of a session."""
    return Path(spool.ledger_path(str(home.root), session))


def append(home: Home, session: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Append one record; returns it with `v`, `at` and `session` filled in.

    Raises:
        Refused: when it can't be written.
    """
    full = {"v": spool.VERSION, "what": "", "at": journal.now(), "session": session, **record}
    files.append_line(path_of(home, session), json.dumps(full, ensure_ascii=False, separators=(",", ":")))
    return full


def read(home: Home, session: str) -> list[dict[str, Any]]:
    """All readable records of a session, oldest first; damaged lines are passed over."""
    return list(_records(path_of(home, session)))


def sessions(home: Home) -> Iterator[str]:
    """Ids of all sessions with a ledger, the one written last first."""
    return (_session(path) for path in _paths(home))


def exposures(home: Home, entries: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """Deliveries with their `proof` record (or None), newest session first, oldest first within one.

    Args:
        entries: only those of these entries; empty for all.
    """
    for path in _paths(home):
        records = list(_records(path, entries))
        if records:
            yield from with_proofs(records, _session(path), entries)


def with_proofs(records: list[dict[str, Any]], session: str, entries: Collection[str] = ()) -> list[dict[str, Any]]:
    """The exposures among a session's records, each with `proof` and `session`."""
    proofs = {(str(one.get("entry")), str(one.get("exposure")), str(one.get("event", ""))): one
              for one in records if one.get("what") == "proof"}
    return [
        {**one, "session": one.get("session", session),
         "proof": proofs.get((str(one.get("entry")), str(one.get("at")), str(one.get("event", ""))))}
        for one in records
        if one.get("what") == "exposure" and (not entries or one.get("entry") in entries)
    ]


def _paths(home: Home) -> list[Path]:
    return sorted(files.listed(home.ledger, ".jsonl"), key=lambda path: (-path.stat().st_mtime_ns, path.name))


def _session(path: Path) -> str:
    """The session of a ledger: the file name of an odd id is a hash, the id itself is in the lines."""
    return next((str(one["session"]) for one in _records(path) if one.get("session")), path.stem)


def _records(path: Path, naming: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """The readable records, one by one; none of a file that names none of these entries."""
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return
    if naming and not any(name.encode("utf-8") in data for name in naming):
        return
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        record = _record(data[start:end])
        start = end + 1
        if record is not None:
            yield record


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line.decode("utf-8")) if line.strip() else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
