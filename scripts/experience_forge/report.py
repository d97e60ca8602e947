"""What a person or a script sees: data on stdout, talk on stderr; the only user of rich."""

from __future__ import annotations

import datetime
import json
import os
import re
import select
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import UnsupportedOperation
from typing import Any, TextIO

from .core import layout
from .fast import visible
from .wording import filled

SCHEMA_VERSION = 1
PROGRESS_AFTER_SECONDS = 0.5


_SCORE_LINE = re.compile(
    r"(\S+) ([a-z-]+)(?:: (\S+), turn (\d+): (.*?)(?: \(\+(\d+) more, counted once\))?)?", re.DOTALL
)


class Output:
    """Where a command puts its results.

    Args:
        as_json: one JSON document on stdout in place of text.
        language: `en` or `zh`.
        texts: message texts by id, each with `{name}` fields (see `store.ruleset.messages`).
        dry_run: nothing is written by this run; its JSON says so.
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        language: str = "en",
        texts: Mapping[str, str] | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        stdin: TextIO | None = None,
        dry_run: bool = False,
    ) -> None:
        self.as_json = as_json
        self.dry_run = dry_run
        self.language = language
        self.texts = texts or {}
        self.stdout = stdout or sys.stdout
        self.stderr = stderr or sys.stderr
        self.stdin = stdin or sys.stdin

    def data(self, document: Mapping[str, Any]) -> None:
        """Print one JSON document with `schema_version` first; only in JSON mode."""
        if self.as_json:
            body = {"schema_version": SCHEMA_VERSION, **document, **({"dry_run": True} if self.dry_run else {})}
            self.stdout.write(json.dumps(body, ensure_ascii=False, indent=2) + "\n")

    def line(self, text: str = "") -> None:
        """Print one line of result; silent in JSON mode."""
        if not self.as_json:
            self.stdout.write((_tame(text) if self.is_terminal else text) + "\n")

    def talk(self, text: str) -> None:
        """Print a message to stderr: progress, hints, warnings; wrapped at a terminal."""
        for line in self.fitted([text], self.stderr):
            self.show(line)

    def explain(self, text: str) -> None:
        """`talk` of what a JSON document holds in a field of its own; silent in JSON mode.

        A client hands both streams to the model as one text: what is said twice there costs it twice.
        """
        if not self.as_json:
            self.talk(text)

    def show(self, text: str) -> None:
        """Print a text to stderr as it stands: what a person is asked about is not wrapped."""
        self.stderr.write((_tame(text) if _is_terminal(self.stderr) else text) + "\n")

    def fitted(self, lines: Iterable[str], stream: TextIO | None = None) -> list[str]:
        """Lines of prose as they fit the terminal; unchanged where there is none."""
        if not _is_terminal(stream or self.stdout):
            return list(lines)
        return [row for text in lines for line in text.split("\n") for row in layout.paragraph(line, self.width)]

    def text(self, name: str, /, **values: object) -> str:
        """The message `name` in the user's language, its fields filled in.

        Raises:
            KeyError: when no such message exists (a bug).
        """
        return filled(self.texts[name], values)

    def word(self, kind: str, value: str) -> str:
        """A word of our own in the user's language, as `rules/messages/words.yaml` has it; else as it is.

        Args:
            kind: `change`, `state`, `status`, `track`, `guard`, `signal` or `by`.
        """
        return self.texts.get(f"words.{kind}_{value}", value)

    def listed(self, parts: Iterable[str]) -> str:
        """Words one after another, with the commas of the language."""
        return ("、" if self.language == "zh" else ", ").join(parts)

    def score_line(self, line: str) -> str:
        """One line of a score's sum, as `core.scoring` writes it for JSON, in the user's language."""
        found = _SCORE_LINE.fullmatch(line)
        if self.language == "en" or found is None:
            return line
        weight, kind, detector, turn, quote, others = found.groups()
        told = f"{weight} {self.word('signal', kind)}"
        if detector:
            told = self.text("words.score_line", of=told, detector=detector, turn=turn, quote=quote)
        return told + (self.text("words.score_others", count=others) if others else "")

    def moment(self, at: str) -> str:
        """An ISO time as a person reads it: their own clock, to the minute; another text as it is."""
        try:
            told = datetime.datetime.fromisoformat(at.replace("Z", "+00:00"))
        except ValueError:
            return at
        return told.astimezone().strftime("%Y-%m-%d %H:%M") if told.tzinfo else at

    def say(self, name: str, /, **values: object) -> None:
        """Print the message `name` as a result; wrapped at a terminal."""
        self.prose(self.text(name, **values))

    def prose(self, text: str) -> None:
        """Print a text of ours as a result; wrapped at a terminal."""
        for line in self.fitted([text]):
            self.line(line)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], prose: Collection[int] = ()) -> None:
        """Print a table; silent in JSON mode. Without a terminal: tab-separated, one row a line, nothing wrapped.

        Args:
            prose: numbers of the columns that may be wrapped at a terminal; the others (ids, paths) stay whole.
        """
        if self.as_json:
            return
        # A title may hold anything: what hides in it is shown, and a line feed starts no row.
        cells = [[visible.escape(str(cell)) for cell in row] for row in rows]
        if not self.is_terminal:
            for row in (columns, *cells):
                self.line("\t".join(row))
            return
        from rich.console import Console
        from rich.text import Text

        head, body = layout.table(columns, cells, prose, self.width)
        console = Console(file=self.stdout, no_color="NO_COLOR" in os.environ or None)
        for line in head:
            console.print(Text(line, style="bold"), soft_wrap=True)
        for line in body:
            self.line(line)

    @property
    def width(self) -> int:
        """Columns of the terminal: COLUMNS, else what it says itself, else 80."""
        return shutil.get_terminal_size((80, 24)).columns

    @property
    def height(self) -> int:
        """Rows of the terminal: LINES, else what it says itself, else 24."""
        return shutil.get_terminal_size((80, 24)).lines

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads the result on a terminal."""
        return _is_terminal(self.stdout)

    @property
    def can_ask(self) -> bool:
        """Whether a person can answer: both ends are terminals."""
        return _is_terminal(self.stdin) and _is_terminal(self.stderr)

    def ask(self, question: str) -> str | None:
        """One line of a person's answer, stripped; None without a terminal or at its end."""
        if not self.can_ask:
            return None
        self.stderr.write(question)
        self.stderr.flush()
        answer = self.stdin.readline()
        return answer.strip() if answer else None

    def ask_for_consent(self, question: str) -> str | None:
        """As `ask`, below a text that was just shown: a line typed before that decides nothing."""
        while True:
            early = self.typed_ahead
            answer = self.ask(question)
            if answer is None or not early:
                return answer
            self.talk(self.text("review.typed_ahead"))

    @property
    def typed_ahead(self) -> bool:
        """Whether a person has typed a line already that nothing has asked for yet."""
        return self.can_ask and _waits(self.stdin)

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """A counter on stderr for long work; yields a function that takes the count done so far.

        Shown on a terminal only, and only after half a second.
        """
        begun = time.monotonic()
        shown = False
        terminal = _is_terminal(self.stderr)
        last = 0.0

        def advance(done: int) -> None:
            nonlocal shown, last
            now = time.monotonic()
            if not terminal or now - begun < PROGRESS_AFTER_SECONDS or now - last < 0.1:
                return
            shown, last = True, now
            self.stderr.write(f"\r{label} {done}/{total}\x1b[K")
            self.stderr.flush()

        try:
            yield advance
        finally:
            if shown:
                self.stderr.write("\r\x1b[K")
                self.stderr.flush()


def open_streams() -> None:
    """Standard streams that are there, and speak UTF-8: Windows consoles and pipes follow the locale otherwise."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Closed by whoever started us (`>&-`): reads find nothing, writes go nowhere.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - lives as long as we do
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace" if name == "stdin" else "backslashreplace")


def silence_broken_streams() -> None:
    """Let nothing be said at the interpreter's end about output that nobody can take any more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What moves the cursor, colours, or turns the direction of writing."""


def _tame(text: str) -> str:
    """A text for a terminal: what would steer it is shown in its place."""
    return _STEERS.sub(lambda found: visible.escape(found[0]), text)


def _waits(stream: TextIO) -> bool:
    if os.name == "nt":
        import msvcrt

        return bool(msvcrt.kbhit())  # type: ignore[attr-defined,unused-ignore]
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except UnsupportedOperation:
        return False  # Not of the system: nobody can type into it beforehand.


def _is_terminal(stream: TextIO) -> bool:
    return bool(getattr(stream, "isatty", lambda: False)())
