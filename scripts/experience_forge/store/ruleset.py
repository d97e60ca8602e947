"""Reads the data in `rules/`: weights, word lists, tracks, messages; and a user's tuning over it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml

from ..core import tuning as core_tuning
from ..errors import Invalid, Text
from . import files
from .home import Home, current, skill_folder

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(name: str) -> dict[str, Any]:
    """One rule file as a mapping, with the user's confirmed tuning over it; `name` as in `scoring`.

    Raises:
        Invalid: when the file is missing, no YAML, or not a mapping.
    """
    path = tuning_path(current(), name)
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        return shipped(name)
    return _tuned(name, path, stamp)


@functools.cache
def shipped(name: str) -> dict[str, Any]:
    """One rule file as it was shipped; errors as `load`."""
    return load_file(skill_folder() / "rules" / f"{name}.yaml")


def tuning_path(home: Home, name: str) -> Path:
    """Where a user's tuning of a rule file lies: apart from the shipped one, so that updates leave it."""
    return home.root / "tuning" / f"{name}.yaml"


def tuning(home: Home, name: str) -> dict[str, Any]:
    """A user's tuning whose bytes a person confirmed; empty when there is none, or they are others."""
    from . import journal

    path = tuning_path(home, name)
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return {}
    state = journal.confirmed(home).get(f"@tuning/{name}.yaml")
    if state is None or not state.proven or state.sha256 != files.sha256(data):
        return {}
    return load_file(path)


@functools.cache
def _tuned(name: str, path: Path, stamp: int) -> dict[str, Any]:
    given = tuning(Home(path.parent.parent), name)
    return core_tuning.laid_over(shipped(name), given)[0] if given else shipped(name)


def load_file(path: Path) -> dict[str, Any]:
    """A YAML mapping from any rule file; errors as `load`."""
    try:
        data = yaml.load(files.read_text(path), Loader=_LOADER)
    except FileNotFoundError:
        raise Invalid(Text("errors.is_missing", path=path), Text("errors.skill_incomplete")) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = Text("errors_store.path_line", path=path, line=mark.line + 1) if mark else path
        raise Invalid(Text("errors_store.not_yaml", where=where), Text("errors.restore_file")) from error
    if not isinstance(data, dict):
        raise Invalid(Text("errors.no_mapping", path=path), Text("errors.restore_file"))
    return data


@functools.cache
def messages(language: str) -> dict[str, str]:
    """All message texts in one language, by id `<file>.<name>`, from `rules/messages/*.yaml`.

    Each file maps a name to `{en: text, zh: text}`. Those of errors are `wording`'s, read when one is shown.
    """
    texts: dict[str, str] = {}
    paths = (skill_folder() / "rules" / "messages").glob("*.yaml")
    for path in sorted(path for path in paths if not path.stem.startswith("errors")):
        for name, versions in load_file(path).items():
            texts[f"{path.stem}.{name}"] = str(versions[language])
    return texts
