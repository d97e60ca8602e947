"""Reads all ledgers for measuring; what was read of an unchanged ledger is kept in `derived/effects.sqlite`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..core import effect
from ..core.effect import Exposure, Opportunity, SessionLedger, Tally
from ..errors import Refused
from . import files, kept
from .home import Home

NAME = "effects.sqlite"
VERSION = 2
SCHEMA = """
CREATE TABLE sessions (name TEXT PRIMARY KEY, size INTEGER, time INTEGER, last TEXT, ledger TEXT);
CREATE TABLE deliveries (name TEXT, entry TEXT, day TEXT, PRIMARY KEY (name, entry)) WITHOUT ROWID;
"""
"""`last` is when a hook last ran in the session; `deliveries` has the day on which it last was given an entry."""
WHAT = frozenset({"opportunity", "outcome", "exposure", "proof", "state", "suggestion", "answer"})
Tallies = Mapping[tuple[str, str], Tally]


def ledgers(home: Home, naming: Collection[str] = ()) -> list[SessionLedger]:
    """What each session's ledger holds about measuring, oldest file first.

    Args:
        naming: only ledgers that name one of these entries; empty for all.
    """
    def work(connection: sqlite3.Connection) -> list[SessionLedger]:
        _bring_up(home, connection)
        test = " OR ".join(["instr(ledger, ?)"] * len(naming)) or "1"
        quoted = [json.dumps(one)[1:-1] for one in naming]
        rows = connection.execute(f"SELECT ledger FROM sessions WHERE {test} ORDER BY time, name", quoted)
        return [_from_json(json.loads(text)) for (text,) in rows]

    return kept.worked(home, NAME, SCHEMA, VERSION, work) if home.ledger.is_dir() else []


def last_deliveries(home: Home) -> dict[str, str]:
    """The ISO date of each entry's last delivery."""
    def work(connection: sqlite3.Connection) -> dict[str, str]:
        _bring_up(home, connection)
        return dict(connection.execute("SELECT entry, max(day) FROM deliveries GROUP BY entry"))

    return kept.worked(home, NAME, SCHEMA, VERSION, work) if home.ledger.is_dir() else {}


def sessions(home: Home, since: str = "") -> int:
    """In how many sessions hooks ran; with `since`, an ISO time, at that time or later."""
    def work(connection: sqlite3.Connection) -> int:
        _bring_up(home, connection)
        found = connection.execute("SELECT count(*) FROM sessions WHERE last <> '' AND last >= ?", (since,))
        return int(found.fetchone()[0])

    return kept.worked(home, NAME, SCHEMA, VERSION, work) if home.ledger.is_dir() else 0


def _bring_up(home: Home, connection: sqlite3.Connection) -> None:
    """Read the ledgers that changed since they were kept, drop those that are gone."""
    marks = {name: (size, time) for name, size, time in connection.execute("SELECT name, size, time FROM sessions")}
    found = {}
    for path in files.listed(home.ledger, ".jsonl"):
        info = path.stat()
        found[path.name] = (info.st_size, info.st_mtime_ns)
    changed = [name for name, mark in found.items() if marks.get(name) != mark]
    gone = [name for name in marks if name not in found]
    if not changed and not gone:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for table in ("sessions", "deliveries"):
            connection.executemany(f"DELETE FROM {table} WHERE name = ?", ((name,) for name in (*gone, *changed)))
        for name in changed:
            _put(connection, name, found[name], read(home.ledger / name))


def _put(connection: sqlite3.Connection, name: str, mark: tuple[int, int], one: SessionLedger) -> None:
    last: dict[str, str] = {}
    for shown in one.exposures:
        entry = _storable(shown.entry)
        last[entry] = max(last.get(entry, ""), _storable(shown.at[:10]))
    values = (name, *mark, _storable(one.last), json.dumps(asdict(one)))
    connection.execute("INSERT INTO sessions VALUES (?,?,?,?,?)", values)
    connection.executemany("INSERT INTO deliveries VALUES (?,?,?)", ((name, *item) for item in last.items()))


def _storable(text: str) -> str:
    """Without halves of characters, which a torn or odd line may hold and SQLite refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def read(path: Path) -> SessionLedger:
    """One ledger; torn lines are counted, and a file that can't be read is a fault of its own."""
    try:
        records, torn = records_of(path)
    except Refused as error:
        return SessionLedger(path.stem, (), (), (("ledger_unreadable", error.what),))
    session = next((str(record["session"]) for record in records if record.get("session")), path.stem)
    return effect.read_ledger(session, records, torn)


def records_of(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The records of a ledger and the number of its torn lines.

    Raises:
        Refused: when it can't be read.
    """
    found, torn = [], 0
    for line in files.read_bytes(path).split(b"\n"):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            torn += 1
            continue
        if isinstance(record, dict) and record.get("what") in WHAT:
            found.append(record)
        else:
            torn += not isinstance(record, dict)
    return found, torn


def tallies(home: Home, found: Iterable[SessionLedger] | None = None) -> Tallies:
    """One tally for each entry version that any ledger names.

    Args:
        found: the ledgers, when they are at hand.
    """
    by_version: dict[tuple[str, str], list[SessionLedger]] = {}
    for ledger in ledgers(home) if found is None else found:
        for key, own in _by_version(ledger).items():
            by_version.setdefault(key, []).append(own)
    return {key: effect.tally(*key, own) for key, own in by_version.items()}


def _by_version(ledger: SessionLedger) -> dict[tuple[str, str], SessionLedger]:
    """A ledger taken apart: what it holds of each entry version."""
    parts: dict[tuple[str, str], tuple[list[Opportunity], list[Exposure]]] = {}
    for met in ledger.opportunities:
        parts.setdefault((met.entry, met.sha256), ([], []))[0].append(met)
    for shown in ledger.exposures:
        parts.setdefault((shown.entry, shown.sha256), ([], []))[1].append(shown)
    return {
        key: SessionLedger(ledger.session, tuple(met), tuple(given)) for key, (met, given) in parts.items() if all(key)
    }


def _from_json(data: Mapping[str, Any]) -> SessionLedger:
    return SessionLedger(
        data["session"], tuple(Opportunity(**one) for one in data["opportunities"]),
        tuple(Exposure(**one) for one in data["exposures"]), tuple((name, text) for name, text in data["faults"]),
        data["last"],
    )


def faults(found: list[SessionLedger]) -> Iterator[tuple[str, str, str]]:
    """(session, name of the fault, detail) over all ledgers."""
    for ledger in found:
        for name, detail in ledger.faults:
            yield ledger.session, name, detail
