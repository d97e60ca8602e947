"""Growing a skill from entries that act together: proposed, checked, installed after consent, taken back."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from experience_forge import cli, report, shared
from experience_forge.clients import ancestry, claude_files
from experience_forge.core import growing
from experience_forge.model import Condition, Consent, Kind, Track
from experience_forge.store import entries, grown, home, journal, ledger, library, proposals, ruleset
from helpers import answering, confirm, entry

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


def procedure(title="Ship the image", when="An image is to be shipped."):
    """Five workflows of one domain, each with steps in their order, that acted together."""
    for number, text in enumerate(TEXTS):
        steps = f"1. Look at the state before.\n2. {text}.\n3. Look whether it holds."
        sections = (("when", f"{when} Part {number}: {text}"), ("steps", steps), ("rule", f"{text}."))
        stored = confirm(entry(
            f"d{number}", kind=Kind.WORKFLOW, track=Track.DOMAIN, domain="docker", title=f"{title}: {text}",
            sections=sections, aliases=(f"第{'一二三四五'[number]}步的做法",),
            applies_when=(Condition(command=f"docker step{number} *"),),
            created=journal.now()[:10], updated=journal.now()[:10],
        ))
        for session in range(3):
            ledger.append(home.current(), f"s{session}", {
                "what": "opportunity", "entry": f"d{number}", "sha256": stored.record["files"][0]["after"],
                "arm": "shown", "coin": "none"})


COMMAND = """---
description: Ship the container image as this user confirmed
argument-hint: tag of the image
---

Go through these steps for $ARGUMENTS.

1. Copy the lock file first [d0], then install [d1].
2. Build [d2], scan [d3], push [d4].
"""
AGENT = """---
name: docker-work-experience
description: Reviews a container image as this user confirmed. Use to review or audit a docker image; 审查镜像时使用。
tools: Read, Grep
---

You review images. Look at [d0] [d1] [d2] [d3] [d4], and report.
"""


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


@pytest.mark.parametrize("form, title, text, folder", [
    ("command", "Ship the image", COMMAND, "commands"), ("agent", "Review the image", AGENT, "agents"),
])
def test_one_procedure_becomes_a_command_or_an_agent(form, title, text, folder, capsys, tmp_path, own_home):
    """Workflows with ordered steps become a slash command, those that review an agent: after consent, with one undo."""
    client = install(own_home)
    procedure(title)
    (step,) = [s for s in run(capsys, "tidy")[1]["steps"] if s["kind"] == "grow"]
    assert step["values"]["form"] == form
    code, outline = run(capsys, "grow", "docker")
    assert code == 0 and (outline["form"], outline["name"]) == (form, "docker-work-experience")
    path = tmp_path / "file.md"
    path.write_text(text, encoding="utf-8")
    code, made = run(capsys, "grow", "docker", "--from", str(path), *(PROMPTS if form == "agent" else ()))
    target = client / folder / "docker-work-experience.md"
    assert code == 0 and made["form"] == form and not target.exists()
    assert f"place: ~/.claude/{folder}/docker-work-experience.md" in made["proposal"]["text"]
    consent = Consent("terminal", journal.now(), "terminal")
    done = shared.carry_out(home.current(), proposals.load(home.current(), made["proposal"]["id"]), consent)
    assert target.read_text(encoding="utf-8").startswith(text.split("\n---\n")[0])
    (skill,) = run(capsys, "grow")[1]["skills"]
    assert (skill["form"], skill["name"], skill["loaded"]) == (form, "docker-work-experience", 0)
    _, made = run(capsys, "undo", str(done.applied.record["seq"]))
    shared.carry_out(home.current(), proposals.load(home.current(), made["proposal"]["id"]), consent)
    assert not target.exists() and grown.confirmed(home.current()) == []


@pytest.mark.parametrize("form, text, acts", [
    ("skill", SKILL, "when the client loads docker-work-experience since a request fits its description"),
    ("command", COMMAND, "when you type /docker-work-experience"),
    ("agent", AGENT, "when the client hands a task to docker-work-experience"),
])
def test_a_form_of_ones_own_goes_on_by_the_printed_command_and_says_when_it_acts(
    form, text, acts, capsys, tmp_path, own_home, monkeypatch
):
    """The command to go on with has the form in it; what is said of the entries, and of when it acts, is true."""
    install(own_home)
    five()
    assert cli.main(["grow", "docker", "--as", form]) == 0
    told = capsys.readouterr().err
    command = re.search("`experience-forge (grow [^`]*) --from FILE", told)[1]
    assert command == f"grow docker --as {form}"
    assert {"agent": "look through something and report: 0 of 5.", "command": "0 of the 5", "skill": ""}[form] in told
    path = tmp_path / "file.md"
    path.write_text(text, encoding="utf-8")
    prompts = () if form == "command" else PROMPTS
    assert cli.main([*command.split(), "--from", str(path), *prompts]) == 0
    (proposal,) = proposals.all(home.current())
    capsys.readouterr()
    monkeypatch.setattr(ancestry, "client_above", lambda environ, pid=None: "")
    monkeypatch.setattr(report.Output, "can_ask", True)
    with answering("y"):
        assert cli.main(["confirm", proposal.id, "--digest", proposal.digest]) == 0
    assert acts in capsys.readouterr().out
    cli.main(["digest"])
    assert re.search(r"grow: docker-work-experience$", capsys.readouterr().out, re.MULTILINE)


def test_what_followed_a_load_is_told(capsys, tmp_path, own_home):
    """Of a command that the user typed, what became of its notes' triggers afterwards is counted."""
    install(own_home)
    procedure()
    path = tmp_path / "file.md"
    path.write_text(COMMAND, encoding="utf-8")
    _, made = run(capsys, "grow", "docker", "--from", str(path), "--name", "ship-experience")
    consent = Consent("terminal", journal.now(), "terminal")
    shared.carry_out(home.current(), proposals.load(home.current(), made["proposal"]["id"]), consent)
    folder = own_home / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    at = "2999-01-01T00:00:00Z"
    typed = {"type": "user", "timestamp": at, "message": {"content": "<command-name>/ship-experience</command-name>"}}
    (folder / "s9.jsonl").write_text(json.dumps(typed) + "\n", encoding="utf-8")
    digest = entries.get(home.current(), "d0").sha256
    for entry_id, when in (("d0", "2998-01-01T00:00:00Z"), ("d0", "2999-02-01T00:00:00Z")):
        ledger.append(home.current(), "s9", {"what": "opportunity", "entry": entry_id, "sha256": digest, "arm": "shown",
                                             "coin": "none", "at": when})
    (skill,) = run(capsys, "grow")[1]["skills"]
    assert (skill["name"], skill["loaded"], skill["followed"]) == ("ship-experience", 1, {"unknown": 1})


@pytest.mark.parametrize("change, fault", [
    (("1. Copy", "Copy"), "at least two"),
    (("Go through", "!`git status`\nGo through"), "runs by itself"),
    (("argument-hint", "allowed-tools"), "unknown fields allowed-tools"),
    (("description: Ship", "description: <b>Ship"), "angle brackets"),
])
def test_a_command_that_breaks_the_rules_is_refused_with_the_fault(change, fault, capsys, tmp_path):
    """Steps, fields, and nothing that runs when the file is loaded: checked before anything is proposed."""
    procedure()
    path = tmp_path / "file.md"
    path.write_text(COMMAND.replace(*change).replace("2. Build", "Build" if fault == "at least two" else "2. Build"),
                    encoding="utf-8")
    assert cli.main(["grow", "docker", "--from", str(path)]) == 5
    assert fault in capsys.readouterr().err
    assert proposals.all(home.current()) == []


def test_steps_in_an_order_are_told_from_other_workflows():
    """Numbered, listed and told one after the other are procedures; one sentence, and what is no workflow, are not."""
    rules = ruleset.load("grow")

    def said(steps, kind=Kind.WORKFLOW):
        return growing.is_procedure(entry(kind=kind, sections=(("when", "x"), ("steps", steps), ("rule", "x"))), rules)

    assert said("1. a\n2. b") and said("- a\n- b") and said("一、备份\n二、迁移") and said("Back up, then migrate.")
    assert said("先备份，然后迁移") and not said("Use the wrapper.") and not said("1. a\n2. b", Kind.PITFALL)
    assert growing.form_of([], rules) == "skill"


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


@pytest.mark.parametrize("form, text", [("command", COMMAND), ("agent", AGENT)])
def test_an_uninstall_takes_commands_and_agents_away_and_leaves_the_users_own(form, text, capsys, tmp_path, own_home):
    """What has grown goes with the uninstall; a command of the user's own, and an edited one's copy, stay."""
    client = install(own_home)
    procedure()
    path = tmp_path / "file.md"
    path.write_text(text, encoding="utf-8")
    _, made = run(capsys, "grow", "docker", "--as", form, "--from", str(path), *PROMPTS)
    consent = Consent("terminal", journal.now(), "terminal")
    shared.carry_out(home.current(), proposals.load(home.current(), made["proposal"]["id"]), consent)
    target = client / f"{form}s" / "docker-work-experience.md"
    own = target.with_name("my-experience.md")
    own.write_text("---\ndescription: mine\n---\nmine\n", encoding="utf-8")
    assert target.exists()
    claude_files.unproject(home.current(), client)
    assert not target.exists() and own.exists()


def test_a_backup_holds_what_has_grown(capsys, tmp_path, own_home):
    """Commands and agents in the home are part of what is backed up."""
    from experience_forge.store import archive

    assert {"skills", "commands", "agents"} <= set(archive.PARTS)
