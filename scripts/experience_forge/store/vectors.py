"""Vectors of entries, `derived/vectors.sqlite`: tagged with model and dimension, made anew at will."""

from __future__ import annotations

import contextlib
import sqlite3
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model import Entry
from . import entries, files, recall_index
from .home import Home

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS vectors (id TEXT PRIMARY KEY, sha256 TEXT, language TEXT, data BLOB);
"""
MOST_AT_ONCE = 2000


@dataclass(frozen=True)
class Stored:
    """All vectors of one model: by id, with the language of each."""

    dimension: int
    vectors: dict[str, list[float]]
    languages: dict[str, str]


def sync(home: Home, model: str, embed: Callable[[Sequence[str]], list[list[float]]]) -> int:
    """Make the vectors that are missing, drop those of entries that are gone; returns how many were made.

    Vectors of another model are of no use and go.

    Raises:
        Refused: from `embed`, or when the file can't be written.
    """
    known = {one.entry.id: one for one in recall_index.confirmed(entries.load_all(home).entries)}
    files.make_folder(home.derived)
    files.make_private(_path(home))
    with files.locked(home.root / "vectors.lock"), contextlib.closing(sqlite3.connect(_path(home))) as connection:
        connection.executescript(SCHEMA)
        if _meta(connection, "model") not in ("", model):
            connection.execute("DELETE FROM vectors")
            connection.execute("DELETE FROM meta")
        there = dict(connection.execute("SELECT id, sha256 FROM vectors"))
        for name in there.keys() - known.keys():
            connection.execute("DELETE FROM vectors WHERE id = ?", (name,))
        missing = [one for name, one in known.items() if there.get(name) != one.sha256][:MOST_AT_ONCE]
        made = embed([_text(one.entry) for one in missing]) if missing else []
        _put(connection, model, missing, made)
        connection.commit()
    return len(made)


def load(home: Home, model: str) -> Stored | None:
    """The vectors of a model; None when there are none, or only those of another model."""
    path = _path(home)
    if not path.is_file():
        return None
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        if _meta(connection, "model") != model:
            return None
        dimension = int(_meta(connection, "dimension") or 0)
        vectors, languages = {}, {}
        for name, language, data in connection.execute("SELECT id, language, data FROM vectors"):
            values = array("f")
            values.frombytes(data)
            if len(values) == dimension:
                vectors[name], languages[name] = list(values), language
    return Stored(dimension, vectors, languages) if vectors else None


def _put(connection: sqlite3.Connection, model: str, missing: Sequence[Any], made: Sequence[Sequence[float]]) -> None:
    for one, vector in zip(missing, made, strict=True):
        connection.execute(
            "INSERT OR REPLACE INTO vectors VALUES (?,?,?,?)",
            (one.entry.id, one.sha256, one.entry.language, array("f", vector).tobytes()),
        )
    if made:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('model', ?)", (model,))
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('dimension', ?)", (str(len(made[0])),))


def _meta(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def _text(entry: Entry) -> str:
    return recall_index.text_of(entry)


def _path(home: Home) -> Path:
    return home.derived / "vectors.sqlite"
