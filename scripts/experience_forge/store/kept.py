"""SQLite files in `derived/` that hold what was read from other files, so that only changed ones are read again.

Nothing hangs on them: one that is lost, damaged, of another version or can't be written is replaced by one in
memory for this run, and made anew on the disk as soon as that can be.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import Refused
from . import files
from .home import Home

_Result = TypeVar("_Result")
BUSY_SECONDS = 5.0
_FAILED = (sqlite3.Error, Refused, ValueError, TypeError, KeyError, IndexError, AttributeError)
_AWAY = ("locked", "readonly", "full", "I/O", "unable to open")
"""What SQLite says when the disk or another process is in the way: the file itself may be whole."""


def worked(home: Home, name: str, schema: str, version: int, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
    """What `work` makes of the kept file, or of an empty one in memory where the file does not do.

    `work` may change the file and has to commit; it is called a second time when it fails with the file.

    Args:
        schema: statements that make the tables; another `version` drops what is there.
    """
    path = home.derived / name
    try:
        with contextlib.closing(_prepared(path, schema, version)) as connection:
            return work(connection)
    except _FAILED as error:
        # A value that does not hold is a damaged file as well.
        if not isinstance(error, Refused) and not any(word in str(error) for word in _AWAY):
            with contextlib.suppress(Refused):
                files.remove(path)
    return in_memory(schema, work)


def in_memory(schema: str, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
    """What `work` makes of empty tables of which nothing stays."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        return work(connection)


def _prepared(path: Path, schema: str, version: int) -> sqlite3.Connection:
    # SQLite would make it readable to others.
    files.make_private(path)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] != version:
            _made_anew(connection, schema, version)
    except BaseException:
        connection.close()
        raise
    return connection


def _made_anew(connection: sqlite3.Connection, schema: str, version: int) -> None:
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    drops = "".join(f'DROP TABLE "{table}";' for table in tables if not table.startswith("sqlite_"))
    connection.executescript(f"BEGIN IMMEDIATE;{drops}{schema};PRAGMA user_version={version};COMMIT;")
