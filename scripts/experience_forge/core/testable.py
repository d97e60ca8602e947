"""Whether an entry is a testable claim: it says when it applies and what would show that it failed."""

from __future__ import annotations

from ..model import Entry


def label(entry: Entry) -> str:
    """Why an entry can't be tested, as its label; empty when it can."""
    missing = [name for name, value in (("applies_when", entry.applies_when), ("fails_when", entry.fails_when)) if not value]
    return f"cannot be tested: no {' and no '.join(missing)}" if missing else ""
