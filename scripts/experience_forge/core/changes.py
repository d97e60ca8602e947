"""A change of loaded bytes as the text that a person confirms, and back.

A draft is the stored form of its entry. Every other change is a document: front matter with
`change:` and what hooks show, a summary, and the whole new text of every file that it writes:

    >>> personal/use-pnpm.md from <sha256 of the bytes it replaces, or new>
    ...the new text, or nothing when the file is removed (`from <sha256> removed`)...
    <<<
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ..errors import Invalid, Text
from ..model import Entry, Track
from . import codec

NEW = "new"
_OPEN = re.compile(r">>> (?P<key>[A-Za-z0-9@._/-]{1,300}) from (?P<before>new|[0-9a-f]{64})(?P<gone> removed)?")
_KEY = re.compile(r"[A-Za-z0-9@._/-]{1,300}")
_FENCE = re.compile(r"\\*(>>> |<<<)")


@dataclass(frozen=True)
class Write:
    """One file of a change: `key` below the entries (or `@tuning/…`, `@skills/…` and the like below the home).

    `before` is the sha256 of the bytes it replaces, empty for a new file; `text` None removes it.
    """

    key: str
    before: str
    text: str | None


@dataclass(frozen=True)
class Change:
    """What a proposal does: `data` holds the machine fields, `writes` every file with its new text."""

    change: str
    title: str
    rule: str = ""
    track: str = ""
    language: str = "en"
    summary: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    writes: tuple[Write, ...] = ()


def render(change: Change) -> str:
    """The document of a change that is no draft."""
    head = {
        "change": change.change, "title": change.title, "rule": change.rule,
        "track": change.track, "language": change.language, **change.data,
    }
    head = {name: value for name, value in head.items() if value not in ("", None, [], ())}
    front = yaml.dump(head, Dumper=codec._Dumper, allow_unicode=True, sort_keys=False, width=1_000_000)
    blocks = [f"---\n{front}---\n{_guarded(change.summary.strip())}\n"]
    for write in change.writes:
        if not _KEY.fullmatch(write.key):
            raise Invalid(Text("errors_entry.no_place", key=write.key), Text("errors_entry.no_place_hint"))
        gone = " removed" if write.text is None else ""
        body = "" if not write.text else _guarded(write.text) + ("" if write.text.endswith("\n") else "\n")
        blocks.append(f">>> {write.key} from {write.before or NEW}{gone}\n{body}<<<\n")
    return "\n".join(blocks)


def parse(change: str, text: str) -> Change:
    """A change from its text; `change` is what the inbox says it is.

    Raises:
        Invalid: when the text does not hold, or is another change than the inbox says.
    """
    if change in ("draft", "import"):
        return of_draft(codec.parse(text), text, change)
    front, _, rest = text.removeprefix("---\n").partition("\n---\n")
    try:
        head = codec.load_front(front)
    except yaml.YAMLError as error:
        what = Text("errors_entry.change_yaml", change=change)
        raise Invalid(what, Text("errors.anew")) from error
    if str(head.get("change")) != change:
        raise Invalid(Text("errors_entry.change_other", inbox=change, text=head.get("change")), Text("errors.anew"))
    summary, writes = _blocks(rest)
    names = ("change", "title", "rule", "track", "language")
    return Change(
        change=change,
        title=str(head.get("title", "")),
        rule=str(head.get("rule", "")),
        track=str(head.get("track", "")),
        language=str(head.get("language", "en")),
        summary=summary,
        data={name: value for name, value in head.items() if name not in names},
        writes=writes,
    )


def of_draft(entry: Entry, text: str, change: str = "draft") -> Change:
    """The change that a draft is: its own text, written to the place of its entry."""
    return Change(change, entry.title, entry.rule, entry.track.value, entry.language,
                  writes=(Write(key_of(entry), "", text),))


def key_of(entry: Entry) -> str:
    """The path of an entry below `entries/`, with `/`; its id and folder are safe by validation."""
    folder = {Track.DOMAIN: entry.domain, Track.PROJECT: entry.project}.get(entry.track, "")
    return "/".join(part for part in (entry.track.value, folder, f"{entry.id}.md") if part)


def _guarded(text: str) -> str:
    return "\n".join("\\" + line if _FENCE.match(line) else line for line in text.split("\n"))


def _plain(lines: Sequence[str]) -> str:
    return "\n".join(line[1:] if line.startswith("\\") and _FENCE.match(line) else line for line in lines)


def _blocks(text: str) -> tuple[str, tuple[Write, ...]]:
    summary: list[str] = []
    writes: list[Write] = []
    opened: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        if opened is None:
            opened = _OPEN.fullmatch(line)
            if opened is None and line.startswith(">>> "):
                # Read as prose it would leave a change that removes a file without writing the other.
                raise Invalid(Text("errors_entry.change_line", line=line[:120]), Text("errors.anew"))
            if opened is None:
                summary.append(line)
            lines = []
        elif line == "<<<":
            content = None if opened["gone"] else _plain(lines) + "\n"
            writes.append(Write(opened["key"], "" if opened["before"] == NEW else opened["before"], content))
            opened = None
        else:
            lines.append(line)
    if opened is not None:
        raise Invalid(Text("errors_entry.change_end", key=opened["key"]), Text("errors_entry.change_end_hint"))
    return _plain(summary).strip(), tuple(writes)
