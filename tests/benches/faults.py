"""Faults from outside, on Linux: `strace -e inject` fails each call on our files, command by command.

    python3 tests/run.py bench faults [--commands draft,confirm] [--faults ENOSPC,EIO,KILL] [--calls N] [--jobs N]

Every writing command is traced once; each of its calls on the data home, the client's folder or the project
is then made to fail in a run of its own, a fork of one warmed process that strace is put to before it begins.
A run counts only when strace shows that the fault hit this very file. After each run the library must be the
old or the new one, the next command must work, and a command that said 0 must have done it. After an install or
uninstall that was cut the settings must hold JSON, the next install must finish, and the uninstall after it must
give the user's bytes back and leave nothing behind. They install a small skill of every kind of file, since each
further file makes the same calls; `install-whole` and `uninstall-whole`, when named, take all files.
With --calls N only N calls of a command, from its first to its last; else all of them.
Last line: one JSON object with pairs, good, calls, and the bad ones by name.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _forks

FAULTS = ("ENOSPC", "EIO", "EACCES", "KILL")
AGAIN = 3
"""How often a pair is run whose fault hit nothing, or another file, before it counts as bad."""
Report = Callable[[dict[str, Any]], None]


def main() -> int:
    """Run the enumeration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", default="", help="some of them, by name (default: all)")
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--calls", type=int, default=0, metavar="N", help="only N calls of each command (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worlds at once (default: one a core)")
    args = parser.parse_args()
    if sys.platform != "linux" or not shutil.which("strace"):
        print("strace on Linux is needed", file=sys.stderr)
        return 1
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The same order of everything in each run, and no compiled files beside the sources.
        os.environ.update(PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1")
        os.execv(sys.executable, [sys.executable, *sys.argv])
    figures: dict[str, Any] = {"pairs": 0, "good": 0, "calls": 0, "bad": []}
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        os.environ["EXPERIENCE_FORGE_HOME"] = str(Path(folder) / "none")
        _forks.begin()
        import _fault_cases as cases

        import test_safety_faults as steps

        names = args.commands.split(",") if args.commands else [*steps.COMMANDS, *cases.INSTALLS]
        tell(share(names, args, Path(folder)), figures, args.jobs)
    print(json.dumps(figures))
    return 0 if figures["pairs"] == figures["good"] else 1


def share(names: list[str], args: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """What the workers report, each of which runs every `jobs`-th pair in worlds of its own."""
    readers = []
    for number in range(args.jobs):
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                work(number, names, args, folder / str(number), lambda one, to=write: send(to, one))
            except BaseException as error:
                send(write, {"failed": f"worker {number}: {error!r}"[-3000:]})
            finally:
                os._exit(0)
        os.close(write)
        readers.append(os.fdopen(read, "rb", buffering=0))
    while readers:
        for reader in select.select(readers, [], [])[0]:
            line = reader.readline()
            if line:
                yield json.loads(line)
            else:
                readers.remove(reader)
                os.wait()


def send(descriptor: int, one: dict[str, Any]) -> None:
    os.write(descriptor, json.dumps(one).encode() + b"\n")


def tell(reports: Iterator[dict[str, Any]], figures: dict[str, Any], jobs: int) -> None:
    """Add up what is reported, and print the progress and one row for each command."""
    rows: dict[str, dict[str, Any]] = {}
    for one in reports:
        if "failed" in one:
            raise SystemExit(one["failed"])
        row = rows.setdefault(one["row"], {"begun": time.monotonic(), "ended": 0, "pairs": 0, "bad": []})
        if "calls" in one:
            same = row.setdefault("digest", one["digest"]) == one["digest"]
            assert same, f"{one['row']} makes other calls in another worker"
            row.update(calls=one["calls"], kinds=one["kinds"], due=one["due"])
        elif "ended" in one:
            row["ended"] += 1
            if row["ended"] == jobs:
                add(one["row"], row, figures)
        else:
            row["pairs"] += 1
            row["bad"] += [one["bad"]] if one["bad"] else []
            if one["bad"]:
                print(f"  bad: {one['bad']}", file=sys.stderr, flush=True)
            if row["pairs"] % 100 == 0:
                print(f"  {one['row']} {row['pairs']}/{row['due']}", file=sys.stderr, flush=True)


def add(name: str, row: dict[str, Any], figures: dict[str, Any]) -> None:
    """One row, and its share of the figures."""
    took = time.monotonic() - row["begun"]
    good = row["pairs"] - len(row["bad"])
    print(f"{name:<17} {row['calls']:>5} calls {row['pairs']:>6} pairs {good:>6} good {took:>6.0f} s  ({row['kinds']})")
    sys.stdout.flush()
    figures["calls"] += row["calls"]
    figures["pairs"] += row["pairs"]
    figures["good"] += good
    figures["bad"] += row["bad"]


def work(number: int, names: list[str], args: argparse.Namespace, folder: Path, report: Report) -> None:
    """Every `jobs`-th pair of each command, from the `number`-th on."""
    import _fault_cases as cases

    for name in names:
        base = folder / name
        case = (cases.Installing if name in (*cases.INSTALLS, *cases.WHOLE) else cases.Command)(name, base)
        for stage in case.stages:
            row = f"{name} {stage}".strip()
            found = calls_of_run(case, stage)
            step = (len(found) - 1) / max(1, args.calls - 1)
            some = sorted({round(step * at) for at in range(args.calls)}) if args.calls else range(len(found))
            pairs = [(found[at], fault) for at in some if found for fault in args.faults.split(",")]
            kinds = ", ".join(f"{count} {call}" for call, count in sorted(Counter(c.name for c in found).items()))
            digest = " ".join(f"{c.name}{c.ordinal}" for c in found)
            report({"row": row, "calls": len(found), "kinds": kinds, "due": len(pairs), "digest": hash(digest)})
            for call, fault in pairs[number::args.jobs]:
                trouble = judged(case, stage, call, fault)
                named = f"{row} {call.name} {call.ordinal} {fault}: {trouble}"[:300]
                report({"row": row, "bad": named if trouble else ""})
            report({"row": row, "ended": True})
        os.chdir(folder)
        shutil.rmtree(base)


def calls_of_run(case: Any, stage: str) -> list[_forks.Call]:
    """What a run without a fault calls on files of the world."""
    log = case.world.parent / "trace"
    case.put_back()
    code, said = _forks.traced(lambda gate: case.run(stage, gate), ["-y", "-e", f"trace={','.join(_forks.CALLS)}"], log)
    assert code == 0, f"the traced run of {case.name} failed: {said}"
    return _forks.ours(_forks.calls_of(log.read_text(encoding="utf-8", errors="replace")), str(case.world))


def judged(case: Any, stage: str, call: _forks.Call, fault: str) -> str:
    """Run one pair, and say what is wrong afterwards."""
    action = "signal=KILL" if fault == "KILL" else f"error={fault}"
    options = ["-y", "-e", f"trace={call.name}", "-e", f"inject={call.name}:{action}:when={call.ordinal}"]
    log = case.world.parent / "trace"
    for _ in range(AGAIN):
        case.put_back()
        code: int | None = None
        said = ""
        try:
            code, said = _forks.traced(lambda gate: case.run(stage, gate), options, log)
        except _forks.Died as died:
            if not died.signal:
                return "hangs"
        except AssertionError as error:
            code, said = 3, str(error)
        if hit(log.read_text(encoding="utf-8", errors="replace"), call, fault, str(case.world)):
            return str(case.judged(call.name, fault, code, said))
    return f"the fault did not hit: {call.line[:120]}"


def hit(trace: str, call: _forks.Call, fault: str, base: str) -> bool:
    """Whether the fault came at this call, on a file of the world."""
    lines = [line for line in trace.splitlines() if line.startswith(call.name)]
    if len(lines) < call.ordinal or base not in lines[call.ordinal - 1]:
        return False
    return "killed by SIGKILL" in trace if fault == "KILL" else "(INJECTED)" in lines[call.ordinal - 1]


if __name__ == "__main__":
    sys.exit(main())
