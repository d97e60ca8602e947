"""Reads all ledgers for measuring; what was read of an unchanged ledger is kept in `derived/effects.json`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..core import effect
from ..core.effect import Exposure, Opportunity, SessionLedger, Tally
from ..errors import Refused
from . import files
from .home import Home

VERSION = 2
WHAT = frozenset({"opportunity", "outcome", "exposure", "proof", "state", "suggestion", "answer"})
Tallies = Mapping[tuple[str, str], Tally]


def ledgers(home: Home) -> list[SessionLedger]:
    """What each session's ledger holds about measuring, oldest file first."""
    kept = _kept(home)
    found, fresh = [], {}
    for path in _paths(home):
        info = path.stat()
        mark = [info.st_size, info.st_mtime_ns]
        known = kept.get(path.name)
        if known is not None and known.get("mark") == mark:
            fresh[path.name] = known
            found.append(_from_json(known["ledger"]))
            continue
        one = read(path)
        fresh[path.name] = {"mark": mark, "ledger": asdict(one)}
        found.append(one)
    if fresh != kept:
        # A verb that reads goes on without its cache.
        with contextlib.suppress(Refused):
            files.write_text(_cache(home), json.dumps({"version": VERSION, "sessions": fresh}, ensure_ascii=False))
    return found


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


def tallies(home: Home) -> Tallies:
    """One tally for each entry version that any ledger names."""
    read_ledgers = ledgers(home)
    by_version: dict[tuple[str, str], list[SessionLedger]] = {}
    for ledger in read_ledgers:
        named = {(one.entry, one.sha256) for one in ledger.opportunities}
        named |= {(one.entry, one.sha256) for one in ledger.exposures}
        for key in named:
            if all(key):
                by_version.setdefault(key, []).append(ledger)
    return {key: effect.tally(*key, own) for key, own in by_version.items()}


def _paths(home: Home) -> list[Path]:
    if not home.ledger.is_dir():
        return []
    return sorted(home.ledger.glob("*.jsonl"), key=lambda path: (path.stat().st_mtime_ns, path.name))


def _cache(home: Home) -> Path:
    return home.derived / "effects.json"


def _kept(home: Home) -> dict[str, Any]:
    try:
        data = json.loads(files.read_text(_cache(home)))
    except (FileNotFoundError, Refused, ValueError):
        return {}
    fits = isinstance(data, dict) and data.get("version") == VERSION and isinstance(data.get("sessions"), dict)
    return data["sessions"] if fits else {}


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
