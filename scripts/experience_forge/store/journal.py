"""The journal: append-only, chained records of consents and changes, one file a month.

Each record holds the hash of the line before it, across files, so that a line that was changed,
taken out or put in between is found. A damaged line is reported with its place; the rest is read.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Text, told
from . import files
from .home import Home

VERSION = 1
START = "0" * 64
"""The `prev` of the very first record."""


@dataclass(frozen=True)
class Line:
    """One line of the journal: its place, its hash, and its record when it could be read."""

    path: Path
    number: int
    hash: str
    record: Mapping[str, Any] | None


@dataclass(frozen=True)
class Confirmed:
    """What the journal says of one entry file: the bytes in force and how they were confirmed."""

    sha256: str
    proof: str
    seq: int
    at: str
    by: str

    @property
    def proven(self) -> bool:
        """Whether a client may be given these bytes."""
        return self.proof in ("person", "terminal")


def now() -> str:
    """The present time as the journal writes it: UTC, seconds, ISO 8601."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def append(home: Home, record: Mapping[str, Any]) -> dict[str, Any]:
    """Append one record durably; returns it with `v`, `seq`, `at` and `prev` filled in.

    Takes the home's lock when the caller does not hold it yet.

    Raises:
        Refused: when it can't be written; nothing counts as confirmed then.
    """
    with files.locked(home.lock):
        last = _last(home)
        seq, prev = (0, START) if last is None else (_seq(last), last.hash)
        full: dict[str, Any] = {"v": VERSION, "seq": seq + 1, "at": now(), "prev": prev, **record}
        path = _file_for(home, str(full["at"]), last)
        files.append_line(path, json.dumps(full, ensure_ascii=False, separators=(",", ":")), durable=True)
    return full


def lines(home: Home) -> Iterator[Line]:
    """All lines, oldest first; unreadable ones come with `record` None."""
    for path in _paths(home):
        for number, raw in enumerate(files.read_bytes(path).split(b"\n"), 1):
            if raw.strip():
                yield Line(path, number, files.sha256(raw), _record(raw))


def read(home: Home) -> list[dict[str, Any]]:
    """All readable records, oldest first."""
    return [dict(line.record) for line in lines(home) if line.record is not None]


def check(home: Home) -> list[str]:
    """Faults of the chain, each with file and line; empty when it holds."""
    faults = []
    hashes = {START}
    previous = START
    seq = 0
    for line in lines(home):
        where = Text("errors_store.path_line", path=line.path.name, line=line.number)
        if line.record is None:
            faults.append(Text("errors_store.chain_torn", where=where))
            continue
        prev = line.record.get("prev")
        if prev != previous:
            known = Text("errors_store.chain_earlier" if prev in hashes else "errors_store.chain_nothing")
            faults.append(Text("errors_store.chain_order", where=where, known=known))
        if line.record.get("seq") != seq + 1:
            faults.append(Text("errors_store.chain_number", where=where, number=line.record.get("seq"), due=seq + 1))
        seq = int(line.record.get("seq") or 0)
        previous = line.hash
        hashes.add(line.hash)
    return [told(fault) for fault in faults]


def confirmed(home: Home) -> dict[str, Confirmed]:
    """The confirmed bytes of every entry file, by its path below `entries/` (with `/`)."""
    return fold(read(home))


def fold(records: list[dict[str, Any]]) -> dict[str, Confirmed]:
    """`confirmed` from records that were read already; pure."""
    state: dict[str, Confirmed] = {}
    proofs = {int(r["of"]): str(r["proof"]) for r in records if r.get("what") == "proof" and "of" in r}
    for record in records:
        if record.get("what") not in ("change", "revoked", "forget"):
            continue
        consent = record.get("consent") or {}
        proof = proofs.get(int(record["seq"]), str(consent.get("proof", "")))
        for change in record.get("files", ()):
            path = str(change["path"])
            if change.get("after") is None:
                state.pop(path, None)
            elif record["what"] == "revoked":
                state[path] = Confirmed(str(change["after"]), str(change.get("proof", "")), int(record["seq"]),
                                        str(record["at"]), str(change.get("by", "")))
            else:
                state[path] = Confirmed(str(change["after"]), proof, int(record["seq"]), str(record["at"]),
                                        str(consent.get("by", "")))
    return state


def pending(home: Home) -> list[dict[str, Any]]:
    """Changes whose proof is still pending, oldest first."""
    records = read(home)
    settled = {int(r["of"]) for r in records if r.get("what") in ("proof", "revoked") and "of" in r}
    return [
        r for r in records
        if r.get("what") == "change"
        and (r.get("consent") or {}).get("proof") == "pending"
        and int(r["seq"]) not in settled
    ]


def _paths(home: Home) -> list[Path]:
    return files.listed(home.journal, ".jsonl")


def _file_for(home: Home, at: str, last: Line | None) -> Path:
    # A clock that went back must not put a record into an earlier month: order is by place.
    name = f"{at[:7]}.jsonl"
    if last is not None and last.path.name > name:
        return last.path
    return home.journal / name


def _last(home: Home) -> Line | None:
    for path in reversed(_paths(home)):
        raw_lines = files.read_bytes(path).split(b"\n")
        for number in range(len(raw_lines), 0, -1):
            record = _record(raw_lines[number - 1])
            if record is not None:
                return Line(path, number, files.sha256(raw_lines[number - 1]), record)
    return None


def _seq(line: Line) -> int:
    return int((line.record or {}).get("seq") or 0)


def _record(raw: bytes) -> Mapping[str, Any] | None:
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and _is_sound(data) else None


def _is_sound(record: Mapping[str, Any]) -> bool:
    """Whether the fields that commands rely on have their types; a record without them is a damaged line."""
    return (
        _is_number(record.get("seq"))
        and all(isinstance(record.get(name), str) for name in ("at", "what"))
        and ("of" in record or record.get("what") not in ("proof", "revoked"))
        and _is_number(record.get("of", 0))
        and ("proof" in record or record.get("what") != "proof")
        and isinstance(record.get("consent") or {}, dict)
        and _all(record.get("entries", []), lambda one: isinstance(one, str))
        and _all(record.get("files", []), _is_file)
        and (record.get("what") != "change" or "files" in record)
    )


def _is_file(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("path"), str) and all(
        isinstance(item.get(name), (str, type(None))) for name in ("before", "after")
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _all(values: Any, test: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and all(test(value) for value in values)
