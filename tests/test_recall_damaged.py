"""A damaged index: named, made anew by the next command or the worker, never a bug."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experience_forge import cli
from experience_forge.fast import lookup, spool
from experience_forge.model import Condition, Guard, Track
from experience_forge.store import doctor, home, recall_index, tidying
from experience_forge.store.home import skill_folder
from helpers import entry
from recall_home import bash, faults, fill, pitfall, said


def damage(where, what):
    path = where.derived / lookup.PREFILTER
    database = where.derived / json.loads(path.read_bytes().split(b"\n", 1)[0])["db"]
    if what == "database":
        database.write_bytes(b"junk" * 100)
    elif what == "page":
        data = database.read_bytes()
        database.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    elif what == "settings":
        settings = where.derived / lookup.SETTINGS
        settings.write_bytes(settings.read_bytes()[:200])
    elif what == "no settings":
        (where.derived / lookup.SETTINGS).unlink()
    elif what == "head":
        path.write_bytes(b"[]".ljust(3000))
    else:
        path.write_bytes(path.read_bytes()[:-200])


@pytest.mark.parametrize("what", ["database", "page", "head", "sections", "settings", "no settings"])
def test_a_damaged_index_is_made_anew_by_recall(what, capsys):
    """The question is answered, with one line that says what was done; hooks speak again."""
    where = fill(entry(), pitfall())
    damage(where, what)
    assert [one.text for one in doctor.examine(where) if one.repair] == ["index_broken"]
    assert bash("npm install left-pad") is None
    assert cli.main(["recall", "zephyr registry is locked"]) == 0
    told = capsys.readouterr()
    assert "zephyr-lock" in told.out and told.err.count("made anew") == 1
    assert "Use pnpm" in said(bash("npm install left-pad"))
    assert not recall_index.broken(where)


def test_the_worker_and_doctor_mend_it(capsys):
    """Nobody has to ask: the worker makes it anew, and doctor --repair does at once."""
    where = fill(entry(), pitfall())
    cli.main(["worker"])
    for verb in (["worker"], ["doctor", "--repair"]):
        damage(where, "database")
        cli.main(verb)
        assert not recall_index.broken(where)
    assert "Use pnpm" in said(bash("npm install left-pad"))
    capsys.readouterr()
    assert "DatabaseError" not in faults()


@pytest.mark.parametrize("guard, said", [
    (Guard.REMIND, "additionalContext"), (Guard.HOLD, '"permissionDecision":"deny"'),
])  # fmt: skip
def test_a_torn_ledger_line_silences_nothing(guard, said, tmp_path):
    """A line that a crash cut in a session's ledger is passed over by a hook as it really starts, and closed.

    In a process of its own: `json.decoder`, which tests load, changes what Python's own scanner raises up to 3.11.
    """
    where = fill(entry(guard=guard))
    ledger = Path(spool.ledger_path(str(where.root), "torn"))
    ledger.parent.mkdir(exist_ok=True)
    for torn in ('{"v":1,"what":"expo', "[1,2", '{"a"\n', '"abc\n'):
        ledger.write_text(torn, encoding="utf-8")
        given = {
            "session_id": "torn", "transcript_path": "", "cwd": str(tmp_path), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "npm install left-pad"},
        }
        start = "import sys; sys.path.insert(0, sys.argv[1]); import hook; hook.main()"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", start, str(skill_folder() / "scripts"), "PreToolUse"],
            input=json.dumps(given), capture_output=True, encoding="utf-8", check=False,
        )
        assert done.returncode == 0 and said in done.stdout, (torn, done, faults())
        lines = ledger.read_text(encoding="utf-8").splitlines()
        assert lines[0] == torn.strip() and all(json.loads(line)["entry"] == "use-pnpm" for line in lines[1:])


def test_a_home_without_an_index_is_not_damaged():
    """What was never made is not broken."""
    assert not recall_index.broken(home.current())


def test_repair_keeps_which_of_two_contradicting_entries_wins(capsys):
    """Right after doctor --repair the narrower scope still speaks for both."""
    when = {"applies_when": (Condition(command="pip install *"),)}
    where = fill(
        entry("wide", title="Dependencies by Poetry", aliases=(), track=Track.PERSONAL,
              sections=(("rule", "Use Poetry to manage dependencies."), ("why", "w"), ("how", "h")), **when),
        entry("narrow", title="uv manages our environments", aliases=(), track=Track.DOMAIN, domain="python",
              sections=(("rule", "Manage dependencies with uv."), ("why", "w"), ("how", "h")), **when))
    cli.main(["doctor", "--repair"])
    capsys.readouterr()
    assert tidying.conflicts(where) == {"wide": [("narrow", "narrow")], "narrow": [("wide", "narrow")]}
    text = said(bash("pip install x"))
    assert "experience-forge narrow]" in text and "[wide] says otherwise" in text
