"""What a client loaded of our files by itself: entries named in its records of instructions and skills.

Claude Code writes the text of every rule and memory file that it gave to the model as an attachment
`instructions` (`nested_memory` for rules with paths), and the text of a skill behind the line
`Base directory for this skill: …`; both measured with client 2.1.332.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MARKS = (b'"instructions"', b'"nested_memory"', b"Base directory for this skill")
_ID = re.compile(r"\[([a-z0-9][a-z0-9-]{0,63})\]")
_SKILL = re.compile(r"Base directory for this skill: (\S.*)")
_OURS = ("rules/experience-forge/", "CLAUDE.md", "CLAUDE.local.md")


@dataclass(frozen=True)
class Loaded:
    """One entry in one loaded text: `place` is the file or skill, `text` the line that names it."""

    entry: str
    place: str
    text: str


def found_in(record: Mapping[str, Any]) -> Iterator[Loaded]:
    """Entry ids in the texts that one record of the client says were loaded."""
    attachment = record.get("attachment")
    if isinstance(attachment, dict) and attachment.get("type") in ("instructions", "nested_memory"):
        files = attachment.get("files")
        for item in files if isinstance(files, list) else [attachment]:
            if isinstance(item, dict):
                path = str(item.get("path", "")).replace("\\", "/")
                if any(part in path for part in _OURS):
                    yield from _named(str(item.get("content", "")), path)
    if record.get("isMeta"):
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            text = str(block.get("text", "")) if isinstance(block, dict) else ""
            match = _SKILL.match(text)
            if match and match[1].replace("\\", "/").rstrip("/").endswith("-experience"):
                yield from _named(text, "Skill " + re.split(r"[\\/]", match[1].rstrip("/"))[-1])


def _named(text: str, place: str) -> Iterator[Loaded]:
    for line in text.splitlines():
        for entry in _ID.findall(line):
            yield Loaded(entry, place, line.strip())
