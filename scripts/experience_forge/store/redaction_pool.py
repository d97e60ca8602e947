"""Redacts the portions of a large text in several processes."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Sequence

from ..core import redact
from ..core.labels import Found
from . import processes


def readers(rules: Callable[[], redact.Rules]) -> redact.Readers | None:
    """Processes to read a large text with, or None where they gain nothing.

    They are forks, which have the compiled rules already: where there are none (and on macOS, whose libraries do not
    bear them) each process would compile the rules for half a second.

    Args:
        rules: a function of a module, which the forks call by its name.
    """
    count = processes.cores() if sys.platform == "linux" else 1
    return redact.Readers(count, functools.partial(_read_all, rules, count)) if count > 1 else None


def _read_all(
    rules: Callable[[], redact.Rules], count: int, texts: Sequence[str], gates: frozenset[str]
) -> list[list[Found]]:
    if len(texts) == 1:
        return [_read(texts[0], gates, rules)]
    rules()
    given = texts, itertools.repeat(gates), itertools.repeat(rules)
    return list(processes.spread(_read, *given, count=min(count, len(texts)), forked=True))


def _read(text: str, gates: frozenset[str], rules: Callable[[], redact.Rules]) -> list[Found]:
    return list(redact.find_in(text, rules(), gates))
