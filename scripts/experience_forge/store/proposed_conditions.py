"""Conditions for a draft that brings none: read from the episode of the session it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..core import conditions
from ..errors import ForgeError
from ..model import Condition, Entry, Episode, Event, EventKind, SignalKind
from . import client_record, condition_rules, readers, session_signals

Pair = tuple[tuple[Condition, ...], tuple[Condition, ...]]


def fill(entry: Entry) -> Entry:
    """The entry with conditions proposed for what it leaves out; unchanged when nothing can be proposed.

    The session and the line are those of the entry's first source. What the draft says is kept.
    """
    source = entry.sources[0] if entry.sources else None
    if (entry.applies_when and entry.fails_when) or source is None or not source.session:
        return entry
    path = next(iter(client_record.records(source.session)), None)
    if path is None:
        return entry
    try:
        applies, fails = propose(path, source.line)
    except ForgeError:
        return entry
    return replace(entry, applies_when=entry.applies_when or applies, fails_when=entry.fails_when or fails)


def propose(path: Path, line: int = 0) -> Pair:
    """(applies_when, fails_when) from one session's episode: that around `line`, else the one with most rework.

    Raises:
        Refused: when the session can't be read.
        Invalid: when no reader knows its format.
    """
    explained = session_signals.of_file(path, full=True)
    episode = choose(explained.episodes, line)
    if episode is None:
        return (), ()
    events = list(readers.open_session(path, full=True).events())
    corrections = [
        signal.quote for signal in explained.signals
        if signal.kind is SignalKind.CORRECTION and episode.turns[0] <= signal.turn <= episode.turns[1]
    ]
    return conditions.proposed(_detailed(episode, events), condition_rules.lexicon(), corrections)


def choose(episodes: Sequence[Episode], line: int) -> Episode | None:
    """The episode that holds a line, else the one with most rework rounds; None when there is none."""
    around = [one for one in episodes if line and one.lines[0] <= line <= one.lines[1]]
    found = around or list(episodes)
    return max(found, key=lambda one: one.rework_rounds, default=None)


def _detailed(episode: Episode, events: Sequence[Event]) -> Episode:
    """The episode with whole outputs of its failed commands, those first that failed more than once."""
    lists = condition_rules.lexicon()
    first, last = episode.lines
    failed = [
        event for event in events
        if event.kind is EventKind.RESULT and event.failed and not event.denied and event.command
        and first <= event.line <= last
    ]
    lines = [line for line in (conditions.error_of(event.text, lists) for event in failed) if line]
    repeated = sorted(dict.fromkeys(lines), key=lambda line: -lines.count(line))
    commands = tuple(dict.fromkeys(event.command for event in failed))
    return replace(episode, errors=tuple(repeated) or episode.errors, commands=commands or episode.commands)
