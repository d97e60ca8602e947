"""Claude Code transcripts (`core.claude_records` turns their lines into events)."""

from __future__ import annotations

import re

from ...core.claude_records import read

__all__ = ["CLIENT", "read", "sniff"]

CLIENT = "claude-code"

_KNOWN_TYPE = re.compile(
    rb'"type": ?"(?:user|assistant|system|summary|attachment|progress'
    rb'|queue-operation|last-prompt|mode|file-history-snapshot)"'
)


def sniff(head: bytes) -> bool:
    """Whether a file that begins with `head` holds records of this client; a damaged start is allowed."""
    if head[:1] == b"{" and _KNOWN_TYPE.search(head, 0, 4096):
        return True
    lines = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n")
    if lines[0].startswith((b"<!--", b"#", b"_**")):
        return False  # a Markdown export may quote such records
    if not any(line.lstrip().startswith(b"{") for line in lines[:50]):
        return False
    return bool(_KNOWN_TYPE.search(head)) or b'"sessionId"' in head or b'"uuid"' in head
