"""Conditions for a draft that brings none: read from the episode of the session it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..core import conditions, tools
from ..errors import ForgeError
from ..model import Condition, Entry, Episode, Event, EventKind, Kind, SignalKind
from . import client_record, condition_rules, readers, session_signals

Pair = tuple[tuple[Condition, ...], tuple[Condition, ...]]


def fill(entry: Entry) -> Entry:
    """The entry with conditions proposed for what it leaves out; unchanged when nothing can be proposed.

    The session and the line are those of the entry's first source; without a line its quote is looked for. A
    pitfall or a workflow is about an episode; of a preference or a decision only its own words can come again:
    the failures around them are another matter. What the draft says is kept.
    """
    source = entry.sources[0] if entry.sources else None
    if (entry.applies_when and entry.fails_when) or source is None or not source.session:
        return entry
    path = next(iter(client_record.records(source.session)), None)
    if path is None:
        return entry
    try:
        if entry.kind in (Kind.PITFALL, Kind.WORKFLOW):
            applies, fails = propose(path, source.line, source.quote)
        else:
            applies, fails = (), _own_words(path, source.quote)
    except ForgeError:
        return entry
    return replace(entry, applies_when=entry.applies_when or applies, fails_when=entry.fails_when or fails)


def propose(path: Path, line: int = 0, quote: str = "") -> Pair:
    """(applies_when, fails_when) from one session's episode: that around `line`, else the one with most rework.

    Args:
        quote: words of the session, for when no line is known.

    Raises:
        Refused: when the session can't be read.
        Invalid: when no reader knows its format.
    """
    explained = session_signals.of_file(path, full=True)
    events = list(readers.open_session(path, full=True).events())
    line = line or _line_of(events, quote)
    episode = choose(explained.episodes, line) or _before(events, line)
    if episode is None:
        return (), ()
    corrections = [
        signal.quote for signal in explained.signals
        if signal.kind is SignalKind.CORRECTION and episode.turns[0] <= signal.turn <= episode.turns[1]
    ]
    return conditions.proposed(_detailed(episode, events), condition_rules.lexicon(), corrections)


def choose(episodes: Sequence[Episode], line: int) -> Episode | None:
    """The episode that holds a line; without a line the one with most rework rounds; None when there is none."""
    found = [one for one in episodes if not line or one.lines[0] <= line <= one.lines[1]]
    return max(found, key=lambda one: one.rework_rounds, default=None)


def _own_words(path: Path, quote: str) -> tuple[Condition, ...]:
    """The quoted words as a falsifier, when the person did say them in the session."""
    said = [one for one in readers.open_session(path, full=True).events() if one.kind is EventKind.PROMPT]
    words = conditions.key_words(quote, condition_rules.lexicon()) if _line_of(said, quote) else ""
    return (Condition(words=words),) if words else ()


def _line_of(events: Sequence[Event], quote: str) -> int:
    """The line of the first event that holds the quoted words; 0 when none does."""
    words = " ".join(quote.split())
    return next((one.line for one in events if words and words in " ".join(one.text.split())), 0)


def _before(events: Sequence[Event], line: int) -> Episode | None:
    """What a correction outside any rework is about: its own turn and the files edited in the turn before."""
    turn = next((one.turn for one in events if line and one.line == line), -1)
    if turn < 0:
        return None
    paths = dict.fromkeys(one.path for one in events if turn - 1 <= one.turn <= turn and one.line < line
                          and tools.is_edit(one))
    return Episode((turn, turn), (line, line), 0, "unclear", tuple(paths))


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
