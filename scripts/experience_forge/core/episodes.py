"""Episodes: what belongs to one problem, and how many rounds of rework it took.

A round is an edit after evidence that the last edit failed. The evidence comes from the person (a
correction, a pasted error, a refused call) or from the agent's own checks; each edit counts once. Of
its own checks only the one that fails again and again counts: a type error here and a lint warning
there are ordinary work. The first attempt is round 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..model import Episode, Event, EventKind
from .checks_output import only_looks
from .lazy import Pattern
from .tools import is_edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CALL, _RESULT = EventKind.CALL, EventKind.RESULT
KEPT = 12
REPEATED = 2
"""Edits after the same failing check from which they are rework of their own."""
_CHECK = Pattern(
    r"\b(?:test|tests|pytest|unittest|jest|vitest|mocha|rspec|tox|nox|ctest|check|lint|eslint|ruff|mypy|flake8"
    r"|tsc|build|compile|make"
    r"|cargo|go (?:build|vet|run|test)|gradle\w*|mvn|dotnet|npm|pnpm|yarn|bun|node|python3?|ruby|php|java"
    r"|javac|gcc|g\+\+|clang|cmake"
    r"|bash|sh|run|start|serve|deploy|terraform|docker|kubectl|curl|mise|task|just|bazel|swift|xcodebuild|flutter|dart|uv|conda|pip3?"
    r"|\./\S+)\b"
)


@dataclass
class _Open:
    """An episode under way."""

    turn: int
    line: int
    last_turn: int
    last_line: int
    paths: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    rounds: int = 0
    checks: dict[str, int] = field(default_factory=dict)
    failing: str = ""
    failed: bool = False
    passed: bool = False
    rejected: bool = False
    fresh: bool = False
    settled: bool = False


class Tracker:
    """Follows a session's events and keeps its episodes.

    `feed` takes tool events, `said` a prompt with what it means; `episodes` may be asked at any time.
    """

    def __init__(self) -> None:
        self.done: list[Episode] = []
        self.open: _Open | None = None

    def feed(self, event: Event) -> None:
        """One call or result of the agent."""
        if event.kind is _RESULT:
            if event.denied:
                self._fail(event, "", rejected=True)
            elif event.command:
                self._ran(event)
        elif event.kind is _CALL and is_edit(event):
            self._edit(event)

    def said(
        self, event: Event, *, correction: bool, paste_failed: bool, continues: bool, content: bool = False
    ) -> None:
        """One prompt.

        Args:
            correction: it rejects or corrects what was delivered.
            paste_failed: it holds pasted output that shows a failure.
            content: it says that all is well now; what is edited next is another matter.
            continues: it goes on with the same matter (a short consent, an answer, a remark).
        """
        now = self.open
        if now is None:
            return
        if correction and now.settled and not now.failed:
            return
        if correction or paste_failed:
            self._fail(event, event.text[:200] if paste_failed else "", rejected=True)
        elif content and not paste_failed and not now.failed:
            now.fresh = now.settled = True
        elif not continues and not now.failed:
            now.fresh = True
            return
        now.last_turn, now.last_line = event.turn, event.line

    def episodes(self) -> tuple[Episode, ...]:
        """All episodes with at least one edit, the one under way included."""
        last = (_closed(self.open, ended=False),) if self.open and self.open.paths else ()
        return (*self.done, *last)

    def _edit(self, event: Event) -> None:
        now = self.open
        if now is not None and now.fresh:
            self._close()
            now = None
        if now is None:
            now = self.open = _Open(event.turn, event.line, event.turn, event.line)
        if now.rejected and now.paths:
            now.rounds += 1
        elif now.failing and now.paths:
            now.checks[now.failing] = now.checks.get(now.failing, 0) + 1
        now.failed = now.passed = now.rejected = False
        now.failing = ""
        now.last_turn, now.last_line = event.turn, event.line
        _keep(now.paths, event.path)

    def _ran(self, event: Event) -> None:
        now = self.open
        if now is None or now.fresh or only_looks(event.command) or not _CHECK.search(event.command):
            return
        now.last_turn, now.last_line = max(now.last_turn, event.turn), event.line
        if event.failed:
            self._fail(event, event.text[:300])
            now.failing = now.failing or check_name(event.command)
        else:
            now.passed = not now.rejected
            now.failed = now.rejected
        _keep(now.commands, event.command[:200])

    def _fail(self, event: Event, error: str, rejected: bool = False) -> None:
        now = self.open
        if now is None or not now.paths:
            return
        now.failed, now.passed, now.fresh = True, False, False
        now.rejected = now.rejected or rejected
        now.last_turn, now.last_line = event.turn, event.line
        if error:
            _keep(now.errors, error)

    def _close(self) -> None:
        if self.open is not None and self.open.paths:
            self.done.append(_closed(self.open, ended=True))
        self.open = None

    def to_json(self) -> dict[str, Any]:
        """A mapping that `from_json` takes back; ended episodes without rework are let go."""
        return {
            "done": [dict(vars(item)) for item in self.done if item.rework_rounds],
            "open": dict(vars(self.open)) if self.open else None,
        }

    @classmethod
    def from_json(cls, data: Any) -> Tracker:
        """The tracker in `data`; an empty one when it does not hold."""
        tracker = cls()
        try:
            tracker.done = [_episode(item) for item in data["done"]]
            tracker.open = _Open(**data["open"]) if data["open"] else None
        except (KeyError, TypeError):
            return cls()
        return tracker


def _episode(item: dict[str, Any]) -> Episode:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in item.items()}
    return Episode(**values)


def check_name(command: str) -> str:
    """What a command checks, without its options and paths: `go build`, `npm run test`, `pytest`."""
    part = re.split(
        r"\s*(?:\||2>|>|<)\s*", re.sub(r"^\s*(?:cd [^&;]+(?:&&|;)\s*|\w+=\S+\s+)+", "", command), maxsplit=1
    )[0]
    part = re.split(r"\s*(?:&&|;|\n)\s*", part, maxsplit=1)[0]
    words = [word for word in part.split()[:8] if not word.startswith("-") and "/" not in word and "." not in word]
    return " ".join(words[:3])


def _keep(values: list[str], value: str) -> None:
    if value not in values and len(values) < KEPT:
        values.append(value)


def _rounds(now: _Open) -> int:
    """Rounds after the person's rejections, and those after a check that failed again and again.

    Each edit stands in one of the two. A check that failed once between two rejections is ordinary work.
    """
    repeated = max(now.checks.values(), default=0)
    return now.rounds + repeated if repeated >= REPEATED else max(now.rounds, repeated)


def _closed(now: _Open, ended: bool) -> Episode:
    rounds = _rounds(now)
    if now.failed:
        solved = "abandoned" if ended else "no"
    else:
        solved = "yes" if now.passed or (ended and rounds > 0) else "unclear"
    return Episode(
        (now.turn, now.last_turn),
        (now.line, now.last_line),
        rounds,
        solved,
        tuple(now.paths),
        tuple(now.errors),
        tuple(now.commands),
    )
