"""What may be said of an entry: states, and the message of each with its figures (measuring, 2.3).

No figure below the claim level is a percentage or an estimate; the size of an effect is told only
when the claim stood for a while, and shrunken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from . import coin, eprocess
from .effect import Tally
from .judge import BAD

SIZE_AFTER: Final = 10
"""Judged coins after the claim before a size is told: at the stopping moment it is three times the truth."""
LARGE: Final = 30.0
ENOUGH_FOR_SMALL: Final = 40

STATES: Final = ("helps", "hurts", "small", "undecided", "counts", "never", "untested", "untestable", "inactive")
"""In the order of the library's table."""


@dataclass(frozen=True)
class Verdict:
    """A state, the name of its message (`effect.verdict_<name>`), and the message's fields."""

    state: str
    name: str
    values: dict[str, Any]


def verdict(tally: Tally, why_not: str, sessions: int) -> Verdict:
    """What the outcomes of one entry version allow us to say.

    Args:
        why_not: why it is never withheld (`coin.why_not`), empty when it is under test.
        sessions: how many sessions were watched since this version is there.
    """
    values = figures(tally)
    if why_not in ("no_trigger", "no_falsifier"):
        return Verdict("untestable", why_not, values)
    claim = _claim(tally, values)
    if claim is not None:
        return claim
    if why_not == "not_active":
        return Verdict("inactive", why_not, values)
    if why_not in ("pinned", "guard", "always_loaded"):
        return Verdict("untested", why_not, values)
    if not tally.opportunities:
        return Verdict("never", "never" if sessions else "never_yet", {**values, "sessions": sessions})
    if not tally.coins:
        return Verdict("counts", "counts", values)
    return _undecided(tally, values)


def figures(tally: Tally) -> dict[str, Any]:
    """Counts of both arms, what is excluded, and the version; everything that is always shown."""
    return {
        "version": tally.sha256[:8], "shown": _arm(tally, "shown"), "withheld": _arm(tally, "withheld"),
        "shown_bad": tally.count("shown", BAD), "shown_judged": tally.judged("shown"),
        "withheld_bad": tally.count("withheld", BAD), "withheld_judged": tally.judged("withheld"),
        "unknown": sum(tally.count(arm, "unknown") for arm in ("shown", "withheld")),
        "waiting": tally.waiting, "excluded": len(tally.faults), "without_coin": tally.without_coin,
        "opportunities": tally.opportunities,
    }


def _arm(tally: Tally, arm: str) -> int:
    return sum(count for (one, _), count in tally.counts.items() if one == arm)


def _claim(tally: Tally, values: dict[str, Any]) -> Verdict | None:
    for state, evidence in (("helps", tally.helps), ("hurts", tally.hurts)):
        if evidence >= eprocess.CLAIM:
            low, high = eprocess.likely_drop(tally.rows)
            sized = tally.after_claim >= SIZE_AFTER
            ends = sorted((abs(low), abs(high))) if low * high > 0 else [0.0, max(abs(low), abs(high))]
            return Verdict(state, f"{state}_sized" if sized else state, {
                **values, "evidence": f"{min(evidence, 1e6):.0f}", "coins": len(tally.rows),
                "low": round(ends[0]), "high": round(ends[1]), "more": max(0, SIZE_AFTER - tally.after_claim),
            })
    return None


def _undecided(tally: Tally, values: dict[str, Any]) -> Verdict:
    if not tally.judged("shown") and not tally.judged("withheld"):
        return Verdict("undecided", "undecided_none", values)
    low, high = eprocess.likely_drop(tally.rows, 0.95)
    if len(tally.rows) >= ENOUGH_FOR_SMALL and low > -LARGE and high < LARGE:
        return Verdict("small", "small", {**values, "large": round(LARGE)})
    more = eprocess.more_needed(tally.rows, coin.chance_of(tally.coins, 1.0))
    if more is None or not tally.judged("withheld"):
        return Verdict("undecided", "undecided_far", values)
    return Verdict("undecided", "undecided", {**values, "more": more})


def cost(tally: Tally) -> dict[str, int]:
    """What withholding cost: how often it was withheld, and how often the failure came back then."""
    return {"withheld": _arm(tally, "withheld"), "came_back": tally.count("withheld", BAD)}


def tokens_per_return(tally: Tally) -> int | None:
    """Tokens given for each return that was prevented; None below a claim, where nothing is known of it.

    Prevented returns are the shrunken rate difference times the times it was shown; four characters a token.
    """
    if tally.helps < eprocess.CLAIM or tally.after_claim < SIZE_AFTER:
        return None
    low, high = eprocess.likely_drop(tally.rows)
    prevented = (low + high) / 2 / 100 * (_arm(tally, "shown") + tally.without_coin)
    return round(tally.characters / 4 / prevented) if prevented > 0 else None
