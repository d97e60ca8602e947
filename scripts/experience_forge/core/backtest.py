"""What a trigger and a falsifier would have done in the sessions that the user already has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..fast import shellwords, signature
from ..fast.system import WINDOWS
from . import history, judge
from .conditions import Matcher
from .steps import Step

MOST: Final = 0.5
"""A trigger that fires in more than this share of sessions says nothing."""
FEWEST: Final = 5
"""Below so many sessions "in most" can't be said."""


@dataclass(frozen=True)
class Fired:
    """How one session went: the first trigger, the first failure (0: none), what was judged after the trigger."""

    session: str
    line: int
    failure: int
    followed: str
    where: int = 0

    @property
    def in_time(self) -> bool:
        """Whether the trigger came before any failure."""
        return not self.failure or self.line < self.failure


@dataclass(frozen=True)
class Report:
    """A backtest: sessions read, those in which the trigger fired, and sessions that could not be read."""

    sessions: int
    fired: tuple[Fired, ...] = ()
    unreadable: tuple[str, ...] = ()
    has_falsifier: bool = True

    @property
    def in_time(self) -> int:
        """Sessions in which the trigger fired before any failure."""
        return sum(1 for one in self.fired if one.in_time)

    @property
    def followed(self) -> int:
        """Of those, sessions in which the failure followed."""
        return sum(1 for one in self.fired if one.in_time and one.followed == judge.BAD)

    @property
    def misplaced(self) -> tuple[Fired, ...]:
        """Sessions in which it fired although no failure came, before or after."""
        return tuple(one for one in self.fired if one.in_time and one.followed == judge.GOOD)

    @property
    def state(self) -> str:
        """`never`, `most` or `some`: how often the trigger fires; `no_sessions` when there is nothing to read."""
        if not self.sessions:
            return "no_sessions"
        if not self.fired:
            return "never"
        most = self.sessions >= FEWEST and len(self.fired) > MOST * self.sessions
        return "most" if most else "some"


@dataclass(frozen=True)
class Side:
    """Trigger or falsifier made ready for kept histories: matchers, and the texts that a line must hold."""

    matchers: tuple[Matcher, ...]
    choices: tuple[tuple[bytes, ...], ...]

    def candidates(self, data: bytes) -> Iterator[bytes]:
        """The lines worth decoding, in their order: those that hold all pieces of one choice."""
        if not all(self.choices):
            yield from data.split(b"\n")
        elif len(self.choices) == 1:
            yield from (line for _, line in _lines_with(data, self.choices[0]))
        else:
            found = {start: line for choice in self.choices for start, line in _lines_with(data, choice)}
            yield from (found[start] for start in sorted(found))

    def hits(self, data: bytes) -> Iterator[Step]:
        """The steps that match, in the order of the lines."""
        if any(one.words and one.sees != "prompt" for one in self.matchers):
            # Words of a prompt hold for the calls that follow it: those steps need all lines.
            steps: Iterable[Step] = decoded(data.split(b"\n")) if any(self.candidates(data)) else ()
        else:
            steps = (step for line in self.candidates(data) for step in decoded([line]))
        yield from (step for step in steps if any(one.matches(step) for one in self.matchers))

    def possible(self, data: bytes, after: int, own: int) -> bool:
        """Whether it could have shown itself at a step after the line `after`, the call `own` left out."""
        for line in reversed(data.split(b"\n")):
            for step in decoded([line]):
                if step.line > after and not _is_own(step, own) and any(one.possible(step) for one in self.matchers):
                    return True
        return False


def _lines_with(data: bytes, choice: tuple[bytes, ...]) -> Iterator[tuple[int, bytes]]:
    """(place, line) of the lines that hold all pieces."""
    rarest = max(choice, key=len)
    at = data.find(rarest)
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        line = data[start:] if end < 0 else data[start:end]
        if all(piece in line for piece in choice):
            yield start, line
        at = data.find(rarest, end) if end >= 0 else -1


def side(matchers: Sequence[Matcher]) -> Side:
    """Matchers made ready for many histories."""
    return Side(tuple(matchers), needles(matchers))


def one_session(name: str, data: bytes, trigger: Side, falsifier: Side) -> Fired | None:
    """What would have happened in one session; None when the trigger does not fire in it.

    Same outcome as `judge.judge` on all steps, without decoding the lines that can't matter.

    Args:
        data: the lines of a kept history.
    """
    first = next(trigger.hits(data), None)
    if first is None:
        return None
    own = first.line if first.kind == "call" else 0
    # The failure that is itself the trigger comes with it, not before it.
    failures = [step for step in falsifier.hits(data) if step.line != first.line]
    failure = min((step.line for step in failures), default=0)
    later = [step.line for step in failures if step.line > first.line and not _is_own(step, own)]
    if later:
        return Fired(name, first.line, failure, judge.BAD, min(later))
    known = bool(falsifier.matchers) and falsifier.possible(data, first.line, own)
    return Fired(name, first.line, failure, judge.GOOD if known else judge.UNKNOWN)


def _is_own(step: Step, own: int) -> bool:
    return step.kind == "result" and own > 0 and step.call_line == own


def decoded(lines: Iterable[bytes]) -> list[Step]:
    """The steps of some lines of a history; lines that are torn, and its head, are passed over."""
    values = []
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "l" in value:
            values.append(value)
    return history.steps_from(values)


def needles(matchers: Sequence[Matcher]) -> tuple[tuple[bytes, ...], ...]:
    """Pieces of text of which a line must hold all of one choice for a matcher to match.

    A choice without pieces means that every line has to be looked at.
    """
    found: list[tuple[str, ...]] = []
    for one in matchers:
        condition = one.condition
        if condition.error:
            # Any one of the anchor words of any segment: each is a choice of its own.
            for pairs, share in one.segments:
                found.extend(('"s":[', word) for word in signature.anchors(pairs, share))
        elif condition.command:
            literal = (word for word in shellwords.key_of(condition.command).split() if word != "*")
            found.append(('"c":"', *_plain(literal)))
        elif condition.path:
            # On Windows paths match in any case: no text to look for.
            piece = "" if WINDOWS else max(_PIECES.split(condition.path), key=len)
            found.append(('"p":"', *_plain([piece] if piece else [])))
        else:
            found.append(('"w":"', *sorted(one.words, key=len)[-1:]))
    return tuple(tuple(piece.encode("utf-8") for piece in choice) for choice in found)


def _plain(words: Iterable[str]) -> list[str]:
    """Words that JSON writes as they are."""
    return [word for word in words if not set(word) & {'"', "\\"}]


_PIECES: Final = re.compile(r"[/\\*?\[\]{},]|\[[^\]]*\]")
