"""recall and show say when what an entry stands on does not hold here."""

from __future__ import annotations

import json

from experience_forge import cli
from experience_forge.fast import git
from experience_forge.model import Cite, Track
from experience_forge.store import freshness
from helpers import entry
from recall_home import fill, pitfall


def both(capsys, query, entry_id):
    cli.main(["recall", query])
    recalled = capsys.readouterr().out
    cli.main(["show", entry_id])
    return recalled, capsys.readouterr().out


def states(capsys, query, entry_id):
    cli.main(["recall", query, "--json"])
    (one,) = [one for one in json.loads(capsys.readouterr().out)["entries"] if one["id"] == entry_id]
    cli.main(["show", entry_id, "--json"])
    shown = json.loads(capsys.readouterr().out)["entry"]["freshness"]
    assert shown == one["freshness"]
    return shown["state"], shown["reason"], shown["delivery"]


def test_a_version_that_does_not_hold_here_is_marked(tmp_path, capsys, monkeypatch):
    """In a project with another version both commands say so, with what was found; elsewhere nothing is said."""
    monkeypatch.chdir(tmp_path)
    fill(pitfall(versions=("hermes<0.18",)))
    assert "⚠️" not in "".join(both(capsys, "zephyr registry locked", "zephyr-lock"))
    (tmp_path / "requirements.txt").write_text("hermes==0.18.2\n", encoding="utf-8")
    for text in both(capsys, "zephyr registry locked", "zephyr-lock"):
        assert "⚠️" in text and "hermes<0.18" in text and "0.18.2" in text
    assert states(capsys, "zephyr registry locked", "zephyr-lock") == ("drifted", "version", "no")


def test_a_cite_that_drifted_is_marked(tmp_path, capsys, monkeypatch):
    """Changed lines are named; unchanged ones are bound and carry no mark."""
    monkeypatch.chdir(tmp_path)
    code = tmp_path / "pay.py"
    code.write_text("def pay(x):\n    total = x * 2\n    return total + 1\n", encoding="utf-8")
    cites, _ = freshness.bind([Cite(path="pay.py", lines="1-3")], tmp_path)
    fill(entry("pay", title="Pay doubles the amount", track=Track.PROJECT, project=git.project(str(tmp_path)).id,
               cites=cites))
    assert states(capsys, "pay doubles the amount", "pay")[0] == "bound"
    code.write_text("def pay(x):\n    total = x * 3\n    return total + 9\n", encoding="utf-8")
    for text in both(capsys, "pay doubles the amount", "pay"):
        assert "⚠️" in text and "pay.py:1-3" in text
    assert states(capsys, "pay doubles the amount", "pay") == ("drifted", "changed", "warn")
