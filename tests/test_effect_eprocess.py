"""The test behind a verdict, and the coin that feeds it."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from experience_forge.core import coin, eprocess
from experience_forge.core.eprocess import Row
from experience_forge.fast import coin as fast_coin
from experience_forge.model import Condition, Entry, Guard, Kind, Status, Track


@pytest.mark.parametrize("harm", [False, True])
@pytest.mark.parametrize("p", [0.03, 0.15, 0.3, 0.5])
def test_a_coin_without_effect_changes_the_evidence_by_one_on_average(p, harm):
    """For either outcome, the factor averaged over our own coin is exactly 1: no drift helps or hurts."""
    for bad in (True, False):
        shown, withheld = eprocess.factors(True, bad, p, harm), eprocess.factors(False, bad, p, harm)
        for one, other in zip(shown, withheld, strict=True):
            assert math.isclose((1 - p) * one + p * other, 1.0, abs_tol=1e-12)


def test_the_mean_evidence_over_every_sequence_of_coins_is_one():
    """With outcomes fixed in advance, the mean of E over all coin sequences is 1: the claim level holds."""
    outcomes, p = [True, False, True, True, False, False, True, False], 0.3
    mean = 0.0
    for arms in itertools.product((True, False), repeat=len(outcomes)):
        weight = math.prod((1 - p) if shown else p for shown in arms)
        mean += weight * eprocess.e_value([Row(a, b, p) for a, b in zip(arms, outcomes, strict=True)])
    assert math.isclose(mean, 1.0, rel_tol=1e-9)


def test_harm_is_the_mirror_of_help():
    """Swapping good and bad outcomes swaps the two claims, exactly, when rates are mirrored on the grid."""
    rows = [Row(shown=i % 3 != 0, bad=i % 3 == 0, p=0.3) for i in range(20)]
    arms_swapped = [Row(not row.shown, row.bad, 1 - row.p) for row in rows]
    assert math.isclose(eprocess.e_value(rows), eprocess.e_value(arms_swapped, harm=True), rel_tol=1e-9)
    assert eprocess.e_value(rows, harm=True) < 1


def test_the_order_of_the_rows_does_not_matter():
    """A ledger read in another order gives the same evidence."""
    rows = [Row(random.Random(i).random() > 0.3, i % 4 == 0, 0.3 if i < 40 else 0.15) for i in range(60)]
    shuffled = list(rows)
    random.Random(1).shuffle(shuffled)
    assert math.isclose(eprocess.e_value(rows), eprocess.e_value(shuffled), rel_tol=1e-9)


def test_a_flawless_entry_is_claimed_after_about_nine_opportunities():
    """Every withheld case bad, every shown case good: E reaches 20 near the ninth coin at p = .3."""
    rows = [Row(shown=i % 3 != 0, bad=i % 3 == 0, p=0.3) for i in range(40)]
    first = next(n for n in range(1, 40) if eprocess.e_value(rows[:n]) >= eprocess.CLAIM)
    assert 6 <= first <= 11


def test_thousands_of_rows_neither_overflow_nor_end_in_nan():
    """Evidence stays a finite number after 10,000 one-sided rows."""
    rows = [Row(shown=i % 2 == 0, bad=i % 2 == 1, p=0.5) for i in range(10_000)]
    assert math.isfinite(eprocess.e_value(rows))
    assert eprocess.e_value(rows, harm=True) >= 0


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_row_without_a_coin_is_no_evidence(p):
    """A chance of 0 or 1 means that no coin was tossed: refused, not counted."""
    with pytest.raises(ValueError, match="coin"):
        eprocess.e_value([Row(True, False, p)])


def test_a_list_of_claims_is_stricter_than_single_claims():
    """e-BH over a list keeps the strong ones and drops one that only just reaches 20."""
    assert eprocess.e_bh([25.0] + [0.5] * 29) == (False,) * 30
    assert eprocess.e_bh([1000.0, 900.0] + [0.5] * 28)[:2] == (True, True)
    assert eprocess.e_bh([]) == ()


def test_the_likely_size_is_shrunken_towards_nothing():
    """The printed interval lies below the raw difference of 100 points, and holds zero without data."""
    low, high = eprocess.likely_drop([Row(i % 3 != 0, i % 3 == 0, 0.3) for i in range(12)])
    assert 0 < low < high < 100
    assert eprocess.likely_drop([])[0] < 0 < eprocess.likely_drop([])[1]


def test_missing_opportunities_are_told_or_said_to_be_out_of_reach():
    """A strong effect says how many more; no visible effect says out of reach."""
    strong = [Row(i % 3 != 0, i % 3 == 0, 0.3) for i in range(6)]
    assert 1 <= eprocess.more_needed(strong, 0.3) <= 30
    flat = [Row(i % 2 == 0, i % 4 < 2, 0.3) for i in range(40)]
    assert eprocess.more_needed(flat, 0.3) is None


def test_the_schedule_withholds_less_as_evidence_grows():
    """.3 for the first 40 coins, then .15, and .03 as soon as the claim stands."""
    assert coin.chance_of(0, 1.0) == coin.chance_of(39, 1.0) == 0.3
    assert coin.chance_of(40, 19.9) == 0.15
    assert coin.chance_of(3, 20.0) == coin.chance_of(500, 1e9) == 0.03


def entry(**changes):
    base = {
        "id": "e", "title": "t", "kind": Kind.PITFALL, "track": Track.PERSONAL, "sections": (("rule", "r"),),
        "applies_when": (Condition(command="npm install *"),), "fails_when": (Condition(error="EACCES"),),
    }
    return Entry(**{**base, **changes})


@pytest.mark.parametrize(("changes", "reason"), [
    ({"pinned": True}, "pinned"), ({"guard": Guard.HOLD}, "guard"), ({"guard": Guard.DENY}, "guard"),
    ({"track": Track.PROFILE}, "always_loaded"), ({"track": Track.PROJECT}, "always_loaded"),
    ({"status": Status.OUTDATED}, "not_active"), ({"fails_when": ()}, "no_falsifier"),
    ({"applies_when": ()}, "no_trigger"), ({}, ""),
])
def test_guards_pinned_profile_and_project_entries_are_never_withheld(changes, reason):
    """Each reason has its name, and an ordinary testable entry has none once the user allowed it."""
    assert coin.why_not(entry(**changes), allowed=True) == reason
    assert coin.why_not(entry(**changes), allowed=False) == (reason or "not_allowed")


def compiled(tmp_path, p=0.3):
    (tmp_path / "derived").mkdir()
    (tmp_path / "derived" / "measure.tsv").write_text(f"e\tsha1\t{p}\n", encoding="utf-8")
    return str(tmp_path)


def test_without_compiled_permission_nothing_is_withheld(tmp_path):
    """Off until the user allowed it: no file, no coin."""
    assert fast_coin.decide(str(tmp_path), "s", "e", "sha1") == ("shown", {"arm": "shown", "coin": "none"})


def test_one_coin_for_an_entry_version_and_session(tmp_path):
    """The second opportunity of a session keeps the first one's arm and tosses nothing."""
    home = compiled(tmp_path)
    arm, record = fast_coin.decide(home, "s", "e", "sha1", toss=lambda: 0.1)
    assert (arm, record) == ("withheld", {"arm": "withheld", "holdout_p": 0.3, "draw": 0.1, "coin": "new"})
    logged = [{"what": "opportunity", "entry": "e", "sha256": "sha1", **record}]
    again = fast_coin.decide(home, "s", "e", "sha1", earlier=logged, toss=lambda: 0.9)
    assert again == ("withheld", {"arm": "withheld", "coin": "kept"})
    assert fast_coin.decide(home, "s", "e", "sha2", earlier=logged)[1]["coin"] == "none"


WITHHELD_NEVER = [{"guard": "hold"}, {"pinned": True}, {"track": "profile"}, {"track": "project"}]


@pytest.mark.parametrize("meta", WITHHELD_NEVER)
def test_the_hook_checks_again_who_may_be_withheld(tmp_path, meta):
    """A stale compiled file can't withhold an entry that became a guard or pinned since."""
    assert fast_coin.decide(compiled(tmp_path), "s", "e", "sha1", meta, toss=lambda: 0.0)[0] == "shown"


def test_a_coin_needs_a_session(tmp_path):
    """Without a session no outcome could be found: shown, and no coin."""
    assert fast_coin.decide(compiled(tmp_path), "", "e", "sha1", toss=lambda: 0.0)[1]["coin"] == "none"


def test_a_damaged_rules_file_withholds_nothing(tmp_path):
    """Nonsense in the compiled file is no permission."""
    home = compiled(tmp_path, p="nonsense")
    assert fast_coin.decide(home, "s", "e", "sha1")[0] == "shown"


def test_the_draw_is_uniform_enough():
    """System randomness, in [0, 1), about three in ten below .3."""
    draws = [fast_coin.draw() for _ in range(4000)]
    assert all(0 <= number < 1 for number in draws)
    assert 0.26 < sum(number < 0.3 for number in draws) / len(draws) < 0.34


def test_a_forged_or_torn_coin_is_named():
    """An arm that does not follow from its draw, or a coin without session or chance, is a fault."""
    good = {"session": "s", "sha256": "x", "holdout_p": 0.3, "draw": 0.1, "arm": "withheld"}
    assert coin.coin_faults(good) == []
    assert coin.coin_faults({**good, "arm": "shown"}) == ["arm_is_not_the_draw"]
    assert coin.coin_faults({**good, "session": ""}) == ["no_session"]
    assert coin.coin_faults({"arm": "shown"}) == ["no_session", "no_version", "no_chance"]
