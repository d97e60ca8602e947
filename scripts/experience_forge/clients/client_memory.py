"""Claude Code's own memory (`projects/<folder>/memory/*.md`): looked into for near entries, never written."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ..errors import ForgeError
from ..fast import home as fast_home
from ..fast import tokens
from ..model import Entry
from ..store import files
from ..store.nearness import LEAST, overlap, words_of

MAX_FILES = 200
MAX_BYTES = 64 * 1024


def folder() -> Path:
    """The memory folder of the project that this process works in."""
    where = os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    return Path(fast_home.client_folder(), "projects", re.sub(r"[^A-Za-z0-9]", "-", where), "memory")


def near(entry: Entry, count: int) -> list[dict[str, Any]]:
    """At most `count` notes of the client that share enough words with a draft, nearest first."""
    own = words_of(entry)
    found = []
    for path in sorted(folder().glob("*.md"))[:MAX_FILES]:
        try:
            text = files.read_text(path, MAX_BYTES)
        except (ForgeError, OSError):
            continue
        # Each note by itself: one file may hold many lines about many things.
        for block in [text] if path.name != "MEMORY.md" else text.splitlines():
            share = overlap(own, frozenset(tokens.terms(block)))
            if share >= LEAST:
                found.append((share, path, block))
    found.sort(key=lambda item: (-item[0], str(item[1])))
    return [
        {"id": path.name, "title": " ".join(block.split())[:120], "rule": "", "track": "",
         "share": round(share, 2), "where": str(path)} for share, path, block in found[:count]
    ]
