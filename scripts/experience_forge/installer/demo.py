"""`install.py --demo`: the whole loop in a throw-away home, without Claude Code and without a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..errors import EXIT_REFUSED, Refused, Text
from ..fast import home as fast_home
from ..store import files
from . import environment, light, machine, trees, work
from .target import Target
from .texts import Voice, can_ask

PROMPT = "导出的 orders.csv 用 Excel 打开是乱码，改一下编码"
FAILURE = "UnicodeEncodeError: 'gbk' codec can't encode character '\\u2705' in position 7: illegal multibyte sequence"
BRANCH = "excel-csv-export"
COMMITS = ("export the orders as csv", "客户反馈：csv 用 Excel 打开是乱码", "python csv writer: encoding for Excel")


def run(source: Path, voice: Voice) -> int:
    """Play the demo; returns 0, or 4 when nobody confirmed (the draft is kept then)."""
    missing = machine.missing_part()
    if missing is not None:
        voice.talk("part_missing", part=missing[0], python=sys.executable, command=missing[1])
        return EXIT_REFUSED
    root = Path(tempfile.mkdtemp(prefix="experience-forge-demo-")).resolve()
    stage = Stage(source, root, voice)
    voice.line("demo_title", path=_at_home(str(root), Path.home()))
    voice.line("demo_wait")
    # A throw-away home need not outlive a power cut.
    with light.writes(flush=False):
        stage.set_up()
    code = stage.play()
    if code:
        name = "demo_declined" if can_ask() else "demo_kept"
        voice.line(name, launcher=stage.target.launcher, path=root)
        return code
    _clean(root)
    voice.line("demo_end")
    return 0


class Stage:
    """A throw-away home with an install in it, and the steps of the loop."""

    def __init__(self, source: Path, root: Path, voice: Voice) -> None:
        self.root, self.voice = root, voice
        self.demo = source / "examples" / "demo"
        self.project = root / "project"
        home = root / "home"
        borrowed = self._borrowed(source)
        for name, value in {
            "HOME": home, "USERPROFILE": home, "CLAUDE_CONFIG_DIR": home / ".claude",
            "EXPERIENCE_FORGE_HOME": home / ".local" / "share" / "experience-forge",
            "CLAUDE_PROJECT_DIR": self.project,
        }.items():  # fmt: skip
            os.environ[name] = str(value)
        client_folder = home / ".claude"
        self.target = Target(
            source, Path(os.environ["EXPERIENCE_FORGE_HOME"]), client_folder, client_folder / "settings.json",
            False, machine.base_python(), None, True, True, borrowed,
        )  # fmt: skip
        self.session = ""

    def set_up(self) -> None:
        """Install with hooks, and lay out a project and the recorded session."""
        if not work.Installer(self.target, self.voice).install():
            raise Refused(Text("errors_install.no_demo"), Text("errors_install.lines_above"))
        # The worker would outlive the demo, and write into its home after that is gone.
        files.append_line(self.target.home / "derived" / "worker.stamp", "demo")
        self._project()
        lines = files.read_text(self.demo / "session.jsonl").splitlines()
        self.session = next(str(json.loads(line)["sessionId"]) for line in lines if '"sessionId"' in line)
        self.transcript = self.target.client_folder / "projects" / "-home-dev-project" / f"{self.session}.jsonl"
        files.write_text(self.transcript, "\n".join(lines) + "\n")

    @staticmethod
    def _borrowed(source: Path) -> Path | None:
        """An environment that is complete already, so that none has to be made: the installed one, or this one."""
        installed = Path(fast_home.default_home()) / "venv"
        if environment.is_current(installed, machine.base_python(), source / "requirements.txt"):
            return installed
        own = Path(sys.prefix)
        return own if sys.prefix != sys.base_prefix and environment.runs(environment.python_of(own)) else None

    def _project(self) -> None:
        """A project whose branch and last commits speak of the matter, as a working tree's files would say it."""
        who = f"{'0' * 40} {'1' * 40} Dev <dev@example.org> 1790000000 +0000"
        log = "".join(f"{who}\tcommit: {one}\n" for one in COMMITS)
        files.write_text(self.project / ".git" / "logs" / "HEAD", log)
        files.write_text(self.project / ".git" / "HEAD", f"ref: refs/heads/{BRANCH}\n")
        files.write_text(self.project / ".git" / "config", "[core]\n\tbare = false\n")
        files.write_text(self.project / "export.py", "# the next day's work\n")

    def play(self) -> int:
        """All steps; stops with the exit code of the question when nobody says yes."""
        voice = self.voice
        voice.line("demo_session", path=_at_home(str(self.transcript), self.root / "home"))
        self._command("signals", str(self.transcript))
        voice.line("demo_draft", path=self.demo.name + "/prepared.md")
        draft = self._draft("draft", "--from", str(self.demo / "prepared.md"), "--session", self.session)
        voice.line("demo_question")
        code = self._command("confirm", str(draft["id"]), "--digest", str(draft["digest"]), must=False)
        if code:
            return code
        voice.line("demo_entry")
        self._command("list")
        voice.line("demo_next")
        self._next_session()
        return 0

    def _next_session(self) -> None:
        # Each in a session of its own: what was said once in a session is not said again.
        common = {"session_id": "the-next", "cwd": str(self.project), "transcript_path": "", "prompt_id": "p"}
        call = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "python3 export.py"}}
        asked = {"prompt": PROMPT, "session_id": "a-second"}
        failure = {"tool_calls": [{**call, "tool_response": f"Exit code 1\n{FAILURE}"}]}
        told = [
            self._hook("SessionStart", {**common, "source": "startup"}, f"SessionStart  ({BRANCH})"),
            self._hook("UserPromptSubmit", {**common, **asked}, f"UserPromptSubmit  “{PROMPT}”"),
            self._hook("PostToolBatch", {**common, **failure, "session_id": "a-third"}, f"PostToolBatch  {FAILURE}"),
        ]
        if not any(told):
            raise Refused(
                Text("errors_install.silent"), Text("errors_install.see_logs", path=self.target.home / "logs")
            )

    def _hook(self, event: str, given: dict[str, Any], label: str) -> bool:
        """Start one hook as the client does, from the settings; print what it hands to the model."""
        settings = json.loads(files.read_text(self.target.settings))
        handler = settings["hooks"][event][-1]["hooks"][0]
        body = json.dumps({"hook_event_name": event, **given}, ensure_ascii=False).encode("utf-8")
        done = subprocess.run(
            [handler["command"], *handler["args"]], input=body, capture_output=True, cwd=self.project,
            timeout=handler["timeout"], check=False,
        )  # fmt: skip
        answer = json.loads(done.stdout.decode("utf-8")) if done.stdout.strip() else {}
        text = answer.get("hookSpecificOutput", {}).get("additionalContext") or answer.get("systemMessage")
        print(f"\n  {label}", flush=True)
        for line in (text or self.voice.text("demo_silent")).splitlines():
            print(f"    {line}", flush=True)
        return bool(text)

    def _command(self, *arguments: str, must: bool = True) -> int:
        """Run the installed command before the user's eyes; a failure of a step ends the demo."""
        print(f"\n$ experience-forge {' '.join(self._short(one) for one in arguments)}", flush=True)
        code = subprocess.run([*self._launch(), *arguments], cwd=self.project, check=False).returncode
        if code and must:
            raise Refused(
                Text("errors_install.demo_ended", command=arguments[0], code=code),
                Text("errors_install.demo_home", path=self.root),
            )
        return code

    def _draft(self, *arguments: str) -> dict[str, Any]:
        """Draft, and print of the text its title only where the question shows the whole in a moment."""
        if not can_ask():
            self._command(*arguments)
        draft: dict[str, Any] = self._json(*arguments)["drafts"][0]
        if not can_ask():
            return draft
        print(f"\n$ experience-forge {' '.join(self._short(one) for one in arguments)}", flush=True)
        done = subprocess.run([*self._launch(), *arguments], capture_output=True, cwd=self.project, check=False)
        lines, text = done.stdout.decode("utf-8").splitlines(), str(draft["rendered"]).rstrip("\n").splitlines()
        print(next(line for line in text if line.startswith("title:")), "…", sep="\n")
        for line in lines[len(text) :]:
            print(_at_home(line, self.root / "home"), flush=True)
        return draft

    def _json(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [*self._launch(), *arguments, "--json"], capture_output=True, cwd=self.project, check=False
        )
        data: dict[str, Any] = json.loads(done.stdout.decode("utf-8"))
        return data

    def _launch(self) -> list[str]:
        return [self.target.launcher + ".cmd"] if os.name == "nt" else [self.target.launcher]

    def _short(self, argument: str) -> str:
        return Path(argument).name if argument.startswith((str(self.root), str(self.demo))) else argument


def _at_home(text: str, home: Path) -> str:
    """The text with `~` for a home folder."""
    return text.replace(f"{home}{os.sep}", f"~{os.sep}")


def _clean(root: Path) -> None:
    """Remove the throw-away home; what a worker still writes may keep a folder for a moment."""
    try:
        with light.writes(flush=False):
            trees.remove(root)
    except (OSError, Refused):
        return

