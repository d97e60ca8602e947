"""Faults from outside, on Linux: `strace -e inject` fails each call on our files, command by command.

    python3 tests/run.py bench faults [--commands draft,confirm] [--faults ENOSPC,EIO,KILL] [--every N]

Every command is traced once; each of its calls on the data home, the client's folder or the project
is then made to fail in a run of its own. After each run the library must be the old or the new one,
the next command must work, and a command that said 0 must have done it. Too long for CI: about a
second a pair. Last line: one JSON object with pairs, good, and the bad ones by name.
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
_LINE = re.compile(r"^(?:\[pid\s+\d+\]\s+|\d+\s+)?(?P<call>[a-z0-9]+)\((?P<rest>.*)$")


def main() -> int:
    """Run the enumeration, or one child of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", default="draft,discard,confirm,move,undo,guard,forget,backup,restore,projections")
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th call (default: each)")
    parser.add_argument("--child", nargs=2, metavar=("COMMAND", "WHAT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(*args.child)
    if sys.platform != "linux" or not shutil.which("strace"):
        print("strace on Linux is needed", file=sys.stderr)
        return 1
    figures = {"pairs": 0, "good": 0, "elsewhere": 0, "bad": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.commands.split(","):
            enumerate_command(name, Path(folder) / name, args.faults.split(","), args.every, figures)
    print(json.dumps(figures))
    return 0 if figures["pairs"] == figures["good"] else 1


def child(name: str, what: str) -> int:
    """One command in a process of its own, as it is traced."""
    import test_safety_faults as steps

    action = steps.carried_out(what) if what != "-" else steps.COMMANDS[name](None)
    try:
        code, said = action()
    except OSError as error:
        # Outside the command line's own boundary, which says it in one line.
        code, said = 1, f"{error}"
    print(said, file=sys.stderr)
    return code


def enumerate_command(name: str, base: Path, faults: list[str], every: int, figures: dict[str, object]) -> None:
    """All pairs of one command; adds to the figures and prints one row."""
    import test_safety_faults as steps

    world = steps.World(base)
    base.mkdir(parents=True)
    os.environ.update(HOME=str(world.base), CLAUDE_CONFIG_DIR=str(world.client), EXPERIENCE_FORGE_HOME=str(world.home))
    os.chdir(base)
    world.make()
    what = prepare(name, world, steps)
    before = steps.library_state()
    keep(world)
    command = [sys.executable, str(HERE), "--child", name, what]
    log = base / "trace"
    plain(command)
    after = steps.library_state()
    world.put_back()
    traced = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", f"trace={','.join(CALLS)}", *command]
    assert plain(traced)[0] == 0, "the traced run failed"
    targets = ours(log.read_text(encoding="utf-8", errors="replace"), str(world.base))[::every]
    good = bad = 0
    begun = time.monotonic()
    for call, ordinal in targets:
        for fault in faults:
            world.put_back()
            action = "signal=KILL" if fault == "KILL" else f"error={fault}"
            inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e"]
            code, said = plain([*inject, f"inject={call}:{action}:when={ordinal}", *command])
            if code != 0 and missed_ours(said, str(world.base)):
                figures["elsewhere"] += 1
                continue
            trouble = judged(steps, (name, ordinal, fault, False, call), before, after, code, said)
            good, bad = good + (not trouble), bad + bool(trouble)
            if trouble:
                figures["bad"].append(f"{name} {call} {ordinal} {fault}: {trouble}"[:300])
    figures["pairs"] += good + bad
    figures["good"] += good
    kinds = ", ".join(f"{count} {call}" for call, count in sorted(Counter(call for call, _ in targets).items()))
    print(f"{name:<12} {good + bad:>5} pairs {bad:>4} bad  {time.monotonic() - begun:>6.0f} s  ({kinds})", flush=True)


def prepare(name: str, world: object, steps: object) -> str:
    """Bring the world to where the command starts; returns the proposal that the child carries out, or `-`."""
    from experience_forge.store import home, proposals

    def one(change: str) -> str:
        return next(p.id for p in proposals.all(home.current()) if p.change == change)

    if name == "confirm":
        return "three"
    if name == "move":
        steps.call("move", "two", "--to", "profile")
        return one("move")
    if name == "undo":
        steps.call("undo", "two")
        return one("undo")
    if name in ("restore", "projections", "backup"):
        # These take their paths from the world.
        steps.COMMANDS = {**steps.COMMANDS}
        steps.COMMANDS[name](world)
    return "-"


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


def judged(steps: object, where: tuple[object, ...], before: object, after: object, code: int, said: str) -> str:
    """What is wrong after a run; empty when all is well."""
    killed = where[2] == "KILL"
    if code == 3 or "Traceback" in said or (code != 0 and not killed and not said.strip()):
        return f"exit {code}: {said.strip()[-200:]}"
    try:
        fault = "kill" if killed else where[2]
        steps.whole((where[0], where[1], fault, *where[3:]), before, after, None if killed else code)
    except AssertionError as error:
        return f"exit {code}, {str(error)[:160]}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
