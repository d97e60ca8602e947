"""The ledger: one append-only file a session with exposures, opportunities, outcomes, states and proofs.

Hooks append through `fast.spool`, commands and the worker through here; the lines are the same.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import effect, json_lines
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


def ids(home: Home) -> Iterator[str]:
    """Ids of all sessions with a ledger, in no order that means anything."""
    return (_session(path, _records(path)) for path in files.listed(home.ledger, ".jsonl"))


def sessions(home: Home) -> Iterator[str]:
    """Ids of all sessions with a ledger, the one in which a hook ran last first."""
    return (session for session, _ in _each(home))


def exposures(home: Home, entries: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """Deliveries with their `proof` record (or None), newest session first, oldest first within one.

    Args:
        entries: only those of these entries; empty for all.
    """
    for session, records in _each(home, entries):
        yield from with_proofs(records, session, entries)


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


def _each(home: Home, naming: Collection[str] = ()) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(session, records), by the last time at which a hook wrote: the worker touches the files later, in its order.

    A file's own time is never before that, so only those that may come first are read.
    """
    stamped = [(path.stat().st_mtime, path) for path in files.listed(home.ledger, ".jsonl")]
    waiting: list[tuple[float, str, str, list[dict[str, Any]]]] = []
    for written, path in sorted(stamped, key=lambda one: (-one[0], one[1].name)):
        while waiting and -waiting[0][0] >= written:
            yield heapq.heappop(waiting)[2:]
        records = list(_records(path, naming))
        if records:
            at = effect.seconds_of(effect.last_hook(records))
            when = written if at is None else min(at, written)
            heapq.heappush(waiting, (-when, path.stem, _session(path, records), records))
    while waiting:
        yield heapq.heappop(waiting)[2:]


def _session(path: Path, records: Iterable[Mapping[str, Any]]) -> str:
    """The session of a ledger: the file name of an odd id is a hash, the id itself is in the lines."""
    return next((str(one["session"]) for one in records if one.get("session")), path.stem)


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
        record = json_lines.record_of(data[start:end])
        start = end + 1
        if record is not None:
            yield record
