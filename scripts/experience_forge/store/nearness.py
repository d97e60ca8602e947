"""Entries near a new one, so that the model decides: a new entry, add to one, or replace one."""

from __future__ import annotations

from typing import Any

from ..fast import tokens
from ..model import Entry
from . import entries
from .home import Home

LEAST = 0.2
"""Share of words in common (Jaccard over title, aliases, rule and conditions) from which an entry is named."""


TITLES = 0.5
"""Share from which two titles alone make their entries near."""


def words_of(entry: Entry) -> frozenset[str]:
    """The words that say what an entry is about."""
    conditions = (value for condition in entry.applies_when for value in condition.parts().values())
    return frozenset(tokens.terms("\n".join((entry.title, *entry.aliases, entry.rule, *conditions))))


def share(one: Entry, other: Entry) -> float:
    """How near two entries are, 0 to 1: by all that says what they are about, or by their titles alone."""
    titles = overlap(frozenset(tokens.terms(one.title)), frozenset(tokens.terms(other.title)))
    return max(overlap(words_of(one), words_of(other)), titles if titles >= TITLES else 0.0)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity, 0 to 1."""
    return len(one & other) / len(one | other) if one or other else 0.0


def near(home: Home, entry: Entry, count: int) -> list[dict[str, Any]]:
    """At most `count` entries near a draft, nearest first.

    Those that tidying would call the same or contradicting come first, with `relation`.
    """
    from . import tidying

    judged = tidying.near(home, entry, count)
    names = {one["id"] for one in judged}
    found = [
        (share(entry, stored.entry), stored)
        for stored in entries.load_all(home).entries if stored.entry.id not in (entry.id, *names)
    ]
    best = sorted((pair for pair in found if pair[0] >= LEAST), key=lambda pair: (-pair[0], pair[1].entry.id))
    return [*judged, *(
        {"id": s.entry.id, "title": s.entry.title, "rule": s.entry.rule, "track": s.entry.track.value,
         "share": round(part, 2), "where": "entries", "relation": "near"}
        for part, s in best
    )][:count]
