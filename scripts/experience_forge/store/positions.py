"""Small states of long work in `derived/`: read positions, what was looked at; lost without harm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import Refused
from . import files
from .home import Home


def load(home: Home, name: str) -> dict[str, Any]:
    """The state of that name; empty when there is none or it does not hold."""
    try:
        data = json.loads(files.read_text(_path(home, name)))
    except (OSError, ValueError, RecursionError, Refused):
        return {}
    return data if isinstance(data, dict) else {}


def save(home: Home, name: str, state: Mapping[str, Any]) -> None:
    """Put a state in place of the old one.

    Raises:
        Refused: when it can't be written.
    """
    files.write_text(_path(home, name), json.dumps(state, ensure_ascii=False, separators=(",", ":")))


def _path(home: Home, name: str) -> Path:
    return home.derived / f"{name}.state.json"
