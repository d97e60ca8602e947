"""doctor: what it sees, and that --repair only moves aside and makes anew."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from install_helpers import Machine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the ready-made environment is a shell script")


@pytest.fixture
def machine(tmp_path):
    """A machine with an install with hooks."""
    made = Machine(tmp_path / "home")
    made.ready_environment()
    done = made.run("--yes", "--hooks")
    assert done.returncode == 0, done.stderr
    return made


def found(machine, *arguments):
    """The findings by name, with the exit code."""
    done = machine.command("doctor", "--json", *arguments)
    data = json.loads(done.stdout)
    return done.returncode, {one["finding"]: one for one in data["findings"]}, data


def test_a_fresh_install_is_well(machine):
    """After an install doctor has nothing to complain of, in text and in JSON."""
    code, names, _ = found(machine)
    assert (code, names["installed"]["hooks"]) == (0, True), names
    text = machine.command("doctor")
    assert text.returncode == 0 and "all is well" in text.stdout


def test_what_is_broken_is_named(machine):
    """Missing and doubled hooks, disabled hooks, a foreign approving hook, a stale interpreter: each is named."""
    data = json.loads(machine.settings.read_text(encoding="utf-8"))
    del data["hooks"]["Stop"]
    data["hooks"]["SessionStart"] *= 2
    data["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = "/gone/python3"
    data["hooks"]["PermissionRequest"] = [{"hooks": [{"type": "command", "command": "approve-all"}]}]
    data["disableAllHooks"] = True
    machine.settings.write_text(json.dumps(data), encoding="utf-8")
    code, names, _ = found(machine)
    assert code == 1
    assert names["hook_missing"]["event"] == "Stop" and names["hook_twice"]["event"] == "SessionStart"
    assert names["hook_interpreter"]["command"] == "/gone/python3" and "all_disabled" in names
    assert names["foreign_permission"]["command"] == "approve-all"
    # A second install brings ours up to date and leaves the foreign one.
    machine.run("--yes", "--hooks")
    _, names, _ = found(machine)
    assert not {"hook_missing", "hook_twice", "hook_interpreter"} & set(names) and "foreign_permission" in names


def test_broken_settings_are_named(machine):
    """Settings that the client would ignore as a whole are named with the reason."""
    machine.settings.write_text("{ // x\n}", encoding="utf-8")
    code, names, _ = found(machine)
    assert code == 1 and "comments" in names["settings_broken"]["reason"]


def test_unconfirmed_unreadable_and_conflict_copies(machine):
    """An entry that nobody confirmed, one that does not parse and a sync tool's copy are named and stay."""
    folder = machine.data / "entries" / "personal"
    folder.mkdir(parents=True)
    (folder / "bad.md").write_text("---\n: [\n---\n", encoding="utf-8")
    (folder / "bad (conflicted copy).md").write_text("x", encoding="utf-8")
    before = machine.snapshot(folder)
    code, names, _ = found(machine)
    assert code == 1 and "bad.md" in names["entry_unreadable"]["path"] and "entry_conflict" in names
    found(machine, "--repair")
    assert machine.snapshot(folder) == before


def test_edited_projection(machine):
    """A rule file that somebody edited is named."""
    reminder = next((machine.client_folder / "rules" / "experience-forge").glob("*.md"))
    reminder.write_text(reminder.read_text(encoding="utf-8") + "mine\n", encoding="utf-8")
    code, names, _ = found(machine)
    assert code == 1 and names["projection_edited_file"]["path"] == str(reminder)


def test_repair_moves_damaged_lines_aside(machine):
    """Damaged lines of a ledger go to a file below kept/, the good ones stay, and a dry run changes nothing."""
    ledger = machine.data / "ledger" / "s.jsonl"
    ledger.parent.mkdir(exist_ok=True)
    good = b'{"v":1,"what":"exposure","event":"Stop","at":"2026-01-01T00:00:00Z"}'
    ledger.write_bytes(good + b"\n\x00\x00\n{cut\n" + good + b"\n")
    _, names, data = found(machine)
    assert names["damaged_lines"]["count"] == "2" and data["activity"]["Stop"]["count"] == 2
    before = ledger.read_bytes()
    found(machine, "--repair", "--dry-run")
    assert ledger.read_bytes() == before
    _, names, data = found(machine, "--repair")
    assert ledger.read_bytes() == good + b"\n" + good + b"\n" and "damaged_lines" not in names
    (kept,) = machine.data.glob("kept/*/s.jsonl")
    assert b"line 3: {cut" in kept.read_bytes()
    assert {"did_lines", "did_rebuild"} <= {one["did"] for one in data["repaired"]}


def test_repair_makes_derived_data_anew(machine):
    """Derived files that are gone or damaged come back, and the damaged ones are kept."""
    derived = machine.data / "derived"
    (derived / "settings.json").write_text("{broken", encoding="utf-8")
    found(machine, "--repair")
    json.loads((derived / "settings.json").read_text(encoding="utf-8"))
    (kept,) = machine.data.glob("kept/*/derived/settings.json")
    assert kept.read_text(encoding="utf-8") == "{broken"
    shutil.rmtree(derived)
    assert found(machine, "--repair")[0] == 0 and (derived / "settings.json").exists()


def test_without_an_install(machine):
    """Where nothing is installed doctor says so and ends well."""
    (machine.data / "install.json").unlink()
    _, names, _ = found(machine)
    assert "not_installed" in names
