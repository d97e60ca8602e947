"""Sketches of entries kept in `derived/sketches.json` by the digest of their bytes, so that tidying starts at once."""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import clusters
from ..core.clusters import Sketches
from ..core.word_groups import Groups
from ..errors import Refused
from . import files
from .entries import StoredEntry
from .home import Home

if TYPE_CHECKING:
    Item = tuple[array[int], tuple[str, ...], tuple[str, ...]]


def of(home: Home, stored: Sequence[StoredEntry], choices: Groups, rules: str) -> Sketches:
    """The sketches of entries, in their order; new ones are kept.

    Args:
        rules: a digest of the rules that they depend on.
    """
    vocabulary, known = _load(home, rules)
    numbers = clusters.Numbers()
    fresh = False
    items = []
    terms: dict[str, list[str]] = {}
    for one in stored:
        item = known.get(one.sha256)
        if item is None:
            if not numbers:
                numbers.update(zip(vocabulary, range(len(vocabulary)), strict=True))
            sketch = clusters.sketch_of(one.entry, choices, terms)
            words = array("I", map(numbers.__getitem__, sketch.words))
            item = known[one.sha256] = (words, sketch.triggers, sketch.choices)
            fresh = True
        items.append(item)
    if numbers:
        vocabulary = list(numbers)
    if fresh:
        _save(home, rules, vocabulary, {one.sha256: item for one, item in zip(stored, items, strict=True)})
    return Sketches(vocabulary, [i[0] for i in items], [i[1] for i in items], [i[2] for i in items])


def _load(home: Home, rules: str) -> tuple[list[str], dict[str, Item]]:
    try:
        data = json.loads(files.read_text(_path(home), 512 * 1024 * 1024))
        if data["v"] == f"{clusters.VERSION} {rules}":
            # Plain numbers would take eight times the room of arrays.
            return list(data["words"]), {
                digest: (array("I", words), tuple(triggers), tuple(choices))
                for digest, (words, triggers, choices) in data["items"].items()
            }
    except (FileNotFoundError, Refused, ValueError, KeyError, TypeError, OverflowError):
        pass
    return [], {}


def _save(home: Home, rules: str, vocabulary: Sequence[str], items: Mapping[str, Item]) -> None:
    plain = {digest: [item[0].tolist(), item[1], item[2]] for digest, item in items.items()}
    with contextlib.suppress(Refused):
        document = {"v": f"{clusters.VERSION} {rules}", "words": vocabulary, "items": plain}
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        files.write_text(_path(home), body)


def _path(home: Home) -> Path:
    return home.derived / "sketches.json"
