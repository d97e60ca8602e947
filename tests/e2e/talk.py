"""A talk with the scripted model in one interactive session, for tests that share a client."""

from __future__ import annotations

import base64
import re
import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from experience_forge.core import codec
from experience_forge.fast import receipts
from experience_forge.model import Entry
from experience_forge.store import journal, proposals
from experience_forge.store.home import Home
from experience_forge.store.proposals import Proposal

from .lab import Lab, read_lines
from .layout import Installed
from .server import Json, Request, Turn, bash, calls, say
from .terminal import DIALOG, Terminal


def draft_text(entry: Entry) -> str:
    """The entry as a model hands it in: without what we compute."""
    computed = ("status:", "revision:", "created:", "updated:")
    return "".join(line for line in codec.render(entry).splitlines(True) if not line.startswith(computed))


@dataclass
class Talk:
    """One running session of a laid-out lab; turns are given as the talk goes on."""

    lab: Lab
    installed: Installed
    terminal: Terminal
    _count: int = field(default=0)

    @property
    def home(self) -> Home:
        """The data home of the lab."""
        return Home(self.installed.home)

    def propose(self, entry: Entry) -> tuple[Proposal, str]:
        """Put a draft into the inbox; it and its confirm line."""
        made = proposals.create(self.home, "draft", codec.render(entry), {"warnings": []}, entry.id)
        return made, f"{self.installed.launcher} confirm {made.id} --digest {made.digest}"

    def start(self, *turns: Turn) -> None:
        """Say something to which the model answers with these turns and then an end mark."""
        self._count += 1
        self.terminal.server.clear()
        self.terminal.server.add(*turns, say(self.mark))
        self.terminal.send(f"step {self._count}")

    def run(self, *commands: str, **values: object) -> None:
        """`start` with one turn that runs these commands in parallel."""
        self.start(calls(*(bash(command, **values) for command in commands)))

    @property
    def mark(self) -> str:
        """What the model says at the end of the present step."""
        return f"the end of step {self._count}."

    def end(self) -> list[Json]:
        """Wait for the end mark; all tool results that the model has seen by then."""
        self.terminal.wait(self.mark, seconds=40)
        return self.terminal.server.steps[-1].results

    def steps(self) -> list[Request]:
        """All requests of the session so far, a subagent's included."""
        return self.terminal.server.steps

    def until(self, condition: Callable[[], bool], seconds: float = 30) -> None:
        """Wait for something that the screen does not show.

        Raises:
            TimeoutError: when it never came.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(self.terminal.screen())
            time.sleep(0.15)

    def answer(self, *keys: str) -> str:
        """Wait for the dialog, read it, press keys; the screen as it was."""
        shown = self.terminal.dialog()
        self.terminal.key(*keys)
        return shown

    def remark(self, *keys: str, text: str) -> None:
        """Answer the dialog with a remark; `keys` choose the answer first."""
        self.answer(*keys, "Tab")
        self.terminal.send(text)

    def interrupted(self) -> None:
        """Wait until a refused dialog has ended the turn."""
        self.terminal.wait("Interrupted", gone=DIALOG)
        time.sleep(0.3)

    def settle(self) -> None:
        """Run a command of ours, as the next one of any session would: it settles pending proofs first."""
        done = self.outside(f"{self.installed.launcher} list")
        assert done.returncode == 0, done.stderr

    def outside(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as the user of the lab, outside of the client and without a terminal."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.lab.home), "PYTHONUTF8": "1"}
        return subprocess.run(
            shlex.split(command), env=environment, capture_output=True, encoding="utf-8", check=False, cwd=self.lab.root
        )

    def kept(self, entry_id: str) -> bool:
        """Whether nothing was written for this proposal and it is still open."""
        return (
            not self.entry_path(entry_id).exists()
            and not self.changes(entry_id)
            and proposals.text_path(self.home, entry_id).exists()
        )

    def entry_path(self, entry_id: str) -> Path:
        """Where a personal entry is when it was saved."""
        return self.home.entries / "personal" / f"{entry_id}.md"

    def changes(self, entry_id: str) -> list[Json]:
        """Journal records about one proposal, proofs and revocations of its changes included."""
        records = journal.read(self.home)
        numbers = {record["seq"] for record in records if record.get("proposal") == entry_id}
        return [r for r in records if r.get("proposal") == entry_id or r.get("of") in numbers]

    def leaked_receipt(self, proposal: Proposal) -> str:
        """The last receipt for a proposal as it stands in the client's record, where a model could read it."""
        texts = [path.read_text(encoding="utf-8") for path in self.transcripts()]
        line = rf"confirm {proposal.id} --digest {proposal.digest} --receipt ([0-9a-f]{{32}})"
        return str(re.findall(line, "\n".join(texts))[-1])

    def transcripts(self) -> list[Path]:
        """The client's records of the project."""
        return sorted((self.lab.home / ".claude" / "projects").glob("*/*.jsonl"))

    def hidden(self, command: str) -> str:
        """A command that runs `command` without showing it to a hook."""
        return f"echo {base64.b64encode(command.encode()).decode()} | base64 -d | sh"

    def receipts(self, state: str) -> list[Json]:
        """Stored receipts of one state."""
        return [record for _, record in receipts.stored(str(self.home.receipts), state)]

    def records(self) -> list[Json]:
        """All records of the client."""
        return [record for path in self.transcripts() for record in read_lines(path)]
