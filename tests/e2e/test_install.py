"""install.py against the real client: our settings are accepted, hooks run, and uninstall leaves no byte."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from experience_forge.clients import claude_settings
from install_helpers import Machine

from .lab import REPOSITORY, Lab
from .server import bash, calls, say


def test_install_use_uninstall(lab: Lab):
    """The client takes our settings, lists the skill once, runs our hooks and allowed verbs; then all goes again."""
    machine = Machine(lab.home)
    machine.ready_environment()
    before = machine.settings.read_bytes()
    assert machine.run("--yes", "--hooks").returncode == 0
    run = lab.headless("hello", calls(bash(f"{machine.launcher} status")), say("bye"))
    assert run.code == 0, run.stderr
    (result,) = run.steps[-1].results
    assert "data home" in str(result.get("content")), "an allowed verb runs without a dialog"
    assert run.steps[0].text.count("- experience-forge:") == 1
    stops = [record for record in run.records if record.get("subtype") == "stop_hook_summary"]
    commands = [info["command"] for record in stops for info in record["hookInfos"]]
    assert len(commands) == 1 and claude_settings.MARK in commands[0]
    assert stops[0]["hookErrors"] == []
    doctor = json.loads(machine.command("doctor", "--json").stdout)
    assert doctor["fired"]["Stop"]["failed"] is False
    assert machine.run("--uninstall").returncode == 0
    assert machine.settings.read_bytes() == before
    assert not machine.skill.exists()
    again = lab.headless("hello", say("bye"))
    assert again.code == 0 and "experience-forge" not in again.steps[0].text


def test_confirm_is_not_allowed_by_the_rules(lab: Lab):
    """The offered rules let no confirm through, alone or behind an allowed verb."""
    machine = Machine(lab.home)
    machine.ready_environment()
    assert machine.run("--yes").returncode == 0
    line = f"{machine.launcher} confirm x --digest {'0' * 64}"
    run = lab.headless("hello", calls(bash(line)), calls(bash(f"{machine.launcher} list && {line}")), say("bye"))
    assert [result.get("is_error") for result in run.steps[-1].results] == [True, True]
    assert "approval" in str(run.steps[-1].results[0]["content"])


def test_plugin_and_copy_together(lab: Lab):
    """With the plugin from the marketplace and install.py's copy, each hook still runs once."""
    machine = Machine(lab.home)
    machine.ready_environment()
    assert machine.run("--yes", "--hooks").returncode == 0
    copy = lab.root / "plugin"
    copy.mkdir()
    for name in (".claude-plugin", "SKILL.md", "scripts", "rules", "templates.md", "README.md"):
        subprocess.run(["cp", "-r", str(REPOSITORY / name), str(copy)], check=True)
    run = lab.headless("hello", say("bye"), args=["--plugin-dir", str(copy)])
    stops = [record for record in run.records if record.get("subtype") == "stop_hook_summary"]
    assert run.code == 0 and [record["hookCount"] for record in stops] == [1]


def test_plugin_validates(client: Path, lab: Lab):
    """The client's own validator accepts the plugin and the marketplace, strictly."""
    for place in (REPOSITORY, REPOSITORY / ".claude-plugin" / "plugin.json"):
        done = subprocess.run(
            [str(client), "plugin", "validate", "--strict", str(place)], capture_output=True, text=True,
            env={**lab.process_environment("http://127.0.0.1:9"), "HOME": str(lab.home)}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_real_client_version_is_recorded(client: Path, lab: Lab):
    """With the real client on the PATH its version is asked and recorded, and hooks are wired."""
    machine = Machine(lab.home)
    machine.ready_environment()
    machine.extra["PATH"] = f"{client.parent}:/usr/bin:/bin"
    assert machine.run("--yes", "--hooks").returncode == 0
    mark = machine.mark()
    assert mark["hooks"] is True and tuple(map(int, mark["client_version"].split("."))) >= claude_settings.OLDEST_CLIENT
