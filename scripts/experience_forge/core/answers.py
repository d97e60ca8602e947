"""What the users' answers to suggestions add up to: declined twice in a row, suggest only what stands out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

ROW = 2
"""Refusals in a row from which the threshold rises."""


def in_a_row(answers: Iterable[Mapping[str, Any]], before: int = 0) -> int:
    """Refusals in a row after these answers (ledger records, oldest first); silence counts for nothing.

    Args:
        before: the count up to the first of them.
    """
    count = before
    for record in answers:
        if record.get("answer") == "no":
            count += 1
        elif record.get("answer") == "yes":
            count = 0
    return count
