"""The coin at the trigger: how often to withhold, and which entries may be withheld at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..fast.coin import FIRST, FIRST_COINS, LATER, PROVEN, chance
from ..model import Entry, Guard, Status, Track
from . import conditions
from .eprocess import CLAIM

__all__ = ["ASK_AT", "FIRST", "FIRST_COINS", "LATER", "PROVEN", "chance", "draw_arm", "why_not"]

ASK_AT: Final = 5
"""The user is asked for holdouts when an entry meets its fifth opportunity."""


def chance_of(coins: int, evidence: float) -> float:
    """Chance of withholding at the next opportunity: .3 for 40 coins, then .15, .03 once claimed."""
    return chance(coins, evidence >= CLAIM)


def draw_arm(draw: float, p: float) -> str:
    """`withheld` or `shown` for a draw in [0, 1) given by the caller."""
    return "withheld" if draw < p else "shown"


def why_not(entry: Entry, allowed: bool, weights: Mapping[str, float] | None = None) -> str:
    """Why an entry is never withheld, as a message name; empty when it may be.

    Text that is loaded anyway can't be withheld, a guard is safety, and what the user pinned is
    kept by choice.

    Args:
        weights: those of generic error words, by which the judge goes (`store.condition_rules.weights()`).
    """
    if entry.status is not Status.ACTIVE:
        return "not_active"
    if entry.pinned:
        return "pinned"
    if entry.guard is not Guard.REMIND:
        return "guard"
    if entry.track in (Track.PROFILE, Track.PROJECT):
        return "always_loaded"
    if not conditions.matchers(entry.applies_when, weights):
        return "no_trigger"
    if not conditions.matchers(entry.fails_when, weights):
        return "no_falsifier"
    return "" if allowed else "not_allowed"


def coin_faults(record: Mapping[str, Any]) -> list[str]:
    """What is wrong with a logged coin; such a coin is named and never counted."""
    faults = []
    p, draw = record.get("holdout_p"), record.get("draw")
    if not record.get("session"):
        faults.append("no_session")
    if not record.get("sha256"):
        faults.append("no_version")
    if not isinstance(p, (int, float)) or isinstance(p, bool) or not 0 < p < 1:
        faults.append("no_chance")
    elif not isinstance(draw, (int, float)) or isinstance(draw, bool) or not 0 <= draw < 1:
        faults.append("no_draw")
    elif draw_arm(draw, p) != record.get("arm"):
        faults.append("arm_is_not_the_draw")
    return faults
