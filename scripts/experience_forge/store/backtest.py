"""Runs a draft's conditions over `evidence/history/`, and keeps that folder."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import backtest, conditions, history
from ..errors import Invalid, Refused
from ..model import Condition, Entry, Event, SessionInfo
from ..wording import filled
from . import condition_rules, files, freshness, positions, readers, redaction, ruleset, spelling_rules
from .home import Home

HEAD = b'{"v":%d,' % history.VERSION
_NAME = re.compile(r"[^A-Za-z0-9._-]")


def folder(home: Home) -> Path:
    """Where the histories are."""
    return home.evidence / "history"


def path_of(home: Home, session: str) -> Path:
    """The history file of a session, its id made safe as a file name."""
    return folder(home) / (_NAME.sub("_", session)[:120].lstrip(".") + ".jsonl")


def write(home: Home, info: SessionInfo, lines: Iterable[Mapping[str, Any]]) -> Path:
    """Keep the history of one session, whole, in place of an earlier one.

    The first line tells of the session: version, id, client, folder, when it began, where it was.

    Raises:
        Refused: when it can't be written.
    """
    head = {
        "v": history.VERSION, "session": info.id, "client": info.client, "cwd": info.cwd, "started": info.started,
        "path": info.path,
    }
    text = "".join(_dumped(line) + "\n" for line in (head, *lines))
    path = path_of(home, info.id)
    files.write_text(path, text)
    return path


def keep(
    home: Home, info: SessionInfo, events: Iterable[Event], redact: Callable[[str], str], *, more: bool = False
) -> Path:
    """Make and keep the history of one session from its events; versions that programs told are noted.

    Args:
        more: the events go on where an earlier reading ended: they are added to what is kept.

    Raises:
        Refused: when it can't be written.
    """
    lines = history.history_lines(events, condition_rules.lexicon(), redact)
    seen = {line["v"][0]: (line["v"][1], info.started) for line in lines if "v" in line}
    if seen:
        freshness.note_versions(home, seen)
    path = path_of(home, info.id)
    if not more or not path.exists():
        return write(home, info, lines)
    if lines:
        files.append_line(path, "\n".join(map(_dumped, lines)))
    return path


def refresh(
    home: Home, paths: Iterable[Path], *, limit: int | None = None, seconds: float | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> dict[str, int]:
    """Bring the kept histories up to date with transcripts; those that did not change are not opened.

    Args:
        paths: transcripts, the ones that matter most first.
        limit: stop after so many bytes read; None for all of them.
        seconds: stop once so much time has passed; None to go on to the end.
        advance: told how many transcripts are done.

    Returns:
        `kept`, `unreadable` and `left` (transcripts that have to wait for the next run).

    Raises:
        Refused: when a history can't be written.
    """
    stamps = positions.load(home, "history")
    begun = time.monotonic()
    counts, read_bytes = {"kept": 0, "unreadable": 0, "left": 0}, 0
    for done, path in enumerate(paths, 1):
        try:
            info = path.stat()
        except OSError:
            continue
        stamp = [info.st_size, info.st_mtime_ns]
        if stamps.get(str(path)) == stamp:
            continue
        late = seconds is not None and time.monotonic() - begun >= seconds
        if late or (limit is not None and read_bytes >= limit):
            counts["left"] += 1
            continue
        read_bytes += info.st_size
        try:
            session = readers.open_session(path, full=True)
            events = list(session.events())
            keep(home, session.info, events, _cleaned)
            counts["kept"] += 1
        except Invalid:
            counts["unreadable"] += 1
        stamps[str(path)] = stamp
        advance(done)
    positions.save(home, "history", stamps)
    return counts


def _cleaned(text: str) -> str:
    return redaction.clean(text)[0]


def _dumped(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def run(
    home: Home,
    applies: Sequence[Condition],
    fails: Sequence[Condition],
    *,
    advance: Callable[[int], None] = lambda done: None,
) -> backtest.Report:
    """Backtest conditions over all kept histories.

    Args:
        advance: told the number of sessions done so far.
    """
    weights = condition_rules.weights()
    trigger = backtest.side(conditions.matchers(spelling_rules.spelled(applies), weights))
    falsifier = backtest.side(conditions.matchers(spelling_rules.spelled(fails), weights))
    paths = sorted(folder(home).glob("*.jsonl")) if folder(home).is_dir() else []
    fired, unreadable = [], []
    for done, path in enumerate(paths, 1):
        advance(done)
        try:
            data = files.read_bytes(path)
        except (OSError, Refused):
            unreadable.append(path.stem)
            continue
        if not data.startswith(HEAD):
            unreadable.append(path.stem)
            continue
        one = backtest.one_session(path.stem, data, trigger, falsifier)
        if one is not None:
            fired.append(one)
    return backtest.Report(
        len(paths) - len(unreadable), tuple(fired), unreadable=tuple(unreadable),
        has_falsifier=bool(falsifier.matchers),
    )  # fmt: skip


def sentence(home: Home, entry: Entry, language: str) -> str:
    """What a backtest of an entry's conditions says, for the draft; empty when there is nothing to say.

    Two or three short sentences: how often it would have fired, how often in time, how often the
    failure followed, and one place where it did not belong.
    """
    if not entry.applies_when:
        return ""
    return say(run(home, entry.applies_when, entry.fails_when), ruleset.messages(language))


def say(report: backtest.Report, texts: Mapping[str, str]) -> str:
    """A report in words."""
    parts = []
    if report.state == "no_sessions":
        parts.append(texts["effect.backtest_no_sessions"])
    elif report.state == "never":
        parts.append(filled(texts["effect.backtest_never"], {"sessions": report.sessions}))
    else:
        counts = {"fired": len(report.fired), "sessions": report.sessions, "in_time": report.in_time}
        name = "effect.backtest_fired" if report.has_falsifier else "effect.backtest_fired_untestable"
        parts.append(filled(texts[name], {"followed": report.followed, **counts}))
        if report.has_falsifier and report.misplaced:
            first = report.misplaced[0]
            misplaced = {"count": len(report.misplaced), "session": first.session[:8], "line": first.line}
            parts.append(filled(texts["effect.backtest_misplaced"], misplaced))
        if report.state == "most":
            parts.append(texts["effect.backtest_most"])
    if report.unreadable:
        parts.append(filled(texts["effect.backtest_unreadable"], {"count": len(report.unreadable)}))
    return " ".join(parts) if " " in texts["effect.backtest_most"] else "".join(parts)
