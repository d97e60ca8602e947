"""What an entry or a candidate stands on: redacted excerpts with their address, kept below `evidence/`.

Clients delete their transcripts after some weeks; an excerpt of at most 300 characters stays.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..core import json_lines
from . import files, redaction
from .home import Home

EXCERPT = 300
_SAFE = re.compile(r"[^A-Za-z0-9._-]")


def excerpt(text: str) -> str:
    """A text without secrets and personal data, then cut to 300 characters."""
    cleaned, _ = redaction.clean(text)
    return cleaned if len(cleaned) <= EXCERPT else cleaned[: EXCERPT - 1] + "…"


def digest(text: str) -> str:
    """The hash by which the words of a record are known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def record(session: str, path: str, line: int, text: str, **more: Any) -> dict[str, Any]:
    """One piece of evidence: where it stands, the hash of the words as they were, the redacted excerpt."""
    return {"session": session, "path": path, "line": line, "sha256": digest(text), "excerpt": excerpt(text), **more}


def put(home: Home, session: str, records: Iterable[Mapping[str, Any]]) -> Path:
    """Keep the evidence of one session, in place of what was kept of it before.

    Raises:
        Refused: when it can't be written.
    """
    path = path_of(home, session)
    text = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in records)
    files.write_text(path, text)
    return path


def get(home: Home, session: str) -> list[dict[str, Any]]:
    """The evidence kept of one session; empty when there is none."""
    try:
        text = files.read_text(path_of(home, session))
    except FileNotFoundError:
        return []
    return list(json_lines.objects(text))


def path_of(home: Home, session: str) -> Path:
    """The file that keeps the evidence of one session."""
    name = _SAFE.sub("_", session)[:100] or "unknown"
    return home.evidence / f"session-{name}.jsonl"
