"""Projects that have entries or were worked in, `<home>/projects.json`: names, places, earlier ids.

A project's id comes from its remote, else its git folder, else the folder (`fast.git`). When it gets
a remote, loses it or moves, the ids that it had before stay with it here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Invalid, Refused, Text
from ..fast import git
from . import files, journal, redaction
from .home import Home

NAME_LIMIT = 80


@dataclass(frozen=True)
class Project:
    """One project: `ids` begins with `id`, earlier ones follow; `root` is where it was last seen."""

    id: str
    name: str
    root: str
    ids: tuple[str, ...]
    seen: str = ""


def current(home: Home, folder: str = "") -> Project:
    """The project of a folder (the client's project folder, else the working folder), not recorded."""
    where = folder or os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    found = git.project(where, aliases(home))
    known = {project.id: project for project in all(home)}
    for one in found.ids:
        if one in known:
            earlier = known[one]
            ids = tuple(dict.fromkeys((found.id, *found.ids, *earlier.ids)))
            return Project(found.id, earlier.name or found.name, found.root, ids, earlier.seen)
    return Project(found.id, found.name, found.root, tuple(found.ids))


def record(home: Home, project: Project) -> None:
    """Remember a project with all its ids, in place of the records that share one with it.

    Raises:
        Refused: when the file can't be read (writing would lose the other projects) or written.
    """
    with files.locked(home.lock):
        everything = _read(home)
        others = [known for known in everything if not set(known.ids) & set(project.ids)]
        mine = [known for known in everything if set(known.ids) & set(project.ids)]
        ids = tuple(dict.fromkeys((*project.ids, *(one for known in mine for one in known.ids))))
        merged = Project(project.id, project.name, project.root, ids, journal.now()[:10])
        if mine == [merged]:
            return
        data = {p.id: {"name": p.name, "root": p.root, "ids": list(p.ids), "seen": p.seen} for p in (*others, merged)}
        files.write_text(_path(home), json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def renamed(home: Home, project_id: str, name: str) -> Project:
    """A known project (by one of its ids, or its name) with another readable name; writes nothing.

    Raises:
        Refused: when there is none.
        Invalid: for a name that can't be read.
    """
    name = " ".join(name.split())
    if not 1 <= len(name) <= NAME_LIMIT or not name.isprintable() or redaction.clean(name)[1]:
        raise Invalid(Text("errors_store.rename"), Text("errors_store.rename_hint", limit=NAME_LIMIT))
    for project in (*all(home), current(home)):
        if project_id in project.ids or project.name == project_id:
            return Project(project.id, name, project.root, project.ids, project.seen)
    raise Refused(
        Text("errors.no_project", project=project_id), Text("errors.see", command="experience-forge projects")
    )


def all(home: Home) -> list[Project]:
    """All recorded projects, by name; none when the file is damaged or can't be read."""
    try:
        return _read(home)
    except Refused:
        return []


def _read(home: Home) -> list[Project]:
    data = files.read_record(_path(home))
    if not isinstance(data, Mapping):
        return []
    found = [_of(project_id, item) for project_id, item in data.items() if isinstance(item, Mapping)]
    return sorted(found, key=lambda project: (project.name, project.id))


def aliases(home: Home) -> dict[str, list[str]]:
    """For each id that a project ever had, the others of it: what hooks look up."""
    return {one: [other for other in project.ids if other != one] for project in all(home) for one in project.ids}


def known(home: Home, asked: str | None, used: Iterable[str]) -> None:
    """Refuse a project that neither the record, nor an entry, nor the present folder names.

    Args:
        used: the projects of the entries.

    Raises:
        Refused: naming `projects`.
    """
    named = {name for project in (*all(home), current(home)) for name in (*project.ids, project.id, project.name)}
    if asked and asked not in named | set(used):
        raise Refused(Text("errors.no_project", project=asked), Text("errors.see", command="experience-forge projects"))


def name_of(home: Home, project_id: str) -> str:
    """The readable name of a project id; the id itself when it is not known."""
    return next((project.name for project in all(home) if project_id in project.ids), project_id)


def _of(project_id: str, item: Mapping[str, Any]) -> Project:
    ids = tuple(dict.fromkeys((project_id, *(str(one) for one in item.get("ids", ())))))
    return Project(project_id, str(item.get("name", "")), str(item.get("root", "")), ids, str(item.get("seen", "")))


def _path(home: Home) -> Path:
    return home.root / "projects.json"
