"""install.py: what it does, what it refuses, and that all of it can be taken back."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experience_forge.clients import claude_settings
from experience_forge.installer import removal, target, work
from experience_forge.installer.texts import Voice
from experience_forge.store import files
from install_helpers import ROOT, Machine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the ready-made environment is a shell script")
USER_SETTINGS = b'{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t\t"Stop": [ ]\r\n\t}\r\n}'


@pytest.fixture
def machine(tmp_path):
    """A machine with the environment already made."""
    made = Machine(tmp_path / "home")
    made.ready_environment()
    return made


def test_f25_f26_real_install_in_an_odd_path(tmp_path):
    """A fresh machine whose path has a space, a quote and Chinese: all parts work, and all of it goes again."""
    machine = Machine(tmp_path / "家 it's \"x\"")
    machine.settings.write_bytes(USER_SETTINGS)
    done = machine.run("--yes", "--hooks")
    assert done.returncode == 0, done.stdout + done.stderr
    assert machine.command("--version").stdout.startswith("experience-forge ")
    assert machine.command("status").returncode == 0
    run_all_hooks(machine)
    first = machine.snapshot()
    assert machine.run("--yes", "--hooks").returncode == 0
    assert machine.snapshot() == first
    removed = machine.run("--uninstall")
    assert removed.returncode == 0, removed.stdout + removed.stderr
    assert machine.settings.read_bytes() == USER_SETTINGS
    assert [path for path in machine.home.rglob("*") if "forge" in path.name] == []


def run_all_hooks(machine):
    """Start each hook as the client would; each must end with 0."""
    hooks = json.loads(machine.settings.read_text(encoding="utf-8"))["hooks"]
    for event, groups in hooks.items():
        handler = groups[-1]["hooks"][0]
        given = json.dumps({"hook_event_name": event, "session_id": "s", "cwd": str(machine.home)})
        done = subprocess.run(
            [handler["command"], *handler["args"]], input=given, capture_output=True, text=True,
            env=machine.environ(), timeout=30, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), event


@pytest.mark.parametrize("version", ["3.6.15", "3.8.18", "2.7.18"])
def test_f31_old_python(version, machine):
    """An old Python says so, and prints one command that works here."""
    import pwd

    # HOME is a throw-away one here: the account's own folder comes from the system.
    python = Path(pwd.getpwuid(os.getuid()).pw_dir, ".pyenv", "versions", version, "bin", "python")
    if not python.exists():
        pytest.skip(f"no Python {version} here")
    machine.extra["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = machine.run("--yes", python=python)
    assert done.returncode == 1
    assert "needs Python 3.10 or newer" in done.stderr
    command = next(line.strip() for line in done.stderr.splitlines() if line.startswith("    "))
    helped = subprocess.run(f"{command} --version", shell=True, capture_output=True, text=True, check=False)
    assert helped.stdout.startswith("experience-forge "), (command, helped.stderr)


def test_f31_without_ensurepip(machine, tmp_path):
    """A Debian without ensurepip is told the one command that helps, and nothing is written."""
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "ensurepip.py").write_text("raise ImportError('no ensurepip')", encoding="utf-8")
    machine.extra["PYTHONPATH"] = str(shadow)
    before = machine.snapshot()
    done = machine.run("--yes")
    assert done.returncode == 1
    assert "no ensurepip" in done.stderr and ("apt install python3" in done.stderr or "ensurepip" in done.stderr)
    assert machine.snapshot() == before


def test_no_answer_no_install(machine):
    """Without a terminal and without --yes the screen is shown, nothing is done, exit 4."""
    before = machine.snapshot()
    done = machine.run()
    assert done.returncode == 4
    assert "skill folder" in done.stdout and "--yes" in done.stderr
    assert machine.snapshot() == before


def test_without_a_terminal_no_hooks(machine):
    """--yes alone, without a terminal, wires no hooks; the harmless verbs are allowed by full path."""
    assert machine.run("--yes").returncode == 0
    data = json.loads(machine.settings.read_text(encoding="utf-8"))
    assert "hooks" not in data
    assert f"Bash({machine.launcher} draft *)" in data["permissions"]["allow"]
    assert machine.mark()["hooks"] is False


def test_hooks_on_and_off_again(machine):
    """--hooks wires them, a later --no-hooks takes them out, and each time the record says so."""
    machine.settings.write_bytes(USER_SETTINGS)
    assert machine.run("--yes", "--hooks").returncode == 0
    assert machine.settings.read_bytes().count(claude_settings.MARK.encode()) == len(claude_settings.EVENTS)
    mark = machine.mark()
    assert set(mark) == {"version", "home", "python", "launcher", "hooks", "client_version"}
    assert mark["hooks"] is True and mark["launcher"] == str(machine.launcher)
    assert "shims" not in mark["python"] and os.path.realpath(mark["python"]) == mark["python"]
    assert machine.run("--yes", "--no-hooks").returncode == 0
    assert claude_settings.MARK.encode() not in machine.settings.read_bytes()
    assert machine.run("--uninstall").returncode == 0
    assert machine.settings.read_bytes() == USER_SETTINGS


def test_the_screen_says_everything(machine):
    """The screen names each place that is written, on 24 lines."""
    done = machine.run("--hooks")
    rules = machine.client_folder / "rules"
    for place in (machine.data / "venv", machine.skill, machine.launcher, machine.settings, rules):
        assert str(place) in done.stdout
    assert len(done.stdout.splitlines()) <= 24


def test_chinese_screen(machine):
    """With a Chinese locale the screen is Chinese."""
    machine.extra["LANG"] = "zh_CN.UTF-8"
    assert "权限规则" in machine.run("--hooks").stdout


def test_dry_run(machine):
    """--dry-run prints every change, settings as a diff, and writes nothing."""
    machine.settings.write_bytes(USER_SETTINGS)
    before = machine.snapshot()
    done = machine.run("--dry-run", "--hooks")
    assert done.returncode == 0
    assert f"+++ {machine.settings}" in done.stdout
    assert '+\t\t"SessionStart": [' in done.stdout
    assert f"in {machine.skill / 'scripts'}" in done.stdout
    assert machine.snapshot() == before


@pytest.mark.parametrize(
    ("version", "hooks"), [("2.1.138", False), ("2.1.139", True), ("2.2.0", True), ("1.0.9", False)]
)
def test_old_client(machine, version, hooks):
    """A client older than 2.1.139 gets no hooks and is told so."""
    machine.client(version)
    done = machine.run("--yes", "--hooks")
    assert done.returncode == 0
    assert machine.mark()["hooks"] is hooks and machine.mark()["client_version"] == version
    assert ("older than 2.1.139" in done.stdout) is not hooks


def test_no_client_is_told(machine):
    """Without a client on the PATH that is said, and the install goes on."""
    assert "no Claude Code was found" in machine.run("--yes").stdout


@pytest.mark.parametrize("text", ['{"a": 1,}', "// mine\n{}", '{"hooks": []}', "[]", '{"a": 1, "a": 2}'])
def test_f13_settings_that_are_not_plain(machine, text):
    """They are left alone to the byte, the snippet is printed, and the exit code says that a part is left."""
    machine.settings.write_text(text, encoding="utf-8")
    done = machine.run("--yes", "--hooks")
    assert done.returncode == 1
    assert machine.settings.read_text(encoding="utf-8") == text
    snippet = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    assert set(snippet["hooks"]) == {event for event, _, _ in claude_settings.EVENTS}
    assert "left alone" in done.stderr


def test_pasted_snippet_is_taken_over(machine):
    """Hooks that the user pasted from the snippet are not doubled, and go with the uninstall."""
    machine.settings.write_text("// x", encoding="utf-8")
    done = machine.run("--yes", "--hooks")
    machine.settings.write_text(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1], encoding="utf-8")
    assert machine.run("--yes", "--hooks").returncode == 0
    assert machine.settings.read_text(encoding="utf-8").count(claude_settings.MARK) == len(claude_settings.EVENTS)
    assert machine.run("--uninstall").returncode == 0
    assert json.loads(machine.settings.read_text(encoding="utf-8")) == {}


def test_hooks_that_could_not_be_wired(machine):
    """When settings were left alone, it is said that hooks asked for do nothing yet, and which command wires them."""
    machine.settings.write_text("// x", encoding="utf-8")
    done = machine.run("--yes", "--hooks")
    assert "then run install.py --hooks again: until then the hooks do nothing" in done.stderr
    assert "the hooks are not wired yet" in done.stdout and "--hooks to have them" not in done.stdout
    assert "run install.py --hooks again" in machine.run("--dry-run", "--hooks").stdout
    without = machine.run("--yes", "--no-hooks")
    assert "by hand, then all of it works" in without.stderr and "--hooks to have them" in without.stdout


def test_file_made_by_us_goes(machine):
    """Settings that did not exist before do not exist afterwards."""
    assert machine.run("--yes", "--hooks").returncode == 0
    assert machine.settings.exists()
    assert machine.run("--uninstall").returncode == 0
    assert not machine.settings.exists()


def test_used_in_between(machine):
    """What the user and other tools changed while we were installed stays after the uninstall."""
    machine.settings.write_bytes(USER_SETTINGS)
    machine.run("--yes", "--hooks")
    data = json.loads(machine.settings.read_text(encoding="utf-8"))
    data["theme"] = "dark"
    data["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "other"}]})
    machine.settings.write_text(json.dumps(data, indent=2), encoding="utf-8")
    assert machine.run("--uninstall").returncode == 0
    left = json.loads(machine.settings.read_text(encoding="utf-8"))
    other = [{"hooks": [{"type": "command", "command": "other"}]}]
    assert left == {"model": "opus", "hooks": {"Stop": other}, "theme": "dark"}


def test_replaced_by_a_link_since(machine, tmp_path):
    """When the settings became a link into dotfiles after the install, the link stays one."""
    machine.settings.write_bytes(USER_SETTINGS)
    machine.run("--yes", "--hooks")
    real = tmp_path / "dotfiles.json"
    shutil.move(machine.settings, real)
    machine.settings.symlink_to(real)
    assert machine.run("--uninstall").returncode == 0
    assert machine.settings.is_symlink() and real.read_bytes() == USER_SETTINGS


def test_f25_config_dir(machine, tmp_path):
    """CLAUDE_CONFIG_DIR is honoured; the usual folder stays untouched."""
    machine.extra["CLAUDE_CONFIG_DIR"] = str(tmp_path / "other")
    assert machine.run("--yes", "--hooks").returncode == 0
    assert (tmp_path / "other" / "skills" / "experience-forge" / "SKILL.md").exists()
    assert list(machine.client_folder.iterdir()) == []


def test_own_data_home(machine, tmp_path):
    """EXPERIENCE_FORGE_HOME is honoured, and the launcher keeps to it."""
    own = tmp_path / "own home"
    machine.data, machine.launcher = own, own / "bin" / "experience-forge"
    machine.ready_environment()
    machine.extra["EXPERIENCE_FORGE_HOME"] = str(own)
    assert machine.run("--yes").returncode == 0
    del machine.extra["EXPERIENCE_FORGE_HOME"]
    assert str(own) in machine.command("status").stdout


def test_project_install(machine, tmp_path):
    """--project goes into the project's own folder and its local settings; the user's stay untouched."""
    project = tmp_path / "project"
    project.mkdir()
    assert machine.run("--yes", "--hooks", "--project", str(project)).returncode == 0
    local = project / ".claude" / "settings.local.json"
    assert claude_settings.MARK in local.read_text(encoding="utf-8")
    assert not machine.skill.exists() and not machine.settings.exists()
    # The user's own install takes the hooks over: else each would run twice in the project.
    done = machine.run("--yes", "--hooks")
    assert done.returncode == 0 and "taken out of" in done.stdout
    assert claude_settings.MARK not in local.read_text(encoding="utf-8")
    again = machine.run("--yes", "--hooks", "--project", str(project))
    assert again.returncode == 0 and "have them already" in again.stdout
    assert claude_settings.MARK not in local.read_text(encoding="utf-8")
    assert machine.run("--uninstall").returncode == 0
    assert list(project.rglob("*.json")) == [] and not machine.skill.exists()


def test_project_of_the_present_folder(machine, tmp_path):
    """--project without a folder means the present one, for an install and an uninstall alike."""
    project = tmp_path / "project"
    project.mkdir()
    assert machine.run("--yes", "--project", cwd=project).returncode == 0
    assert (project / ".claude" / "skills" / "experience-forge" / "SKILL.md").exists() and not machine.skill.exists()
    assert machine.run("--uninstall", "--project", cwd=project).returncode == 0
    assert not (project / ".claude" / "skills").exists()


def test_uninstall_of_one_project(machine, tmp_path):
    """--uninstall --project takes only that install away."""
    project = tmp_path / "project"
    project.mkdir()
    machine.run("--yes", "--project", str(project))
    machine.run("--yes")
    assert machine.run("--uninstall", "--project", str(project)).returncode == 0
    assert machine.mark() and not (project / ".claude" / "skills").exists()
    assert machine.command("--version").returncode == 0


def test_missing_project(machine):
    """A project folder that does not exist is a usage error."""
    assert machine.run("--yes", "--project", "/nowhere/x").returncode == 2


def test_edited_skill_file_is_kept(machine):
    """A file of the skill that the user edited is kept aside by an upgrade and by an uninstall, and told."""
    machine.run("--yes")
    skill = machine.skill / "SKILL.md"
    skill.write_text("mine", encoding="utf-8")
    done = machine.run("--yes")
    assert "you had edited SKILL.md" in done.stdout and skill.read_text(encoding="utf-8") != "mine"
    assert [path.read_text(encoding="utf-8") for path in machine.data.glob("kept/*/SKILL.md")] == ["mine"]
    (machine.skill / "templates.md").write_text("mine too", encoding="utf-8")
    (machine.skill / "notes.txt").write_text("a file of the user", encoding="utf-8")
    done = machine.run("--uninstall")
    assert "templates.md" in done.stdout and "stays" in done.stdout
    assert (machine.skill / "notes.txt").exists() and not (machine.skill / "SKILL.md").exists()


def test_files_of_an_older_version_go(machine):
    """An upgrade removes what the older version had and the new one has not."""
    machine.run("--yes")
    stale = machine.skill / "scripts" / "experience_forge" / "stale.py"
    stale.write_text("old = 1\n", encoding="utf-8")
    record = json.loads((machine.data / "install.json").read_text(encoding="utf-8"))
    record["installs"][0]["files"]["scripts/experience_forge/stale.py"] = files.sha256(b"old = 1\n")
    (machine.data / "install.json").write_text(json.dumps(record), encoding="utf-8")
    assert machine.run("--yes").returncode == 0
    assert not stale.exists()


@pytest.mark.parametrize("kind", ["foreign skill", "link", "clone", "file"])
def test_something_else_in_the_way(machine, tmp_path, kind):
    """What is somebody else's in the place of the skill folder is refused, and stays."""
    machine.skill.parent.mkdir(parents=True)
    if kind == "link":
        (tmp_path / "elsewhere").mkdir()
        machine.skill.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        machine.skill.write_text("x", encoding="utf-8")
    else:
        machine.skill.mkdir()
        (machine.skill / "SKILL.md").write_text("---\nname: other\n---\n", encoding="utf-8")
    if kind == "clone":
        (machine.skill / ".git").mkdir()
    before = machine.snapshot()
    done = machine.run("--yes", "--hooks")
    assert done.returncode == 1 and str(machine.skill) in done.stderr and "hint:" in done.stderr
    after = machine.snapshot()
    assert {name: data for name, data in after.items() if "install.lock" not in name} == before


def test_clone_in_place(machine):
    """A clone in the skill folder is used where it stands, and stays after the uninstall."""
    shutil.copytree(
        ROOT, machine.skill, ignore=lambda folder, names: [n for n in names if n.startswith(".") or n == "tests"]
    )
    (machine.skill / ".git").mkdir()
    assert machine.run("--yes", "--hooks", source=machine.skill).returncode == 0
    assert machine.mark()["hooks"] is True
    removed = machine.run("--uninstall", source=machine.skill)
    assert removed.returncode == 0 and "removed from" not in removed.stdout and "itself and stays" in removed.stdout
    assert (machine.skill / "SKILL.md").exists() and not (machine.skill / ".installed.json").exists()
    assert not machine.settings.exists()


def test_no_plugin_files_in_the_copy(machine):
    """The copy has no `.claude-plugin`: the client would load the folder a second time, as a plugin."""
    machine.run("--yes")
    assert not (machine.skill / ".claude-plugin").exists()
    assert not (machine.skill / "tests").exists()


def test_f24_two_installs_at_once(machine):
    """Two installs at the same time end in one result, with one set of hooks."""
    machine.settings.write_bytes(USER_SETTINGS)
    command = [sys.executable, str(ROOT / "install.py"), "--yes", "--hooks"]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    options = {"env": machine.environ(), "stdin": nothing, "stdout": pipe, "stderr": pipe}
    running = [subprocess.Popen(command, **options) for _ in range(2)]
    for one in running:
        one.communicate(timeout=120)
        assert one.returncode == 0
    assert machine.settings.read_bytes().count(claude_settings.MARK.encode()) == len(claude_settings.EVENTS)
    assert len(machine.installs()) == 1
    assert machine.run("--uninstall").returncode == 0
    assert machine.settings.read_bytes() == USER_SETTINGS


def test_entries_stay_and_purge(machine):
    """Uninstall keeps the entries; --purge asks first, and then takes them too, but no file of somebody else."""
    machine.run("--yes")
    entry = machine.data / "entries" / "personal" / "x.md"
    entry.parent.mkdir(parents=True)
    entry.write_text("x", encoding="utf-8")
    foreign = machine.data / "mine.txt"
    foreign.write_text("y", encoding="utf-8")
    asked = machine.run("--uninstall", "--purge")
    assert asked.returncode == 4 and "--hooks" not in asked.stderr and "entries (1)" in asked.stderr
    assert machine.skill.exists()
    done = machine.run("--uninstall")
    assert done.returncode == 0 and entry.exists() and str(machine.data) in done.stdout
    purged = machine.run("--uninstall", "--purge", "--yes")
    assert purged.returncode == 0 and "entries (1)" in purged.stdout and str(machine.data) in purged.stdout
    assert not entry.exists() and foreign.exists()


def test_uninstall_twice_and_of_nothing(machine):
    """Uninstalling what is not installed is no error."""
    assert machine.run("--uninstall").returncode == 0
    machine.run("--yes")
    assert machine.run("--uninstall").returncode == 0
    assert machine.run("--uninstall").returncode == 0


def test_uninstall_after_the_data_home_is_gone(machine):
    """When somebody removed the data home, ours in the client's folders is found by content and goes."""
    machine.settings.write_bytes(USER_SETTINGS)
    machine.run("--yes", "--hooks")
    shutil.rmtree(machine.data)
    assert machine.run("--uninstall").returncode == 0
    assert b"experience-forge" not in machine.settings.read_bytes()
    assert not machine.skill.exists()


def test_settings_broken_since(machine):
    """When the settings can't be read at the uninstall, they stay, the user is told, the rest goes."""
    machine.run("--yes", "--hooks")
    broken = machine.settings.read_bytes() + b"}"
    machine.settings.write_bytes(broken)
    done = machine.run("--uninstall")
    assert done.returncode == 1 and "by hand" in done.stderr
    assert machine.settings.read_bytes() == broken and not machine.skill.exists()
    run_hooks_after_removal(machine, broken)


def run_hooks_after_removal(machine, settings):
    """A hook whose skill folder is gone ends with 0, silently: it must never block a tool call."""
    handler = json.loads(settings[:-1])["hooks"]["PreToolUse"][0]["hooks"][0]
    done = subprocess.run([handler["command"], *handler["args"]], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


class Killed(BaseException):
    """Stands for kill -9: nothing in the program handles it."""


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.95, 0.98, 1.0])
def test_killed_at_any_step(own_home, monkeypatch, tmp_path, share):
    """An install cut at any write is finished by the next, and the uninstall still gives the bytes back."""
    machine = Machine(tmp_path / "home")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(machine.home))
    monkeypatch.delenv("EXPERIENCE_FORGE_HOME")
    machine.ready_environment()
    machine.settings.write_bytes(USER_SETTINGS)
    place = target.make(ROOT, None, True, True)
    voice = Voice(ROOT / "rules")
    total = count_calls(lambda: work.Installer(place, voice).install(), stop_at=None)
    removal.uninstall(place, voice, None, False)
    assert machine.settings.read_bytes() == USER_SETTINGS
    machine.ready_environment()
    with pytest.raises(Killed):
        count_calls(lambda: work.Installer(place, voice).install(), stop_at=max(1, round(total * share)))
    json.loads(machine.settings.read_bytes())
    work.Installer(place, voice).install()
    assert machine.settings.read_bytes().count(claude_settings.MARK.encode()) == len(claude_settings.EVENTS)
    removal.uninstall(place, voice, None, False)
    assert machine.settings.read_bytes() == USER_SETTINGS


def count_calls(run, stop_at):
    """How many replacing calls `run` makes; at number `stop_at` it is cut."""
    count = 0

    class Counting(files.Calls):
        @staticmethod
        def replace(source, place):
            nonlocal count
            count += 1
            if count == stop_at:
                raise Killed
            os.replace(source, place)

    before = files.set_calls(Counting)
    try:
        run()
    finally:
        files.set_calls(before)
    return count


def test_answers_on_a_terminal(machine):
    """On a terminal one answer starts it: `n` does nothing, `w` leaves the hooks out, Enter does all."""
    assert on_terminal(machine, "n\n") == 1 and not machine.skill.exists()
    assert on_terminal(machine, "w\n") == 0 and machine.mark()["hooks"] is False
    assert on_terminal(machine, "\n") == 0 and machine.mark()["hooks"] is True


def on_terminal(machine, answers, *arguments):
    """Run install.py on a pseudo-terminal, typing `answers`; its exit code."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        command = [sys.executable, str(ROOT / "install.py"), "--no-scan", *arguments]
        os.execve(sys.executable, command, machine.environ())
    os.write(terminal, answers.encode())
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_the_installed_skill_names_its_command_by_full_path(machine):
    """SKILL.md in the client's folder holds the very path that rules and the consent gate know, ready to copy."""
    assert machine.run("--yes", "--hooks").returncode == 0
    text = (machine.skill / "SKILL.md").read_text(encoding="utf-8")
    launcher = json.loads((machine.skill / ".installed.json").read_text(encoding="utf-8"))["launcher"]
    assert f"FORGE = {shlex.quote(launcher)}\n" in text and "<data home>" not in text.partition("## The one rule")[0]


@pytest.fixture
def with_project(machine, tmp_path):
    """The user's own install with hooks, and a later one in a project."""
    project = tmp_path / "pro ject"
    project.mkdir()
    assert machine.run("--yes", "--hooks").returncode == 0
    assert machine.run("--yes", "--project", str(project)).returncode == 0
    return machine, project


def test_a_project_install_leaves_the_launcher_to_the_users_own(with_project):
    """After an install into a project the command still runs the user's own copy, and says that hooks are on."""
    machine, project = with_project
    text = machine.launcher.read_text(encoding="utf-8")
    assert text.index(str(machine.skill)) < text.index(str(project))
    assert "hooks on" in machine.command("status").stdout
    assert machine.run("--uninstall", "--project", str(project)).returncode == 0
    assert machine.command("status").returncode == 0
    assert "pro ject" not in machine.launcher.read_text(encoding="utf-8")


def test_a_project_that_is_gone_is_passed_over(with_project, tmp_path):
    """When the project was removed by hand the command works, doctor names it, and --uninstall forgets it."""
    machine, project = with_project
    other = tmp_path / "other"
    other.mkdir()
    shutil.rmtree(project)
    assert machine.command("status").returncode == 0
    seen = machine.command("doctor")
    assert "--uninstall --project" in " ".join(seen.stdout.split()) and str(project) in seen.stdout
    assert machine.run("--uninstall", "--project", str(project)).returncode == 0
    assert len(machine.installs()) == 1 and not project.exists()
    assert machine.command("doctor").returncode == 0


def test_the_launcher_falls_back_between_projects(machine, tmp_path):
    """With installs in two projects only, the command runs the newest that is there; without any it says what to do."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        assert machine.run("--yes", "--project", str(tmp_path / name)).returncode == 0
    shutil.rmtree(tmp_path / "second")
    assert machine.command("--version").returncode == 0
    shutil.rmtree(tmp_path / "first")
    done = machine.command("--version")
    assert done.returncode == 1 and "first" not in done.stderr and "install.py of your copy" in done.stderr


def test_the_dry_run_of_a_project_promises_what_is_done(machine, tmp_path):
    """Beside the user's own install a project gets no reminder, and neither the screen nor the dry run promises one."""
    machine.run("--yes")
    project = tmp_path / "p"
    project.mkdir()
    said = machine.run("--dry-run", "--project", str(project)).stdout
    assert str(project / ".claude" / "rules") not in said and "nothing here" in said
    machine.run("--yes", "--project", str(project))
    assert not (project / ".claude" / "rules").exists()


def test_the_dry_run_counts_new_files_and_names_what_an_uninstall_takes(machine):
    """New files are one line a folder (--verbose: each), scan is not allowed beforehand, an uninstall tells all."""
    short = machine.run("--dry-run", "--hooks").stdout
    assert len([line for line in short.splitlines() if line.startswith("would add")]) < 6
    assert '+    "allow"' in short or '"allow"' in short
    long = machine.run("--dry-run", "--hooks", "--verbose").stdout
    assert f"would add {machine.skill / 'SKILL.md'}" in long
    assert " scan *)" not in short
    machine.run("--yes", "--hooks")
    before = machine.snapshot()
    said = machine.run("--uninstall", "--dry-run").stdout
    assert str(machine.settings) in said and str(machine.client_folder / "rules" / "experience-forge") in said
    assert str(machine.skill) in said and "private parts" in said and machine.snapshot() == before


def test_an_uninstall_at_a_terminal_asks_once(machine):
    """At a terminal an uninstall names what goes and starts with a yes only; --yes does not ask."""
    machine.run("--yes")
    assert on_terminal(machine, "\n", "--uninstall") == 1 and machine.skill.exists()
    assert on_terminal(machine, "y\n", "--uninstall") == 0 and not machine.skill.exists()
    machine.run("--yes")
    assert on_terminal(machine, "", "--uninstall", "--yes") == 0 and not machine.skill.exists()
