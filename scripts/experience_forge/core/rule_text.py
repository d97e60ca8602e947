"""Texts that a tuning changes, as a person sees them: a rule file, the table in SKILL.md, the form of a draft."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

import yaml

from . import body

_ROW = re.compile(r"^(?P<head> *\| (?P<name>[^|]+?) \| )(?P<points>\d+(?:\.\d+)?)(?P<tail> \|)$", re.MULTILINE)
_KIND = re.compile(r"`([a-z-]+)`")
_THRESHOLDS = {"worth an entry from": "suggest", "important from": "stress"}


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """The text of a rule file with other values at dotted paths; its comments stay.

    A path that the file does not have is left out.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    places = []
    for path, value in values.items():
        node = _node(root, path.split("."))
        if node is not None:
            places.append((node.start_mark.index, node.end_mark.index, json.dumps(value, ensure_ascii=False)))
    for start, end, written in sorted(places, reverse=True):
        gap = text[start:end]
        text = text[:start] + written + gap[len(gap.rstrip()):] + text[end:]
    return text


def _node(node: yaml.Node | None, names: list[str]) -> yaml.Node | None:
    for name in names:
        if not isinstance(node, yaml.MappingNode):
            return None
        node = next((value for key, value in node.value if key.value == name), None)
    return node


def with_scores(text: str, scoring: Mapping[str, Any]) -> str:
    """SKILL.md with the points and thresholds of these scoring rules in its table; other rows stay."""
    def row(match: re.Match[str]) -> str:
        kind = _KIND.match(match["name"])
        if kind and kind[1] in scoring["weights"]:
            points = scoring["weights"][kind[1]]
        elif match["name"] in _THRESHOLDS:
            points = scoring["thresholds"][_THRESHOLDS[match["name"]]]
        else:
            return match[0]
        return f"{match['head']}{float(points):g}{match['tail']}"

    return _ROW.sub(row, text)


def without_fields(form: str, names: Collection[str]) -> str:
    """The form of a draft without the lines of these fields and sections."""
    kept: list[str] = []
    dropped = False
    for line in form.splitlines(keepends=True):
        field = re.match(r"([a-z_]+):", line)
        section = re.match(r"\*\*([^*]+)\*\*", line)
        if field or section or line.startswith(("---", "{%")):
            name = field[1] if field else body.section_of(section[1]) if section else ""
            dropped = name in names
        if not dropped:
            kept.append(line)
    return "".join(kept)


def diff(name: str, before: str, after: str) -> str:
    """A unified diff of one text; empty when nothing changes."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}", n=1
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
