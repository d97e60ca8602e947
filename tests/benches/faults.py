"""Faults from outside, on Linux: `strace -e inject` fails each call on our files, command by command.

    python3 tests/run.py bench faults [--commands draft,confirm] [--faults ENOSPC,EIO,KILL] [--calls N]

Every writing command is traced once; each of its calls on the data home, the client's folder or the project
is then made to fail in a run of its own. After each run the library must be the old or the new one,
the next command must work, and a command that said 0 must have done it. After an install or uninstall
that was cut the settings must hold JSON, the next install must finish, and the uninstall after it must give
the user's bytes back. Too long for CI: about a second a pair, several for an install; with --calls N only
N calls of a command, from its first to its last.
Last line: one JSON object with pairs, good, and the bad ones by name.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve()
CALLS = (
    "openat", "write", "fsync", "close", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat",
    "chmod", "fchmod", "fchmodat", "truncate", "ftruncate", "rmdir",
)  # fmt: skip
FAULTS = ("ENOSPC", "EIO", "EACCES", "KILL")
INSTALLS = ("install", "uninstall")
_LINE = re.compile(r"^(?:\[pid\s+\d+\]\s+|\d+\s+)?(?P<call>[a-z0-9]+)\((?P<rest>.*)$")


def main() -> int:
    """Run the enumeration, or one child of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", default="", help="some of them, by name (default: all)")
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--calls", type=int, default=0, metavar="N", help="only N calls of each command (default: all)")
    parser.add_argument("--child", metavar="COMMAND", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.child)
    if sys.platform != "linux" or not shutil.which("strace"):
        print("strace on Linux is needed", file=sys.stderr)
        return 1
    import test_safety_faults as steps

    figures: dict[str, object] = {"pairs": 0, "good": 0, "elsewhere": 0, "calls": 0, "bad": []}
    names = args.commands.split(",") if args.commands else [*steps.COMMANDS, *INSTALLS]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            enumerate_command(name, Path(folder) / name, args.faults.split(","), args.calls, figures)
    print(json.dumps(figures))
    return 0 if figures["pairs"] == figures["good"] else 1


def child(name: str) -> int:
    """One command in a process of its own, as it is traced."""
    import test_safety_faults as steps
    from experience_forge.errors import ForgeError

    try:
        code, said = steps.COMMANDS[name](None)()
    except (ForgeError, OSError) as error:
        # Outside the command line's own boundary, which says it in one line.
        code, said = 1, f"{error}"
    print(said, file=sys.stderr)
    return code


def enumerate_command(name: str, base: Path, faults: list[str], calls: int, figures: dict[str, object]) -> None:
    """All pairs of one command; adds to the figures and prints one row."""
    case = (Installing if name in INSTALLS else Command)(name, base)
    log = base / "trace"
    traced = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", f"trace={','.join(CALLS)}", *case.command]
    code, said = plain(traced)
    assert code == 0, f"the traced run of {name} failed: {said}"
    found = ours(log.read_text(encoding="utf-8", errors="replace"), str(case.world))
    figures["calls"] += len(found)
    step = (len(found) - 1) / max(1, calls - 1)
    targets = [found[at] for at in sorted({round(step * number) for number in range(calls)})] if calls else found
    good = bad = 0
    begun = time.monotonic()
    for at, (call, ordinal) in enumerate(targets):
        for fault in faults:
            case.put_back()
            action = "signal=KILL" if fault == "KILL" else f"error={fault}"
            inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e"]
            code, said = plain([*inject, f"inject={call}:{action}:when={ordinal}", *case.command])
            if code != 0 and missed_ours(said, str(case.world)):
                figures["elsewhere"] += 1
                continue
            trouble = case.judged(at, call, fault, code, said)
            good, bad = good + (not trouble), bad + bool(trouble)
            if trouble:
                figures["bad"].append(f"{name} {call} {ordinal} {fault}: {trouble}"[:300])
    figures["pairs"] += good + bad
    figures["good"] += good
    kinds = ", ".join(f"{count} {call}" for call, count in sorted(Counter(call for call, _ in found).items()))
    took = time.monotonic() - begun
    print(f"{name:<12} {good + bad:>5} pairs {bad:>4} bad {took:>6.0f} s  ({kinds})", flush=True)


class Command:
    """A verb on a world that can be put back."""

    def __init__(self, name: str, base: Path) -> None:
        import test_safety_faults as steps

        self.steps, self.name, self.made = steps, name, steps.World(base)
        self.world = self.made.base
        base.mkdir(parents=True)
        os.environ.update(
            HOME=str(self.world), CLAUDE_CONFIG_DIR=str(self.made.client), EXPERIENCE_FORGE_HOME=str(self.made.home)
        )
        os.environ["CLAUDE_CODE_SESSION_ID"] = "here"
        os.chdir(base)
        self.made.make()
        steps.COMMANDS[name](self.made)
        self.before = steps.library_state()
        keep(self.made)
        self.command = [sys.executable, str(HERE), "--child", name]
        code, said = plain(self.command)
        assert code == 0, f"{name} fails without a fault: {said}"
        self.after = steps.library_state()
        self.put_back()

    def put_back(self) -> None:
        self.made.put_back()

    def judged(self, at: int, call: str, fault: str, code: int, said: str) -> str:
        """What is wrong after a run; empty when all is well."""
        killed = fault == "KILL"
        if code == 3 or "Traceback" in said or (code != 0 and not killed and not said.strip()):
            return f"exit {code}: {said.strip()[-200:]}"
        try:
            where = (self.name, at, "kill" if killed else fault, False, call)
            self.steps.whole(where, self.before, self.after, None if killed else code)
        except AssertionError as error:
            return f"exit {code}, {str(error)[:160]}"
        return ""


class Installing:
    """An install over the user's settings, or its uninstall, with a ready-made environment."""

    SETTINGS = b'{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t\t"Stop": [ ]\r\n\t}\r\n}'

    def __init__(self, name: str, base: Path) -> None:
        from install_helpers import ROOT, Machine

        self.name, self.world, self.kept = name, base / "world", base / "kept"
        self.machine = Machine(self.world)
        self.machine.ready_environment()
        self.machine.settings.write_bytes(self.SETTINGS)
        for variable in ("CLAUDE_CONFIG_DIR", "EXPERIENCE_FORGE_HOME"):
            os.environ.pop(variable, None)
        os.environ["HOME"] = str(self.world)
        self.install = [sys.executable, str(ROOT / "install.py"), "--yes", "--hooks", "--no-scan"]
        self.uninstall = [sys.executable, str(ROOT / "install.py"), "--uninstall"]
        if name == "uninstall":
            assert plain(self.install)[0] == 0
        self.command = self.uninstall if name == "uninstall" else self.install
        shutil.copytree(self.world, self.kept, symlinks=True)

    def put_back(self) -> None:
        shutil.rmtree(self.world)
        shutil.copytree(self.kept, self.world, symlinks=True)

    def judged(self, at: int, call: str, fault: str, code: int, said: str) -> str:
        """What is wrong after a run; empty when all is well."""
        if "Traceback" in said or (code != 0 and fault != "KILL" and not said.strip()):
            return f"exit {code}: {said.strip()[-200:]}"
        try:
            json.loads(self.machine.settings.read_bytes())
        except ValueError as error:
            return f"settings: {error}"
        if code == 0 and self.name == "uninstall" and self.machine.settings.read_bytes() != self.SETTINGS:
            return "said done, and the settings are not the user's"
        self.machine.ready_environment()
        for step in (self.install, self.uninstall):
            after, told = plain(step)
            if after:
                return f"afterwards {step[2]}: exit {after}: {told.strip()[-160:]}"
        return "" if self.machine.settings.read_bytes() == self.SETTINGS else "the settings are not the user's"


def keep(world: object) -> None:
    """Make the present state the one that is put back."""
    shutil.rmtree(world.kept)
    shutil.copytree(world.base, world.kept)


def plain(command: list[str]) -> tuple[int, str]:
    """Exit code and stderr of one run; the same hash seed and no bytecode, so that runs have the same calls."""
    tests = HERE.parent.parent
    path = os.pathsep.join([str(tests.parent / "scripts"), str(tests)])
    environment = dict(os.environ, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=path)
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    return done.returncode, done.stderr.decode("utf-8", "replace")


def ours(trace: str, base: str) -> list[tuple[str, int]]:
    """Calls on files below `base`, as (call, its ordinal among the calls of that name)."""
    seen: Counter[str] = Counter()
    found = []
    for line in trace.splitlines():
        match = _LINE.match(line)
        if match is None or "resumed" in line:
            continue
        call, rest = match["call"], match["rest"]
        seen[call] += 1
        reads = call == "openat" and "O_RDONLY" in rest and "O_DIRECTORY" not in rest
        if base in rest and not reads and not (call == "close" and "/proc/" in rest):
            found.append((call, seen[call]))
    return found


def missed_ours(said: str, base: str) -> bool:
    """Whether the fault hit a file of Python or of the tests: the count of calls shifted by a few."""
    named = re.findall(r"Errno \d+\][^\n]*?: '([^'\n]+)'", said)
    return bool(named) and not any(path.startswith(base) for path in named)


if __name__ == "__main__":
    sys.exit(main())
