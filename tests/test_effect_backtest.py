"""What a trigger and a falsifier would have done in the user's own sessions."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from experience_forge.core import conditions, history, judge
from experience_forge.core.steps import steps_of
from experience_forge.fast import freshness as fast_freshness
from experience_forge.model import Condition, Entry, Kind, SessionInfo, Track
from experience_forge.store import backtest, condition_rules, files, readers
from experience_forge.store import home as homes
from test_effect_judge import LISTS, NPM, Session

DATA = Path(os.environ.get("FORGE_DATA") or Path(__file__).resolve().parent.parent.parent / "shared" / "data")
EACCES = NPM["error"]


def keep(name, session):
    return backtest.keep(homes.current(), SessionInfo(name, "claude-code"), session.events, lambda text: text)


def entry(applies, fails=()):
    return Entry(
        "e", "t", Kind.PITFALL, Track.PERSONAL, (), applies_when=tuple(applies), fails_when=tuple(fails)
    )


INSTALL = [Condition(command="npm install *")]
FAILS = [Condition(error=EACCES)]


def failing():
    session = Session()
    session.run("npm install x", "ok")
    session.run("npm install y", EACCES, True)
    return session


def late():
    session = Session()
    session.run("npx tool", EACCES, True)
    session.run("npm install x", "ok")
    session.run("ls", "a")
    return session


def harmless():
    session = Session()
    session.run("ls", "a")
    session.run("npm install x", "ok")
    session.run("ls", "a")
    return session


def unrelated():
    session = Session()
    session.run("make", "ok")
    return session


def test_the_sentence_counts_what_fired_in_time_and_what_followed():
    """3 of 8 sessions fired, 2 of them before any failure, which followed in 1; one place is named where it did not."""
    for number, build in enumerate([failing, late, harmless, *[unrelated] * 5]):
        keep(f"session-{number}", build())
    report = backtest.run(homes.current(), INSTALL, FAILS)
    assert (report.sessions, len(report.fired), report.in_time, report.followed) == (8, 3, 2, 1)
    text = backtest.sentence(homes.current(), entry(INSTALL, FAILS), "en")
    counts = "in 3 of 8 sessions, 2 of them before any failure; the failure followed in 1."
    assert text.startswith(f"Would have fired {counts}")
    assert "(for one, session session-, line 3)" in text
    assert "3" in backtest.sentence(homes.current(), entry(INSTALL, FAILS), "zh")


def test_a_trigger_that_never_fires_or_nearly_always_is_named():
    """Both are said before the user confirms."""
    for number in range(6):
        keep(f"s{number}", failing())
    home = homes.current()
    assert backtest.run(home, [Condition(command="terraform apply *")], FAILS).state == "never"
    assert "never have fired in 6 sessions" in backtest.sentence(home, entry([Condition(words="zzz")]), "en")
    assert backtest.run(home, INSTALL, FAILS).state == "most"
    assert "most sessions" in backtest.sentence(home, entry(INSTALL, FAILS), "en")


def test_without_sessions_or_falsifier_it_says_so():
    """No number where there is none."""
    home = homes.current()
    assert "No sessions" in backtest.sentence(home, entry(INSTALL, FAILS), "en")
    keep("s", failing())
    assert "no more can be told" in backtest.sentence(home, entry(INSTALL), "en")
    assert backtest.sentence(home, entry([]), "en") == ""


def test_a_damaged_history_is_counted_apart():
    """A file without its head is named, a torn line in the middle is passed over."""
    home = homes.current()
    path = keep("good", failing())
    files.write_text(path, files.read_text(path).replace('{"l":3', '{"l":'))
    files.write_text(backtest.path_of(home, "bad"), "no json\n")
    report = backtest.run(home, INSTALL, FAILS)
    assert (report.sessions, report.unreadable) == (1, ("bad",))
    assert "1 session could not be read and is not counted" in backtest.sentence(home, entry(INSTALL, FAILS), "en")


def test_a_session_read_in_two_parts_has_one_history():
    """What an incremental scan adds later gives the same backtest as one reading."""
    session = failing()
    info = SessionInfo("s", "claude-code")
    backtest.keep(homes.current(), info, session.events[:3], str)
    backtest.keep(homes.current(), info, session.events[3:], str, more=True)
    report = backtest.run(homes.current(), INSTALL, FAILS)
    assert (report.sessions, report.in_time, report.followed) == (1, 1, 1)


def test_versions_that_programs_told_are_noted_for_freshness():
    """`hermes --version` in any scanned session is known at delivery."""
    session = Session()
    session.run("hermes --version", "hermes 0.18.2")
    backtest.keep(homes.current(), SessionInfo("s", "c", started="2026-08-01T00:00:00Z"), session.events, str)
    found = fast_freshness.version(str(homes.current().root), "hermes>=0.19", "")
    assert found == ("drifted", ("version", "hermes>=0.19, --version: 0.18.2"))


def test_a_session_id_can_not_leave_the_folder():
    """An id from a transcript is not trusted as a file name."""
    assert backtest.path_of(homes.current(), "../../x").parent == backtest.folder(homes.current())


CONDITIONS = [
    ({"command": "go test *"}, {"error": "undefined: "}), ({"command": "git commit *"}, {"error": "not found"}),
    ({"error": "command not found"}, {"error": "command not found"}), ({"words": "test"}, {"words": "wrong"}),
    ({"path": "**/*.go"}, {"error": "cannot use"}), ({"command": "go *", "words": "test"}, {"command": "git *"}),
    ({"command": "git *", "error": "fatal"}, {"path": "*.md"}),
]


@pytest.mark.parametrize(("applies", "fails"), CONDITIONS)
def test_the_quick_way_over_histories_agrees_with_the_judge_on_every_step(applies, fails):
    """Skipping lines that can't matter changes no outcome, on real transcripts."""
    folder = DATA / "transcripts" / "claude-code"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there: no real transcripts")
    weights = condition_rules.weights()
    triggers = conditions.matchers([Condition(**applies)], weights)
    falsifiers = conditions.matchers([Condition(**fails)], weights)
    expected = {}
    for path in sorted(folder.glob("*.jsonl"))[:30]:
        session = readers.open_session(path, full=True)
        events = list(session.events())
        backtest.write(homes.current(), SessionInfo(path.stem, "c"), history.history_lines(events, LISTS))
        steps = history.steps_from(history.history_lines(events, LISTS))
        first = next((step for step in steps if any(one.matches(step) for one in triggers)), None)
        if first is not None:
            expected[path.stem] = (first.line, judge.judge(steps, falsifiers, first.line).outcome)
    report = backtest.run(homes.current(), [Condition(**applies)], [Condition(**fails)])
    assert {one.session: (one.line, one.followed) for one in report.fired} == expected


def test_kept_histories_judge_as_the_transcripts_do_on_real_sessions():
    """Of the first failure of each real session, the kept words say the same as the transcript in 9 of 10."""
    folder = DATA / "transcripts" / "claude-code"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there: no real transcripts")
    fails = [Condition(error="undefined: "), Condition(error="cannot use")]
    made = conditions.matchers(fails, condition_rules.weights())
    same = total = 0
    for path in sorted(folder.glob("*.jsonl"))[:30]:
        events = list(readers.open_session(path, full=True).events())
        kept = history.steps_from(history.history_lines(events, LISTS))
        total += 1
        same += judge.judge(kept, made, 1).outcome == judge.judge(steps_of(events), made, 1).outcome
    assert same >= 0.9 * total


def test_a_thousand_histories_take_well_under_a_second():
    """1,000 sessions, the trigger in every tenth."""
    for number in range(1000):
        keep(f"s{number:04}", failing() if number % 10 == 0 else unrelated())
    begun = time.monotonic()
    report = backtest.run(homes.current(), INSTALL, FAILS)
    assert (len(report.fired), report.sessions) == (100, 1000)
    assert time.monotonic() - begun < 2


def test_the_worker_keeps_histories_of_the_clients_sessions_newest_first(own_home):
    """Unchanged transcripts are not opened again; what is beyond the limit waits for the next run."""
    folder = own_home / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    record = {
        "type": "user", "sessionId": "s1", "uuid": "u", "isSidechain": False, "cwd": "/p",
        "timestamp": "2026-08-01T10:00:00Z", "message": {"role": "user", "content": "please rebase it"},
    }  # fmt: skip
    for name in ("s1", "s2"):
        text = json.dumps({**record, "sessionId": name}) + "\n"
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "odd.jsonl").write_text("no session\n", encoding="utf-8")
    home, paths = homes.current(), sorted(folder.glob("*.jsonl"), reverse=True)
    assert backtest.refresh(home, paths, limit=1) == {"kept": 1, "unreadable": 0, "left": 2}
    assert backtest.refresh(home, paths) == {"kept": 1, "unreadable": 1, "left": 0}
    assert backtest.refresh(home, paths) == {"kept": 0, "unreadable": 0, "left": 0}
    assert len(backtest.run(home, [Condition(words="rebase")], []).fired) == 2
