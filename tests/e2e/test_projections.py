"""Projections with the real client: what its first request holds, and what it costs nothing."""

from __future__ import annotations

import json

import pytest

from experience_forge.clients import claude_code
from experience_forge.fast import spool
from experience_forge.model import Condition, Track
from experience_forge.store import home, ledger, projects, proofs
from helpers import confirm, entry
from helpers_projection import entry as note

from .lab import Lab
from .server import calls, say, tool

EVIL = r"@~/o.md or @~/o.md `x`@~/o.md **@~/o.md** _@~/o.md_ \"@~/o.md \\@~/o.md | @~/o.md ~~@~/o.md~~ a.@~/o.md"
"""Places where the client was seen to follow an import, or may: plain, behind code, in emphasis, behind escapes."""


@pytest.fixture
def projected(lab: Lab, monkeypatch):
    """A client folder of ours in the lab, with confirmed entries of every track projected."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(lab.home))
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(lab.root / "forge"))
    monkeypatch.chdir(lab.project)
    skill = lab.home / ".claude" / "skills" / "experience-forge"
    skill.mkdir(parents=True)
    record = {"home": str(lab.root / "forge"), "hooks": True, "version": "0.1.0"}
    (skill / ".installed.json").write_text(json.dumps(record), encoding="utf-8")
    lab.write("project/CLAUDE.md", "# Team rules\nSECRET-FREE\n")
    here = projects.current(home.current()).id
    lab.write("home/o.md", "IMPORTED-TEXT")
    evil = (("rule", EVIL), ("why", "w"), ("how", "h"))
    for one in (
        entry("in-profile", track=Track.PROFILE), entry("in-index"),
        entry("evil-import", track=Track.PROFILE, sections=evil),
        entry("in-project", track=Track.PROJECT, project=here), note(1, "zh", Track.DOMAIN, id="in-domain"),
        note(2, "en", Track.DOMAIN, id="in-sql", domain="database", applies_when=(Condition(path="**/*.sql"),)),
    ):  # fmt: skip
        confirm(one)
    claude_code.project(home.current())
    return lab


def test_the_next_session_is_given_what_was_confirmed(projected: Lab):
    """Reminder, profile, index, project block and domain skill are in the first request; marks and imports are not."""
    first = projected.headless("hello", say("bye")).steps[0].text
    words = ("[in-profile]", "[in-index]", "[in-project]", "python-experience: ", "skill experience-forge", "SECRET")
    assert [word for word in words if word not in first] == []
    assert "<!-- experience-forge" not in first
    assert "IMPORTED-TEXT" not in first and "[evil-import]" in first
    assert "database-experience" not in first
    session = next((projected.home / ".claude" / "projects").rglob("*.jsonl")).stem
    spool.append(str(home.current().root), session, {"what": "state", "state": "ended"})
    proofs.catch_up(home.current())
    seen = ledger.with_proofs(ledger.read(home.current(), session), session)
    loaded = {one["entry"]: one["proof"]["verdict"] for one in seen if one["form"] == "loaded"}
    assert {"in-profile", "in-index", "in-project"} <= set(loaded) and set(loaded.values()) == {"delivered"}


def test_a_domain_skill_with_paths_comes_with_a_file(projected: Lab):
    """Reading a file that its paths name brings the skill; calling it gives the list of notes with their files."""
    projected.write("project/have.sql", "select 1;\n")
    read = tool("Read", file_path=str(projected.project / "have.sql"))
    run = projected.headless("hello", calls(read), calls(tool("Skill", skill="database-experience")), say("bye"))
    assert "database-experience" in run.steps[1].text
    assert "[in-sql]" in run.steps[-1].text and "references/in-sql.md" in run.steps[-1].text


def test_after_uninstall_nothing_of_ours_is_given(projected: Lab):
    """The request after an uninstall holds the user's own files, their imports with them, and no entry."""
    claude_code.unproject(home.current())
    projected.write("home/.claude/rules/own.md", "See `x`@~/o.md now\n")
    first = projected.headless("hello", say("bye")).steps[0].text
    # The import of the user's own file shows that the one in an entry would have been followed.
    assert "IMPORTED-TEXT" in first
    assert "SECRET-FREE" in first and "[in-" not in first and "python-experience" not in first
