"""What pairs of entries are to each other, kept in `derived/relations.json` by the digests of their bytes.

Everything is judged anew when the rules change, or the library has doubled: what a word says depends on both.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..core.clusters import Pair
from ..core.contradictions import Contradiction
from ..core.pairs import Relation
from ..errors import Refused
from . import files
from .home import Home

VERSION = 2
LEAST = 160
"""From so many entries on relations are kept: for fewer they are worked out at once."""


def load(home: Home, digests: Sequence[str], rules: str) -> dict[Pair, Relation]:
    """The kept relations of entries, by their places; none when they were made by other rules."""
    if len(digests) <= LEAST:
        return {}
    try:
        data = json.loads(files.read_text(_path(home), 512 * 1024 * 1024))
        if data["key"] != _key(len(digests), rules):
            return {}
        places = {digest: place for place, digest in enumerate(digests)}
        found = {}
        for one, other, what, share, apart, clash in data["items"]:
            if one in places and other in places:
                relation = Relation(what, share, apart, Contradiction(**clash) if clash else None)
                pair = places[one], places[other]
                found[min(pair), max(pair)] = relation
        return found
    except (FileNotFoundError, Refused, ValueError, KeyError, TypeError):
        return {}


def save(home: Home, digests: Sequence[str], rules: str, known: Mapping[Pair, Relation]) -> None:
    """Keep relations; a failure is no failure of the command."""
    if len(digests) <= LEAST:
        return
    items = []
    for (one, other), relation in known.items():
        clash = asdict(relation.contradiction) if relation.contradiction else None
        items.append([digests[one], digests[other], relation.what, relation.share, dict(relation.apart), clash])
    with contextlib.suppress(Refused):
        body = json.dumps({"key": _key(len(digests), rules), "items": items}, ensure_ascii=False)
        files.write_text(_path(home), body)


def _key(count: int, rules: str) -> str:
    return f"{VERSION} {count.bit_length()} {rules}"


def _path(home: Home) -> Path:
    return home.derived / "relations.json"
