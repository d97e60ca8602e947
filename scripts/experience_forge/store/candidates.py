"""Ended sessions that may hold something: at most two a session and five a day, gone after 30 days.

The worker calls `catch_up` after a session's end and at the next start, since an end is not guaranteed.
Nothing here is memory: candidates wait in `proposals/candidates.jsonl` until `review` or `scan` takes one up.
"""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..core import answers, json_lines, scoring
from ..errors import ForgeError
from ..fast import spool
from . import config, derived, entries, evidence, files, positions, session_signals
from .home import Home

A_SESSION = 2
A_DAY = 5
DAYS = 30
QUIET_SECONDS = 600
"""A transcript that nobody wrote to for this long belongs to a session that ended, whatever was recorded."""
LOOKED_AT = 40
REACH_DAYS = 3


def catch_up(home: Home, now: datetime.datetime | None = None) -> dict[str, Any]:
    """Leave candidates of ended sessions, let old ones go, and count the answers to suggestions.

    Args:
        now: the present time, for tests.

    Raises:
        Refused: when a file of ours can't be read or written.
    """
    now = now or datetime.datetime.now(datetime.timezone.utc)
    kept = [item for item in _read(home) if _age(item, now) <= DAYS]
    gone = len(_read(home)) - len(kept)
    added = []
    suggest = config.load()["suggest"]
    for path in _ended(home, now):
        if not suggest["on"] or sum(item["at"][:10] == now.date().isoformat() for item in kept) >= A_DAY:
            break
        for item in _of_session(home, path, now, float(suggest["threshold"])):
            today = sum(old["at"][:10] == now.date().isoformat() for old in kept)
            if today < A_DAY and not any(_same(old, item) for old in kept):
                kept.append(item)
                added.append(item)
    if added or gone:
        _write(home, kept)
    return {"added": len(added), "gone": gone, "waiting": len(kept), **count_answers(home)}


def waiting(home: Home) -> list[dict[str, object]]:
    """Candidates that wait, best first: `session`, `score`, `title`, `at`, `quotes`."""
    return sorted(_read(home), key=lambda item: (-float(str(item.get("score", 0))), str(item.get("at", ""))))


def offered(home: Home) -> list[dict[str, object]]:
    """Those that wait, one a session, without sessions from which an entry was confirmed since."""
    done = {source.session for stored in entries.load_all(home).entries for source in stored.entry.sources}
    first: dict[object, dict[str, object]] = {}
    for item in waiting(home):
        first.setdefault(item.get("session"), item)
    return [item for session, item in first.items() if session not in done]


def take(home: Home, session: str) -> None:
    """A candidate was taken up, or its session distilled: it waits no longer."""
    items = _read(home)
    kept = [item for item in items if item.get("session") != session]
    if len(kept) != len(items):
        _write(home, kept)


def outdated(home: Home, now: datetime.datetime | None = None) -> list[dict[str, Any]]:
    """Candidates that the next `catch_up` lets go, for a dry run."""
    now = now or datetime.datetime.now(datetime.timezone.utc)
    return [item for item in _read(home) if _age(item, now) > DAYS]


def count_answers(home: Home) -> dict[str, Any]:
    """Count refusals in a row over all ledgers; the second one raises the threshold to the stress score."""
    state = positions.load(home, "answers")
    records = sorted(_answers(home, str(state.get("until", ""))), key=lambda item: str(item.get("at", "")))
    if not records:
        return {"answers": 0}
    settings = config.load()["suggest"]
    before = int(settings["declined_in_a_row"])
    count = answers.in_a_row(records, before)
    values: dict[str, Any] = {"declined_in_a_row": count}
    weights = session_signals.detectors().weights
    raised = count >= answers.ROW and before < answers.ROW and float(settings["threshold"]) < weights.stress
    if raised:
        values["threshold"] = weights.stress
    if count != before:
        config.change({"suggest": values})
        derived.compile_settings(home)
    positions.save(home, "answers", {"until": str(records[-1].get("at", ""))})
    if raised:
        _propose_less(home)
    return {"answers": len(records), "declined_in_a_row": count, "raised": raised}


def _propose_less(home: Home) -> None:
    """What the refusals say of the user is proposed as a profile entry, like any other preference."""
    from ..core import codec
    from ..model import Entry, Kind, Provenance, Source, Track
    from . import proposals, ruleset

    language = config.language()
    texts = ruleset.messages(language)
    entry = Entry(
        id="suggest-saving-less-often",
        title=texts["suggest.less_title"],
        kind=Kind.PREFERENCE,
        track=Track.PROFILE,
        sections=(
            ("rule", texts["suggest.less_rule"]),
            ("why", texts["suggest.less_why"]),
            ("how", texts["suggest.less_how"]),
        ),
        aliases=(texts["suggest.less_alias"],),
        language=language,
        origin="observed",
        sources=(Source(quote=texts["suggest.less_why"], provenance=Provenance.TOOL),),
        created=_today(),
        updated=_today(),
    )
    with contextlib.suppress(ForgeError):
        proposals.create(
            home, "draft", codec.render(entry), {"signals": [{"kind": "preference"}], "score": 3.0}, entry.id
        )


def _ended(home: Home, now: datetime.datetime) -> list[Path]:
    """Transcripts of the last days that are quiet now and have grown since they were looked at."""
    seen = positions.load(home, "candidates")
    found = []
    for path in session_signals.transcripts():
        try:
            info = path.stat()
        except OSError:
            continue
        age = now.timestamp() - info.st_mtime
        if age > REACH_DAYS * 86400 or (age < QUIET_SECONDS and not _said_ended(home, path.stem)):
            continue
        if seen.get(str(path)) != info.st_size:
            found.append((info.st_mtime, path))
    return [path for _, path in sorted(found)[:LOOKED_AT]]


def _said_ended(home: Home, session: str) -> bool:
    records = spool.read(str(home.root), session)
    states = [record.get("state") for record in records if record.get("what") == "state"]
    return bool(states) and states[-1] == "ended"


def _of_session(home: Home, path: Path, now: datetime.datetime, threshold: float) -> list[dict[str, Any]]:
    """At most two candidates of one session: its best episode or preference, and the next one."""
    seen = positions.load(home, "candidates")
    try:
        explained = session_signals.of_file(path)
        size = path.stat().st_size
    except (ForgeError, OSError):
        return []
    positions.save(home, "candidates", {**dict(list(seen.items())[-2000:]), str(path): size})
    session = explained.info.id
    if _taken_up(home, session):
        return []
    total = scoring.score(explained.signals, explained.weights, threshold)
    if not total.suggest:
        return []
    best = sorted(explained.signals, key=lambda signal: (-signal.weight, signal.turn))
    groups = {signal.kind: signal for signal in reversed(best)}
    chosen = sorted(groups.values(), key=lambda signal: (-signal.weight, signal.turn))[:A_SESSION]
    records = [
        evidence.record(
            session,
            str(path),
            signal.line,
            signal.quote,
            kind=signal.kind.value,
            turn=signal.turn,
            detector=signal.detector,
        )
        for signal in chosen
    ]
    evidence.put(home, session, records)
    return [
        {
            "at": now.isoformat(timespec="seconds"),
            "session": session,
            "path": str(path),
            "cwd": explained.info.cwd,
            "score": total.total,
            "kind": record["kind"],
            "title": record["excerpt"][:80],
            "line": record["line"],
        }
        for record in records
    ]


def _taken_up(home: Home, session: str) -> bool:
    """Whether the session was distilled already: its suggestion accepted, or an entry drafted from it."""
    return any(
        record.get("what") == "answer" and record.get("answer") in ("yes", "words")
        for record in spool.read(str(home.root), session)
    )


def _answers(home: Home, after: str) -> Iterable[dict[str, Any]]:
    for path in sorted(home.ledger.glob("*.jsonl")) if home.ledger.is_dir() else ():
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if b'"answer"' not in data:
                continue
            for record in json_lines.objects(data):
                if record.get("what") == "answer" and str(record.get("at", "")) > after:
                    yield record


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["session"] == other["session"] and one["kind"] == other["kind"])


def _age(item: dict[str, Any], now: datetime.datetime) -> float:
    try:
        at = datetime.datetime.fromisoformat(str(item["at"]))
        return (now - at).total_seconds() / 86400
    except (KeyError, ValueError, TypeError):
        return 1e9


def _today() -> str:
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def _path(home: Home) -> Path:
    return home.proposals / "candidates.jsonl"


def _read(home: Home) -> list[dict[str, Any]]:
    try:
        text = files.read_text(_path(home))
    except FileNotFoundError:
        return []
    return [item for item in json_lines.objects(text) if item.get("session") and item.get("at")]


def _write(home: Home, items: list[dict[str, Any]]) -> None:
    files.write_text(_path(home), "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items))
