"""Judges the opportunities of ended sessions, once each, by the client's own record.

The judge is given steps, falsifiers and a line; which arm an opportunity was in stays here, unread.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core import codec, conditions, effect, judge
from ..core.effect import Opportunity
from ..core.judge import Judged
from ..core.steps import steps_of
from ..errors import ForgeError
from ..fast import spool
from ..model import Entry, Event, EventKind
from . import (
    backtest,
    client_record,
    condition_rules,
    effects,
    entries,
    files,
    journal,
    measure_rules,
    readers,
    session_signals,
    spelling_rules,
)
from .home import Home

QUIET_SECONDS = 900.0
"""A session whose record did not grow for so long has ended, or pauses: its outcomes can be judged."""
MISSING_SECONDS = 86400.0
"""A record that is not there a day after the session's last line will not come any more."""
HISTORY_BYTES = 32 << 20
"""Bytes of transcripts that one run of the worker reads for later backtests, newest first."""
SLACK = 60.0
"""Seconds by which the clocks of hook and record may differ when a line is found by its time."""


def catch_up(home: Home, now: float | None = None) -> dict[str, Any]:
    """Judge what ended sessions left open, append the outcomes, compile the chances anew.

    Returns `judged` by outcome, `waiting` (opportunities of sessions that still run), `under_test`,
    `asking`, `histories` (sessions kept for backtests).

    Raises:
        Refused: when a ledger or the compiled file can't be written.
    """
    clock = time.time() if now is None else now
    judged = {"bad": 0, "good": 0, "unknown": 0}
    waiting = 0
    for ledger in effects.ledgers(home):
        open_ones = [one for one in ledger.opportunities if not one.outcome and not one.fault]
        if not open_ones:
            continue
        verdicts = _session(home, ledger.session, open_ones, clock)
        waiting += len(open_ones) - len(verdicts)
        for one, trigger, found in verdicts:
            _append(home, ledger.session, {
                "what": "outcome", "entry": one.entry, "sha256": one.sha256, "opportunity": one.at,
                "outcome": found.outcome, "reason": found.reason, "line": found.line, "trigger": trigger,
            })
            judged[found.outcome] += 1
    compiled = measure_rules.build(home)
    newest = sorted(session_signals.transcripts(), key=lambda path: -path.stat().st_mtime)
    histories = backtest.refresh(home, newest, limit=HISTORY_BYTES)
    return {"judged": judged, "waiting": waiting, **compiled, "histories": histories["kept"]}


def _append(home: Home, session: str, record: dict[str, Any]) -> None:
    """One line in the form of the hooks' own, behind a torn line on a line of its own."""
    full = {"v": spool.VERSION, "what": "", "at": journal.now(), "session": session, **record}
    files.append_line(Path(spool.ledger_path(str(home.root), session)), json.dumps(full, ensure_ascii=False))


def _session(
    home: Home, session: str, open_ones: Sequence[Opportunity], now: float
) -> list[tuple[Opportunity, int, Judged]]:
    """Outcomes of one session's open opportunities; empty while it may still go on."""
    path = _record(session, open_ones)
    if path is None:
        last = max((effect.seconds_of(one.at) or 0.0 for one in open_ones), default=0.0)
        if now - last < MISSING_SECONDS:
            return []
        return [(one, 0, Judged(judge.UNKNOWN, "transcript_missing")) for one in open_ones]
    if now - path.stat().st_mtime < QUIET_SECONDS and not _said_ended(home, session):
        return []
    try:
        opened = readers.open_session(path, full=True)
        events = list(opened.events())
    except ForgeError:
        return [(one, 0, Judged(judge.UNKNOWN, "transcript_unreadable")) for one in open_ones]
    steps = steps_of(events)
    last_line = max((event.line for event in events), default=0)
    damaged = opened.info.damaged
    found = []
    for one in open_ones:
        entry = _version(home, one)
        if entry is None:
            found.append((one, 0, Judged(judge.UNKNOWN, "version_gone")))
            continue
        trigger, reason = _trigger(one, events)
        if not trigger:
            found.append((one, 0, Judged(judge.UNKNOWN, reason)))
            continue
        fails = spelling_rules.spelled(entry.fails_when)
        falsifiers = conditions.matchers(fails, condition_rules.weights(), opened.info.cwd)
        found.append((one, trigger, judge.judge(steps, falsifiers, trigger, last_line=last_line, damaged=damaged)))
    return found


def _said_ended(home: Home, session: str) -> bool:
    """Whether the client told that the session ended, and nothing came after it."""
    states = [one.get("state") for one in spool.read(str(home.root), session) if one.get("what") == "state"]
    return bool(states) and states[-1] == "ended"


def _record(session: str, open_ones: Sequence[Opportunity]) -> Path | None:
    """The client's record of a session: the path that its hooks told, else by its id."""
    for one in open_ones:
        if one.transcript and os.path.isfile(one.transcript):
            return Path(one.transcript)
    return next(iter(client_record.records(session)), None) if session else None


def _version(home: Home, one: Opportunity) -> Entry | None:
    """The entry as it was when the opportunity was logged, also after it was edited."""
    stored = entries.find(home, one.entry)
    if stored is not None and stored.sha256 == one.sha256:
        return stored.entry
    text = journal.kept_text(home, one.sha256)
    try:
        return codec.parse(text) if text else None
    except ForgeError:
        return None


def _trigger(one: Opportunity, events: Sequence[Event]) -> tuple[int, str]:
    """Line of the event that triggered, by its call or by its time; 0 and the reason when it is not there."""
    if one.agent:
        return 0, "subagent"
    if one.call:
        for_result = one.event == "PostToolBatch"
        kind = EventKind.RESULT if for_result else EventKind.CALL
        line = next((event.line for event in events if event.call_id == one.call and event.kind is kind), 0)
        return line, "" if line else "trigger_not_found"
    return _by_time(one, events)


def _by_time(one: Opportunity, events: Sequence[Event]) -> tuple[int, str]:
    wanted = effect.seconds_of(one.at)
    kinds = {
        "UserPromptSubmit": (EventKind.PROMPT,), "PreToolUse": (EventKind.CALL,), "PostToolBatch": (EventKind.RESULT,),
    }.get(one.event, (EventKind.PROMPT, EventKind.CALL, EventKind.RESULT))
    timed = [(effect.seconds_of(event.at), event) for event in events if event.at and event.kind in kinds]
    known = [(at, event) for at, event in timed if at is not None]
    if wanted is None or not known:
        return 0, "no_time"
    before = [pair for pair in known if pair[0] <= wanted + 1]
    after = [pair for pair in known if pair[0] > wanted + 1]
    # The client may write a prompt after its hook ran: the next one is looked at as well.
    for at, event in (*before[-1:], *after[:1]):
        if abs(at - wanted) <= SLACK:
            return event.line, ""
    spans = [at for at in (effect.seconds_of(event.at) for event in events) if at is not None]
    inside = min(spans) - SLACK <= wanted <= max(spans) + SLACK
    return 0, "trigger_not_found" if inside else "clock_jumped"
