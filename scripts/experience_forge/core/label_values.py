"""Where the value behind a name begins and ends."""

from __future__ import annotations

import re

UNQUOTED = re.compile(
    r"[^\s\"'`,;<>()\[\]{}|\\\x80-\U0010ffff][^\s\"'`,;<>()\[\]{}|\\\x80-\U0010ffff]{0,2000}"
)
_SHELL_VALUE = re.compile(r"[^\s\"'`\x80-\U0010ffff][^\s\"'`\x80-\U0010ffff]{0,2000}")
_QUERY = re.compile(r"&(?:amp;)?[A-Za-z_][\w.\-]{0,40}=", re.A)


def end_of(text: str, start: int, quote: str, shell: bool, opened: str) -> int:
    """Where the value at `start` ends; `quote` closes it, `shell` says that it stands in a line of assignments."""
    if quote:
        stop = text.find("\n", start, start + 2000)
        stop = len(text) if stop < 0 else stop
        end = text.find(quote, start, min(stop, start + 2000))
        if end >= 0:
            value = text[start:end]
            if " " in value and not quote.isascii():
                return end
            return end if len(value.split()) == 1 else start
    match = (_SHELL_VALUE if shell else UNQUOTED).match(text, start)
    return match.end() if match else start


def trimmed(text: str, start: int, end: int, quoted: bool, opened: str) -> tuple[int, int]:
    """Take off what belongs to the sentence or the query, not to the value."""
    if text.startswith("pass:", start) and end > start + 5:
        start += 5
    if quoted:
        return start, end - 1 if text[end - 1 : end] == "\\" and opened.startswith("\\") else end
    query = _QUERY.search(text, start, min(len(text), end + 44)) if text.find("&", start, end) >= 0 else None
    if query and query.start() < end:
        end = query.start()
    while (
        end > start
        and text[end - 1] in ".,:;!?*"
        and text[end : end + 1] in ("", " ", "\n", "\r", "\t")
        and text[end - 1] not in "!?*"
    ):
        end -= 1
    return start, end
