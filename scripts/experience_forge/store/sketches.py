"""Sketches of entries kept in `derived/sketches.json` by the digest of their bytes, so that tidying starts at once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core import clusters
from ..core.clusters import Sketch
from ..core.word_groups import Groups
from ..errors import Refused
from . import files
from .entries import StoredEntry
from .home import Home


def of(home: Home, stored: Sequence[StoredEntry], choices: Groups) -> list[Sketch]:
    """One sketch for each entry, in their order; new ones are kept."""
    known = _load(home)
    found: list[Sketch] = []
    fresh = False
    for one in stored:
        item = known.get(one.sha256)
        if item is None:
            sketch = clusters.sketch_of(one.entry, choices)
            item = known[one.sha256] = [sketch.words, list(sketch.triggers), list(sketch.choices)]
            fresh = True
        found.append(Sketch(item[0], tuple(item[1]), tuple(item[2])))
    if fresh:
        present = {one.sha256 for one in stored}
        kept = {digest: item for digest, item in known.items() if digest in present}
        with contextlib.suppress(Refused):
            body = json.dumps({"v": clusters.VERSION, "items": kept}, ensure_ascii=False, separators=(",", ":"))
            files.write_text(_path(home), body)
    return found


def _load(home: Home) -> dict[str, list[Any]]:
    try:
        data = json.loads(files.read_text(_path(home), 512 * 1024 * 1024))
        if data["v"] == clusters.VERSION and isinstance(data["items"], dict):
            return dict(data["items"])
    except (FileNotFoundError, Refused, ValueError, KeyError, TypeError):
        pass
    return {}


def _path(home: Home) -> Path:
    return home.derived / "sketches.json"
