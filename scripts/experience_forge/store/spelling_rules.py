"""The forms of `rules/spellings.yaml`, put to the conditions of an entry where they are compiled."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..core import spellings
from ..model import Condition
from . import ruleset


@cache
def forms() -> dict[str, tuple[str, ...]]:
    """The first words of a command to those that mean the same."""
    return {str(form): tuple(map(str, meant)) for form, meant in ruleset.load("spellings")["forms"].items()}


def spelled(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions with their other forms (`core.spellings.spelled`)."""
    return spellings.spelled(conditions, forms())
