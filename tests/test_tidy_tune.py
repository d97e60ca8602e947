"""Tuning: counts with intervals, changes that follow, kept apart from the shipped rules."""

from __future__ import annotations

import json

import pytest
import yaml

from experience_forge import cli, shared
from experience_forge.core import codec, tuning
from experience_forge.model import Consent
from experience_forge.store import home, journal, ledger, proposals, ruleset
from helpers import entry


def run(capsys, *arguments):
    """A command's exit code and its JSON."""
    code = cli.main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def yes(proposal_id):
    """Confirm a proposal at a terminal."""
    consent = Consent("terminal", journal.now(), "terminal")
    return shared.carry_out(home.current(), proposals.load(home.current(), proposal_id), consent)


def draft(number, kind):
    """A draft with one signal in the inbox."""
    name = f"{kind}-{number}"
    return proposals.create(home.current(), "draft", codec.render(entry(name)), {"signals": [{"kind": kind}]}, name)


def declined(kind, count):
    """Drafts of one signal that the user discarded."""
    for number in range(count):
        proposals.discard(home.current(), draft(number, kind).id, "one-off")


def suggested(session, kinds, answer=""):
    """A suggestion in a session's ledger, and its answer."""
    ledger.append(home.current(), session, {"what": "suggestion", "kinds": list(kinds), "score": 3})
    if answer:
        ledger.append(home.current(), session, {"what": "answer", "answer": answer})


@pytest.mark.parametrize("hits, total, low, high", [(0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1.0)])
def test_the_interval_is_wilsons(hits, total, low, high):
    """The 95 % interval of a share agrees with the published values of Wilson's score."""
    found = tuning.wilson(hits, total)
    assert found == pytest.approx((low, high), abs=0.001)
    assert tuning.wilson(0, 0) == (0.0, 1.0)


def test_accepted_edited_discarded_and_ignored_are_counted_by_signal(capsys):
    """Each decision counts for the signals it had, and silence is counted without being a refusal."""
    yes(draft(1, "rework").id)
    edited = draft(2, "rework")
    proposals.replace(home.current(), edited.id, edited.text.replace("Use pnpm in", "Always use pnpm in"), {})
    yes(edited.id)
    declined("rework", 1)
    suggested("s1", ["rework"])
    suggested("s2", ["rework", "design"], "yes")
    _, found = run(capsys, "tune")
    counts = {name: found["signals"]["rework"][name] for name in tuning.OUTCOMES}
    assert counts == {"accepted": 2, "edited": 1, "discarded": 1, "ignored": 1}
    assert found["signals"]["design"]["accepted"] == 1
    assert found["changes"] == []


def test_a_signal_that_users_decline_is_proposed_lower_and_applied_only_after_consent(capsys):
    """Ten refusals propose a lower weight; past sessions are scored anew; the shipped file stays as it is."""
    declined("design", 10)
    for number in range(3):
        suggested(f"n{number}", ["design", "root-cause"], "no")
    suggested("y1", ["rework"], "yes")
    before = ruleset.shipped("scoring")["weights"]["design"]
    _, found = run(capsys, "tune", "--propose")
    assert found["changes"] == [{"path": "scoring.weights.design", "before": before, "after": before - 1}]
    assert found["rescored"] == {"sessions": 4, "before": 4, "after": 4, "accepted": 1, "kept": 1}
    assert ruleset.load("scoring")["weights"]["design"] == before
    yes(found["proposal"]["id"])
    assert ruleset.load("scoring")["weights"]["design"] == before - 1
    assert ruleset.load("scoring")["weights"]["rework"] == ruleset.shipped("scoring")["weights"]["rework"]
    compiled = json.loads((home.current().derived / "signals.json").read_text(encoding="utf-8"))
    assert compiled["scoring"]["weights"]["design"] == before - 1


def test_a_value_of_ones_own_and_its_undo(capsys):
    """`--set` proposes a value; undo brings the shipped one back."""
    _, found = run(capsys, "tune", "--set", "lifetimes.days.workflow=30")
    done = yes(found["proposal"]["id"])
    assert ruleset.load("lifetimes")["days"]["workflow"] == 30
    _, made = run(capsys, "undo", str(done.applied.record["seq"]))
    yes(made["proposal"]["id"])
    assert ruleset.load("lifetimes")["days"]["workflow"] == 90


@pytest.mark.parametrize("value", ["scoring.weights.designs=1", "scoring.weights=1", "scoring.weights.design=low",
                                   "redaction.x=1", "scoring", "scoring.weights.design"])
def test_a_value_that_is_none_is_refused(value, capsys):
    """A path that the rules do not have, or a value of another type, is a usage fault."""
    assert cli.main(["tune", "--set", value]) == 2
    assert proposals.all(home.current()) == []


def test_a_weight_below_nothing_is_refused(capsys):
    """A tuning with which the rules would not hold is not even proposed."""
    assert cli.main(["tune", "--set", "scoring.weights.design=-1"]) == 5
    assert "negative" in capsys.readouterr().err


def test_where_shipped_and_own_changed_the_own_holds_and_the_clash_is_named():
    """Three ways: an unchanged shipped value takes the tuning silently, a changed one names the clash."""
    given = {"values": {"weights": {"design": 1}}, "base": {"weights": {"design": 2}}}
    same, none = tuning.laid_over({"weights": {"design": 2, "rework": 3}, "x": 1}, given)
    assert (same, none) == ({"weights": {"design": 1, "rework": 3}, "x": 1}, [])
    new, clash = tuning.laid_over({"weights": {"design": 4, "rework": 5}, "y": 2}, given)
    assert new == {"weights": {"design": 1, "rework": 5}, "y": 2}
    assert clash == ["weights.design: shipped 2 -> 4, yours 1"]
    assert tuning.laid_over({"weights": {"design": 1}}, given)[1] == []


def test_a_tuning_that_nobody_confirmed_is_not_used():
    """Bytes in the tuning folder without a confirmation change nothing."""
    path = ruleset.tuning_path(home.current(), "scoring")
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump({"values": {"weights": {"design": 9}}, "base": {}}), encoding="utf-8")
    assert ruleset.load("scoring")["weights"]["design"] == ruleset.shipped("scoring")["weights"]["design"]


def test_fields_that_edits_always_take_out_are_named(capsys):
    """A field that nearly every edited draft lost is named, once there were enough edits."""
    for number in range(5):
        one = draft(number, "rework")
        text = "\n".join(line for line in one.text.split("\n") if not line.startswith("aliases:"))
        proposals.replace(home.current(), one.id, text, {})
        yes(one.id)
    _, found = run(capsys, "tune")
    assert found["emptied"] == [{"name": "aliases", "count": 5, "edited": 5}]
