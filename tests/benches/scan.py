"""Ratios of the scan and of the Stop hook, on copies of real sessions.

    python3 tests/run.py bench scan [--data DIR] [--size-mb 1000] [--runs 1]

Copies the sample sessions until they have the size asked for, then measures in one run: `json.loads`
of the standard library over every line; the first scan; a second scan with 1 MB new; the peak memory
of the first scan with its helpers; the Stop hook on a 50 MB transcript with one new turn. Seconds
passed count. Where other work takes the cores, so that two processes get no more than one would, the
processor time of all processes says what is to be done: `..._cpu_...`. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HOOK = "import sys; sys.path.insert(0, sys.argv[1]); import hook; hook.main()"
BASE = getattr(sys, "_base_executable", None) or sys.executable
MEASURED = """
import json, os, resource, sys, time
from pathlib import Path
from experience_forge.store import home, scanning, session_signals
if __name__ == "__main__":
    paths = sorted(Path(sys.argv[1]).rglob("*.jsonl"))
    before = sum(os.times()[:4])
    begun = time.perf_counter()
    result = scanning.scan(home.current(), paths)
    groups = scanning.grouped(result, 3.0)
    scanning.keep_evidence(home.current(), groups[:10])
    taken = time.perf_counter() - begun
    spent = sum(os.times()[:4]) - before
    unit = 1024 if sys.platform != "darwin" else 1
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    helper = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    found = {"changed": result.changed, "groups": len(groups)}
    print(json.dumps({"seconds": taken, "cpu": spent, "own": own, "helper": helper, **found}))
"""


def main() -> None:
    """Copy, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "transcripts")
    parser.add_argument("--size-mb", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1, help="of json.loads and the first scan; the median counts")
    parser.add_argument("--folder", type=Path, default=None, help="where the copies go; a temporary folder otherwise")
    arguments = parser.parse_args()
    samples = sorted(arguments.data.rglob("*.jsonl"))
    samples = [path for path in samples if path.parent.name == "claude-code"]
    if not samples:
        sys.exit(f"there are no sample sessions below {arguments.data}")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        figures = measure(Path(name), samples, arguments.size_mb, arguments.runs)
    for key, value in figures.items():
        print(f"{key:28} {value}")
    print(json.dumps(figures))


def measure(folder: Path, samples: list[Path], size_mb: int, runs: int) -> dict[str, float]:
    """All figures by name; times in seconds, sizes in megabytes."""
    sessions = folder / "sessions"
    size = copy(samples, sessions, size_mb * 1_000_000)
    settle()
    loads, spent, first = [], [], []
    for run in range(runs):
        before = time.process_time()
        loads.append(timed(json_loads, sessions))
        spent.append(time.process_time() - before)
        first.append(scan(folder / f"home{run}", sessions))
    scanned = sorted(first, key=lambda one: one["seconds"])[len(first) // 2]
    grow(sessions, samples)
    settle()
    second = scan(folder / f"home{runs - 1}", sessions)
    stop, bare = stop_hook(folder, samples)
    base, base_cpu = statistics.median(loads), statistics.median(spent)
    return {
        "size_mb": round(size / 1e6, 1),
        "json_loads_s": round(base, 3),
        "first_scan_s": round(scanned["seconds"], 3),
        "first_scan_ratio": round(scanned["seconds"] / base, 3),
        "json_loads_cpu_s": round(base_cpu, 3),
        "first_scan_cpu_s": round(scanned["cpu"], 3),
        "first_scan_cpu_ratio": round(scanned["cpu"] / base_cpu, 3),
        "second_scan_s": round(second["seconds"], 3),
        "second_scan_ratio": round(second["seconds"] / scanned["seconds"], 4),
        "memory_mb": round(scanned["own"] / 1e6, 1),
        "memory_helper_mb": round(scanned["helper"] / 1e6, 1),
        "stop_ms": round(stop * 1e3, 1),
        "bare_start_ms": round(bare * 1e3, 1),
        "stop_ratio": round(stop / bare, 2),
    }


def settle() -> None:
    """Wait until the copies are on the disk: what the scan keeps would else wait behind them."""
    if hasattr(os, "sync"):
        os.sync()


def copy(samples: list[Path], target: Path, wanted: int) -> int:
    """Copies of the samples, one folder a round, at least `wanted` bytes; returns how many."""
    done, number = 0, 0
    while done < wanted:
        place = target / f"-project-{number}"
        place.mkdir(parents=True)
        for sample in samples:
            data = sample.read_bytes()
            (place / sample.name).write_bytes(data)
            done += len(data)
            if done >= wanted:
                break
        number += 1
    return done


def grow(sessions: Path, samples: list[Path]) -> None:
    """Append a megabyte of records to a few of the copies."""
    added = 0
    for path in sorted(sessions.rglob("*.jsonl"))[:: max(1, len(samples) // 4)]:
        data = samples[added % len(samples)].read_bytes()[:250_000]
        data = data[: data.rfind(b"\n") + 1]
        with path.open("ab") as file:
            file.write(data)
        added += len(data)
        if added >= 1_000_000:
            return


def json_loads(sessions: Path) -> None:
    """What the ratios are taken of: every line decoded by the standard library."""
    for path in sorted(sessions.rglob("*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                json.loads(line)


def scan(home: Path, sessions: Path) -> dict[str, float]:
    """One scan in a process of its own."""
    home.mkdir(exist_ok=True)
    script = home / "measured.py"
    script.write_text(MEASURED, encoding="utf-8")
    environ = {**os.environ, "EXPERIENCE_FORGE_HOME": str(home), "PYTHONPATH": str(ROOT / "scripts")}
    run = subprocess.run(
        [sys.executable, str(script), str(sessions)], env=environ, capture_output=True, text=True, encoding="utf-8"
    )
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout.splitlines()[-1])


def stop_hook(folder: Path, samples: list[Path]) -> tuple[float, float]:
    """Median seconds of the Stop hook on a 50 MB transcript with one new turn, and of a bare start."""
    home = folder / "stop-home"
    home.mkdir()
    environ = {**os.environ, "EXPERIENCE_FORGE_HOME": str(home), "PYTHONPATH": str(ROOT / "scripts")}
    setting = "from experience_forge.store import config, derived, home\n"
    setting += "config.change({'suggest': {'threshold': 20}})\nderived.compile_settings(home.current())"
    subprocess.run([sys.executable, "-c", setting], env=environ, check=True)
    transcript = folder / "long.jsonl"
    copies(samples, transcript, 50_000_000)
    given = {"session_id": "bench", "transcript_path": str(transcript), "cwd": str(folder), "hook_event_name": "Stop"}
    command = [BASE, "-I", "-S", "-c", HOOK, str(ROOT / "scripts"), "Stop"]
    environ.pop("PYTHONPATH")
    environ.pop("CLAUDE_CODE_ENTRYPOINT", None)

    def hook() -> None:
        subprocess.run(command, input=json.dumps(given).encode(), env=environ, check=True, capture_output=True)

    hook()
    bare, stop = [], []
    for number in range(11):
        new_turn(transcript, number)
        stop.append(timed(hook))
        bare.append(timed(subprocess.run, [BASE, "-I", "-S", "-c", "pass"], input=b"", capture_output=True))
    if not list((home / "derived" / "stop").glob("*.jsonl")):
        sys.exit("the Stop hook did nothing: nothing was measured")
    return statistics.median(stop), statistics.median(bare)


def copies(samples: list[Path], target: Path, wanted: int) -> None:
    """One long transcript made of many."""
    done = 0
    with target.open("wb") as file:
        while done < wanted:
            for sample in samples:
                done += file.write(sample.read_bytes())


def new_turn(transcript: Path, number: int) -> None:
    """A prompt and an answer at the end of a transcript."""
    prompt = "please add a test for the empty list, then update the docs and show me the diff"
    records = (
        {"type": "user", "uuid": f"bench-{number}", "message": {"role": "user", "content": prompt}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}},
    )
    with transcript.open("ab") as file:
        file.write("".join(json.dumps(record) + "\n" for record in records).encode())


def timed(function, *arguments, **keywords) -> float:
    """Seconds that a call takes."""
    begun = time.perf_counter()
    function(*arguments, **keywords)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
