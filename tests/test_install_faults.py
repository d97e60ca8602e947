"""What goes wrong around an install: a full disk, a home that is none, an uninstall over broken settings."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from importlib import util
from pathlib import Path

import pytest

from experience_forge import cli
from experience_forge.clients import claude_doctor, claude_settings, hook_probe
from experience_forge.errors import Refused
from experience_forge.installer import machine as this_machine
from experience_forge.installer import removal, target, work
from experience_forge.installer.texts import Voice
from experience_forge.store import files, home
from fault_shim import Killed, faulty
from install_helpers import ROOT, Machine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the ready-made environment is a shell script")
USER_SETTINGS = b'{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t\t"Stop": [ ]\r\n\t}\r\n}'


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with the environment already made, which this process takes for its own."""
    made = Machine(tmp_path / "home")
    made.ready_environment()
    made.settings.write_bytes(USER_SETTINGS)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(made.home))
    monkeypatch.delenv("EXPERIENCE_FORGE_HOME")
    return made


@pytest.fixture
def installed(machine):
    """An install with hooks, made in this process."""
    assert work.Installer(target.make(ROOT, None, True, True), Voice(ROOT / "rules")).install()
    return machine


def cut(source):
    """Cut the compiled file of a module in half, as a full disk does, its date untouched."""
    compiled = Path(util.cache_from_source(str(source)))
    info = compiled.stat()
    compiled.write_bytes(compiled.read_bytes()[: info.st_size // 2])
    os.utime(compiled, ns=(info.st_atime_ns, info.st_mtime_ns))
    return compiled


def speaks(machine):
    """Whether the consent gate answers a `confirm` call: the hook runs to its end."""
    handler = json.loads(machine.settings.read_text(encoding="utf-8"))["hooks"]["PreToolUse"][-1]["hooks"][0]
    call = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(machine.home), "tool_name": "Bash",
            "tool_input": {"command": f"{machine.launcher} confirm none --digest 00"}}  # fmt: skip
    done = subprocess.run(
        [handler["command"], *handler["args"]], input=json.dumps(call), capture_output=True, text=True,
        env=machine.environ(), timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    return bool(done.stdout.strip())


def test_doctor_sees_a_cut_compiled_file_and_mends_it(installed, capsys):
    """A compiled file that a full disk cut makes hooks silent: doctor names it, --repair compiles it anew."""
    assert speaks(installed)
    compiled = cut(installed.skill / "scripts" / "experience_forge" / "fast" / "dispatch.py")
    assert not speaks(installed)
    assert cli.main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [one["path"] for one in found if one["finding"] == "compiled_damaged"] == [str(compiled)]
    assert cli.main(["doctor", "--repair", "--dry-run"]) == 1 and not speaks(installed)
    cli.main(["doctor", "--repair"])
    assert "1 damaged file of Python" in capsys.readouterr().out
    assert speaks(installed)
    assert claude_doctor.repair(home.current()) == []


def test_doctor_names_hooks_that_can_not_start(installed):
    """A source file that is cut can't be made anew by us: doctor says what ends the hook, and to install again."""
    source = installed.skill / "scripts" / "experience_forge" / "fast" / "dispatch.py"
    source.write_text(source.read_text(encoding="utf-8") + "\n(", encoding="utf-8")
    found = {one.text: one.values for one in claude_doctor.examine(home.current())}
    assert "SyntaxError" in found["hook_fails"]["error"]


def test_an_install_leaves_no_cut_compiled_file(machine, monkeypatch):
    """When compiling is cut (a full disk), the cut files go: hooks then read the sources and speak."""
    real = hook_probe.compile_all

    def cutting(python, scripts, **options):
        real(python, scripts, **options)
        cut(scripts / "experience_forge" / "fast" / "dispatch.py")

    monkeypatch.setattr(hook_probe, "compile_all", cutting)
    assert work.Installer(target.make(ROOT, None, True, True), Voice(ROOT / "rules")).install()
    assert speaks(machine)
    assert hook_probe.look(this_machine.base_python(), machine.skill / "scripts").damaged == ()


@pytest.mark.parametrize("where", ["/dev/null", "file", "file/below", "relative/home", "dangling"])
def test_a_home_that_can_be_none_is_one_refusal_for_all(where, tmp_path, monkeypatch, capsys):
    """F6: a data home that is a file, a device, below one, a dangling link or relative: exit 1 and one sentence."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine", encoding="utf-8")
    Path("dangling").symlink_to("nowhere")
    value = where if where.startswith(("/", "relative")) else str(tmp_path / where)
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", value)
    wrong = {"/dev/null": "/dev/null", "relative/home": "relative/home", "dangling": str(tmp_path / "dangling")}
    said = set()
    for verb in (*sorted(cli.verbs()),):
        arguments = {"confirm": ["x", "--digest", "0"], "draft": ["--from", "-"], "guard": ["x", "ask"],
                     "merge": ["a", "b"], "move": ["x", "--to", "profile"], "restore": ["x"],
                     "show": ["x"], "forget": ["x"], "discard": ["x"], "undo": ["x"], "outdate": ["x"], "log": ["x"],
                     "backup": ["x"], "redact": ["file"], "vet": ["file"], "recall": ["x"], "effect": ["x"],
        }  # fmt: skip
        assert cli.main([verb, *arguments.get(verb, [])]) == 1, verb
        said.add(capsys.readouterr().err)
    assert len(said) == 1, said
    assert wrong.get(where, str(tmp_path / "file")) in said.pop()
    assert sorted(os.listdir(tmp_path)) == ["dangling", "file"]
    machine = Machine(tmp_path / "m")
    machine.extra["EXPERIENCE_FORGE_HOME"] = value
    done = machine.run("--yes", cwd=tmp_path)
    assert done.returncode == 1 and "hint: set EXPERIENCE_FORGE_HOME" in done.stderr, done.stderr
    assert not machine.skill.exists()


def test_purge_keeps_what_it_said_it_kept(machine):
    """F26: a file of ours that the user had edited is kept, its place is said, and --purge leaves it there."""
    assert machine.run("--yes").returncode == 0
    old = machine.data / "kept" / "earlier" / "x.md"
    old.parent.mkdir(parents=True)
    old.write_text("x", encoding="utf-8")
    (machine.skill / "templates.md").write_text("mine\n", encoding="utf-8")
    done = machine.run("--uninstall", "--purge", "--yes")
    kept = Path(done.stdout.partition("is kept in ")[2].partition("\n")[0])
    assert done.returncode == 0 and kept.read_text(encoding="utf-8") == "mine\n"
    assert [path for path in machine.data.rglob("*") if path.is_file()] == [kept]


def test_broken_settings_are_told_with_both_ways_out(machine):
    """F26: an uninstall that can't read the settings says to mend them and run again, or what to remove by hand."""
    machine.run("--yes", "--hooks")
    good = machine.settings.read_bytes()
    machine.settings.write_bytes(good + b"}")
    done = machine.run("--uninstall")
    assert done.returncode == 1 and "run install.py --uninstall again" in done.stderr
    assert "permission rules" in done.stderr and "removed from" in done.stdout
    again = machine.run("--uninstall")
    assert again.returncode == 1 and "removed from" not in again.stdout and "nothing of ours left" in again.stdout
    machine.settings.write_bytes(good)
    mended = machine.run("--uninstall")
    assert mended.returncode == 0 and "removed from" in mended.stdout
    assert machine.settings.read_bytes() == USER_SETTINGS
    last = machine.run("--uninstall")
    assert last.returncode == 0 and "nothing of ours left" in last.stdout and "removed from" not in last.stdout


def test_broken_settings_without_us_are_said_to_hold_nothing(machine):
    """F26: settings that never named us are no work for the user, broken or not."""
    machine.settings.write_bytes(b'{"model": "opus",}')
    done = machine.run("--uninstall")
    assert "Nothing in it names experience-forge" in done.stderr and "by hand" not in done.stderr
    assert machine.settings.read_bytes() == b'{"model": "opus",}'


def cut_install(machine, at, fault="kill"):
    """Kill an install at its `at`-th call; returns what it called."""
    place, voice = target.make(ROOT, None, True, True), Voice(ROOT / "rules")
    with faulty(at, fault) as shim:
        try:
            work.Installer(place, voice).install()
        except Killed:
            pass
    # The process that was killed lives on here; one that is dead takes its place.
    for path in machine.client_folder.rglob(f"{files.TEMP_MARK}*"):
        path.rename(path.with_name(path.name.replace(f".{os.getpid()}.", f".{2**22 + 1}.")))
    return shim.names


def test_an_uninstall_keeps_entries_that_it_can_not_see(installed, monkeypatch):
    """F2: a home whose entries can't be listed for a moment is not taken for one without any."""
    one = installed.data / "entries" / "personal" / "one.md"
    one.parent.mkdir(parents=True)
    one.write_text("mine", encoding="utf-8")
    real, refused = os.scandir, []

    def refusing(path="."):
        if str(path) == str(one.parent) and not refused:
            refused.append(path)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refusing)
        assert removal.uninstall(target.make(ROOT, None, True, True), Voice(ROOT / "rules"), None, False)
    assert refused and one.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("nth", range(1, 6))
def test_a_record_that_can_not_be_read_for_a_moment_is_not_lost(nth, installed, monkeypatch):
    """F2: install and uninstall say that they can't read the record, and keep the trace of what the user had."""
    place, voice = target.make(ROOT, None, True, True), Voice(ROOT / "rules")
    record = installed.data / "install.json"
    real, left = Path.read_bytes, [nth]

    def reading(path):
        left[0] -= path == record
        if path == record and left[0] == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return real(path)

    for step in (work.Installer(place, voice).install, lambda: removal.uninstall(place, voice, None, False)):
        left[0] = nth
        with monkeypatch.context() as patched:
            patched.setattr(Path, "read_bytes", reading)
            try:
                step()
            except Refused as error:
                assert str(record) in error.what
    installed.ready_environment()
    assert work.Installer(place, voice).install() and removal.uninstall(place, voice, None, False)
    assert installed.settings.read_bytes() == USER_SETTINGS


@pytest.mark.parametrize("fresh", ["open", "write", "replace"])
def test_a_first_copy_that_was_killed_is_no_other_skill(fresh, machine):
    """F1: an install killed at its first file is finished by the next, which is gone without a trace by uninstall."""
    names = cut_install(machine, 10**6)
    assert removal.uninstall(target.make(ROOT, None, True, True), Voice(ROOT / "rules"), None, False)
    machine.ready_environment()
    first = next(at for at, name in enumerate(names, 1) if name == "replace")
    at = next(at for at in range(first, 0, -1) if names[at - 1] == fresh)
    cut_install(machine, at)
    place, voice = target.make(ROOT, None, True, True), Voice(ROOT / "rules")
    assert work.Installer(place, voice).install() and removal.uninstall(place, voice, None, False)
    assert [path.name for path in machine.client_folder.rglob("*")] == ["settings.json"]
    assert machine.settings.read_bytes() == USER_SETTINGS


def test_an_uninstall_that_was_killed_is_no_other_skill(installed):
    """F1: whatever file an uninstall was cut at, what is left is ours, for an install and a removal."""
    kept = installed.home.parent / "kept"
    place, voice = target.make(ROOT, None, True, True), Voice(ROOT / "rules")
    shutil.copytree(installed.home, kept, symlinks=True)
    for left in ("templates.md", "scripts/hook.py", "scripts/experience_forge/__pycache__/cli.cpython-311.pyc.7"):
        shutil.rmtree(installed.home)
        shutil.copytree(kept, installed.home, symlinks=True)
        (installed.skill / left).parent.mkdir(parents=True, exist_ok=True)
        for path in [path for path in installed.skill.rglob("*") if path.is_file() and path != installed.skill / left]:
            path.unlink()
        (installed.skill / left).touch()
        assert work.Installer(place, voice).install(), left
        assert removal.uninstall(place, voice, None, False), left
        assert [path.name for path in installed.client_folder.rglob("*")] == ["settings.json"], left


@pytest.mark.parametrize("what", ["install", "uninstall"])
def test_f1_f2_an_install_and_uninstall_cut_anywhere_is_finished_by_the_next(what, machine):
    """F1, F2: after a fault at a call the settings hold JSON, the next run finishes, and the user's bytes come back."""
    place, voice = target.make(ROOT, None, True, True), Voice(ROOT / "rules")
    kept = machine.home.parent / "kept"

    def put_back():
        shutil.rmtree(machine.home)
        shutil.copytree(kept, machine.home, symlinks=True)

    def install():
        return work.Installer(place, voice).install()

    def uninstall():
        return removal.uninstall(place, voice, None, False)

    if what == "uninstall":
        install()
    shutil.copytree(machine.home, kept, symlinks=True)
    action = install if what == "install" else uninstall
    with faulty() as shim:
        assert action()
    full = os.environ.get("FORGE_FAULTS") == "all"
    step = 1 if full else max(1, len(shim.names) // 7)
    natures = (("EACCES", False), ("ENOSPC", True), ("kill", False), ("EIO", False))
    for number, at in enumerate(range(1, len(shim.names) + 1, step)):
        put_back()
        where = (at, shim.names[at - 1], natures[number % 4])
        with faulty(at, *natures[number % 4]):
            try:
                done = action()
            except (Killed, OSError, Refused):
                done = False
        text = machine.settings.read_bytes()
        json.loads(text)
        if done and what == "uninstall":
            assert text == USER_SETTINGS, where
        machine.ready_environment()
        assert install(), where
        assert machine.settings.read_bytes().count(claude_settings.MARK.encode()) == len(claude_settings.EVENTS), where
        assert uninstall(), where
        assert machine.settings.read_bytes() == USER_SETTINGS, where


def test_an_uninstall_that_leaves_a_file_says_why_where_errors_are(installed, capsys):
    """A reminder that the disk does not let go: exit 1, and the reason on stderr, where a script looks for it."""
    kept = installed.home.parent / "kept"
    shutil.copytree(installed.home, kept, symlinks=True)
    place, voice = target.make(ROOT, None, True, True), Voice(ROOT / "rules")
    with faulty() as shim:
        assert removal.uninstall(place, voice, None, False)
    at = 1 + shim.names.index("unlink")
    shutil.rmtree(installed.home)
    shutil.copytree(kept, installed.home, symlinks=True)
    capsys.readouterr()
    with faulty(at, "EIO", False):
        assert not removal.uninstall(place, voice, None, False)
    said = capsys.readouterr()
    assert str(installed.client_folder) in said.err and said.err.strip() not in said.out
