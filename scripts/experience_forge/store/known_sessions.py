"""Which session a user means: a whole id or its beginning, among those that left anything on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..errors import Refused, Text
from ..fast import home as fast_home
from . import ledger
from .home import Home

SHORTEST = 4
"""Characters of a beginning that is taken for an id; `scan` prints eight."""
_SHOWN = 3


def resolve(home: Home, session: str) -> str:
    """The whole id of a session that runs here, that the client keeps, or that has a ledger.

    Raises:
        Refused: when no session has this id, or several begin with it.
    """
    if session == os.environ.get("CLAUDE_CODE_SESSION_ID", ""):
        return session
    # A ledger of an odd id has another name than the id: it is asked by its path.
    if ledger.path_of(home, session).is_file():
        return session
    kept = transcripts()
    return _one(session, [*(path.stem for path in kept), *ledger.ids(home)], newest(kept))


def transcript(session: str) -> Path:
    """The file of a session that the client keeps.

    Raises:
        Refused: when it keeps none of that id, or several begin with it.
    """
    kept = transcripts()
    name = _one(session, [path.stem for path in kept], newest(kept))
    return max((path for path in kept if path.stem == name), key=lambda path: path.stat().st_mtime)


def transcripts() -> list[Path]:
    """All sessions that the client keeps on this machine, by name; subagents' files are left out."""
    return sorted(Path(fast_home.client_folder(), "projects").glob("*/*.jsonl"))


def newest(paths: Iterable[Path]) -> list[str]:
    """Ids of the few sessions that were written last."""
    dated = sorted(paths, key=lambda path: -path.stat().st_mtime)
    return [path.stem for path in dated[:_SHOWN]]


def _one(session: str, known: list[str], last: list[str]) -> str:
    if session in known:
        return session
    begin = sorted({name for name in known if name.startswith(session)}) if len(session) >= SHORTEST else []
    if len(begin) == 1:
        return begin[0]
    if begin:
        names = ", ".join(begin[:_SHOWN])
        raise Refused(
            Text("errors_store.sessions_begin", count=len(begin), session=session, ids=names),
            Text("errors_store.more_of_id"),
        )
    hint = Text("errors_store.last_sessions", ids=", ".join(last)) if last else Text("errors_store.no_sessions")
    raise Refused(Text("errors_store.no_session", session=session[:80]), hint)
