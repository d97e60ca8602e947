"""Receipts: each delivery checked against the client's own record of the session, and the proof kept.

What hooks said stands in the record as `hook_additional_context` (or as the reason of a refused
call); what the model fetched itself as a Read, Skill or Bash call. The client deletes its records
after a while, so file, line, hash and a redacted excerpt go into `evidence/`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..fast import home as fast_home
from ..fast import start
from . import client_record, files, ledger, loaded, redaction
from .home import Home

QUIET_SECONDS = 900.0
"""A record that did not grow for so long is not going to show a delivery any more."""
MISSING_SECONDS = 86400.0
"""A record that is not there a day after the delivery stays unknown."""
EXCERPT = 300
NEAR_SECONDS = 120.0
LONGEST_LINE = 16 << 20

DELIVERED, NOT_DELIVERED, UNKNOWN = "delivered", "not_delivered", "unknown"


@dataclass(frozen=True)
class Sighting:
    """A place in the client's record that shows an entry: where, when, by which event, with which text."""

    path: Path
    line: int
    at: float
    event: str
    text: str
    sha256: str
    uuid: str


def catch_up(home: Home, now: float | None = None) -> dict[str, int]:
    """Check every exposure without a proof; returns counts of `delivered`, `not_delivered`, `unknown`, `waiting`.

    A session that still runs is waited for, unless its record shows the delivery already.

    Raises:
        Refused: when a ledger or the evidence can't be written.
    """
    clock = time.time() if now is None else now
    counts = {DELIVERED: 0, NOT_DELIVERED: 0, UNKNOWN: 0, "waiting": 0, "fetched": 0, "loaded": 0}
    for session in ledger.ids(home):
        records = ledger.read(home, session)
        size = sum(path.stat().st_size for path in client_record.records(session))
        # A record is read for what the model fetched or loaded only when it has grown since.
        if size and _checked(records) != size:
            counts["fetched"] += _fetched(home, session, records, clock)
            counts["loaded"] += _loaded(home, session, records)
            ledger.append(home, session, {"what": "state", "state": "checked", "size": size})
        open_ones = [one for one in ledger.with_proofs(records, session) if one["proof"] is None]
        if open_ones:
            _session(home, session, open_ones, clock, counts)
    return counts


def _session(
    home: Home, session: str, open_ones: Sequence[Mapping[str, Any]], now: float, counts: dict[str, int]
) -> None:
    sightings: dict[Path, list[Sighting]] = {}
    used: set[tuple[Path, int, str]] = set()
    for one in open_ones:
        path = _record_of(session, one)
        found = None
        if path is not None:
            if path not in sightings:
                sightings[path] = list(_sightings(path, {str(other["entry"]) for other in open_ones}))
            found = _nearest(sightings[path], one, used)
        state = DELIVERED if found else _without(path, one, now)
        if not state:
            counts["waiting"] += 1
            continue
        counts[state] += 1
        _keep(home, session, one, state, found)


def _keep(home: Home, session: str, one: Mapping[str, Any], state: str, found: Sighting | None) -> None:
    proof = {
        "what": "proof", "entry": one["entry"], "sha256": one.get("sha256", ""), "event": one.get("event", ""),
        "exposure": one["at"], "verdict": state,
    }
    if found is not None:
        proof["source"] = f"{found.path}:{found.line}"
        excerpt, _ = redaction.clean(found.text)
        _evidence(home, session, {
            **proof, "line_sha256": found.sha256, "uuid": found.uuid, "excerpt": excerpt[:EXCERPT],
        })
    ledger.append(home, session, proof)


def _evidence(home: Home, session: str, record: Mapping[str, Any]) -> None:
    path = home.evidence / f"deliveries-{ledger.path_of(home, session).name}"
    files.append_line(path, json.dumps({"v": 1, "session": session, **record}, ensure_ascii=False))


def _without(path: Path | None, one: Mapping[str, Any], now: float) -> str:
    """What to say of a delivery that the record does not show; empty while it still may."""
    if path is None:
        return UNKNOWN if now - (_seconds(str(one["at"])) or 0.0) > MISSING_SECONDS else ""
    return NOT_DELIVERED if now - path.stat().st_mtime > QUIET_SECONDS else ""


def _record_of(session: str, one: Mapping[str, Any]) -> Path | None:
    """The client's record for an exposure: as its hook was told, a subagent's own, else by the session's id."""
    told = Path(str(one["transcript"])) if one.get("transcript") else None
    paths = [told] if told is not None else []
    if one.get("agent") and told is not None:
        paths.insert(0, told.with_suffix("") / "subagents" / f"agent-{one['agent']}.jsonl")
    for path in paths:
        if path.is_file():
            return path
    return next(iter(client_record.records(session)), None)


def _nearest(
    sightings: Sequence[Sighting], one: Mapping[str, Any], used: set[tuple[Path, int, str]]
) -> Sighting | None:
    """The unused sighting of the same entry and event that is nearest in time."""
    at = _seconds(str(one["at"])) or 0.0
    entry, event = str(one["entry"]), str(one.get("event", ""))
    fitting = [
        sighting for sighting in sightings
        if start.named(entry, sighting.text) and (sighting.path, sighting.line, entry) not in used
        and sighting.event in (event, "") and sighting.at >= at - NEAR_SECONDS
    ]
    if not fitting:
        return None
    best = min(fitting, key=lambda sighting: abs(sighting.at - at))
    used.add((best.path, best.line, entry))
    return best


def _sightings(path: Path, entries: set[str]) -> Iterator[Sighting]:
    """Places in a record where a hook's words, or the reason of a refusal, name one of the entries."""
    names = [entry.encode("utf-8") for entry in entries]
    for number, raw, record in _lines(path, names):
        for event, text in _said(record):
            yield Sighting(
                path, number, _seconds(str(record.get("timestamp", ""))) or 0.0, event, text,
                files.sha256(raw), str(record.get("uuid", "")),
            )


def _lines(path: Path, names: Sequence[bytes]) -> Iterator[tuple[int, bytes, Mapping[str, Any]]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if len(raw) > LONGEST_LINE or not any(name in raw for name in names):
                continue
            try:
                record = json.loads(raw.decode("utf-8"))
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield number, raw.rstrip(b"\n"), record


def _said(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(event, text) of what reached the model through a hook; the event is empty where the record has none."""
    attachment = record.get("attachment")
    if isinstance(attachment, dict) and attachment.get("type") == "hook_additional_context":
        content = attachment.get("content")
        parts = content if isinstance(content, list) else [content]
        yield str(attachment.get("hookEvent", "")), "\n".join(str(part) for part in parts)
    for block in _blocks(record):
        if block.get("type") == "tool_result" and block.get("is_error"):
            yield "PreToolUse", _text(block.get("content"))


def _fetched(home: Home, session: str, records: Sequence[Mapping[str, Any]], now: float) -> int:
    """Note entries that the model read by itself: a Read of the file, a Skill, our own `show`."""
    known = {str(one.get("call")) for one in records if one.get("what") == "exposure" and one.get("form") == "fetched"}
    found = 0
    for path in {p for p in (_record_of(session, one) for one in records if one.get("transcript")) if p is not None}:
        for number, raw, record in _lines(path, [b'"tool_use"']):
            for block in _blocks(record):
                call = str(block.get("id", ""))
                entry = _asked_for(home, block) if block.get("type") == "tool_use" and call not in known else ""
                if not entry:
                    continue
                at = str(record.get("timestamp", ""))[:19] + "Z"
                exposure = ledger.append(home, session, {
                    "what": "exposure", "entry": entry, "sha256": _digest(home, entry), "event": "fetched", "at": at,
                    "call": call, "place": str(block.get("name", "")), "form": "fetched", "characters": 0,
                    "why": "the model asked for it", "transcript": str(path),
                })
                sighting = Sighting(path, number, 0.0, "", "", files.sha256(raw), str(record.get("uuid", "")))
                _keep(home, session, exposure, DELIVERED, sighting)
                found += 1
    return found


def _checked(records: Sequence[Mapping[str, Any]]) -> int:
    """Bytes of the client's record when it was last looked through; 0 when it never was."""
    sizes = [int(one.get("size") or 0) for one in records if one.get("state") == "checked"]
    return sizes[-1] if sizes else 0


def _loaded(home: Home, session: str, records: Sequence[Mapping[str, Any]]) -> int:
    """Note entries that the client loaded with our rule files, blocks and skills: each once a session."""
    known = {str(one.get("entry")) for one in records if one.get("what") == "exposure" and one.get("form") == "loaded"}
    digests: dict[str, str] = {}
    count = 0
    for path in client_record.records(session):
        for number, raw, record in _lines(path, loaded.MARKS):
            for one in loaded.found_in(record):
                if one.entry in known:
                    continue
                known.add(one.entry)
                digest = digests.setdefault(one.entry, _digest(home, one.entry))
                if not digest:
                    continue
                exposure = ledger.append(home, session, {
                    "what": "exposure", "entry": one.entry, "sha256": digest, "event": "loaded",
                    "at": str(record.get("timestamp", ""))[:19] + "Z", "place": one.place, "form": "loaded",
                    "characters": len(one.text), "why": "always loaded, or with its skill", "transcript": str(path),
                })
                sighting = Sighting(path, number, 0.0, "", one.text, files.sha256(raw), str(record.get("uuid", "")))
                _keep(home, session, exposure, DELIVERED, sighting)
                count += 1
    return count


def _asked_for(home: Home, block: Mapping[str, Any]) -> str:
    """The id of the entry that a call reads; empty for any other call."""
    given = block.get("input")
    if not isinstance(given, dict):
        return ""
    if block.get("name") == "Read":
        path = Path(str(given.get("file_path", "")))
        folders = (home.entries, Path(fast_home.client_folder()) / "skills")
        inside = any(folder in path.parents for folder in folders)
        return path.stem if inside and path.suffix == ".md" and _digest(home, path.stem) else ""
    if block.get("name") == "Bash":
        words = str(given.get("command", "")).split()
        for at, word in enumerate(words[:-2]):
            if word.strip("'\"").rpartition("/")[2] in ("experience-forge", "forge.py") and words[at + 1] == "show":
                entry = words[at + 2].strip("'\"")
                return entry if _digest(home, entry) else ""
    return ""


def _digest(home: Home, entry: str) -> str:
    from . import entries

    if not entries.is_id(entry):
        return ""
    stored = entries.find(home, entry)
    return stored.sha256 if stored else ""


def _blocks(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _seconds(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
