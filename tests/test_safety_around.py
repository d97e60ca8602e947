"""Faults around us, the rest of them: size, git, who watches whom, what is missing on the machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benches import _big_home
from experience_forge import cli
from experience_forge.store import derived, home, projects
from helpers_sessions import Transcript
from install_helpers import ROOT, Machine
from recall_home import process

SCALE = int(os.environ.get("FORGE_SCALE", "2000"))
"""Entries of the large library; 100000 is what F17 asks for, and takes minutes to make."""
EVENTS = SCALE * 10
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A home with many entries and many recorded events."""
    folder = tmp_path_factory.mktemp("large") / "forge-home"
    where = home.Home(folder)
    _big_home.fill(where, _big_home.entries(SCALE, SCALE // 50)[0])
    derived.rebuild(where)
    where.ledger.mkdir()
    per = max(1, EVENTS // 200)
    for number in range(200):
        line = {"v": 1, "what": "exposure", "at": "2026-08-01T10:00:00Z", "session": f"s{number}"}
        lines = [json.dumps({**line, "entry": f"e{at % SCALE:05d}"}) for at in range(per)]
        (where.ledger / f"s{number}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


MEASURE = """
import json, os, subprocess, sys
process = subprocess.Popen(json.loads(sys.argv[1]), stdin=0, stdout=2, stderr=2)
_, status, used = os.wait4(process.pid, 0)
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


def cost(command, data, environ):
    """CPU seconds of one process, the least of three, and the most memory that it took, in MB."""
    least, most = 99.0, 0
    for _ in range(3):
        # A child counts the memory of whoever started it until it runs its own program: a small one starts it here.
        done = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, json.dumps(command)],
                              input=data, capture_output=True, env=environ, check=False)  # fmt: skip
        status, seconds, memory = json.loads(done.stdout)
        assert status == 0, done.stderr
        least, most = min(least, seconds), max(most, memory)
    return least, most * (1 if sys.platform == "darwin" else 1024) / 1e6


@posix
def test_f17_a_large_library_slows_no_session(large, tmp_path):
    """F17: with very many entries and events a hook takes <= 300 ms, `status` <= 2 s, both in <= 200 MB."""
    environ = {"EXPERIENCE_FORGE_HOME": str(large), "HOME": str(tmp_path), "EXPERIENCE_FORGE_WORKER": "1",
               "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "scripts")}  # fmt: skip
    guard = "import sys\nsys.path.insert(0,sys.argv[1])\nimport hook\nhook.main()"
    # On a machine that other work slows down the bounds grow with what a bare interpreter takes (about 20 ms).
    slow = max(1.0, cost([sys.executable, "-I", "-S", "-c", "pass"], b"", environ)[0] / 0.02)
    for event, more in (("SessionStart", {"source": "startup"}), ("UserPromptSubmit", {"prompt": "why does it fail?"}),
                        ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "git status"}})):  # fmt: skip
        data = json.dumps({"session_id": "n", "cwd": str(tmp_path), **more}).encode()
        command = [sys.executable, "-I", "-S", "-c", guard, str(ROOT / "scripts"), event]
        seconds, memory = cost(command, data, environ)
        assert seconds <= 0.3 * slow and memory <= 200, (event, seconds, memory)
    status = "from experience_forge.cli import main; main(['status'])"
    seconds, memory = cost([sys.executable, "-c", status], b"", environ)
    print(f"status with {SCALE} entries, {EVENTS} events: {seconds:.2f} s, {memory:.0f} MB")
    assert seconds <= 2 * slow and memory <= 200, (seconds, memory)


def git_folders(base):
    """Project folders of every odd kind, by name."""
    made = {name: base / name for name in ("plain", "repo", "worktree", "submodule", "bare.git", "broken", "locked")}
    for path in made.values():
        path.mkdir(parents=True)
    (made["repo"] / ".git" / "worktrees" / "w").mkdir(parents=True)
    (made["repo"] / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    remote = '[remote "origin"]\n\turl = git@host.example:a/b.git\n'
    (made["repo"] / ".git" / "config").write_text(remote, encoding="utf-8")
    (made["repo"] / ".git" / "worktrees" / "w" / "commondir").write_text("../..\n", encoding="utf-8")
    (made["worktree"] / ".git").write_text(f"gitdir: {made['repo']}/.git/worktrees/w\n", encoding="utf-8")
    inner = made["repo"] / ".git" / "modules" / "sub"
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (made["submodule"] / ".git").write_text(f"gitdir: {inner}\n", encoding="utf-8")
    (made["bare.git"] / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (made["broken"] / ".git").write_bytes(b"\0\xff gitdir")
    (made["locked"] / ".git").mkdir()
    (made["locked"] / ".git" / "HEAD").symlink_to(base / "nowhere")
    return made


@posix
def test_f20_git_is_never_started_and_every_folder_is_a_project(tmp_path):
    """F20: worktree, submodule, bare, broken or no repository, a git that hangs, a folder that is gone: an id."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\nsleep 5\n", encoding="utf-8")
    (tools / "git").chmod(0o755)
    home.current().root.mkdir(parents=True)
    folders = git_folders(tmp_path / "projects")
    gone = tmp_path / "gone"
    for name, folder in {**folders, "gone": gone}.items():
        begun = time.monotonic()
        data = json.dumps({"session_id": "s", "cwd": str(folder), "source": "startup"}).encode()
        done = process("SessionStart", data, {"PATH": f"{tools}:/usr/bin:/bin"})
        assert (done.returncode, done.stderr) == (0, b""), name
        assert time.monotonic() - begun < 4, name
        found = projects.current(home.current(), str(folder))
        assert len(found.id) == 12 and int(found.id, 16) >= 0 and found.name, name
    assert not (tmp_path / "started").exists()
    ids = {name: projects.current(home.current(), str(folder)).id for name, folder in folders.items()}
    assert ids["repo"] == ids["worktree"]
    assert len(set(ids.values())) == len(ids) - 1


@posix
def test_f20_a_working_folder_that_is_gone_is_one_sentence(tmp_path):
    """F20: a command in a folder that was removed under it says so or works, and is never a bug."""
    folder = tmp_path / "gone"
    folder.mkdir()
    forge = f"{sys.executable} {ROOT / 'scripts' / 'forge.py'}"
    for verb in ("status", "projects", "scan", "list", "draft --from /dev/null", "suggest --off --project"):
        folder.mkdir(exist_ok=True)
        script = f"cd {folder} && rmdir {folder} && {forge} {verb}"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")})  # fmt: skip
        assert done.returncode in (0, 1, 5), (verb, done.stderr)
        assert "Traceback" not in done.stderr and "shell-init" not in done.stderr, (verb, done.stderr)


@posix
def test_f24_installing_twice_and_over_a_broken_install_is_one_install(tmp_path):
    """F24: a second install changes no byte; one over a torn one mends it; hooks and rules stand there once."""
    machine = Machine(tmp_path / "home")
    machine.ready_environment()
    assert machine.run("--yes", "--hooks").returncode == 0
    first = machine.snapshot()
    assert machine.run("--yes", "--hooks").returncode == 0
    assert machine.snapshot() == first
    (machine.skill / ".installed.json").write_text('{"home": "/x', encoding="utf-8")
    (machine.data / "install.json").write_bytes(b"\0\0\0")
    (machine.skill / "scripts" / "hook.py").write_bytes(b"")
    shutil.rmtree(machine.skill / "rules")
    machine.launcher.unlink()
    done = machine.run("--yes", "--hooks")
    assert done.returncode == 0, done.stderr
    after = machine.snapshot()
    record = ".local/share/experience-forge/install.json"
    assert {name: data for name, data in after.items() if "/kept/" not in name} == {**first, record: after[record]}
    assert len(machine.installs()) == 1
    data = json.loads(machine.settings.read_text(encoding="utf-8"))
    assert all(len(groups) == 1 for groups in data["hooks"].values())
    assert len(data["permissions"]["allow"]) == len(set(data["permissions"]["allow"]))


@posix
def test_f25_below_sudo_the_home_is_named(tmp_path):
    """F25: an install below sudo says for whom it would be, and writes below HOME and CLAUDE_CONFIG_DIR only."""
    machine = Machine(tmp_path / "家 o'x")
    machine.ready_environment()
    other = tmp_path / "config \"q\""
    machine.extra.update(SUDO_USER="mira", CLAUDE_CONFIG_DIR=str(other))
    done = machine.run("--yes", "--hooks")
    assert done.returncode == 0 and "mira" in done.stderr
    assert (other / "settings.json").exists() and not machine.settings.exists()
    handler = json.loads((other / "settings.json").read_text(encoding="utf-8"))["hooks"]["Stop"][0]["hooks"][0]
    assert str(other / "skills" / "experience-forge" / "scripts") in handler["args"]
    assert {path.name for path in tmp_path.iterdir()} == {"家 o'x", "config \"q\""}


def test_f30_what_we_and_machines_did_is_no_evidence(tmp_path, monkeypatch, capsys):
    """F30: subagents, headless runs, our own worker and text that we injected give no turn of the user's."""
    wish, folder = "Always use pnpm here, never npm, I told you twice.", tmp_path / "client" / "projects" / "-x"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "client"))
    by = {"side": {"isSidechain": True}, "meta": {"isMeta": True}}
    for name, more in by.items():
        Transcript(name).prompt(wish, **more).answer("Yes.").prompt(wish, **more).write(folder / f"{name}.jsonl")
    ours = f"[use-pnpm] {wish} (experience-forge, your own notes)"
    Transcript("ours").prompt(f"<system-reminder>{ours}</system-reminder>").answer("Yes.").write(folder / "ours.jsonl")
    assert cli.main(["scan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == []
    Transcript("person").prompt(wish).answer("Yes.").prompt(wish).write(folder / "person.jsonl")
    assert cli.main(["scan", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["candidates"]
    assert found and all("person" in json.dumps(one) for one in found)


@posix
def test_f30_one_worker_at_a_time_and_none_from_within(tmp_path):
    """F30: a second worker ends at once, a worker's own sessions start none, and nothing of it calls a model."""
    home.current().root.mkdir(parents=True)
    holder = subprocess.Popen(
        [sys.executable, "-c", "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
         "print('held', flush=True); time.sleep(30)", str(home.current().root / "worker.lock")],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == b"held\n"
        done = subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "forge.py"), "worker", "--json"], capture_output=True, timeout=30,
            check=False, env=dict(os.environ),
        )  # fmt: skip
        assert json.loads(done.stdout)["busy"] is True and done.returncode == 0
    finally:
        holder.kill()
        holder.wait()
    stamp = home.current().derived / "worker.stamp"
    process("SessionEnd", b'{"session_id": "w", "cwd": "/"}', {"EXPERIENCE_FORGE_WORKER": "1"})
    assert not stamp.exists()


@posix
def test_f31_hooks_need_the_standard_library_alone_and_commands_say_what_is_missing(tmp_path):
    """F31: without any package hooks still end well, and a command names the one thing to run."""
    home.current().root.mkdir(parents=True)
    bare = [sys.executable, "-I", "-S"]
    done = process("PreToolUse", json.dumps({"tool_name": "Bash", "tool_input": {"command": "ls"}}).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    said = subprocess.run([*bare, str(ROOT / "scripts" / "forge.py"), "list"], capture_output=True, text=True,
                          env=environ, timeout=30, check=False)  # fmt: skip
    assert said.returncode == 1 and "hint: run `python3" in said.stderr and "install.py" in said.stderr
    assert "Traceback" not in said.stderr
    # The installer itself: it runs before there is any package, up to its question.
    asked = subprocess.run([*bare, str(ROOT / "install.py")], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                           env=environ, timeout=60, check=False)  # fmt: skip
    assert asked.returncode == 4 and "Traceback" not in asked.stderr, asked.stderr
    assert sorted(Path(tmp_path).iterdir()) == []
