# ruff: noqa: E501, I001 - lists of real-looking commands and messages
"""What hooks cost: whole processes against the bare start of Python, in interleaved pairs.

    python3 tests/run.py bench hooks [--runs N] [--sizes 300,10000,100000] [--keep FOLDER]

Ratios are medians of (hook / floor) over pairs run one after the other. `none_*`: PreToolUse of a
command that no entry is about; `hit_*`: one that delivers an entry; `batch_none_*`, `batch_hit_*`:
the same for PostToolBatch with 3 KB of output. `stop`: a session that goes on, one turn more each
time; `stop_first`: one read as a whole, 40 turns, ending in a suggestion. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "evals"), str(ROOT / "scripts")]

GUARD = "import sys\nsys.path.insert(0,sys.argv[1])\ntry:\n import hook; hook.main()\nexcept BaseException: pass\nsys.exit(0)"
BARS = {
    "none_300": 1.5, "none_10k": 1.5, "none_100k": 2.0, "hit_300": 2.0, "hit_10k": 2.2, "hit_100k": 3.0,
    "session_start_10k": 4.0, "stop": 8.0, "update_10k_s": 0.3,
}
COMMANDS = (
    "ls -la src/", "git status --short", "git diff HEAD~1 -- src/app.ts", "npm test -- --watch=false", "npx tsc --noEmit",
    "cd backend && python -m pytest -q tests/test_api.py 2>&1 | tail -20", "cat package.json | jq .scripts", "rg -n 'useEffect' src",
    "docker compose ps", "python3 -c \"import sys; print(sys.version)\"", "grep -rn TODO lib/ | head -30", "sed -n '1,80p' src/main.rs",
    "cargo check 2>&1 | grep -E '^error' | head", "git add -A && git commit -m \"$(cat <<'EOF'\nFix the login form\n\nCo-authored\nEOF\n)\"",
    "mkdir -p build && cp -r assets build/", "curl -s http://localhost:3000/health", "kubectl get pods -n staging", "make lint",
    "for f in src/*.py; do wc -l \"$f\"; done", "find . -name '*.md' -not -path './node_modules/*' | sort",
    "source .venv/bin/activate && python manage.py migrate --plan", "yarn build 2>&1 | tail -5", "go test ./... -run TestParse",
)
OUTPUT_LINES = (
    "> web@1.4.2 build\n> vite build\n", "vite v5.2.0 building for production...\n", "transforming (312) src/components/Table.vue\n",
    "src/lib/format.ts:12:7 - warning: unused variable 'total'\n", "  File \"/srv/app/views/list.py\", line 88, in render\n",
    "    return self.template.render(context)\n", "dist/assets/index-4f2a9c1b.js   312.44 kB gzip: 98.10 kB\n", "Tests: 2 failed, 41 passed, 43 total\n",
    "AssertionError: expected 3 to equal 4\n", "    at Object.<anonymous> (test/format.test.ts:14:9)\n", "Done in 4.21s.\n",
)


WITH_FILES = 10000
"""So many entries of a store have files: enough for what is delivered at 10,000."""


@dataclass(frozen=True)
class Store:
    """A home with that many entries, and what delivers one of them."""

    home: Path
    label: str


def main() -> int:
    """Build the homes, run the pairs, print the table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--sizes", default="300,10000,100000")
    parser.add_argument("--keep", type=Path, help="folder for the homes, kept and used again")
    options = parser.parse_args()
    base = options.keep or Path(tempfile.mkdtemp(prefix="forge-bench-"))
    base.mkdir(parents=True, exist_ok=True)
    try:
        scripts = staged(base)
        figures: dict[str, float] = {}
        for size in (int(text) for text in options.sizes.split(",")):
            store = made(base, size)
            figures.update(measured(store, scripts, options.runs))
            if size == 10000:
                figures["update_10k_s"] = update_seconds(store)
        print(f"\n{'figure':<20} {'value':>8}  bar")
        for name, value in figures.items():
            bar = BARS.get(name)
            print(f"{name:<20} {value:>8.2f}  {'' if bar is None else f'<= {bar}' + ('' if value <= bar else '  MISSED')}")
        print(json.dumps(figures))
    finally:
        if not options.keep:
            shutil.rmtree(base, ignore_errors=True)
    return 0


def staged(base: Path) -> Path:
    """The skill as installed: a copy with compiled modules, so that no hook compiles."""
    skill = base / "skill"
    shutil.rmtree(skill, ignore_errors=True)
    for name in ("scripts", "rules"):
        shutil.copytree(ROOT / name, skill / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("SKILL.md", "templates.md"):
        shutil.copy(ROOT / name, skill / name)
    subprocess.run([python(), "-m", "compileall", "-q", str(skill / "scripts")], check=False)
    return skill / "scripts"


def python() -> str:
    """The real base interpreter, as the installer records it: no shim, no environment."""
    name = "python.exe" if os.name == "nt" else f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for path in (Path(sys.base_prefix, "bin", name), Path(sys.base_prefix, name)):
        if path.exists():
            return str(path.resolve())
    return os.path.realpath(sys.executable)


def made(base: Path, size: int) -> Store:
    """A home whose index holds `size` entries; a few of them have files and can be delivered."""
    import _recall_data as data
    import _recall_home as homes
    from experience_forge.model import Condition, Entry, Kind, Track
    from experience_forge.store import derived, recall_index
    from experience_forge.store.entries import Library
    from experience_forge.store.home import Home

    label = f"{size // 1000}k" if size >= 1000 else str(size)
    home = base / f"home-{label}"
    os.environ["EXPERIENCE_FORGE_HOME"] = str(home)
    if (home / "derived" / "recall.txt").exists():
        return Store(home, label)
    home.mkdir(parents=True, exist_ok=True)
    one = Entry(
        id="bench-entry", title="Use the release script", kind=Kind.PITFALL, track=Track.PERSONAL,
        sections=(("scenario", "Releasing"), ("symptom", "ZephyrLockError: release 'canary' holds the lock"),
                  ("root_cause", "Two pipelines release at once"), ("right_action", "Wait for the first to end"),
                  ("rule", "Release through the script only.")),
        applies_when=(Condition(command="zephyr release *"), Condition(error="ZephyrLockError: release 'canary' holds the lock")),
        created="2026-01-01", updated="2026-01-01",
    )
    begun = time.perf_counter()
    others = list(data.generated(size - 1))
    stored = homes.written(Home(home), [one, *others[:WITH_FILES]]) + homes.unwritten(others[WITH_FILES:])
    recall_index.build(Home(home), Library(tuple(stored)))
    derived.compile_settings(Home(home))
    print(f"built the index of {size} entries in {time.perf_counter() - begun:.1f} s")
    return Store(home, label)


def measured(store: Store, scripts: Path, runs: int) -> dict[str, float]:
    """Ratios of one store."""
    mark = store.label
    cases: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
        f"none_{mark}": ("PreToolUse", lambda n: action(COMMANDS[n % len(COMMANDS)], n)),
        f"hit_{mark}": ("PreToolUse", lambda n: action("cd deploy && zephyr release canary", n)),
        f"batch_none_{mark}": ("PostToolBatch", lambda n: batch("", n)),
        f"batch_hit_{mark}": ("PostToolBatch", lambda n: batch("ZephyrLockError: release 'canary' holds the lock\n", n)),
    }
    if mark == "10k":
        cases["session_start_10k"] = ("SessionStart", lambda n: common(n, source="startup"))
        whole, growing = transcript(store.home.parent / "whole.jsonl", range(40)), store.home.parent / "growing.jsonl"
        session = f"bench-stop-{os.getpid()}"
        cases["stop"] = ("Stop", lambda n: common(
            n, session_id=session, transcript_path=str(transcript(growing, range(n + 5), calm=True)), stop_hook_active=False,
            last_assistant_message="done"))
        cases["stop_first"] = ("Stop", lambda n: common(
            n, transcript_path=str(whole), stop_hook_active=False, last_assistant_message="done"))
    found = {name: pairs(store, scripts, event, give, runs) for name, (event, give) in cases.items()}
    floors = [floor for times in found.values() for floor, _ in times]
    result = {name: round(statistics.median(hook / floor for floor, hook in times), 2) for name, times in found.items()}
    if mark == "10k":
        result["floor_ms"] = round(1000 * statistics.median(floors), 2)
    return result


def pairs(
    store: Store, scripts: Path, event: str, give: Callable[[int], dict[str, Any]], runs: int
) -> list[tuple[float, float]]:
    """(floor, hook) seconds of interleaved runs, after two warm-ups."""
    environment = {"EXPERIENCE_FORGE_HOME": str(store.home), "HOME": str(store.home.parent), "PATH": os.environ.get("PATH", ""),
                   "CLAUDE_PROJECT_DIR": str(project(store.home.parent))}
    found = []
    for number in range(-2, runs):
        data = json.dumps(give(number + 2), ensure_ascii=False).encode("utf-8")
        floor = timed([python(), "-I", "-S", "-c", "pass"], data, environment)
        hook = timed([python(), "-I", "-S", "-c", GUARD, str(scripts), event], data, environment)
        if number >= 0:
            found.append((floor, hook))
    return found


def transcript(path: Path, turns: range, calm: bool = False) -> Path:
    """A session with failures and corrections (`calm`: without); a Stop without a state reads all of it."""
    lines = []
    for turn in turns:
        stamp = f"2026-01-01T10:{turn:02d}:00.000Z"
        shared = {"timestamp": stamp, "sessionId": "s", "cwd": "/home/dev/app", "version": "2.1.332", "isSidechain": False}
        text = ("Fix the table", "还是不行，再看看", "No, use the helper that is there", "继续")[turn % 4] if not calm else "继续"
        lines.append({"type": "user", "uuid": f"u{turn}", "message": {"role": "user", "content": text},
                      "origin": {"kind": "human"}, "promptSource": "typed", **shared})
        for call in range(3):
            name = f"toolu_{turn}_{call}"
            block = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": COMMANDS[(turn + call) % len(COMMANDS)]}}
            lines.append({"type": "assistant", "uuid": f"a{name}", "message": {"role": "assistant", "content": [block]}, **shared})
            done = {"type": "tool_result", "tool_use_id": name, "is_error": call == 1 and not calm, "content": "".join(OUTPUT_LINES)}
            lines.append({"type": "user", "uuid": f"r{name}", "message": {"role": "user", "content": [done]}, **shared})
        answer = {"role": "assistant", "content": [{"type": "text", "text": "Done, the table is right now. " * 10}]}
        lines.append({"type": "assistant", "uuid": f"e{turn}", "message": answer, **shared})
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def project(base: Path) -> Path:
    """A repository whose branch and last commits fit some of the entries."""
    git = base / "billing-gateway" / ".git"
    (git / "logs").mkdir(parents=True, exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/feature/ledger-retry\n", encoding="utf-8")
    subjects = (
        "billing gateway: set retry_limit explicitly", "Pin cobaltnimbus to the minor version before",
        "修复 ledger 的定时任务", "payout worker takes a lock around the queue", "Upgrade terraform and regenerate the lock file",
    )
    lines = "".join(f"0 1 Dev <d@e> {n} +0000\tcommit: {text}\n" for n, text in enumerate(subjects))
    (git / "logs" / "HEAD").write_text(lines, encoding="utf-8")
    return git.parent


def timed(command: list[str], data: bytes, environment: dict[str, str]) -> float:
    """Seconds of one whole process."""
    begun = time.perf_counter()
    subprocess.run(command, input=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=True)
    return time.perf_counter() - begun


def common(number: int, **more: Any) -> dict[str, Any]:
    """The fields that the client sends with every event; a session of its own for each run."""
    session = f"bench-{os.getpid()}-{time.monotonic_ns()}-{number}"
    return {
        "session_id": session, "transcript_path": f"/home/dev/.claude/projects/-home-dev-app/{session}.jsonl",
        "cwd": str(ROOT), "prompt_id": "p1", "permission_mode": "default", "effort": {"level": "high"}, **more,
    }


def action(command: str, number: int) -> dict[str, Any]:
    """A PreToolUse of 3 KB: the command and a long description."""
    return common(number, hook_event_name="PreToolUse", tool_name="Bash", tool_use_id="toolu_01bench",
                  tool_input={"command": command, "description": "Look at the state of the project. " * 80})


def batch(tail: str, number: int) -> dict[str, Any]:
    """A PostToolBatch of 3 KB of tool output."""
    text = "".join(OUTPUT_LINES[(number + index) % len(OUTPUT_LINES)] for index in range(64))[:2900] + tail
    call = {"tool_name": "Bash", "tool_input": {"command": "npm run build | tail -50"}, "tool_use_id": "toolu_02bench", "tool_response": text}
    return common(number, hook_event_name="PostToolBatch", tool_calls=[call])


def update_seconds(store: Store) -> float:
    """Median seconds of bringing the index up to date after one confirm."""
    import _recall_data as data
    import _recall_home as homes
    from experience_forge.store import recall_index
    from experience_forge.store.home import Home

    os.environ["EXPERIENCE_FORGE_HOME"] = str(store.home)
    times = []
    for number in range(5):
        one = homes.unwritten(data.generated(1, seed=1000 + number))
        begun = time.perf_counter()
        recall_index.update(Home(store.home), one)
        times.append(time.perf_counter() - begun)
    return round(statistics.median(times), 3)


if __name__ == "__main__":
    sys.exit(main())
