"""Switching recall off and on, for a session (in its ledger) or a project (in the settings)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..errors import Text, Usage
from . import config, known_sessions, ledger, projects, recall_index
from .home import Home


@dataclass(frozen=True)
class Switched:
    """What was switched: `scope` is `session` or `project`, `name` its id, `shown` how a person calls it."""

    scope: str
    name: str
    shown: str


def switched(home: Home, session: str, project: bool, *, on: bool, dry_run: bool) -> Switched:
    """Switch recall where it is meant to be switched, or tell what that would be.

    Raises:
        Usage, Refused: as `target` and `switch` do.
    """
    scope, name = target(home, session, project)
    if not dry_run:
        switch(home, scope, name, on=on)
    return Switched(scope, name, projects.current(home).name if scope == "project" else name)


def target(home: Home, session: str, project: bool) -> tuple[str, str]:
    """What is meant: `("session", id)` or `("project", id)`.

    Raises:
        Usage: when there is no session to be seen and no project was asked for.
        Refused: for a session that nobody knows.
    """
    if project:
        return "project", projects.current(home).id
    name = session or os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not name:
        raise Usage(Text("errors_store.no_session_runs"), Text("errors_store.no_session_runs_hint"))
    return "session", known_sessions.resolve(home, name)


def switch(home: Home, scope: str, name: str, *, on: bool) -> None:
    """Switch recall; hooks see it at their next call.

    Raises:
        Refused: when it can't be written.
    """
    if scope == "session":
        ledger.append(home, name, {"what": "state", "recall": "on" if on else "off"})
        return
    ids = set(projects.current(home).ids) | {name}
    before = [str(one) for one in config.load()["recall"].get("off_projects", [])]
    kept = [one for one in before if one not in ids]
    config.change({"recall": {"off_projects": kept if on else [*kept, name]}})
    recall_index.rewrite_settings(home)
