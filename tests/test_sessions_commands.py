"""signals, score, scan, suggest, and what ended sessions leave, at the command line."""

from __future__ import annotations

import datetime
import io
import json
import os

import pytest

from experience_forge import cli
from experience_forge.core import codec
from experience_forge.fast import spool
from experience_forge.store import candidates, config, evidence, home, proposals, scanning, session_signals
from helpers_sessions import Transcript, rework


def run(capsys, *arguments):
    """Run one command; exit code, stdout, stderr."""
    code = cli.main(list(arguments))
    done = capsys.readouterr()
    return code, done.out, done.err


def document(capsys, *arguments):
    """The JSON document of a command that ends well."""
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.fixture
def projects(own_home):
    """The client's folder of sessions."""
    folder = own_home / ".claude" / "projects" / "-home-dev-shop"
    folder.mkdir(parents=True)
    return folder


def test_signals_explains_one_session_with_the_fixed_keys(tmp_path, capsys):
    """`signals --json` has every key of its contract, and each signal its turn, quote, weight and detector."""
    made = rework().prompt("No, that's wrong. From now on use Decimal for money.")
    data = document(capsys, "signals", str(made.write(tmp_path / "s.jsonl")))
    assert set(data) >= {
        "schema_version",
        "file",
        "session",
        "turns",
        "episodes",
        "signals",
        "score",
        "suggest",
        "stress",
    }
    assert data["session"] == {
        "id": "5e55-1",
        "client": "claude-code",
        "cwd": "/home/dev/shop",
        "started": "2026-01-02T03:04:05Z",
        "turns": 2,
    }
    assert data["turns"][1]["speaker"] == "person" and data["turns"][1]["strength"] == "strong"
    assert set(data["turns"][1]["labels"]) == {"correction", "preference"}
    assert [episode["rework_rounds"] for episode in data["episodes"]] == [2]
    assert {signal["kind"] for signal in data["signals"]} == {"rework", "correction", "preference"}
    assert "From now on use Decimal for money." in [signal["quote"] for signal in data["signals"]]
    assert data["score"] == 6 and data["suggest"] and data["stress"]


def test_signals_names_damaged_lines_and_goes_on(tmp_path, capsys):
    """A cut record is named on stderr; the signals of the rest are shown."""
    path = rework().write(tmp_path / "s.jsonl")
    path.write_text('{"type":"user","mess\n' + path.read_text(encoding="utf-8"), encoding="utf-8")
    code, out, err = run(capsys, "signals", str(path))
    assert code == 0 and "rework" in out and "1 line can't" in err and ": 1;" in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("signals",), 2),
        (("signals", "missing.jsonl"), 1),
        (("signals", "--current"), 2),
        (("signals", "--session", "../x"), 1),
        (("score", "--signals", "nonsense"), 2),
        (("scan", "--since", "yesterday"), 2),
        (("scan", "--limit", "0"), 2),
        (("scan", "missing-folder"), 1),
        (("scan", "--draft", "9"), 1),
        (("suggest", "--threshold", "0"), 2),
        (("suggest", "--project"), 2),
    ],
)
def test_bad_input_is_said_in_one_line(arguments, code, capsys):
    """Each command says what is wrong and what to do, with the exit code of its kind."""
    found, _, err = run(capsys, *arguments)
    assert found == code and err.startswith("experience-forge: ") and "hint: " in err


def test_score_explains_its_sum(tmp_path, capsys):
    """The lines of the explanation add up to the score."""
    data = document(capsys, "score", str(rework().write(tmp_path / "s.jsonl")))
    assert data["score"] == 3 == float(data["lines"][0].split()[0])
    data = document(capsys, "score", "--signals", "rework,preference,design")
    assert data["score"] == 8 and data["stress"]


def test_scan_lists_what_came_back_and_writes_no_memory(projects, capsys):
    """The same problem in two sessions is one candidate that came back; entries and proposals stay empty."""
    rework("one").write(projects / "one.jsonl")
    other = rework("two")
    for record in other.records:
        record["timestamp"] = "2026-01-05T00:00:00Z"
    other.write(projects / "two.jsonl")
    data = document(capsys, "scan")
    assert data["sessions"] == 2 and [item["times"] for item in data["candidates"]] == [2]
    where = home.current()
    assert not where.entries.exists() and proposals.all(where) == []
    kept = evidence.get(where, "one")
    assert kept[0]["path"].endswith("one.jsonl") and kept[0]["line"] > 0 and len(kept[0]["excerpt"]) <= 300


def test_evidence_with_odd_line_ends_is_read_again():
    """A quote that holds U+2028 or a form feed, which only look like line ends, is kept and read as one record."""
    where = home.current()
    quote = "one\u2028two\x85three\x0cfour"
    evidence.put(where, "one", [{"excerpt": quote}, {"excerpt": "next"}])
    assert [item["excerpt"] for item in evidence.get(where, "one")] == [quote, "next"]


DRAFT = """---
title: Round money late
kind: pitfall
applies_when: [{command: "pytest *"}]
fails_when: [{error: "AssertionError: rounding failed in total"}]
---
**Scenario** Money is added up.
**Symptom** The total is off by a cent.
**Root cause** Each line is rounded.
**Right action** Round once.
**Rule** Round once, at the end.
"""


def test_a_draft_after_a_scan_is_tested_on_what_was_scanned(projects, capsys, monkeypatch):
    """Without hooks no worker runs: the scan keeps the sessions itself, and says how many; a second one none."""
    rework("one").write(projects / "one.jsonl")
    rework("two").write(projects / "two.jsonl")
    assert "Sessions kept to test drafts on (redacted, in evidence/history): 2." in run(capsys, "scan")[2]
    assert "kept to test" not in run(capsys, "scan")[2]
    monkeypatch.setattr("sys.stdin", io.StringIO(DRAFT))
    (draft,) = document(capsys, "draft", "--from", "-")["drafts"]
    assert "2" in draft["backtest"] and "No sessions" not in draft["backtest"]


def test_a_scan_keeps_no_longer_than_its_time_and_says_what_is_left(projects, capsys, monkeypatch):
    """What time did not allow waits for the next scan, and is said; a dry run keeps nothing."""
    rework("one").write(projects / "one.jsonl")
    run(capsys, "scan", "--dry-run")
    assert not (home.current().evidence / "history").exists()
    monkeypatch.setattr("experience_forge.commands.scan.HISTORY_SECONDS", 0.0)
    assert "1 more will be kept by the next scan" in run(capsys, "scan")[2]
    assert not (home.current().evidence / "history").exists()


def test_a_second_scan_reads_only_what_is_new(projects, capsys):
    """Positions are remembered; a session that grew is read from where it ended, and its rounds go on."""
    made = rework("one")
    path = made.write(projects / "one.jsonl")
    assert document(capsys, "scan")["read_bytes"] == path.stat().st_size
    assert document(capsys, "scan")["changed"] == 0
    before = path.stat().st_size
    made.prompt("That's wrong, it still rounds down.").edit().write(path)
    data = document(capsys, "scan")
    assert data["read_bytes"] == path.stat().st_size - before
    whole = scanning.read_one(str(path), "")[1]
    assert data["candidates"][0]["score"] == whole.findings[0].score == 6


def test_a_forked_session_is_counted_once(projects, capsys):
    """A copy of a session's records under another name is the same moment, not a second time."""
    rework("one").write(projects / "one.jsonl")
    rework("one").write(projects / "fork.jsonl")
    assert [item["times"] for item in document(capsys, "scan")["candidates"]] == [1]


def test_secrets_never_reach_the_evidence(projects, capsys):
    """What is copied out of a transcript is redacted before it is cut."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    Transcript("one").prompt("add a client").edit().answer("Done.").prompt(f"no, that's wrong: use {token} here").write(
        projects / "one.jsonl"
    )
    document(capsys, "scan")
    text = "".join(path.read_text(encoding="utf-8") for path in home.current().evidence.rglob("*.jsonl"))
    assert text and token not in text and "[redacted:" in text


def test_a_damaged_session_never_stops_a_scan(projects, capsys):
    """A file of garbage and a torn one are named; the good one is found."""
    (projects / "bad.jsonl").write_bytes(b"\x00\xff garbage\n")
    rework("good").write(projects / "good.jsonl")
    data = document(capsys, "scan")
    assert len(data["candidates"]) == 1 and data["damaged"][0]["path"].endswith("bad.jsonl")


def test_scan_draft_gives_the_evidence_and_a_form_that_draft_takes(projects, capsys, tmp_path):
    """The form of `--draft N` becomes a draft once its dots are filled in."""
    rework("one").write(projects / "one.jsonl")
    form = document(capsys, "scan", "--draft", "1")["draft"]["skeleton"]
    path = tmp_path / "draft.md"
    path.write_text(form.replace("…", "Cart totals are rounded twice"), encoding="utf-8")
    data = document(capsys, "draft", "--from", str(path))
    assert data["drafts"][0]["score"] == 3


def test_a_form_that_nobody_filled_in_is_refused_naming_every_placeholder(projects, capsys, tmp_path):
    """Dots or TODO in title or sections are no draft, and all of them are named at once."""
    rework("one").write(projects / "one.jsonl")
    path = tmp_path / "draft.md"
    form = document(capsys, "scan", "--draft", "1")["draft"]["skeleton"]
    path.write_text(form.replace("**Rule** …", "**Rule** TODO: ..."), encoding="utf-8")
    code, _, err = run(capsys, "draft", "--from", str(path))
    assert code == 5 and proposals.all(home.current()) == []
    for name in ("title", "scenario", "symptom", "root_cause", "right_action", "rule"):
        assert f"{name}: only a placeholder" in err


def test_the_form_has_block_style_the_telling_line_and_quotes_as_said(projects, capsys, tmp_path):
    """No braces stand in the form, its condition is the telling line, and what was said comes back as it was."""
    said = 'No, that is wrong, "it\'s" {not} C:\\temp'
    output = "Exit code 1\n==== run ====\nTraceback (most recent call last):\n  File \"x.py\", line 3, in <module>\n"
    output += "UnicodeEncodeError: 'ascii' codec can't encode character\n"
    made = Transcript("one").prompt("export the names").edit().run(output=output, failed=True).edit()
    made.run(output=output, failed=True).edit().run().answer("Done.").prompt(said).answer("Sorry.")
    made.write(projects / "one.jsonl")
    form = document(capsys, "scan", "--draft", "1")["draft"]["skeleton"]
    head = form.split("\n---\n")[0]
    assert "- {" not in head and "[{" not in head
    assert "  - error: \"UnicodeEncodeError: 'ascii' codec can't encode character\"" in head
    path = tmp_path / "draft.md"
    path.write_text(form.replace("…", "Names are written as UTF-8"), encoding="utf-8")
    text = document(capsys, "draft", "--from", str(path))["drafts"][0]["rendered"]
    assert "Traceback" not in text and "====" not in text
    assert said.startswith(codec.parse(text).sources[0].quote) and '"' in codec.parse(text).sources[0].quote


def test_scan_filters_by_project_and_time(projects, capsys):
    """`--project` and `--since` leave the others out."""
    path = rework("one").write(projects / "one.jsonl")
    assert document(capsys, "scan", "--project", "shop")["sessions"] == 1
    assert document(capsys, "scan", "--project", "elsewhere")["sessions"] == 0
    os.utime(path, (1, 1))
    assert document(capsys, "scan", "--since", "1d")["sessions"] == 0


def test_suggest_is_switched_everywhere_here_and_in_one_session(capsys):
    """Each scope has its switch, and the state says so."""
    assert document(capsys, "suggest", "--off")["on"] is False
    assert document(capsys, "suggest", "--on")["on"] is True
    assert len(document(capsys, "suggest", "--off", "--project")["off_projects"]) == 1
    assert document(capsys, "suggest", "--on", "--project")["off_projects"] == []
    spool.append(str(home.current().root), "s1", {"what": "state"})
    document(capsys, "suggest", "--off", "--session", "s1")
    assert spool.read(str(home.current().root), "s1")[-1]["suggest"] == "off"
    document(capsys, "suggest", "--threshold", "5", "--dry-run")
    assert config.load()["suggest"]["threshold"] == 3


def answer(session, value, at):
    """An answer to a suggestion, as the hook records it."""
    spool.append(str(home.current().root), session, {"what": "answer", "answer": value, "at": at})


def test_declined_twice_in_a_row_raises_the_threshold_once(capsys):
    """Two refusals in a row: recorded in the config, proposed for the profile, undone by `suggest --on`."""
    where = home.current()
    answer("s1", "no", "2026-01-01T00:00:01Z")
    answer("s2", "unanswered", "2026-01-01T00:00:02Z")
    candidates.count_answers(where)
    assert config.load()["suggest"]["threshold"] == 3
    answer("s3", "no", "2026-01-01T00:00:03Z")
    assert candidates.count_answers(where)["raised"]
    assert config.load()["suggest"]["threshold"] == 5
    assert [proposal.change for proposal in proposals.all(where)] == ["draft"]
    assert candidates.count_answers(where) == {"answers": 0}
    document(capsys, "suggest", "--on")
    assert config.load()["suggest"]["threshold"] == 3 and config.load()["suggest"]["declined_in_a_row"] == 0


def test_a_yes_between_two_refusals_starts_the_count_anew():
    """In a row means in a row."""
    for number, value in enumerate(("no", "yes", "no")):
        answer(f"s{number}", value, f"2026-01-01T00:00:0{number}Z")
    candidates.count_answers(home.current())
    assert config.load()["suggest"]["declined_in_a_row"] == 1


def quiet(path):
    """Make a session look ended half an hour ago."""
    then = datetime.datetime.now().timestamp() - 1800
    os.utime(path, (then, then))


def test_ended_sessions_leave_at_most_two_a_session_and_five_a_day(projects):
    """Limits hold, a second run adds nothing, and after 30 days they are gone."""
    for number in range(5):
        made = rework(f"s{number}").prompt("no, that's wrong").answer("Sorry.").prompt("From now on use Decimal.")
        quiet(made.write(projects / f"s{number}.jsonl"))
    where = home.current()
    assert candidates.catch_up(where)["waiting"] == 5
    waiting = candidates.waiting(where)
    assert max(sum(one["session"] == name for one in waiting) for name in {one["session"] for one in waiting}) == 2
    assert candidates.catch_up(where)["added"] == 0
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=31)
    assert len(candidates.outdated(where, later)) == 5
    assert candidates.catch_up(where, later)["waiting"] == 0


def test_a_session_that_goes_on_leaves_nothing_yet(projects):
    """A transcript that was just written to is left alone until its end was noted."""
    rework("s1").write(projects / "s1.jsonl")
    where = home.current()
    assert candidates.catch_up(where)["waiting"] == 0
    spool.append(str(where.root), "s1", {"what": "state", "state": "ended"})
    assert candidates.catch_up(where)["waiting"] == 1
    assert session_signals.transcript("s1").name == "s1.jsonl"
