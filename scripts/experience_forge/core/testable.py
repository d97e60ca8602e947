"""Whether an entry is a testable claim: it says when it applies and what would show that it failed."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import Text
from ..model import Entry
from . import conditions


def label(entry: Entry, weights: Mapping[str, float] | None = None) -> Text | None:
    """Why an entry can't be tested, as its label; None when it can.

    Args:
        weights: those of generic error words, by which the judge goes (`store.condition_rules.weights()`).
    """
    parts = (("applies_when", entry.applies_when), ("fails_when", entry.fails_when))
    missing = [name for name, conditions_ in parts if not conditions_]
    if missing:
        both = Text("errors_entry.untestable_both")
        return both if len(missing) > 1 else Text("errors_entry.untestable_one", name=missing[0])
    useless = [name for name, conditions_ in parts if not conditions.matchers(conditions_, weights)]
    return Text("errors_entry.untestable_useless", names=useless) if useless else None
