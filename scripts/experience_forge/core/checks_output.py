"""Whether a tool's output shows a failure, also where the command hid its exit code behind a pipe."""

from __future__ import annotations

import re
from functools import lru_cache

from .lazy import Pattern

_PAIRS = (
    ("failed", r"\b[1-9]\d* (?:\w+ )?failed\b"),
    ("failure", r"\b[1-9]\d* failures?\b"),
    (" error", r"\b[1-9]\d* errors?\b|^[\w./-]+: error:|\bnpm error\b"),
    ("error:", r"^(?:[\w./-]+: )?error:|[:\d)] error:|^error(?:\[\w+\])?:"),
    ("error TS", r"\berror TS\d+:"),
    ("error[", r"^error\[\w+\]:"),
    ("Error: ", r"^\s*(?:[\w.]+\.)?(?:[A-Z]\w*)?Error: "),
    ("Exception: ", r"^\s*(?:[\w.]+\.)?[A-Z]\w*Exception: "),
    ("FAIL", r"\bFAILED\b|^(?:--- )?FAIL\b|\bBUILD FAILED\b"),
    ("Traceback", r"Traceback \(most recent call last\)"),
    ("fatal: ", r"^fatal: "),
    ("panic: ", r"^panic: "),
    ("xit code", r"\b[eE]xit(?:ed with)? code:? [1-9]"),
    ("xit status", r"\bexit status [1-9]"),
    ("ERR!", r"\bnpm ERR!"),
    ("command not found", r"command not found"),
    ("No such file or directory", r"No such file or directory"),
    ("undefined: ", r"\bundefined: \w+"),
    ("egmentation fault", r"[sS]egmentation fault"),
    ("✗ ", r"^\s*✗ "),
    ("✖ ", r"^\s*✖ "),
)
"""What a plain search looks for first, and the pattern that its line must hold; the search is what is fast."""

_TEXT = tuple((needle, Pattern(pattern)) for needle, pattern in _PAIRS)
_SHARED = ("fail", "rror", "\xe2\x9c")
"""Parts of several needles: where none of them is, one search stands for all of those."""
_RAW = tuple((needle.encode().decode("latin-1"), Pattern(pattern)) for needle, pattern in _PAIRS)
_RAW_BY_PART = tuple((part, tuple(pair for pair in _RAW if part in pair[0])) for part in _SHARED) + tuple(
    (needle, ((needle, pattern),)) for needle, pattern in _RAW if not any(part in needle for part in _SHARED)
)
_LOOKED_AT = 20_000
_REACH = 160

_LOOKING = Pattern(
    r"""\s*(?:(?:cd|export|set|source)\ [^&;|\n]+(?:&&|;)\s*|\w+=\S*\s+|(?:sudo|time|command|env)\s+)*
    (?:cat|head|tail|less|more|grep|egrep|rg|ag|ack|find|fd|ls|tree|wc
      |sed\ -n|awk|jq
      |stat|file|du|df|ps|pwd|which|type|echo
      |printf|diff|xxd|strings|sleep|man|date|env
      |git\ (?:-C\ \S+\ |--no-pager\ )*(?:status|diff|log|show|blame|branch|grep|ls-files|remote|config|rev-parse
        |stash\ list|reflog|cat-file)
      |gh\ \w+\ (?:view|list|diff|status)|docker\ (?:ps|logs|images)|kubectl\ (?:get|describe|logs)
      |Get-Content|Select-String|Get-ChildItem|dir)\b""",
    re.X,
)
_THEN = Pattern(r"&&|\|\||;|\n")


@lru_cache(maxsize=256)
def only_looks(command: str) -> bool:
    """Whether a command only shows things: what its output says of failures is no failed check."""
    if not _LOOKING.match(command):
        return False
    parts = [part for part in _THEN.split(command[:2000]) if part.strip()]
    return all(
        _LOOKING.match(part) or part.strip().startswith(("cd ", "#", "export ", "set ", "source ")) for part in parts
    )


def failed(output: str) -> bool:
    """Whether the output of a command, exit code unknown or 0, reports that something failed."""
    return bool(failure_line(output))


def failure_line(output: str) -> str:
    """A line of an output that reports a failure, or nothing; looks at 20,000 characters."""
    output = output[:_LOOKED_AT]
    for needle, pattern in _TEXT:
        found = output.find(needle)
        while found >= 0:
            begin = output.rfind("\n", 0, found) + 1
            end = output.find("\n", found)
            end = len(output) if end < 0 else end
            if pattern.search(output[begin:end]):
                return output[begin:end].strip()
            found = output.find(needle, end)
    return ""


def raw_failed(raw: bytes) -> bool:
    """The same on the raw JSON of a result, where a line break is `\\n`; may say yes too often."""
    text = raw.decode("latin-1")  # looking whether a string holds something takes half the time
    found = [pairs for part, pairs in _RAW_BY_PART if part in text]
    return any(_raw_line_failed(text, *pair) for pairs in found for pair in pairs)


def _raw_line_failed(raw: str, needle: str, pattern: Pattern) -> bool:
    found = raw.find(needle)
    while found >= 0:
        first = max(raw.rfind("\\n", max(0, found - _REACH), found) + 2, found - _REACH, 0)
        last = found + len(needle) + 20
        text = raw[first:last].encode("latin-1").decode("utf-8", "replace")
        if pattern.search(text.split('"content":')[-1].lstrip(' "')):
            return True
        found = raw.find(needle, last)
    return False
