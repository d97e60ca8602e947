"""A throw-away HOME and project for the real client, and what a run of it left behind.

    with Lab(client, tmp_path) as lab:
        lab.hook("PostToolUse", matcher="Bash")                     # record what the hook gets
        lab.hook("SessionStart", reply={"stdout": "injected"})      # record, and answer
        run = lab.headless("hello", calls(bash("ls")), say("bye"))
        run.steps[0].text, run.steps[-1].results, run.hooks("PostToolUse"), run.records
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .server import Json, Request, Server, Turn

REPOSITORY = Path(__file__).resolve().parents[2]
RECORDER = Path(__file__).resolve().parent / "recorder.py"
KEY = "scripted-key-no-secret-0123456789"
PASSED_ON = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP")
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_BUG_COMMAND": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "IS_SANDBOX": "1",  # lets root use bypassPermissions
}


def find_client() -> Path | None:
    """The client under test: `$CLAUDE_BIN`, else the newest below `$CLAUDE_PREFIX` or `.client/`."""
    named = os.environ.get("CLAUDE_BIN")
    if named:
        return Path(named)
    prefix = Path(os.environ.get("CLAUDE_PREFIX", REPOSITORY / ".client"))
    pattern = "node_modules/@anthropic-ai/claude-code-*/claude*"
    return next((path for path in sorted(prefix.glob(pattern)) if path.stem == "claude"), None)


def read_lines(path: Path) -> list[Json]:
    """The JSON objects of a JSONL file; a torn last line is left out, a missing file is empty."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


@dataclass(frozen=True)
class Run:
    """What one run of the client left behind."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    steps: list[Request]
    recorded: list[Json]
    transcripts: list[Path]

    def hooks(self, event: str) -> list[Json]:
        """Standard input of the recording hook, for each time the event came."""
        return [line["event"] for line in self.recorded if line["event"].get("hook_event_name") == event]

    @property
    def records(self) -> list[Json]:
        """All records of all transcripts of the project."""
        return [record for path in self.transcripts for record in read_lines(path)]


@dataclass
class Lab:
    """Folders `home` and `project` below `root`, laid out so that the client starts without questions."""

    client: Path
    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        self.home, self.project = self.root / "home", self.root / "project"
        self.recorded = self.root / "hooks.jsonl"
        for folder in (self.home / ".claude", self.project, self.root / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {self.project.as_posix(): trusted},
        }
        self.write("home/.claude.json", json.dumps(state))
        if not self.settings_file.exists():
            quiet = {"skipDangerousModePermissionPrompt": True}
            self.write("home/.claude/settings.json", json.dumps(quiet, indent=2))

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to end: the folder belongs to the caller (`tmp_path`)."""

    @property
    def settings_file(self) -> Path:
        """The client's user settings."""
        return self.home / ".claude" / "settings.json"

    def settings(self, change: Callable[[Json], Any] | None = None) -> Json:
        """The client's settings; `change` edits them in place first."""
        data: Json = json.loads(self.settings_file.read_text(encoding="utf-8"))
        if change is not None:
            change(data)
            text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
            self.settings_file.write_text(text, encoding="utf-8")
        return data

    def write(self, relative: str, text: str) -> Path:
        """Write a file below the root (`home/...`, `project/...`)."""
        path = self.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def hook(self, event: str, matcher: str = "", reply: Json | None = None) -> None:
        """Put the recording hook into the settings; `reply` has `stdout`, `stderr`, `exit`, `sleep`."""
        arguments = [str(RECORDER), str(self.recorded)]
        if reply is not None:
            number = len(list(self.root.glob("reply-*.json")))
            arguments.append(str(self.write(f"reply-{number}.json", json.dumps(reply, ensure_ascii=False))))
        entry = {"type": "command", "command": sys.executable, "args": arguments}
        group = {"matcher": matcher, "hooks": [entry]}
        self.settings(lambda data: data.setdefault("hooks", {}).setdefault(event, []).append(group))

    def process_environment(self, url: str) -> dict[str, str]:
        """The whole environment of the client; nothing else of ours is passed on."""
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        own = {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_TMPDIR": str(self.root / "tmp"),
        }
        return {**kept, **QUIET, **own, **self.environment}

    def headless(self, prompt: str, *turns: Turn, args: Sequence[str] = (), timeout: float = 120) -> Run:
        """One `claude -p` run, the prompt on standard input."""
        self.recorded.unlink(missing_ok=True)
        begun = time.monotonic()
        with Server(*turns) as server:
            done = subprocess.run(
                [str(self.client), "-p", *args],
                input=prompt,
                capture_output=True,
                encoding="utf-8",
                cwd=self.project,
                env=self.process_environment(server.url),
                timeout=timeout,
                check=False,
            )
        return self.left_behind(server, done.returncode, done.stdout, done.stderr, time.monotonic() - begun)

    def left_behind(self, server: Server, code: int, stdout: str, stderr: str, seconds: float) -> Run:
        """Collect requests, hook inputs and transcripts."""
        transcripts = sorted((self.home / ".claude" / "projects").glob("*/*.jsonl"))
        return Run(code, stdout, stderr, seconds, server.steps, read_lines(self.recorded), transcripts)
