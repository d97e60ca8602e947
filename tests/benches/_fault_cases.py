"""What `bench faults` runs: commands on a world that can be put back, and an install and its uninstall."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _forks

import test_safety_faults as steps
from experience_forge import shared
from experience_forge.installer import environment
from experience_forge.installer import main as installer
from experience_forge.store import home
from install_helpers import ROOT, Machine

INSTALLS = ("install", "uninstall")
WHOLE = ("install-whole", "uninstall-whole")
"""The same with all files of the skill: ten times the calls, a loop over more files; run when named."""
SMALL = (
    "SKILL.md", "templates.md", "install.py", "requirements.txt", "rules/tidy.yaml", "rules/messages/install.yaml",
    "examples/demo/session.jsonl", "scripts/hook.py", "scripts/forge.py", "scripts/experience_forge/__init__.py",
    "scripts/experience_forge/fast/__init__.py",
)  # fmt: skip
"""The files of a small skill, of each kind and depth one or two; what its hooks import comes to them."""
SETTINGS = b'{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t\t"Stop": [ ]\r\n\t}\r\n}'
Said = tuple[int, str]


def put_back(kept: Path, world: Path) -> None:
    """Make a folder again what was kept of it."""
    shutil.rmtree(world)
    shutil.copytree(kept, world, symlinks=True)


def seen(world: Path) -> set[tuple[object, ...]]:
    """What changes when anything below a folder is written, made, renamed or removed."""
    found: set[tuple[object, ...]] = set()
    folders = [str(world)]
    while folders:
        for one in os.scandir(folders.pop()):
            info = one.stat(follow_symlinks=False)
            found.add((one.path, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
            if one.is_dir(follow_symlinks=False):
                folders.append(one.path)
    return found


class Command:
    """A verb on a world that can be put back."""

    stages = ("",)

    def __init__(self, name: str, base: Path) -> None:
        self.name, self.made = name, steps.World(base)
        self.world = self.made.base
        base.mkdir(parents=True)
        os.environ.update(
            HOME=str(self.world), CLAUDE_CONFIG_DIR=str(self.made.client), EXPERIENCE_FORGE_HOME=str(self.made.home),
            CLAUDE_CODE_SESSION_ID="here",
        )  # fmt: skip
        os.chdir(base)
        self.before = _forks.forked(self._make)
        code, said, self.after, learnt = _forks.forked(self._whole_run)
        assert code == 0, f"{name} fails without a fault: {said}"
        _forks.warm(learnt)
        self.untouched: dict[tuple[str, bool], str] = {}
        self.fresh: set[tuple[object, ...]] = set()
        self.put_back()

    def _make(self) -> Any:
        self.made.make()
        steps.COMMANDS[self.name](self.made)
        shutil.rmtree(self.made.kept)
        shutil.copytree(self.made.base, self.made.kept)
        return steps.library_state()

    def _whole_run(self) -> tuple[int, str, Any, _forks.Learnt]:
        lesson = _forks.Lesson()
        code, said = steps.COMMANDS[self.name](None)()
        after = steps.library_state()
        steps.whole((self.name, 0, "", False, ""), after, after, code)
        return code, said, after, lesson.learnt()

    def put_back(self) -> None:
        if seen(self.world) != self.fresh:
            put_back(self.made.kept, self.world)
            self.fresh = seen(self.world)

    def run(self, stage: str, gate: _forks.Gate) -> Said:
        """In a fork: what is needed for the run first, then the command, as it is traced."""
        action = steps.COMMANDS[self.name](None)
        gate.wait()
        return _bounded(action)

    def judged(self, call: str, fault: str, code: int | None, said: str) -> str:
        """What is wrong after a run; empty when all is well."""
        if code == 3 or "Traceback" in said or (code and not said.strip()):
            return f"exit {code}: {said.strip()[-200:]}"
        if seen(self.world) != self.fresh:
            return self._left(call, fault, code)
        key = fault, code == 0
        if key not in self.untouched:
            self.untouched[key] = self._left(call, fault, code)
        return self.untouched[key]

    def _left(self, call: str, fault: str, code: int | None) -> str:
        """What is wrong with what a run left; the same for all that touched nothing."""
        where = (self.name, 0, "kill" if fault == "KILL" else fault, False, call)
        try:
            _forks.forked(steps.whole, where, self.before, self.after, code)
        except AssertionError as error:
            return f"exit {code}, {str(error).strip().splitlines()[-1][:160]}"
        return ""


def _bounded(action: Callable[[], Said]) -> Said:
    """Outside the command line's own boundary, which says an error in one line."""
    from experience_forge.errors import ForgeError

    try:
        return action()
    except (ForgeError, OSError) as error:
        return 1, f"{error}"


class Installing:
    """An install over the user's settings, or its uninstall, with a ready-made environment.

    What the installer starts in processes of its own (compiling, the check of the hooks, the projections) runs in
    forks here; each of them that writes is a stage whose calls fail in turn.
    """

    def __init__(self, name: str, base: Path) -> None:
        self.name, self.world, self.kept = name.removesuffix("-whole"), base / "world", base / "kept"
        self.stages = ("", "compile", "refresh") if self.name == "install" else ("",)
        self.source = ROOT if name in WHOLE else small(base / "skill")
        self.machine = Machine(self.world)
        self._ready()
        self.machine.settings.write_bytes(SETTINGS)
        for variable in ("CLAUDE_CONFIG_DIR", "EXPERIENCE_FORGE_HOME"):
            os.environ.pop(variable, None)
        os.environ.update(HOME=str(self.world), PATH="/usr/bin:/bin")
        os.chdir(base)
        self.verdicts: dict[str, str] = {}
        keep_compiled()
        shutil.copytree(self.world, self.kept, symlinks=True)
        learnt = _forks.forked(self._both)
        _forks.warm(learnt)
        self.put_back()
        if self.name == "uninstall":
            code, said = _forks.forked(self._install)
            assert code == 0, said
            shutil.rmtree(self.kept)
            shutil.copytree(self.world, self.kept, symlinks=True)
        self.put_back()

    def _ready(self) -> None:
        self.machine.ready_environment(self.source / "requirements.txt")

    def _both(self) -> _forks.Learnt:
        lesson = _forks.Lesson()
        for step in (self._install, self._uninstall):
            code, said = step()
            assert code == 0, said
        return lesson.learnt()

    def put_back(self) -> None:
        put_back(self.kept, self.world)

    def run(self, stage: str, gate: _forks.Gate) -> Said:
        """In a fork: the command, traced from its begin, or in the process of that stage."""
        if not stage:
            gate.wait()
        return (self._uninstall if self.name == "uninstall" else self._install)(stage, gate)

    def _install(self, stage: str = "", gate: _forks.Gate | None = None) -> Said:
        return _installer(self.source, ["--yes", "--hooks", "--no-scan"], stage, gate)

    def _uninstall(self, stage: str = "", gate: _forks.Gate | None = None) -> Said:
        return _installer(self.source, ["--uninstall"], stage, gate)

    def judged(self, call: str, fault: str, code: int | None, said: str) -> str:
        """What is wrong after a run; empty when all is well. What is left is judged once for the same bytes."""
        if code == 3 or "Traceback" in said or (code and not said.strip()):
            return f"exit {code}: {said.strip()[-200:]}"
        state = f"{code == 0} {state_of(self.world)}"
        if state not in self.verdicts:
            try:
                self.verdicts[state] = _forks.forked(self._afterwards, code)
            except (AssertionError, _forks.Died) as error:
                self.verdicts[state] = str(error).strip().splitlines()[-1][:160]
        return self.verdicts[state]

    def _afterwards(self, code: int | None) -> str:
        settings = self.machine.settings
        try:
            json.loads(settings.read_bytes())
        except ValueError as error:
            return f"settings: {error}"
        if code == 0 and self.name == "uninstall" and settings.read_bytes() != SETTINGS:
            return "said done, and the settings are not the user's"
        self._ready()
        for step in (self._install, self._uninstall):
            after, told = step()
            if after:
                return f"afterwards {step.__name__}: exit {after}: {told.strip()[-160:]}"
        if settings.read_bytes() != SETTINGS:
            return "the settings are not the user's"
        left = [str(path.relative_to(self.world)) for path in settings.parent.rglob("*") if path != settings]
        return f"left behind: {sorted(left)[:3]}" if left else ""


def small(folder: Path) -> Path:
    """A skill of some files in this folder."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import hook; from experience_forge.fast import dispatch\n"
    code += "print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)), sep='\\n')"
    scripts = ROOT / "scripts"
    listed = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(scripts)], stdout=subprocess.PIPE, check=True)
    imported = [Path(line) for line in listed.stdout.decode().splitlines()]
    names = {str(path.relative_to(ROOT)) for path in imported if scripts in path.parents}
    for name in (*SMALL, *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def _installer(source: Path, arguments: list[str], stage: str, gate: _forks.Gate | None) -> Said:
    """`install.py` in this process: its exit code and what it said on stderr."""
    old = sys.stdin, sys.stdout, sys.stderr, subprocess.run
    # It has no result that could say that it failed, and flushes what everybody else on this machine has written.
    os.sync = lambda: None
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), io.StringIO(), io.StringIO()
    subprocess.run = Started(stage, gate)  # type: ignore[assignment]
    try:
        return installer.main(str(source), arguments), sys.stderr.getvalue()
    finally:
        sys.stdin, sys.stdout, sys.stderr, subprocess.run = old


class Started:
    """Stands for `subprocess.run` of the installer: the same code in a fork."""

    def __init__(self, stage: str, gate: _forks.Gate | None) -> None:
        self.stage, self.gate = stage, gate

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        code, said = 0, ""
        if "compileall" in command:
            code, said = self._fork("compile", compiled, command[-1])
        elif "-c" in command and "import hook" in command[command.index("-c") + 1]:
            code, said = self._fork("look", looked, command[-2], command[-1])
        elif "-c" in command and "shared.refresh" in command[command.index("-c") + 1]:
            code, said = self._fork("refresh", refreshed, options["env"]["EXPERIENCE_FORGE_HOME"])
        elif "venv" in command:
            # Its stamp could not be read: it is made anew.
            python = environment.python_of(Path(command[-1]))
            python.parent.mkdir(parents=True)
            python.touch(0o755)
        elif "pip" not in command:
            assert "-c" in command and command[-1].startswith("import yaml"), command
        return subprocess.CompletedProcess(command, code, said, said)

    def _fork(self, name: str, function: Callable[..., str], *arguments: str) -> Said:
        def behind_the_gate() -> tuple[str, _forks.Learnt]:
            lesson = _forks.Lesson()
            if name == self.stage and self.gate:
                self.gate.wait()
            return function(*arguments), lesson.learnt()

        try:
            said, learnt = _forks.forked(behind_the_gate)
            if name != "look":
                # Its modules are those of the copy.
                _forks.warm(learnt)
            return 0, said
        except _forks.Died as died:
            return -died.signal, ""
        except AssertionError as error:
            return 1, str(error)


def compiled(scripts: str) -> str:
    import compileall

    with contextlib.redirect_stdout(io.StringIO()) as said:
        good = compileall.compile_dir(scripts, quiet=1)
    assert good, said.getvalue()
    return ""


def looked(code: str, scripts: str) -> str:
    """The check of the hooks, with nothing of ours imported yet."""
    for name in [name for name in sys.modules if name == "hook" or name.split(".")[0] == "experience_forge"]:
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if Path(path) not in (ROOT / "scripts", ROOT / "tests")]
    sys.argv = ["-c", scripts]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, "check", "exec"), {"__name__": "__main__"})
    return said.getvalue()


def refreshed(data: str) -> str:
    os.environ["EXPERIENCE_FORGE_HOME"] = data
    return "\n".join(str(path) for path in shared.refresh(home.current()))


def keep_compiled() -> None:
    """Compile a source once in this process: what is compiled in its forks are the same few hundred texts."""
    from importlib.machinery import SourceFileLoader

    real = SourceFileLoader.source_to_code
    known: dict[bytes, Any] = {}

    def source_to_code(self: Any, data: Any, path: Any, **keywords: Any) -> Any:
        text = bytes(data)
        if text not in known:
            known[text] = real(self, data, path, **keywords)
        return known[text]

    for path in (ROOT / "scripts").rglob("*.py"):
        known[path.read_bytes()] = compile(path.read_bytes(), str(path), "exec", dont_inherit=True, optimize=-1)
    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign, assignment]


def state_of(world: Path) -> str:
    """A digest of all below a folder but for what differs from run to run: times and the numbers of processes."""
    found = hashlib.sha256()
    for path in sorted(world.rglob("*")):
        name = re.sub(r"\d{4,}", "#", path.relative_to(world).as_posix())
        data = path.read_bytes() if path.is_file() else b""
        if path.suffix == ".pyc":
            data = data[:8] + data[12:]
        data = re.sub(rb"\d\d\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.0-9]*", b"#", data)
        found.update(f"{name}\0{path.lstat().st_mode}\0{len(data)}\0".encode())
        found.update(data)
    return found.hexdigest()
