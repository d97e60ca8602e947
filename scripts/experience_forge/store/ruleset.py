"""Reads the data in `rules/`: weights, word lists, tracks, messages; and a user's tuning over it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml

from ..errors import Invalid
from . import files
from .home import skill_folder

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def load(name: str) -> dict[str, Any]:
    """One rule file as a mapping; `name` without the ending, such as `scoring`.

    Raises:
        Invalid: when the file is missing, no YAML, or not a mapping.
    """
    path = skill_folder() / "rules" / f"{name}.yaml"
    return load_file(path)


def load_file(path: Path) -> dict[str, Any]:
    """A YAML mapping from any rule file; errors as `load`."""
    try:
        data = yaml.load(files.read_text(path), Loader=_LOADER)
    except FileNotFoundError:
        raise Invalid(f"{path} is missing", "install again: the skill folder is incomplete") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        raise Invalid(f"{path}{where} is not valid YAML", "restore the file or install again") from error
    if not isinstance(data, dict):
        raise Invalid(f"{path} does not hold a mapping", "restore the file or install again")
    return data


@functools.cache
def messages(language: str) -> dict[str, str]:
    """All message texts in one language, by id `<file>.<name>`, from `rules/messages/*.yaml`.

    Each file maps a name to `{en: text, zh: text}`.
    """
    texts: dict[str, str] = {}
    for path in sorted((skill_folder() / "rules" / "messages").glob("*.yaml")):
        for name, versions in load_file(path).items():
            texts[f"{path.stem}.{name}"] = str(versions[language])
    return texts
