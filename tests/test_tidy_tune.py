"""Tuning: counts with intervals, changes that follow, kept apart from the shipped rules."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
import yaml

from experience_forge import cli, shared
from experience_forge.core import codec, rule_text, three_way, tuning
from experience_forge.core.scoring import Weights
from experience_forge.model import Consent, Kind
from experience_forge.store import config, files, home, journal, ledger, proposals, ruleset, templates
from helpers import entry
from helpers_sessions import Transcript


def run(capsys, *arguments):
    """A command's exit code and its JSON."""
    code = cli.main([*arguments, "--json"])
    printed = capsys.readouterr()
    assert printed.out, printed.err
    return code, json.loads(printed.out)


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


@pytest.mark.parametrize(("value", "bounds"), [
    ("scoring.weights.rework=99", "scoring.weights.rework=99: from 0 to 10"),
    ("scoring.weights.rework=.nan", "from 0 to 10"), ("scoring.thresholds.stress=1000", "from 1 to 30"),
    ("scoring.weak_share=2", "from 0 to 1"), ("scoring.rework_rounds=0", "from 1 to 50"),
])
def test_a_value_outside_its_bounds_is_refused_and_they_are_named(value, bounds, capsys):
    """One weight can't drown the others, and a threshold stays one that is reached: nothing is proposed."""
    assert cli.main(["tune", "--set", value]) == 5
    assert bounds in capsys.readouterr().err
    assert proposals.all(home.current()) == []


def test_the_ends_of_the_bounds_are_taken(capsys):
    """0 and 10 are values like others."""
    _, found = run(capsys, "tune", "--set", "scoring.weights.rework=10", "--set", "scoring.weights.design=0")
    assert [one["after"] for one in found["changes"]] == [10, 0] and found["proposal"]["id"]


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


def test_a_field_that_is_always_taken_out_is_left_out_of_later_drafts(capsys, tmp_path):
    """The proposal shows the line that leaves templates.md; from then on drafts come without it, and say so."""
    for number in range(5):
        one = draft(number, "rework")
        text = "\n".join(line for line in one.text.split("\n") if not line.startswith("aliases:"))
        proposals.replace(home.current(), one.id, text, {})
        yes(one.id)
    _, found = run(capsys, "tune", "--propose")
    assert found["changes"] == [{"path": "tuning.leave_out", "before": [], "after": ["aliases"]}]
    assert found["fields"]["aliases"]["discarded"] == 5 and found["fields"]["rule"]["accepted"] == 5
    assert "b/templates.md" in found["diff"] and "\n-aliases:" in found["diff"] and "+leave_out: [\"aliases\"]" in (
        found["diff"])
    path = tmp_path / "draft.md"
    told = entry("later", title="Answer in whole sentences", aliases=("用完整的句子回答",))
    path.write_text(codec.render(told), encoding="utf-8")
    assert run(capsys, "draft", "--from", str(path), "--dry-run")[1]["drafts"][0]["rendered"].count("aliases:") == 1
    done = yes(found["proposal"]["id"])
    (made,) = run(capsys, "draft", "--from", str(path), "--dry-run")[1]["drafts"]
    assert "aliases:" not in made["rendered"] and any("aliases" in warning for warning in made["warnings"])
    assert "aliases" not in templates.form(home.current(), Kind.PITFALL, "en")
    assert "aliases" in templates.shipped().get("draft-form", "en")
    _, back = run(capsys, "undo", str(done.applied.record["seq"]))
    yes(back["proposal"]["id"])
    assert "aliases" in templates.form(home.current(), Kind.PITFALL, "en")


def test_what_an_update_changes_in_a_form_joins_what_the_user_took_out(monkeypatch):
    """A line that the user took out stays out, a line that the update added comes in; a clash keeps the user's."""
    own, base = templates.own_forms(["tags"])
    assert "tags:" not in own and "tags:" in base
    book = templates.shipped()

    def update(text):
        return text.replace("review:", 'tools: ["WORD"]\nreview:')

    new = dataclasses.replace(book, templates={name: update(text) for name, text in book.templates.items()},
                              text=update(book.text))
    merged = templates.tuned(new, own, base).get("draft-form", "en")
    assert "tools:" in merged and "tags:" not in merged
    found = three_way.merge("a\nb\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n")
    assert (found.text, found.conflicts) == ("a\nmine\nc\n", ("theirs",))
    assert three_way.merge("a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n").text == "a\nc\nd\n"


def test_the_detector_behind_a_drafts_signal_is_counted(capsys, tmp_path, own_home):
    """A draft names kinds only; the detector that found the kind in the session goes into journal and tally."""
    session = "11111111-2222-3333-4444-555555555555"
    told = Transcript(session).prompt("fix the cart").edit().answer("Done.")
    told.prompt("From now on, always answer in whole sentences.").answer("Understood.")
    told.write(own_home / ".claude" / "projects" / "-w" / f"{session}.jsonl")
    path = tmp_path / "draft.json"
    given = {"title": "Answer in whole sentences", "kind": "preference", "rule": "Answer in whole sentences.",
             "why": "Lists are hard to read.", "how": "Write prose.", "signals": ["preference", "design"],
             "track": "profile"}
    path.write_text(json.dumps(given), encoding="utf-8")
    _, made = run(capsys, "draft", "--from", str(path), "--session", session)
    (proposal,) = proposals.all(home.current())
    detectors = {one["kind"]: one.get("detector", "") for one in proposal.meta["signals"]}
    assert detectors["preference"] == "en.from-now-on" and detectors["design"] == ""
    yes(made["drafts"][0]["id"])
    _, found = run(capsys, "tune")
    assert found["detectors"][detectors["preference"]]["accepted"] == 1


def test_a_detector_that_misfires_is_made_quiet_before_its_signal_weighs_less(capsys):
    """Ten refusals of one detector, while the signal's others are taken: only that detector is proposed quiet."""
    for number in range(10):
        name = f"bad-{number}"
        meta = {"signals": [{"kind": "correction", "detector": "correction.no"}]}
        proposals.create(home.current(), "draft", codec.render(entry(name)), meta, name)
        proposals.discard(home.current(), name, "not a correction")
        name = f"good-{number}"
        meta = {"signals": [{"kind": "correction", "detector": "correction.wrong"}]}
        proposals.create(home.current(), "draft", codec.render(entry(name)), meta, name)
        yes(name)
    _, found = run(capsys, "tune", "--propose")
    assert found["changes"] == [{"path": "scoring.quiet", "before": [], "after": ["correction.no"]}]
    assert found["reasons"] == {"not a correction": 10}
    yes(found["proposal"]["id"])
    weights = Weights.of(ruleset.load("scoring"))
    assert not weights.counts("correction.no") and weights.counts("correction.wrong") and weights.counts("rework-3")


def test_suggestions_that_are_declined_as_a_whole_raise_the_threshold(capsys):
    """When no signal stands out but nine of ten offers are declined, the score to suggest from is proposed higher."""
    kinds = ("rework", "preference", "correction", "root-cause", "design")
    for number in range(15):
        suggested(f"s{number}", [kinds[number % 5]], "no")
    _, found = run(capsys, "tune", "--propose")
    assert found["changes"] == [{"path": "scoring.thresholds.suggest", "before": 3, "after": 4}]
    assert (found["rescored"]["before"], found["rescored"]["after"]) == (15, 0)
    yes(found["proposal"]["id"])
    assert config.load()["suggest"]["threshold"] == 4


def test_words_typed_after_a_suggestion_count_as_taken(capsys):
    """Who types "summarize experience" after the offer has accepted it."""
    suggested("s1", ["rework"], "words")
    assert run(capsys, "tune")[1]["signals"]["rework"]["accepted"] == 1


def test_the_table_of_the_installed_skill_follows_the_tuning(capsys, own_home):
    """The proposal shows the row, the installed copy has it after consent, undo takes it back; edited it is left."""
    folder = own_home / ".claude" / "skills" / "experience-forge"
    folder.mkdir(parents=True)
    shipped = (Path(__file__).parent.parent / "SKILL.md").read_text(encoding="utf-8")
    (folder / "SKILL.md").write_text(shipped, encoding="utf-8")
    install = {"client_folder": str(own_home / ".claude"), "skill_folder": str(folder), "hooks": False,
               "files": {"SKILL.md": files.sha256(shipped.encode())}}
    files.write_text(home.current().root / "install.json", json.dumps({"schema": 1, "installs": [install]}))
    _, found = run(capsys, "tune", "--set", "scoring.weights.design=1")
    row = "   | `design`: a reusable decision |"
    assert f"-{row} 2 |\n+{row} 1 |" in found["proposal"]["text"]
    assert (folder / "SKILL.md").read_text(encoding="utf-8") == shipped
    done = yes(found["proposal"]["id"])
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    assert text == shipped.replace("`design`: a reusable decision | 2", "`design`: a reusable decision | 1")
    known = json.loads((home.current().root / "install.json").read_text(encoding="utf-8"))["installs"][0]["files"]
    assert known["SKILL.md"] == files.sha256(text.encode())
    _, back = run(capsys, "undo", str(done.applied.record["seq"]))
    yes(back["proposal"]["id"])
    assert (folder / "SKILL.md").read_text(encoding="utf-8") == shipped
    (folder / "SKILL.md").write_text(shipped + "my own line\n", encoding="utf-8")
    yes(run(capsys, "tune", "--set", "scoring.weights.design=1")[1]["proposal"]["id"])
    assert (folder / "SKILL.md").read_text(encoding="utf-8") == shipped + "my own line\n"


def test_the_table_in_skill_md_says_what_the_rules_say():
    """Shipped SKILL.md and shipped rules give the same points."""
    text = (Path(__file__).parent.parent / "SKILL.md").read_text(encoding="utf-8")
    assert rule_text.with_scores(text, ruleset.shipped("scoring")) == text
    nine = dict.fromkeys(ruleset.shipped("scoring")["weights"], 9)
    other = {"weights": nine, "thresholds": {"suggest": 7, "stress": 8}}
    changed = rule_text.with_scores(text, other)
    assert changed.count("| 9 |") == 5 and "worth an entry from | 7 |" in changed and "important from | 8 |" in changed


def test_a_rule_file_keeps_its_comments_with_other_values():
    """Only the value at the path changes in the text that is shown."""
    text = "# why\na:\n  b: 2   # two\n  c: [x, y]\nd: 'q'\n"
    assert rule_text.with_values(text, {"a.b": 3, "a.c": ["z"], "d": "w", "no.where": 1}) == (
        '# why\na:\n  b: 3   # two\n  c: ["z"]\nd: "w"\n')


def test_thresholds_that_make_no_sense_are_refused(capsys):
    """The score to suggest from is not above the one to stress from; what must be there can't be left out."""
    assert cli.main(["tune", "--set", "scoring.thresholds.suggest=9"]) == 5
    assert cli.main(["tune", "--set", "tuning.leave_out=[rule]"]) == 2
    assert "rule" in capsys.readouterr().err
    assert proposals.all(home.current()) == []


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_form_of_a_draft_is_a_draft(kind, language):
    """What `draft --form` prints, filled in as it stands, is a valid entry of its kind."""
    text = templates.form(home.current(), kind, language)
    text = text.replace("signals: [rework]\n", "id: a-form\ntrack: personal\n")
    text = re.sub(r'review: ".*"', "review: 2026-12-31", text)
    made = codec.parse(text)
    assert made.kind is kind and made.language == language and made.rule and made.aliases and made.applies_when


def test_a_change_that_touches_no_score_claims_nothing_about_past_sessions(capsys):
    """Leaving a field out says nothing of suggestions; a change that takes nothing from a session keeps its offer."""
    suggested("s1", ["design"], "yes")
    _, found = run(capsys, "tune", "--set", "tuning.leave_out=[tags]")
    assert found["rescored"] is None and "past sessions" not in found["proposal"]["text"]
    _, found = run(capsys, "tune", "--set", "scoring.weights.rework=2")
    assert found["rescored"] == {"sessions": 1, "before": 1, "after": 1, "accepted": 1, "kept": 1}


def test_what_changes_nothing_is_said_and_not_proposed(capsys):
    """The value that holds already, and counts from which nothing follows: a sentence each, no proposal."""
    assert cli.main(["tune", "--set", "scoring.weights.design=2"]) == 0
    assert "that is the value already" in capsys.readouterr().out
    yes(draft(1, "rework").id)
    assert cli.main(["tune", "--propose"]) == 0
    assert "No change follows" in capsys.readouterr().out
    assert proposals.all(home.current()) == []
