"""What of a session's events conditions look at: commands with their outputs, files, prompts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from ..fast import shellwords, signature, tokens
from ..model import Event, EventKind, Speaker
from . import checks_output

OWN: Final = frozenset({"experience-forge", "forge.py"})
"""Our own commands print entries, errors and all: what they say is never an outcome."""

LOOKING: Final = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead", "ToolSearch", "WebFetch"})
"""Tools that look at a path without touching it: a path condition is about what is written."""

COMPLAINTS: Final = ("fatal: ", "error: ")

PROMPT_LIMIT: Final = 4000


@dataclass(eq=False)
class Step:
    """One event as conditions see it.

    `kind` is `call`, `result` or `prompt`. A result carries the command and path of its call, and
    `call_line`; `words` are the search words of the person's last prompt. `line` is the transcript's.
    """

    kind: str
    line: int
    turn: int = -1
    command: str = ""
    path: str = ""
    call_line: int = 0
    call_id: str = ""
    failed: bool = False
    output: str = ""
    words: frozenset[str] = frozenset()
    known_lines: list[frozenset[str]] | None = None
    known_commands: list[list[str]] | None = field(default=None, repr=False)

    @cached_property
    def lines(self) -> list[frozenset[str]]:
        """Signature words of each line of the output."""
        return self.known_lines if self.known_lines is not None else signature.lines_of(self.output)

    @cached_property
    def commands(self) -> list[list[str]]:
        """The simple commands of the command line."""
        return self.known_commands if self.known_commands is not None else shellwords.commands(self.command)


def steps_of(events: Iterable[Event]) -> list[Step]:
    """The steps of a session in order; machine prompts, refused calls and our own commands left out."""
    found: list[Step] = []
    calls: dict[str, tuple[int, bool]] = {}
    words: frozenset[str] = frozenset()
    for event in events:
        if event.kind is EventKind.PROMPT and event.speaker is Speaker.PERSON:
            words = frozenset(tokens.terms(event.text, PROMPT_LIMIT))
            found.append(Step("prompt", event.line, event.turn, words=words))
        elif event.kind is EventKind.CALL and (event.command or (event.path and event.tool not in LOOKING)):
            own = is_own(event.command)
            calls[event.call_id] = (event.line, own)
            if not own:
                found.append(Step(
                    "call", event.line, event.turn, event.command, event.path, event.line, event.call_id, words=words
                ))  # fmt: skip
        elif event.kind is EventKind.RESULT and not event.denied:
            line, own = calls.pop(event.call_id, (0, is_own(event.command)))
            # What a file says when it is read is no error of the session; a failed read is.
            if not own and (event.command or event.failed):
                found.append(Step(
                    "result", event.line, event.turn, event.command, event.path, line, event.call_id,
                    event.failed, said(event), words,
                ))  # fmt: skip
    return found


def said(event: Event) -> str:
    """What a result says for itself: of a command that only shows things, its own complaints."""
    if event.failed or not event.command or not checks_output.only_looks(event.command):
        return event.text
    names = tuple(f"{shellwords.name_of(words[0])}: " for words in shellwords.commands(event.command))
    lines = (line for line in event.text.split("\n") if line.startswith((*names, *COMPLAINTS)))
    return "\n".join(lines)


def is_own(command: str) -> bool:
    """Whether a command line runs our own command."""
    if "forge" not in command:
        return False
    return any(
        shellwords.name_of(word) in OWN for words in shellwords.commands(command) for word in words[:3]
    )
