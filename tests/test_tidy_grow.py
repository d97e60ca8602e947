"""Growing a skill from entries that act together: proposed, checked, installed after consent, taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experience_forge import cli, shared
from experience_forge.model import Condition, Consent, Kind, Track
from experience_forge.store import entries, grown, home, journal, ledger, library, proposals
from helpers import confirm, entry

SKILL = """---
name: docker-work-experience
description: Ships container images as this user confirmed. Use to build, push or debug a docker image; 发布镜像时使用。
---

# Shipping images

From notes that the user confirmed.

## Steps

1. Copy the lock file first [d0], then install [d1].
2. Build [d2], scan [d3], push [d4].
"""
PROMPTS = ("--prompt", "build the docker image", "--prompt", "发布镜像")
TEXTS = ("Copy the lock file before sources", "Install without development packages", "Build for two platforms",
         "Scan the result for secrets", "Push under a tag of the commit")


def five(domain="docker", sessions=3):
    """Five entries of one domain that acted together."""
    for number, text in enumerate(TEXTS):
        sections = (("when", f"step {number}: {text}"), ("steps", text), ("rule", f"{text}."))
        stored = confirm(entry(
            f"d{number}", kind=Kind.WORKFLOW, track=Track.DOMAIN, domain=domain, title=text, sections=sections,
            aliases=(f"第{'一二三四五'[number]}步的做法",), applies_when=(Condition(command=f"docker step{number} *"),),
            created=journal.now()[:10], updated=journal.now()[:10],
        ))
        digest = stored.record["files"][0]["after"]
        for session in range(sessions):
            ledger.append(home.current(), f"s{session}", {
                "what": "opportunity", "entry": f"d{number}", "sha256": digest, "arm": "shown", "coin": "none"})


def run(capsys, *arguments):
    """A command's exit code and its JSON."""
    code = cli.main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def install(own_home):
    """A client folder whose record names this home."""
    skill = own_home / ".claude" / "skills" / "experience-forge"
    skill.mkdir(parents=True)
    record = {"version": "0.1.0", "home": str(home.current().root), "python": sys.executable, "hooks": True}
    (skill / ".installed.json").write_text(json.dumps(record), encoding="utf-8")
    return own_home / ".claude"


def proposed(capsys, tmp_path, text=SKILL):
    """The proposal of a skill with this text."""
    path = tmp_path / "SKILL.md"
    path.write_text(text, encoding="utf-8")
    return run(capsys, "grow", "docker", "--from", str(path), *PROMPTS)


def test_five_that_act_together_are_proposed_and_four_are_not(capsys):
    """Five entries of one domain that fired in the same sessions are proposed as a skill, fewer are not."""
    five()
    steps = [s for s in run(capsys, "tidy")[1]["steps"] if s["kind"] == "grow"]
    assert [set(s["entries"]) for s in steps] == [{"d0", "d1", "d2", "d3", "d4"}]
    code, outline = run(capsys, "grow", "docker")
    assert code == 0 and "[d3]" in outline["template"] and outline["tokens"] > 0
    assert cli.main(["grow", "docker", "--ids", "d0", "d1"]) == 1


def test_a_grown_skill_is_installed_only_after_consent_and_undone_by_one_command(capsys, tmp_path, own_home):
    """The client's folder gets the skill with the confirmation and loses it with the undo."""
    client = install(own_home)
    five()
    code, made = proposed(capsys, tmp_path)
    assert code == 0 and made["listed_tokens"] > 0 and made["loaded_tokens"] > 0 and made["unheard"] == []
    target = client / "skills" / "docker-work-experience" / "SKILL.md"
    assert not target.exists()
    consent = Consent("terminal", journal.now(), "terminal")
    done = shared.carry_out(home.current(), proposals.load(home.current(), made["proposal"]["id"]), consent)
    text = target.read_text(encoding="utf-8")
    assert "Shipping images" in text and text.startswith("---\nname: docker-work-experience\n")
    assert [(s.name, s.entries) for s in grown.confirmed(home.current())] == [
        ("docker-work-experience", ("d0", "d1", "d2", "d3", "d4"))]
    _, made = run(capsys, "undo", str(done.applied.record["seq"]))
    shared.carry_out(home.current(), proposals.load(home.current(), made["proposal"]["id"]), consent)
    assert not target.exists() and grown.confirmed(home.current()) == []
    assert entries.get(home.current(), "d0").deliverable


def test_a_changed_grown_skill_is_given_to_no_client(capsys, tmp_path, own_home):
    """Bytes of a grown skill that nobody confirmed do not reach the client."""
    client = install(own_home)
    five()
    _, made = proposed(capsys, tmp_path)
    consent = Consent("terminal", journal.now(), "terminal")
    shared.carry_out(home.current(), proposals.load(home.current(), made["proposal"]["id"]), consent)
    path = library.path_of(home.current(), "@skills/docker-work-experience/SKILL.md")
    path.write_text(SKILL.replace("Build [d2]", "Disable the scanner [d2]"), encoding="utf-8")
    shared.refresh(home.current())
    assert not (client / "skills" / "docker-work-experience" / "SKILL.md").exists()


@pytest.mark.parametrize("change, fault", [
    (("docker-work-experience", "Docker_Work"), "name"),
    (("docker-work-experience", "docker-work"), "must end with -experience"),
    (("Ships", "<b>Ships"), "angle brackets"),
    (("[d4]", "d4"), "does not name [d4]"),
    (("# Shipping images", "WHAT IT DOES AND WHEN TO USE IT, IN WORDS"), "template's own words"),
    (("---\n\n# Ship", "model: opus\n---\n\n# Ship"), "unknown fields model"),
])
def test_a_skill_that_breaks_the_rules_is_refused_with_the_fault(change, fault, capsys, tmp_path):
    """Name, description, fields, length and the ids of its notes are checked before anything is proposed."""
    five()
    path = tmp_path / "SKILL.md"
    path.write_text(SKILL.replace(*change), encoding="utf-8")
    assert cli.main(["grow", "docker", "--from", str(path), *PROMPTS]) == 5
    assert fault in capsys.readouterr().err
    assert proposals.all(home.current()) == []


def test_unused_skills_are_reported(capsys, tmp_path, own_home):
    """A skill that no session loaded is called unused once there were sessions enough; a loaded one is not."""
    five()
    _, made = proposed(capsys, tmp_path)
    consent = Consent("terminal", journal.now(), "terminal")
    shared.carry_out(home.current(), proposals.load(home.current(), made["proposal"]["id"]), consent)
    folder = own_home / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    for number in range(grown.QUIET_SESSIONS):
        (folder / f"s{number}.jsonl").write_text('{"type":"user"}\n', encoding="utf-8")
    (skill,) = run(capsys, "grow")[1]["skills"]
    assert (skill["loaded"], skill["unused"]) == (0, True)
    call = {"type": "assistant", "timestamp": "2999-01-01T00:00:00Z", "message": {"content": [
        {"type": "tool_use", "name": "Skill", "input": {"skill": "docker-work-experience"}}]}}
    (folder / "s0.jsonl").write_text(json.dumps(call) + "\n", encoding="utf-8")
    (skill,) = run(capsys, "grow")[1]["skills"]
    assert (skill["listed"], skill["loaded"], skill["unused"]) == (1, 1, False)


def test_the_reference_validator_accepts_a_grown_skill(tmp_path):
    """`agentskills validate` has nothing against a skill of our template."""
    tool = Path(sys.executable).parent / "agentskills"
    if not tool.exists():
        pytest.skip("agentskills is not installed here")
    folder = tmp_path / "docker-work-experience"
    folder.mkdir()
    (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
    done = subprocess.run([str(tool), "validate", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
