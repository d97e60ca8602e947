"""Edits a JSON text in place: what is added or removed changes, every other byte stays.

A parse and dump would reorder keys, change indentation, escapes and big numbers. Here the text is
checked once by the strict parser, then walked only as far as the edited containers; a change is a
splice of the text. Works on any text with one top-level object, five megabytes included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Invalid, Text

BOM = "\ufeff"

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_SCALAR = re.compile(r"[^ \t\r\n,\]}]+")
_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')
_OPENING = re.compile(r"\ufeff?[ \t\r\n]*\{([ \t\r\n]*)")
_COMMENT = re.compile(r"^[ \t]*(//|/\*)", re.MULTILINE)


@dataclass(frozen=True)
class Child:
    """One member or item: `start` is its key's or item's place, `value` and `end` bound the value."""

    key: str | None
    start: int
    value: int
    end: int


@dataclass(frozen=True)
class Style:
    """How a text is laid out; `unit` is one step of indentation, unused on one line."""

    newline: str
    unit: str
    one_line: bool
    comma: str
    colon: str


def parse(text: str) -> dict[str, Any]:
    """The top-level object of a strict JSON text; numbers come as strings, nothing is rounded.

    Raises:
        Invalid: no JSON (with line and column), comments, duplicate keys, or no object at the top.
    """
    body = text[1:] if text.startswith(BOM) else text
    try:
        data = json.loads(
            body, object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        comment = body.startswith(("//", "/*"), error.pos) or _COMMENT.search(body)
        reason = Text("errors_entry.json_comments") if comment else error.msg
        raise Invalid(Text("errors_entry.json_plain", line=error.lineno, column=error.colno, reason=reason)) from None
    except RecursionError:
        raise Invalid(Text("errors_entry.json_deep")) from None
    if not isinstance(data, dict):
        raise Invalid(Text("errors_entry.json_object"))
    return data


def style(text: str) -> Style:
    """The layout of a text that `parse` accepts."""
    first_end = text.find("\n")
    newline = "\r\n" if first_end > 0 and text[first_end - 1] == "\r" else "\n"
    opening = _OPENING.match(text)
    inner = opening.group(1) if opening else ""
    start = opening.end() if opening else len(text)
    if text[start : start + 1] == "}":
        return Style(newline, "  ", False, ",", ": ")
    if "\n" in inner:
        return Style(newline, inner.rsplit("\n", 1)[1], False, ",", ": ")
    # The first member shows whether blanks follow separators.
    first = children(text, text.index("{"))[0]
    key = _STRING.match(text, first.start)
    spaced = key is not None and " " in text[key.end() : first.value]
    return Style(newline, "  ", True, ", " if spaced else ",", ": " if spaced else ":")


def children(text: str, at: int) -> list[Child]:
    """Members or items of the container that opens at `at`, in order."""
    found: list[Child] = []
    is_object = text[at] == "{"
    place = _skip(text, at + 1)
    while text[place] not in "]}":
        start, key = place, None
        if is_object:
            end = _string_end(text, place)
            key = json.loads(text[place:end])
            place = _skip(text, _skip(text, end) + 1)
        finish = _value_end(text, place)
        found.append(Child(key, start, place, finish))
        place = _skip(text, finish)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found


def find(text: str, path: Sequence[str]) -> int | None:
    """Where the value at a path of keys begins; None when a key is missing or is no object."""
    at = _skip(text, 1 if text.startswith(BOM) else 0)
    for key in path:
        if text[at] != "{":
            return None
        child = next((one for one in children(text, at) if one.key == key), None)
        if child is None:
            return None
        at = child.value
    return at


def append(text: str, at: int, key: str | None, value: Any) -> tuple[str, str | None]:
    """Add a last member (`key` given) or item to the container that opens at `at`.

    Returns the new text, and the blanks that the container held when it was empty, else None;
    `remove` takes them to give the very bytes back.
    """
    layout = style(text)
    kids = children(text, at)
    if not kids:
        close = _value_end(text, at) - 1
        inner = text[at + 1 : close]
        if layout.one_line:
            body = _member(key, value, layout, "")
        else:
            outer = _line_indent(text, at)
            indent = outer + layout.unit
            body = layout.newline + indent + _member(key, value, layout, indent) + layout.newline + outer
        return text[: at + 1] + body + text[close:], inner
    last = kids[-1]
    lead = _blank_before(text, last.start)
    if "\n" in lead:
        indent = lead.rsplit("\n", 1)[1]
        body = "," + layout.newline + indent + _member(key, value, layout, indent)
    else:
        flat = Style(layout.newline, layout.unit, True, ", " if layout.colon == ": " else ",", layout.colon)
        body = flat.comma + _member(key, value, flat, "")
    return text[: last.end] + body + text[last.end :], None


def replace(text: str, child: Child, value: Any) -> str:
    """Put another value in place of a child's, laid out as its surroundings are."""
    layout = style(text)
    lead = _blank_before(text, child.start)
    if "\n" in lead:
        body = _dump(value, layout, lead.rsplit("\n", 1)[1])
    else:
        body = _dump(value, Style(layout.newline, layout.unit, True, layout.comma, layout.colon), "")
    return text[: child.value] + body + text[child.end :]


def remove(text: str, at: int, index: int, inner: str = "") -> str:
    """Take out the child of that index; an emptied container keeps `inner` between its brackets."""
    kids = children(text, at)
    if len(kids) == 1:
        close = _value_end(text, at) - 1
        return text[: at + 1] + inner + text[close:]
    if index:
        return text[: kids[index - 1].end] + text[kids[index].end :]
    return text[: kids[0].start] + text[kids[1].start :]


def park(text: str, keep: Sequence[str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Put short marks in place of long top-level values, so that each edit walks a small text.

    Args:
        keep: keys whose values stay.

    Returns the small text, and pairs of mark and value for `unpark`.
    """
    at = _skip(text, 1 if text.startswith(BOM) else 0)
    number = 0
    while f"parked-{number}-" in text:
        number += 1
    pieces: list[str] = []
    parked: list[tuple[str, str]] = []
    place = 0
    for child in children(text, at):
        if child.key not in keep and child.end - child.value > 200:
            mark = f'"parked-{number}-{len(parked)}-"'
            parked.append((mark, text[child.value : child.end]))
            pieces += [text[place : child.value], mark]
            place = child.end
    return "".join(pieces) + text[place:], tuple(parked)


def unpark(text: str, parked: Sequence[tuple[str, str]]) -> str:
    """Undo `park`."""
    for mark, value in parked:
        text = text.replace(mark, value, 1)
    return text


def end_of(text: str, at: int) -> int:
    """The place just behind the value that begins at `at`."""
    return _value_end(text, at)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise Invalid(Text("errors_entry.json_twice", key=json.dumps(twice, ensure_ascii=False)))
    return data


def _no_constant(name: str) -> Any:
    raise Invalid(Text("errors_entry.json_constant", name=name))


def _member(key: str | None, value: Any, layout: Style, indent: str) -> str:
    body = _dump(value, layout, indent)
    return body if key is None else json.dumps(key, ensure_ascii=False) + layout.colon + body


def _dump(value: Any, layout: Style, indent: str) -> str:
    if layout.one_line:
        return json.dumps(value, ensure_ascii=False, separators=(layout.comma, layout.colon))
    body = json.dumps(value, ensure_ascii=False, indent=layout.unit)
    return body.replace("\n", layout.newline + indent)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _string_end(text: str, at: int) -> int:
    match = _STRING.match(text, at)
    if match is None:
        raise ValueError(f"no string at {at}")
    return match.end()


def _value_end(text: str, at: int) -> int:
    if text[at] == '"':
        return _string_end(text, at)
    if text[at] not in "[{":
        match = _SCALAR.match(text, at)
        return match.end() if match else at
    depth = 0
    for match in _MARK.finditer(text, at):
        char = text[match.start()]
        if char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
            if not depth:
                return match.end()
    raise ValueError(f"no end of the container at {at}")


def _blank_before(text: str, at: int) -> str:
    start = at
    while start and text[start - 1] in " \t\r\n":
        start -= 1
    return text[start:at]


def _line_indent(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    match = re.compile(r"\ufeff?([ \t]*)").match(text, begin)
    return match.group(1) if match else ""
