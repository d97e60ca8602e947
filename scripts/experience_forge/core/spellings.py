"""Conditions on a command, spelled in the other forms of its verb: `npm i` is what `npm install` is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..model import Condition


def spelled(conditions: Iterable[Condition], forms: Mapping[str, Iterable[str]]) -> tuple[Condition, ...]:
    """Each condition, and after it the same with every other form of its command; none comes twice.

    Args:
        forms: from `rules/spellings.yaml`: the first words of a command to those that mean the same.
    """
    return tuple(dict.fromkeys(
        found for one in conditions for found in (one, *(replace(one, command=c) for c in others(one.command, forms)))
    ))


def others(command: str, forms: Mapping[str, Iterable[str]]) -> list[str]:
    """The other forms of a command pattern; only whole words count, so that `npm inst*` has none."""
    words = command.replace(":*", " *").split()
    found = []
    for form, meant in forms.items():
        first = form.split()
        if words[: len(first)] == first:
            found += [" ".join([*one.split(), *words[len(first):]]) for one in meant]
    return found
