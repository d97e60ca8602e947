"""Finds one tool call in the record that Claude Code keeps of a session.

The client writes the call before its dialog opens, and the result after the command ended.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.consent import Call
from ..fast import home as fast_home

TAIL_BYTES = 4 * 1024 * 1024
_SESSION = re.compile(r"[A-Za-z0-9-]{1,64}")


def find(session: str, call: str, tail: int | None = TAIL_BYTES) -> Call | None:
    """The call with this id in the record of this session, with its result when there is one.

    Args:
        tail: how many bytes from the end are looked at; None for all of it.

    None when there is no such record or no such call in it.
    """
    if not _SESSION.fullmatch(session) or not call:
        return None
    found: Call | None = None
    for path in records(session):
        command, results = "", []
        for record in _with_id(path, call, tail):
            # By the record's type: copies of requests hold the same blocks, and no answer of a person.
            for block in _blocks(record):
                if record.get("type") == "assistant" and block.get("type") == "tool_use" and block.get("id") == call:
                    command = _command(block)
                elif record.get("type") == "user" and block.get("tool_use_id") == call:
                    results.append(record)
        if command:
            found = _call(command, results)
    return found


def records(session: str) -> list[Path]:
    """The client's files of one session; one, unless projects share a name."""
    return sorted(Path(fast_home.client_folder(), "projects").glob(f"*/{session}.jsonl"))


def _command(block: Mapping[str, Any]) -> str:
    given = block.get("input")
    return str(given.get("command") or "") if block.get("name") == "Bash" and isinstance(given, dict) else ""


def _call(command: str, results: list[Mapping[str, Any]]) -> Call:
    if not results:
        return Call(command)
    last = results[-1]
    decision = last.get("permissionDecision")
    return Call(
        command,
        answered=True,
        decision=decision if isinstance(decision, dict) else None,
        denied=any(record.get("toolDenialKind") for record in results),
        entrypoint=str(last.get("entrypoint") or ""),
        sidechain=any(record.get("isSidechain") is not False for record in results),
    )


def _with_id(path: Path, call: str, tail: int | None) -> Iterator[Mapping[str, Any]]:
    wanted = call.encode("utf-8", "surrogatepass")
    try:
        with path.open("rb") as file:
            if tail is not None:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - tail))
            for line in file:
                record = _parsed(line) if wanted in line else None
                if record is not None:
                    yield record
    except OSError:
        return


def _parsed(line: bytes) -> Mapping[str, Any] | None:
    try:
        record = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _blocks(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
