"""Searching the index on demand, through the code that the hooks run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import recall
from ..core.recall import Found
from ..errors import Refused
from ..fast import batch, lookup, rank
from . import entries, positions, recall_index
from .home import Home

MORE = 50
WHOLE = "recall-whole"


def search(
    home: Home,
    text: str,
    *,
    error: bool = False,
    projects: Sequence[str] = (),
    outdated: bool = False,
    limit: int = 5,
    cosines: Mapping[str, float] | None = None,
) -> list[Found]:
    """Entries that fit a text, best first; the index has to be there (`ensure`).

    Args:
        error: the text is tool output: only entries whose error condition it shows come first.
        projects: ids of the project whose entries are in scope, beside those without a project.
        cosines: similarity of meaning by id, to be added (see `core.recall.blended`).

    Raises:
        LookupError: when there is no index.
    """
    try:
        return _search(home, text, error, projects, outdated, limit, cosines)
    except _Unfaithful:
        # Somebody wrote into the index: it is made anew from the confirmed entries, and asked again.
        recall_index.build(home, entries.load_all(home), anew=True)
        return _search(home, text, error, projects, outdated, limit, cosines, strict=False)


class _Unfaithful(Exception):
    """A row of the index says what no confirmed entry says."""


def _search(
    home: Home, text: str, error: bool, projects: Sequence[str], outdated: bool, limit: int,
    cosines: Mapping[str, float] | None, strict: bool = True,
) -> list[Found]:
    prefilter = lookup.Prefilter(lookup.path_of(str(home.root), lookup.PREFILTER))
    with contextlib.closing(prefilter), contextlib.closing(recall_index.connect(home)) as connection:
        if error:
            rows = rank.combined(connection, text, prefilter.errors(batch.anchor_words(text)), projects, MORE, outdated)
        else:
            rows = [(score, n, 0.0) for score, n in rank.search(connection, text, projects, MORE, outdated)]
        faithful = [row for row in rows if recall_index.faithful(home, connection, row[1])]
        if strict and len(faithful) < len(rows):
            raise _Unfaithful
        found = {one.id: one for one in (_found(connection, *row) for row in faithful)}
        if cosines:
            return _with_cosines(home, connection, found, cosines, projects, outdated, limit)
        return list(found.values())[:limit]


def ensure(home: Home) -> bool:
    """Build the index when there is none that this version reads, or when its bytes are damaged.

    Returns whether it was damaged.

    Raises:
        Refused: when it can't be written.
    """
    stamp = _stamp(home)
    if stamp and positions.load(home, WHOLE).get("stamp") == stamp:
        return False
    damaged = recall_index.broken(home)
    if damaged or not (home.derived / lookup.PREFILTER).exists():
        recall_index.build(home, entries.load_all(home), anew=damaged)
    else:
        # A verb that reads goes on without its note.
        with contextlib.suppress(Refused):
            positions.save(home, WHOLE, {"stamp": stamp})
    return damaged


def _stamp(home: Home) -> list[int | str]:
    """Names, sizes and times of the files of the index: bytes that were seen to be whole need no second look."""
    present = lookup.header(str(home.root))
    found: list[int | str] = []
    for name in (lookup.PREFILTER, str(present["db"])) if present else ():
        try:
            info = os.stat(home.derived / name)
        except OSError:
            return []
        found += [name, info.st_size, info.st_mtime_ns, info.st_ctime_ns]
    return found


def _found(connection: Any, score: float, n: int, share: float) -> Found:
    row = connection.execute(
        "SELECT id, title, rule, track, project, status, kind FROM entries WHERE n = ?", (n,)
    ).fetchone()
    name, title, rule, track, project, status, kind = (str(value) for value in row)
    return Found(name, title, rule, track, project, status, round(score, 3), round(share, 3), kind=kind)


def _with_cosines(
    home: Home, connection: Any, found: Mapping[str, Found], cosines: Mapping[str, float], projects: Sequence[str],
    outdated: bool, limit: int,
) -> list[Found]:
    where, values = rank.in_scope(projects, outdated)
    rows = {row[0]: row[1] for row in connection.execute(f"SELECT e.id, e.n FROM entries e WHERE {where}", values)}
    near = {name: value for name, value in cosines.items() if name in rows}
    result = []
    for score, name in recall.blended({name: one.score for name, one in found.items()}, near, limit):
        if name not in found and not recall_index.faithful(home, connection, rows[name]):
            continue
        one = found.get(name) or _found(connection, 0.0, rows[name], 0.0)
        result.append(replace(one, score=round(score, 3), cosine=round(near.get(name, 0.0), 3)))
    return result
