"""Small things at the command line that a reader stumbled over."""

from __future__ import annotations

import datetime
import io
import json

from experience_forge import cli
from experience_forge.core import codec
from experience_forge.model import Consent, Source
from experience_forge.store import candidates, files, home, journal, library, proposals
from helpers import confirm, entry


def test_confirm_with_a_short_digest_prints_the_real_command(capsys):
    """The hint is the command to run, with id and digest of that very proposal."""
    made = proposals.create(home.current(), "draft", codec.render(entry("one")), {}, "one")
    assert cli.main(["confirm", "one", "--digest", "12"]) == 2
    assert f"confirm one --digest {made.digest}" in capsys.readouterr().err


def test_redact_takes_a_dash_for_stdin(capsys, monkeypatch):
    """`redact -` reads what is piped in, as `draft --from -` does."""
    monkeypatch.setattr("sys.stdin", io.StringIO("plain words\n"))
    assert cli.main(["redact", "-"]) == 0
    assert capsys.readouterr().out == "plain words\n"


def test_why_without_a_session_is_no_fault(capsys, monkeypatch):
    """Nothing was given yet: that is said, with exit code 0 as `log` has it."""
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID", raising=False)
    assert cli.main(["why", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["given"] == []


def test_candidates_are_one_a_session_two_at_most_and_never_of_a_confirmed_one(capsys):
    """After review two sessions are named once each, the rest counted; one whose entry was confirmed is not offered."""
    at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    lines = [{"at": at, "session": f"s{n}", "score": 11.0, "kind": kind, "title": f"title {n}"}
             for n in range(4) for kind in ("rework", "correction")]
    where = home.current()
    confirm(entry("one", sources=(Source(session="s0", at=at[:10]),)))
    files.write_text(where.proposals / "candidates.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert [one["session"] for one in candidates.offered(where)] == ["s1", "s2", "s3"]
    assert cli.main(["review"]) == 0
    told = capsys.readouterr().out
    assert told.count("--draft 1") == 2 and "score 11)" in told and "1 more: `experience-forge scan`" in told


def test_the_digest_does_not_count_what_was_taken_back(capsys):
    """An undone entry is not among what was saved, and its undo has a name."""
    confirm(entry("one"))
    assert cli.main(["undo", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["proposal"]
    given = Consent("terminal", journal.now(), "terminal")
    library.apply(home.current(), proposals.load(home.current(), made["id"]), given)
    assert cli.main(["digest"]) == 0
    told = capsys.readouterr().out
    assert "saved: 0" in told and "undo: personal/one.md" in told


def test_recall_is_silenced_by_the_name_of_the_project(tmp_path, monkeypatch, capsys):
    """off and on name the project as people do, not by its hash."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for verb in ("off", "on"):
        assert cli.main([verb, "--project"]) == 0
        assert "in project shop" in capsys.readouterr().out
