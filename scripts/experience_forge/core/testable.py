"""Whether an entry is a testable claim: it says when it applies and what would show that it failed."""

from __future__ import annotations

from ..model import Entry
from . import conditions


def label(entry: Entry) -> str:
    """Why an entry can't be tested, as its label; empty when it can."""
    parts = (("applies_when", entry.applies_when), ("fails_when", entry.fails_when))
    missing = [name for name, conditions_ in parts if not conditions_]
    if missing:
        return f"cannot be tested: no {' and no '.join(missing)}"
    useless = [name for name, conditions_ in parts if not conditions.matchers(conditions_)]
    return f"cannot be tested: nothing telling in {' and '.join(useless)}" if useless else ""
