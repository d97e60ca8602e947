"""The table of points in the installed SKILL.md, brought in line with the scoring rules as this user tuned them.

The copy in the client's folder is ours as long as it has the bytes that the installer noted; a folder that
is a clone, and a file that somebody edited, are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..core import rule_text
from ..errors import Refused
from ..store import files, installs, ruleset
from ..store.home import Home
from . import claude_files
from .claude_files import Change

NAME = "SKILL.md"


def changes(home: Home) -> Iterator[Change]:
    """What the installed copies come to."""
    for install in _copies(home):
        path = Path(str(install["skill_folder"])) / NAME
        try:
            before = files.read_bytes(path)
            after = rule_text.with_scores(before.decode("utf-8"), ruleset.load("scoring")).encode("utf-8")
        except (OSError, Refused, UnicodeDecodeError):
            continue
        if after != before:
            known = files.sha256(before) == install["files"].get(NAME)
            yield Change(path, before, after, "" if known else claude_files.EDITED)


def note(home: Home, done: Iterable[Change]) -> None:
    """Note the new bytes where the installer looks for them, so that an update takes them for ours."""
    written = {str(change.path.parent): change.after for change in done if change.after and not change.note}
    for install in _copies(home):
        data = written.get(str(install["skill_folder"]))
        if data is not None:
            installs.put(home.root, {**install, "files": {**install["files"], NAME: files.sha256(data)}})


def _copies(home: Home) -> list[dict[str, Any]]:
    return [one for one in installs.known(home.root) if not one.get("in_place")
            and isinstance(one.get("files"), dict) and NAME in one["files"]]
