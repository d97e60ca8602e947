"""The lines of the journal as they stand in its files, one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from . import files
from .home import Home

START = "0" * 64
"""The `prev` of the very first record."""


@dataclass(frozen=True)
class Line:
    """One line of the journal: its place, its hash, and its record when it could be read."""

    path: Path
    number: int
    hash: str
    record: Mapping[str, Any] | None


class Confirmed(NamedTuple):
    """What the journal says of one entry file: the bytes in force and how they were confirmed.

    A tuple, since there is one for each of perhaps 100,000 entries.
    """

    sha256: str
    proof: str
    seq: int
    at: str
    by: str

    @property
    def proven(self) -> bool:
        """Whether a client may be given these bytes."""
        return self.proof in ("person", "terminal")


def paths(home: Home) -> list[Path]:
    """The journal's files, oldest first."""
    return files.listed(home.journal, ".jsonl")


def lines(home: Home) -> Iterator[Line]:
    """All lines, oldest first; unreadable ones come with `record` None."""
    for path in paths(home):
        for number, raw in enumerate(raw_lines(files.blocks(path)), 1):
            if raw.strip():
                yield line_of(path, number, raw)


def line_of(path: Path, number: int, raw: bytes) -> Line:
    """One line of a file, counted from 1, without its end."""
    return Line(path, number, files.sha256(raw), record_of(raw))


def raw_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines without their ends; the last one is what stands behind the last end, and may be empty."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from whole
    yield rest


def record_of(raw: bytes) -> Mapping[str, Any] | None:
    """The record of a line; None when it is torn, or lacks a field that commands rely on."""
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
