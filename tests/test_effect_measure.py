"""From logged coins to what may be said."""

from __future__ import annotations

import json
import re

import pytest

from experience_forge.cli import main
from experience_forge.commands import measure
from experience_forge.core import coin, effect, eprocess, verdicts
from experience_forge.core.effect import Tally
from experience_forge.fast import coin as fast_coin
from experience_forge.fast import spool
from experience_forge.model import Condition, Guard, Status, Track
from experience_forge.store import config, effects, entries, files, ledger, measure_rules, outcomes, ruleset
from experience_forge.store import home as homes
from helpers import confirm, entry

APPLIES = (Condition(command="npm install *"),)
FAILS = (Condition(error="EACCES: permission denied, mkdir '/usr/lib/node_modules'"),)
ERROR = "npm ERR! EACCES: permission denied, mkdir '/usr/lib/node_modules/x'"


@pytest.fixture
def stored():
    """One confirmed, testable entry."""
    confirm(entry(id="npm-eacces", applies_when=APPLIES, fails_when=FAILS))
    return entries.get(homes.current(), "npm-eacces")


class Client:
    """Writes the client's record of a session and what our hooks log beside it."""

    def __init__(self, folder, session, day=1):
        self.session, self.path, self.day = session, folder / f"{session}.jsonl", day
        self.lines, self.second = [], 0
        self.prompt("please go on")

    def at(self):
        self.second += 1
        return f"2026-08-{self.day:02}T10:{self.second // 60:02}:{self.second % 60:02}Z"

    def add(self, **record):
        common = {"sessionId": self.session, "isSidechain": False, "cwd": "/p", "timestamp": self.at()}
        self.lines.append({**common, **record})

    def prompt(self, text):
        self.add(type="user", uuid=f"u{len(self.lines)}", message={"role": "user", "content": text})

    def run(self, command, output, failed=False):
        ident = f"t{len(self.lines)}"
        call = {"type": "tool_use", "id": ident, "name": "Bash", "input": {"command": command}}
        self.add(type="assistant", uuid=f"a{ident}", message={"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": ident, "content": output, "is_error": failed}
        self.add(type="user", uuid=f"r{ident}", message={"role": "user", "content": [result]})
        return ident

    def close(self):
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        self.path.write_text(text, encoding="utf-8")

    def log(self, what, stored, **fields):
        spool.append(str(homes.current().root), self.session, {
            "what": what, "entry": stored.entry.id, "sha256": stored.sha256, "event": "PreToolUse",
            "transcript": str(self.path), "at": self.at(), **fields,
        })


def one_session(folder, stored, number, arm, bad, p=0.3, coin_name="new"):
    """A session in which the trigger matched and the failure did or did not come back."""
    client = Client(folder, f"s{number:04}", 1 + number % 28)
    call = client.run("npm install x", "added 1 package")
    draw = {"holdout_p": p, "draw": 0.01 if arm == "withheld" else 0.9} if coin_name == "new" else {}
    client.log("opportunity", stored, arm=arm, coin=coin_name, call=call, **draw)
    if arm == "shown":
        client.log("exposure", stored, call=call, place="PreToolUse:Bash", characters=200)
    client.run("npm install y", ERROR if bad else "added 2 packages", bad)
    client.close()
    return client


def far(number=0):
    return effect.seconds_of("2026-09-20T00:00:00Z") + number


def run(capsys, *arguments):
    capsys.readouterr()
    code = main([*arguments])
    printed = capsys.readouterr()
    return code, printed.out if code == 0 else printed.err


def figures(capsys, *arguments):
    code, text = run(capsys, *arguments, "--json")
    assert code == 0, text
    return json.loads(text)


def quiet(monkeypatch):
    monkeypatch.setattr(outcomes, "QUIET_SECONDS", -1e12)


def test_outcomes_are_judged_once_from_the_clients_record(stored, tmp_path, monkeypatch):
    """Bad, good, each with the line; a second run judges nothing anew."""
    quiet(monkeypatch)
    one_session(tmp_path, stored, 1, "withheld", True)
    one_session(tmp_path, stored, 2, "shown", False)
    home = homes.current()
    assert outcomes.catch_up(home)["judged"] == {"bad": 1, "good": 1, "unknown": 0}
    assert outcomes.catch_up(home)["judged"] == {"bad": 0, "good": 0, "unknown": 0}
    found = [one for ledger in effects.ledgers(home) for one in ledger.opportunities]
    assert sorted((one.arm, one.outcome, one.reason, one.trigger, one.line) for one in found) == [
        ("shown", "good", "did_not_come_back", 2, 5), ("withheld", "bad", "came_back", 2, 5),
    ]


def test_a_session_that_still_runs_is_waited_for(stored, tmp_path):
    """Nothing is judged before the client's record is quiet."""
    one_session(tmp_path, stored, 1, "shown", True)
    assert outcomes.catch_up(homes.current())["waiting"] == 1


def test_the_outcome_is_the_same_whatever_the_coin_said(stored, tmp_path, monkeypatch):
    """Blindness: flipping every arm in the ledgers changes no outcome."""
    quiet(monkeypatch)
    home = homes.current()
    for number in range(6):
        one_session(tmp_path, stored, number, "shown" if number % 2 else "withheld", number % 3 == 0)
    outcomes.catch_up(home)
    first = {one.session: (one.outcome, one.line) for led in effects.ledgers(home) for one in led.opportunities}
    for path in home.ledger.glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            if line["what"] == "opportunity":
                withheld = line["arm"] == "shown"
                line["arm"], line["draw"] = ("withheld", 0.01) if withheld else ("shown", 0.9)
        kept = [line for line in lines if line["what"] != "outcome"]
        path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    outcomes.catch_up(home)
    second = {one.session: (one.outcome, one.line) for led in effects.ledgers(home) for one in led.opportunities}
    assert first == second and {value for value, _ in first.values()} == {"bad", "good"}


def test_a_record_that_is_gone_makes_the_outcome_unknown_and_uncounted(stored, tmp_path, capsys):
    """Said plainly: the client's record is gone; no arm gets a count from it."""
    client = one_session(tmp_path, stored, 1, "shown", True)
    client.path.unlink()
    assert outcomes.catch_up(homes.current(), far())["judged"]["unknown"] == 1
    code, text = run(capsys, "effect", "npm-eacces")
    assert code == 0 and "the client's record is gone" in text and "came back 0/0" in text
    assert "1 with unknown outcome" in text


def test_a_transcript_deleted_after_judging_changes_nothing(stored, tmp_path, monkeypatch, capsys):
    """The ledger keeps what was judged."""
    quiet(monkeypatch)
    client = one_session(tmp_path, stored, 1, "shown", True)
    outcomes.catch_up(homes.current())
    client.path.unlink()
    assert figures(capsys, "effect", "npm-eacces")["counts"]["shown_bad"] == 1


def test_a_library_with_strong_evidence_says_helps_without_a_size_at_first(stored, tmp_path, monkeypatch, capsys):
    """At the stopping moment no size; ten coins later a shrunken one."""
    quiet(monkeypatch)
    home = homes.current()
    number = 0
    while True:
        one_session(tmp_path, stored, number, "withheld" if number % 3 == 0 else "shown", number % 3 == 0)
        outcomes.catch_up(home)
        number += 1
        tally = effects.tallies(home)["npm-eacces", stored.sha256]
        if tally.helps >= eprocess.CLAIM:
            break
        text = run(capsys, "effect", "npm-eacces")[1]
        assert not re.search(r"effective|proven|%|✓|✔|✅|Helps", text), text
    assert 6 <= number <= 14
    text = run(capsys, "effect", "npm-eacces")[1]
    assert "Helps: E = " in text and "Likely size" not in text and "is told after 10 more" in text
    for more in range(10):
        one_session(tmp_path, stored, number + more, "shown", False, p=0.03)
    outcomes.catch_up(home)
    text = run(capsys, "effect", "npm-eacces")[1]
    low, high = map(int, re.search(r"Likely size (\d+) to (\d+) points \(shrunken\)", text).groups())
    assert 0 < low < high < 100
    assert (home.root / fast_coin.RULES).read_text(encoding="utf-8") == ""


def test_compiled_chances_follow_the_schedule(stored, tmp_path, monkeypatch, capsys):
    """Nothing before `measure on`; then .3, and .03 once the claim stands."""
    quiet(monkeypatch)
    home = homes.current()
    measure_rules.build(home)
    assert fast_coin.chance_for(str(home.root), "npm-eacces", stored.sha256) == 0.0
    assert figures(capsys, "measure", "on")["under_test"] == ["npm-eacces"]
    assert fast_coin.chance_for(str(home.root), "npm-eacces", stored.sha256) == 0.3
    for number in range(21):
        one_session(tmp_path, stored, number, "withheld" if number % 3 == 0 else "shown", number % 3 == 0)
    outcomes.catch_up(home)
    assert fast_coin.chance_for(str(home.root), "npm-eacces", stored.sha256) == 0.03
    assert figures(capsys, "measure", "off")["under_test"] == []
    assert fast_coin.chance_for(str(home.root), "npm-eacces", stored.sha256) == 0.0


def test_measure_on_as_a_dry_run_changes_nothing(stored, capsys):
    """Nothing written, the switch stays as it was."""
    assert figures(capsys, "measure", "on", "--dry-run")["dry_run"] is True
    assert config.load()["measure"]["holdouts"] is False


def test_the_user_is_asked_at_the_fifth_opportunity_until_an_answer(stored, tmp_path, monkeypatch, capsys):
    """Four opportunities: no question. Five: one, naming the entry. After `measure off`: none."""
    quiet(monkeypatch)
    home = homes.current()
    for number in range(5):
        assert outcomes.catch_up(home)["asking"] == 0
        assert fast_coin.question(str(home.root)) is None
        one_session(tmp_path, stored, number, "shown", False, coin_name="none")
    assert outcomes.catch_up(home)["asking"] == 1
    assert fast_coin.question(str(home.root)) == "npm-eacces"
    assert "'npm-eacces' has met 5 opportunities" in run(capsys, "effect")[1]
    run(capsys, "measure", "off")
    outcomes.catch_up(home)
    assert fast_coin.question(str(home.root)) is None


@pytest.mark.parametrize(("fields", "reason"), [
    ({"pinned": True}, "pinned"), ({"guard": Guard.HOLD}, "guard"),
])
def test_what_is_kept_by_choice_is_not_tested(fields, reason):
    """The verdict says so, and gives counts only."""
    one = entry(id="x", applies_when=APPLIES, fails_when=FAILS, **fields)
    found = verdicts.verdict(Tally("x", "a" * 64), coin.why_not(one, True), 3)
    assert (found.state, found.name) == ("untested", reason)


def test_before_anything_was_judged_nothing_is_said_of_a_difference():
    """Coins without an outcome: that nothing was judged yet, in place of a figure of what is missing."""
    found = verdicts.verdict(Tally("x", "a" * 64, 2, 2, {("shown", ""): 1, ("withheld", ""): 1}, (), 2), "", 3)
    assert (found.state, found.name) == ("undecided", "undecided_none")
    assert "None was judged good or bad yet" in measure_rules.say(found, "en")
    assert "还没有任何结果被判定为好或坏" in measure_rules.say(found, "zh")


def test_without_holdouts_there_are_only_counts(stored, tmp_path, monkeypatch, capsys):
    """Said as such, with the way to allow them."""
    quiet(monkeypatch)
    for number in range(3):
        one_session(tmp_path, stored, number, "shown", number == 0, coin_name="none")
    outcomes.catch_up(homes.current())
    text = run(capsys, "effect", "npm-eacces")[1]
    assert "Shown 3: came back 1/3. Counts only" in text and "measure on" in text


def test_an_edited_entry_starts_anew_and_shows_its_earlier_version(stored, tmp_path, monkeypatch, capsys):
    """New bytes, no coins; the old version's evidence is shown and not added."""
    quiet(monkeypatch)
    home = homes.current()
    for number in range(12):
        one_session(tmp_path, stored, number, "withheld" if number % 3 == 0 else "shown", number % 3 == 0)
    outcomes.catch_up(home)
    path = stored.path
    files.write_text(path, files.read_text(path).replace("title: ", "title: other "))
    document = figures(capsys, "effect", "npm-eacces")
    assert document["coins"] == 0 and document["state"] in ("never", "counts")
    assert [one["version"] for one in document["earlier"]] == [stored.sha256]
    assert document["earlier"][0]["state"] == "helps"


def test_bad_coins_are_named_and_never_counted(stored, tmp_path, monkeypatch, capsys):
    """Torn line, jumped clock, second coin, forged arm, coin without a session: each said plainly."""
    quiet(monkeypatch)
    home = homes.current()
    client = one_session(tmp_path, stored, 1, "shown", False)
    good = {"coin": "new", "holdout_p": 0.3, "draw": 0.9, "arm": "shown", "call": "t1"}
    client.log("opportunity", stored, **good)
    client.log("opportunity", stored, **{**good, "draw": 0.1, "at": "2026-08-03T11:00:00Z"})
    client.log("opportunity", stored, **{**good, "at": "2026-08-01T00:00:00Z"})
    client.log("opportunity", stored, **{**good, "session": "", "at": "2026-08-03T11:00:01Z"})
    with (home.ledger / f"{client.session}.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"v":1,"what":"opportun')
    outcomes.catch_up(home)
    document = figures(capsys, "effect")
    names = sorted(fault["name"] for fault in document["faults"])
    assert names == ["arm_is_not_the_draw", "clock_jumped", "no_session", "second_coin", "torn_lines"]
    assert document["entries"][0]["coins"] == 1
    text = run(capsys, "effect")[1]
    for words in ("the clock jumped", "a coin without a session", "torn lines in the ledger", "a second coin"):
        assert words in text


def test_an_outcome_after_a_torn_line_is_still_found(stored, tmp_path, monkeypatch):
    """The appended outcome starts a line of its own behind a torn one."""
    quiet(monkeypatch)
    home = homes.current()
    client = one_session(tmp_path, stored, 1, "shown", True)
    with (home.ledger / f"{client.session}.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"v":1,"what":"expo')
    outcomes.catch_up(home)
    assert effects.tallies(home)["npm-eacces", stored.sha256].count("shown", "bad") == 1


def test_an_opportunity_without_a_call_is_found_by_its_time(stored, tmp_path, monkeypatch):
    """Prompts carry no call id: the prompt nearest in time is the trigger; another clock is no trigger."""
    quiet(monkeypatch)
    home = homes.current()
    client = Client(tmp_path, "s1")
    client.run("ls", "a")
    client.prompt("install it")
    client.log("opportunity", stored, arm="shown", coin="none", event="UserPromptSubmit")
    client.run("npm install y", ERROR, True)
    client.close()
    other = Client(tmp_path, "s2")
    other.log("opportunity", stored, arm="shown", coin="none", event="UserPromptSubmit", at="2027-01-01T00:00:00Z")
    other.run("npm install y", ERROR, True)
    other.close()
    assert outcomes.catch_up(home)["judged"] == {"bad": 1, "good": 0, "unknown": 1}
    found = {one.session: one for ledger in effects.ledgers(home) for one in ledger.opportunities}
    assert (found["s1"].trigger, found["s1"].line) == (4, 6)
    assert found["s2"].reason == "clock_jumped"


def test_the_read_ledgers_are_kept_and_can_be_thrown_away(stored, tmp_path, monkeypatch):
    """The cache gives the same as reading anew, and damage to it is no harm."""
    quiet(monkeypatch)
    home = homes.current()
    one_session(tmp_path, stored, 1, "withheld", True)
    outcomes.catch_up(home)
    first = effects.tallies(home)
    assert effects.tallies(home) == first
    (home.derived / "effects.json").write_text("{torn", encoding="utf-8")
    assert effects.tallies(home) == first


def test_forbidden_words_stand_in_no_text_below_a_claim():
    """Both languages: no "effective", "proven", tick or percentage in any text of measuring."""
    for language in ("en", "zh"):
        for name, text in ruleset.messages(language).items():
            if name.startswith("effect."):
                assert not re.search(r"\beffective|proven|confidence|%|％|✓|✔|✅|已证明|有效", text), name


def test_the_table_of_all_entries_says_what_remains_unknowable(stored, tmp_path, monkeypatch, capsys):
    """Entries by state, the cost of the holdouts, and those of which nothing can be known."""
    quiet(monkeypatch)
    confirm(entry(id="no-claim", title="second", applies_when=(), fails_when=()))
    confirm(entry(id="never-seen", title="third", applies_when=APPLIES, fails_when=FAILS))
    one_session(tmp_path, stored, 1, "withheld", True)
    one_session(tmp_path, stored, 2, "shown", False)
    outcomes.catch_up(homes.current())
    document = figures(capsys, "effect")
    assert {one["entry"]: one["state"] for one in document["entries"]} == {
        "npm-eacces": "undecided", "no-claim": "untestable", "never-seen": "never",
    }
    assert document["cost"] == {"withheld": 1, "came_back": 1}
    assert document["unknowable"] == {"untestable": 1, "untested": 0, "never": 1}
    text = run(capsys, "effect")[1]
    assert "withheld 1 time, came back 1 time" in text and "Remains unknowable: 1 can't be tested" in text


def test_a_profile_entry_is_never_under_test(capsys):
    """What is loaded anyway can't be withheld."""
    confirm(entry(id="always", track=Track.PROFILE, applies_when=APPLIES, fails_when=FAILS))
    assert figures(capsys, "measure", "on")["under_test"] == []


def test_what_was_shown_without_a_coin_is_no_arm(stored, tmp_path, monkeypatch, capsys):
    """Once there are coins both arms count coins alone; what was shown before them is named beside them."""
    quiet(monkeypatch)
    for number in range(4):
        one_session(tmp_path, stored, number, "shown", True, coin_name="none")
    for number in range(4, 7):
        one_session(tmp_path, stored, number, "withheld" if number == 4 else "shown", number == 4)
    outcomes.catch_up(homes.current())
    text = run(capsys, "effect", "npm-eacces")[1]
    assert "Shown 2, withheld 1: came back 0/2 vs 1/1" in text and "4 shown without a coin" in text


def test_opportunities_are_told_in_the_order_of_time_and_in_the_users_language(stored, tmp_path, monkeypatch, capsys):
    """Whatever order the worker judged them in; in Chinese no English word is left in a row."""
    quiet(monkeypatch)
    for number in (2, 0, 1):
        one_session(tmp_path, stored, number, "withheld" if number == 1 else "shown", number == 1)
    outcomes.catch_up(homes.current())
    config.change({"language": "zh"})
    rows = [line for line in run(capsys, "effect", "npm-eacces")[1].splitlines() if line.startswith("   2026-")]
    assert [re.findall(r"给出|未给|好|坏", row) for row in rows] == [["给出", "好"], ["未给", "坏"], ["给出", "好"]]
    assert rows == sorted(rows)


def test_a_session_before_the_confirmation_says_nothing_of_a_trigger(stored, capsys):
    """An entry confirmed just now was not watched in any session; one after it is counted."""
    home = homes.current()
    spool.append(str(home.root), "old", {"what": "state", "state": "ended", "at": "2020-01-01T00:00:00Z"})
    assert "No session has run since" in run(capsys, "effect", "npm-eacces")[1]
    spool.append(str(home.root), "new", {"what": "state", "state": "ended"})
    assert "Never matched in 1 session." in run(capsys, "effect", "npm-eacces")[1]


def test_an_entry_leaves_the_index_when_holdouts_begin_and_comes_back_when_they_end(stored, tmp_path, monkeypatch):
    """At once, not at the worker's next run: what is loaded anyway cannot be withheld."""
    monkeypatch.setattr(measure.shared, "project", lambda where: projected.append(measure_rules.under_test(where)))
    projected = []
    assert main(["measure", "on"]) == 0 and main(["measure", "off"]) == 0 and main(["measure"]) == 0
    assert projected == [{"npm-eacces"}, frozenset()]


def test_the_newest_session_is_the_one_that_ran_last(own_home):
    """What the worker adds to an older session's ledger does not make it newer."""
    root = homes.current()
    for session, day in (("older", 1), ("newest", 3), ("middle", 2)):
        spool.append(str(root.root), session, {"what": "state", "state": "ended", "at": f"2026-08-0{day}T00:00:00Z"})
    ledger.append(root, "older", {"what": "state", "state": "checked"})
    ledger.append(root, "middle", {"what": "outcome"})
    assert list(ledger.sessions(root)) == ["newest", "middle", "older"]


def test_the_table_counts_only_what_is_active_as_unknowable(stored, capsys):
    """Outdated is a state of its own; a superseded entry is told with the one that took its place."""
    confirm(entry("old", applies_when=APPLIES, fails_when=FAILS, status=Status.OUTDATED))
    confirm(entry("gone", applies_when=APPLIES, fails_when=FAILS, status=Status.SUPERSEDED))
    document = figures(capsys, "effect")
    assert {one["entry"]: one["state"] for one in document["entries"]} == {"npm-eacces": "never", "old": "inactive"}
    assert document["unknowable"] == {"untestable": 0, "untested": 0, "never": 1}
    assert "not active" in run(capsys, "effect")[1]
