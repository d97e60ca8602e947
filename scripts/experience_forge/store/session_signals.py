"""One session file, read and explained: the reader, the detectors and their rules put together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..core.phrases import Phrases
from ..core.scoring import Weights
from ..core.signals import Turn, Watch, telling
from ..model import Episode, SessionInfo, Signal
from . import known_sessions, readers, ruleset


@dataclass(frozen=True)
class Detectors:
    """The rules of signals, compiled."""

    phrases: Phrases
    weights: Weights
    explain: dict[str, Any]

    @property
    def telling(self) -> tuple[str, ...]:
        """What an answer holds that a detector looks at."""
        return telling(self.explain)

    def watch(self, *, keep_turns: bool = True) -> Watch:
        """A fresh watch over one session."""
        return Watch(self.phrases, self.weights, self.explain, keep_turns=keep_turns)


@dataclass(frozen=True)
class Explained:
    """What was found in one session."""

    info: SessionInfo
    turns: tuple[Turn, ...]
    episodes: tuple[Episode, ...]
    signals: tuple[Signal, ...]
    weights: Weights


@cache
def detectors() -> Detectors:
    """The detectors by the rule files.

    Raises:
        Invalid: when a rule file does not hold.
    """
    scoring = ruleset.load("scoring")
    return Detectors(Phrases(ruleset.load("phrases")), Weights.of(scoring), dict(scoring.get("explain") or {}))


def of_file(path: Path, *, full: bool = False) -> Explained:
    """Everything found in one session file.

    Raises:
        Refused: when it can't be read.
        Invalid: when no reader knows its format.
    """
    session = readers.open_session(path, full=full, telling=detectors().telling)
    watch = detectors().watch()
    for event in session.events():
        watch.feed(event)
    return Explained(
        session.info, tuple(watch.turns), watch.episodes(), tuple(watch.all_signals()), detectors().weights
    )


def transcripts() -> list[Path]:
    """All sessions that the client keeps on this machine, by name; subagents' files are left out."""
    return known_sessions.transcripts()


def transcript(session: str) -> Path:
    """The file of one session, by its id or the beginning of it.

    Raises:
        Refused: when the client keeps none of that id, or several begin with it.
    """
    return known_sessions.transcript(session)
