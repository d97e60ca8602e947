"""The test behind a verdict: an e-process on our own coins, safe at every look.

For a pair (rate of bad outcomes when withheld `q0`, when shown `q1`) each coin multiplies the
evidence by the likelihood of what was seen under "the arm matters so much" over "the arm does not
matter". If an entry changes nothing, only our coin is random, so the expected factor is exactly 1
whatever the base rate does from day to day; by Ville's inequality the sum over all pairs passes 20
with probability 1/20 at most, however often one looks. No factor depends on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

CLAIM: Final = 20.0
"""Evidence needed for a claim: false claims stay below 1 in 20."""

RATES: Final = (0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.92)
"""Grid of bad-outcome rates, from the simulation behind DESIGN 10."""

PAIRS: Final = tuple((q0, q1) for q0 in RATES for q1 in RATES if q1 < q0)
"""(withheld, shown) rates of an entry that helps; mirrored for one that hurts."""

_GAPS: Final = tuple(q0 - q1 for q0, q1 in PAIRS)
WEIGHTS: Final = tuple(gap / sum(_GAPS) for gap in _GAPS)
"""Prior weights, in proportion to the gap: strong effects are found 4 to 8 points more often."""


@dataclass(frozen=True)
class Row:
    """One coin with its judged outcome; `p` is the logged chance of withholding, 0 < p < 1."""

    shown: bool
    bad: bool
    p: float


@lru_cache(maxsize=512)
def factors(shown: bool, bad: bool, p: float, harm: bool = False) -> tuple[float, ...]:
    """What one coin multiplies each pair's evidence by, in the order of `PAIRS`.

    Raises:
        ValueError: when `p` is not strictly between 0 and 1 (then no coin was tossed).
    """
    if not 0.0 < p < 1.0:
        raise ValueError(f"a coin needs 0 < p < 1, not {p}")
    result = []
    for high, low in PAIRS:
        withheld, with_entry = (low, high) if harm else (high, low)
        own = with_entry if shown else withheld
        mixed = (1 - p) * with_entry + p * withheld
        result.append(own / mixed if bad else (1 - own) / (1 - mixed))
    return tuple(result)


def e_value(rows: Iterable[Row], *, harm: bool = False) -> float:
    """Evidence that the entry helps (or hurts), 1 for no rows; claim at `CLAIM`.

    Args:
        rows: one row a coin, in any order; rows without a judged outcome are left out by the caller.
    """
    sums = [math.log(weight) for weight in WEIGHTS]
    for row in rows:
        for index, factor in enumerate(factors(row.shown, row.bad, row.p, harm)):
            sums[index] += math.log(factor)
    top = max(sums)
    # Cap below the largest float: evidence of e^700 needs no more digits.
    return math.exp(min(top + math.log(math.fsum(math.exp(value - top) for value in sums)), 700.0))


def e_bh(evidence: Sequence[float], alpha: float = 0.10) -> tuple[bool, ...]:
    """Which of a list of entries may be claimed together (e-BH): false share at most `alpha`.

    Holds under any dependence between the entries, so sessions in which several fired do no harm.
    """
    count = len(evidence)
    ordered = sorted(evidence, reverse=True)
    passing = [rank for rank, value in enumerate(ordered, 1) if value >= count / (alpha * rank)]
    if not passing:
        return tuple(False for _ in evidence)
    bar = count / (alpha * passing[-1])
    return tuple(value >= bar for value in evidence)


def likely_drop(rows: Sequence[Row], mass: float = 0.9) -> tuple[float, float]:
    """Interval of the drop in the rate of bad outcomes, in points from -100 to 100, shrunken.

    A beta(1.5, 1.5) prior on each arm pulls both towards one half, against the winner's curse
    (measuring, section 2.2: the mean estimate at the moment of claiming is almost three times the
    truth). Normal approximation of the difference; descriptive, never the ground of a claim.
    """
    spans = {0.9: 1.6449, 0.95: 1.96}
    centre, variance = 0.0, 0.0
    for shown, sign in ((False, 1), (True, -1)):
        arm = [row.bad for row in rows if row.shown is shown]
        a, b = 1.5 + sum(arm), 1.5 + len(arm) - sum(arm)
        centre += sign * a / (a + b)
        variance += a * b / ((a + b) ** 2 * (a + b + 1))
    reach = spans[mass] * math.sqrt(variance)
    return max(-100.0, 100 * (centre - reach)), min(100.0, 100 * (centre + reach))


def more_needed(rows: Sequence[Row], p: float, cap: int = 200) -> int | None:
    """About how many more opportunities a claim needs if the shrunken rates are the true ones.

    The expected growth of the log evidence of the best pair, on top of what is there; None when
    `cap` opportunities would not do, which means that smaller effects are out of reach.
    """
    rates = {}
    for shown in (False, True):
        arm = [row.bad for row in rows if row.shown is shown]
        rates[shown] = (0.5 + sum(arm)) / (1 + len(arm))
    harm = rates[True] > rates[False]
    growth = [0.0] * len(PAIRS)
    for shown, chance in ((True, 1 - p), (False, p)):
        for bad in (True, False):
            share = chance * (rates[shown] if bad else 1 - rates[shown])
            for index, factor in enumerate(factors(shown, bad, p, harm)):
                growth[index] += share * math.log(factor)
    have = math.log(max(e_value(rows, harm=harm), 1e-3))
    best = max(growth)
    # The prior weight of the best pair has to be earned back while the evidence is young.
    missing = math.log(CLAIM) - have
    if best <= 0 or missing / best > cap:
        return None
    return max(1, math.ceil(missing / best))
