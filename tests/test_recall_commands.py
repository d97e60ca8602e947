"""recall, guard, why, on and off, as a person runs them."""

from __future__ import annotations

import io
import json
import sys

import pytest

from experience_forge import cli
from experience_forge.model import Condition, Guard, Status, Track
from experience_forge.store import entries, home, library, projects, proposals
from experience_forge.store.journal import now
from helpers import entry
from recall_home import bash, batch, fill, given, pitfall


def run(capsys, *words):
    """Exit code and JSON of a command."""
    code = cli.main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_question_finds_entries_in_both_languages(capsys):
    """An alias in the other language finds its entry; without an index one is built first."""
    where = fill(entry(), pitfall())
    for path in where.derived.glob("recall*"):
        path.unlink()
    for text, wanted in (("发布之后注册表被锁住", "zephyr-lock"), ("which package manager, pnpm?", "use-pnpm")):
        code, data = run(capsys, "recall", text)
        assert code == 0 and data["entries"][0]["id"] == wanted and data["meaning"] == "off"


def test_an_error_comes_from_a_file_or_from_standard_input(capsys, tmp_path, monkeypatch):
    """`--error` reads tool output; the entry that knows it is first, with the share that was seen."""
    fill(entry(), pitfall())
    log = tmp_path / "build.log"
    log.write_text("x\nZephyrLockError: registry 'canary' is locked\n", encoding="utf-8")
    found = [run(capsys, "recall", "--error", str(log))[1]]
    monkeypatch.setattr(sys, "stdin", io.StringIO(log.read_text(encoding="utf-8")))
    found.append(run(capsys, "recall", "--error", "-")[1])
    assert [one["entries"][0]["id"] for one in found] == ["zephyr-lock"] * 2
    assert found[0]["entries"][0]["share"] == 1.0


def test_scope_and_outdated(capsys):
    """Another project's entry needs --scope all, an outdated one --all, and it carries its mark."""
    where = fill(pitfall("other", track=Track.PROJECT, project="0123456789ab"),
                 pitfall("old", status=Status.OUTDATED))
    projects.record(where, projects.Project("0123456789ab", "other", "/nowhere", ("0123456789ab",)))
    ids = lambda *words: [one["id"] for one in run(capsys, "recall", "zephyr registry locked", *words)[1]["entries"]]  # noqa: E731
    assert ids() == [] and ids("--scope", "all") == ["other"] and ids("--all") == ["old"]
    cli.main(["recall", "zephyr registry", "--all"])
    assert "⚠️" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["x", "--error", "-"]])
def test_a_wrong_call_is_usage(words, capsys):
    """No question, or two: exit 2."""
    assert cli.main(["recall", *words]) == 2
    # A file that is not there is no wrong call: it is refused.
    assert cli.main(["recall", "--error", "/nowhere/x.log"]) == 1


def test_guard_is_a_proposal_and_acts_once_confirmed(capsys):
    """`guard` changes nothing by itself; confirmed, the hook refuses."""
    from experience_forge import shared
    from experience_forge.model import Consent

    where = fill(entry())
    code, data = run(capsys, "guard", "use-pnpm", "deny")
    assert code == 0 and data["proposal"]["change"] == "guard" and bash("npm install")["hookSpecificOutput"].get(
        "permissionDecision") is None
    proposal = proposals.load(where, data["proposal"]["id"])
    shared.carry_out(where, proposal, Consent("terminal", now(), "terminal"))
    assert entries.get(where, "use-pnpm").entry.guard is Guard.DENY
    assert bash("npm install", session_id="s2")["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert library  # the change went through the one function that changes entries


def test_guard_refuses_what_could_never_act(capsys):
    """An entry without a command or path condition can't stop a call, and the same level again is no change."""
    fill(entry(), pitfall(applies_when=(Condition(words="x y"),)))
    assert cli.main(["guard", "zephyr-lock", "deny"]) == 1
    assert cli.main(["guard", "use-pnpm", "remind"]) == 1
    assert cli.main(["guard", "use-pnpm", "deny", "--dry-run"]) == 0
    assert proposals.all(home.current()) == []


def test_why_lists_what_a_session_was_given(capsys, monkeypatch):
    """Everything given, with its reason; the session is the one that runs here."""
    fill(entry(), pitfall())
    bash("npm install x")
    batch("ZephyrLockError: registry 'canary' is locked")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    data = run(capsys, "why")[1]
    assert [(one["entry"], one["verdict"]) for one in data["given"]] == [("use-pnpm", "open"), ("zephyr-lock", "open")]
    assert data["given"][0]["why"] == "npm install *" and "signature" in data["given"][1]["why"]


def test_off_and_on(capsys, monkeypatch):
    """off silences the session or the project, on lets it speak; --dry-run does nothing."""
    fill(entry())
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    run(capsys, "off", "--dry-run")
    run(capsys, "off")
    assert bash("npm install") is None
    run(capsys, "on")
    run(capsys, "off", "--project")
    assert bash("npm install") is None
    run(capsys, "on", "--project")
    assert bash("npm install") and given() == ["use-pnpm"]


def test_off_without_a_session_asks_for_one(capsys):
    """Outside of a session, and without --project, there is nothing to switch."""
    fill(entry())
    assert cli.main(["off"]) == 2
