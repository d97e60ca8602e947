"""The journal: append-only, chained records of consents and changes, one file a month.

Each record holds the hash of the line before it, across files, so that a line that was changed,
taken out or put in between is found. A damaged line is reported with its place; the rest is read.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from . import files, journal_state
from .home import Home
from .journal_fold import Fold
from .journal_lines import START, Line, line_of, lines, paths, raw_lines
from .journal_lines import Confirmed as Confirmed
from .journal_state import State as State
from .journal_state import size as size

VERSION = 1


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


def read(home: Home) -> list[dict[str, Any]]:
    """All readable records, oldest first."""
    return [dict(line.record) for line in lines(home) if line.record is not None]


def state(
    home: Home, *, anew: bool = False, brief: bool = False, advance: Callable[[int], None] = lambda count: None
) -> State:
    """What all records together say: confirmed bytes, pending changes, faults of the chain.

    Args:
        anew: read every record again rather than trusting what is kept in `derived/` of unchanged bytes.
        brief: `confirmed` is not needed; it is None then when it was not at hand.
        advance: is told how many bytes of `size` were read so far.
    """
    return journal_state.load(home, anew=anew, brief=brief, advance=advance)


def check(home: Home) -> list[str]:
    """Faults of the chain, each with file and line; empty when it holds."""
    return state(home, brief=True).faults


def confirmed(home: Home) -> dict[str, Confirmed]:
    """The confirmed bytes of every entry file, by its path below `entries/` (with `/`)."""
    return state(home).confirmed or {}


def fold(records: Iterable[Mapping[str, Any]]) -> dict[str, Confirmed]:
    """`confirmed` from records that were read already; pure."""
    found = Fold()
    for record in records:
        found.record(record)
    return found.confirmed


def pending(home: Home) -> list[dict[str, Any]]:
    """Changes whose proof is still pending, oldest first."""
    return state(home, brief=True).pending


def _file_for(home: Home, at: str, last: Line | None) -> Path:
    # A clock that went back must not put a record into an earlier month: order is by place.
    name = f"{at[:7]}.jsonl"
    if last is not None and last.path.name > name:
        return last.path
    return home.journal / name


def _last(home: Home) -> Line | None:
    """The last line that can be read as a record."""
    for path in reversed(paths(home)):
        found = list(raw_lines(files.blocks(path)))
        for number in range(len(found), 0, -1):
            line = line_of(path, number, found[number - 1])
            if line.record is not None:
                return line
    return None


def _seq(line: Line) -> int:
    return int((line.record or {}).get("seq") or 0)


def kept_text(home: Home, digest: str) -> str | None:
    """An earlier text, or the words of a reason, by its sha256; None when it was forgotten or never kept."""
    try:
        return files.read_bytes(object_path(home, digest)).decode("utf-8")
    except FileNotFoundError:
        return None


def object_path(home: Home, digest: str) -> Path:
    """Where the text with this sha256 is kept: the journal itself holds no words that could not be forgotten."""
    return home.journal / "objects" / f"{digest}.md"
