"""How often the shipped test is wrong, and how soon it is right; and what the usual short cuts do.

    python3 tests/run.py bench effect [--runs 4000] [--seed 20260901] [--only CELL]

Every cell simulates entries through the real `core.eprocess` and `core.coin`, looking after each of
160 opportunities. The zero-effect cells give the share of runs in which "helps" (or "hurts") was ever
claimed; the power cells the share claimed by 10, 20, 40, 80 and 160 opportunities.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from operator import mul
from pathlib import Path

from experience_forge.core import coin, eprocess

HORIZON = 160
LOOKS = (10, 20, 40, 80, 160)
BASES = (0.2, 0.35, 0.5, 0.65, 0.8)
HOLDOUTS: dict[str, float | None] = {"p=.1": 0.1, "p=.3": 0.3, "p=.5": 0.5, "schedule": None}
POWER = ((0.8, 0.1), (0.5, 0.1), (0.5, 0.25), (0.3, 0.1))


def steady(base):
    """The same base rate for ever."""
    return lambda rng: [rng.random() < base for _ in range(HORIZON)]


def drifting(first, last):
    """A base rate that moves in a straight line."""
    return lambda rng: [rng.random() < first + (last - first) * n / (HORIZON - 1) for n in range(HORIZON)]


def days(rng):
    """Good and bad days of about 5 opportunities; on a day, nine in ten go the same way."""
    rate, outcomes = 0.5, []
    for _ in range(HORIZON):
        if rng.random() < 0.2:
            rate = rng.choice((0.1, 0.9))
        outcomes.append(rng.random() < rate)
    return outcomes


def upgrade(rng):
    """A better model from the 40th opportunity on, the very moment at which the schedule changes."""
    return [rng.random() < (0.8 if n < 40 else 0.3) for n in range(HORIZON)]


def streaks(rng):
    """Outcomes that repeat the one before in nine of ten cases."""
    outcomes = [rng.random() < 0.5]
    while len(outcomes) < HORIZON:
        outcomes.append(outcomes[-1] if rng.random() < 0.9 else rng.random() < 0.5)
    return outcomes


WORLDS: dict[str, Callable] = {
    **{f"base {base}": steady(base) for base in BASES},
    "drift .8 to .2": drifting(0.8, 0.2),
    "drift .2 to .8": drifting(0.2, 0.8),
    "correlated days": days,
    "model change": upgrade,
    "streaks": streaks,
}


def one_run(rng, holdout, withheld_bad, shown_bad):
    """First opportunities at which helps and hurts were claimed (None: never), and extra bad outcomes."""
    helps, hurts = list(eprocess.WEIGHTS), list(eprocess.WEIGHTS)
    first, cost, proven = {}, 0, 1.0
    for n in range(HORIZON):
        p = coin.chance_of(n, proven) if holdout is None else holdout
        shown = coin.draw_arm(rng.random(), p) == "shown"
        bad = shown_bad[n] if shown else withheld_bad[n]
        cost += (withheld_bad[n] and not shown_bad[n]) and not shown
        helps = list(map(mul, helps, eprocess.factors(shown, bad, p)))
        evidence = sum(helps)
        if evidence >= eprocess.CLAIM:
            first.setdefault("helps", n + 1)
            proven = evidence
        hurts = list(map(mul, hurts, eprocess.factors(shown, bad, p, True)))
        if sum(hurts) >= eprocess.CLAIM:
            first.setdefault("hurts", n + 1)
    return first.get("helps"), first.get("hurts"), cost


def null_cell(world, holdout, runs, seed):
    """Shares of runs with a false "helps" and a false "hurts" at any look."""
    rng = random.Random(seed)
    helps = hurts = 0
    for _ in range(runs):
        outcomes = world(rng)
        claimed, harmed, _ = one_run(rng, holdout, outcomes, outcomes)
        helps += claimed is not None
        hurts += harmed is not None
    return helps / runs, hurts / runs


def power_cell(q0, q1, holdout, runs, seed):
    """Shares claimed by each look, and the mean number of bad outcomes that withholding cost."""
    rng = random.Random(seed)
    by, cost = dict.fromkeys(LOOKS, 0), 0
    for _ in range(runs):
        draws = [rng.random() for _ in range(HORIZON)]
        claimed, _, extra = one_run(rng, holdout, [d < q0 for d in draws], [d < q1 for d in draws])
        cost += extra
        for look in LOOKS:
            by[look] += claimed is not None and claimed <= look
    return {look: count / runs for look, count in by.items()}, cost / runs


def before_after(rng, base):
    """An entry born when 2 of the last 3 failed; "helps" when the rate of the next 20 fell by half."""
    last = [rng.random() < base for _ in range(3)]
    while sum(last) < 2:
        last = [*last[1:], rng.random() < base]
    after = sum(rng.random() < base for _ in range(20)) / 20
    return after <= sum(last) / 3 / 2


def success_counter(rng, base):
    """An entry is "effective" when 60 % or more of 20 uses went well; nothing to compare with."""
    return sum(rng.random() >= base for _ in range(20)) >= 12


def z_test_again(rng, base):
    """A z test of 1.96 with 5 or more an arm, read after each of 160 opportunities (p = .2)."""
    counts = {True: [0, 0], False: [0, 0]}
    for _ in range(HORIZON):
        arm = counts[rng.random() >= 0.2]
        arm[0] += 1
        arm[1] += rng.random() < base
        (n1, b1), (n0, b0) = counts[True], counts[False]
        if min(n1, n0) < 5:
            continue
        r1, r0 = b1 / n1, b0 / n0
        spread = math.sqrt(r1 * (1 - r1) / n1 + r0 * (1 - r0) / n0)
        if r0 - r1 > 1.96 * spread:
            return True
    return False


SHORT_CUTS = {
    "before/after, born from failures": before_after,
    "success counter, 20 uses": success_counter,
    "z test, read again and again": z_test_again,
}


def run(runs, seed, only):
    """Simulate all cells; prints the tables and returns the figures."""
    figures, cells, worst, worst_at = {}, 0, 0.0, ""
    print(f"zero effect, {HORIZON} opportunities, a look after each; {runs} runs a cell\n")
    print(f"{'world':<18}{'holdout':<10}{'false helps':>12}{'false hurts':>12}  seed")
    for number, (name, world) in enumerate(WORLDS.items()):
        for offset, (label, holdout) in enumerate(HOLDOUTS.items()):
            if only and only not in f"{name} {label}":
                continue
            own = seed + 10 * number + offset
            helps, hurts = null_cell(world, holdout, runs, own)
            cells += 1
            print(f"{name:<18}{label:<10}{helps:>12.4f}{hurts:>12.4f}  {own}", flush=True)
            if helps >= worst:
                worst, worst_at = helps, f"{name}, {label}"
    error = math.sqrt(0.05 * 0.95 / runs)
    bar = 0.05 + 3 * error
    print(f"\nworst false helps {worst:.4f} ({worst_at}); bar .05 + 3 standard errors = {bar:.4f}\n")
    heads = "".join(f"{'n=' + str(n):>8}" for n in LOOKS)
    print(f"{'withheld -> shown':<20}{'holdout':<10}{heads}    cost  seed")
    for number, (q0, q1) in enumerate(POWER):
        for offset, (label, holdout) in enumerate((("p=.3", 0.3), ("schedule", None))):
            name = f"{q0} -> {q1}"
            if only and only not in f"{name} {label}":
                continue
            own = seed + 1000 + 10 * number + offset
            by, cost = power_cell(q0, q1, holdout, runs, own)
            cells += 1
            shares = "".join(f"{by[n]:>8.3f}" for n in LOOKS)
            print(f"{name:<20}{label:<10}{shares}{cost:>8.1f}  {own}", flush=True)
            if label == "p=.3":
                for look in (20, 40):
                    figures[f"power_{round(100 * q0)}_{round(100 * q1)}_n{look}"] = round(by[look], 4)
    print("\nthe usual short cuts, entries without any effect: share called helpful\n")
    print(f"{'short cut':<36}" + "".join(f"{'base ' + str(base):>10}" for base in BASES) + "  seed")
    for number, (name, rule) in enumerate(SHORT_CUTS.items()):
        if only and only not in name:
            continue
        rng = random.Random(seed + 2000 + number)
        shares = [sum(rule(rng, base) for _ in range(runs)) / runs for base in BASES]
        cells += len(BASES)
        print(f"{name:<36}" + "".join(f"{share:>10.3f}" for share in shares) + f"  {seed + 2000 + number}")
    keep = ("power_80_10_n20", "power_80_10_n40", "power_50_10_n40")
    return {
        "false_helps_worst": round(worst, 4), "false_helps_worst_at": worst_at,
        "false_helps_bar": round(bar, 4), **{key: figures[key] for key in keep if key in figures},
        "cells": cells, "runs": runs, "seed": seed,
    }


def simulated_month():
    """60 sessions through the real hooks and worker, in a home of their own; figures with `month_` before them."""
    import month

    with tempfile.TemporaryDirectory() as folder:
        before = dict(os.environ)
        os.environ.update(HOME=folder, USERPROFILE=folder, EXPERIENCE_FORGE_HOME=str(Path(folder, "data home")))
        try:
            found = month.simulate(Path(folder, "projects"))
        finally:
            os.environ.clear()
            os.environ.update(before)
    print("\na month of 60 sessions through the real code (the coins are the system's, so counts differ by run)\n")
    for name, value in found.items():
        print(f"{name:<24}{value!s:>8}")
    return {f"month_{name}": found[name] for name in ("exposures", "proved", "coins", "coins_accounted")}


def main(arguments=None):
    """Parse, simulate, print the figures as the last line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=20260901)
    parser.add_argument("--only", default="", help="cells whose name holds this text")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    figures = run(options.runs, options.seed, options.only)
    if not options.only:
        figures.update(simulated_month())
    print(f"\n{time.monotonic() - begun:.0f} s")
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
