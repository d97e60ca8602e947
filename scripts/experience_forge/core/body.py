"""Sections of an entry <-> the text of its body: `**Label** text`, labels in the entry's language.

The labels are part of the stored format: they are read in both languages whatever a user has
tuned in `templates.md`, and a body template that does not read back to the same sections is
refused there. A line inside a section that would read as a label or as a delimiter of front
matter is written with a backslash before it, which Markdown shows as the plain line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..errors import Invalid, Text
from ..model import SECTIONS, Kind

LABELS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "scenario": "Scenario", "symptom": "Symptom", "root_cause": "Root cause",
        "right_action": "Right action", "rule": "Rule", "why": "Why", "how": "How",
        "situation": "Situation", "decision": "Decision", "alternatives_rejected": "Alternatives rejected",
        "when": "When", "steps": "Steps",
    },
    "zh": {
        "scenario": "场景", "symptom": "症状", "root_cause": "根因",
        "right_action": "正确做法", "rule": "通用规则", "why": "原因", "how": "做法",
        "situation": "情境", "decision": "决定", "alternatives_rejected": "放弃的方案",
        "when": "何时", "steps": "步骤",
    },
}  # fmt: skip
"""The label that is written, by language and section name."""

_ALSO_READ: Mapping[str, str] = {
    "fix": "right_action", "correct action": "right_action", "cause": "root_cause", "context": "situation",
    "how to apply": "how", "alternatives": "alternatives_rejected",
    "rejected alternatives": "alternatives_rejected",
    "规则": "rule", "根本原因": "root_cause", "正确行动": "right_action", "为什么": "why", "理由": "why",
    "怎么做": "how", "决策": "decision", "放弃的备选": "alternatives_rejected", "背景": "situation",
    "备选方案": "alternatives_rejected", "现象": "symptom", "什么时候": "when",
}  # fmt: skip
_NAMES = {
    **_ALSO_READ,
    **{label.casefold(): name for labels in LABELS.values() for name, label in labels.items()},
    **{name.casefold(): name for name in LABELS["en"]},
}
_LABEL = re.compile(
    r"\*\*(?P<label>[^*\n]{1,60}?)[:：]?\*\*(?P<after>[:：]?)(?P<blank>[ \t\u3000]*)(?P<rest>.*)", re.DOTALL
)
_DELIMITER = re.compile(r"(---|\.\.\.)\s*")
_ESCAPED = re.compile(r"\\+")


def label(name: str, language: str) -> str:
    """The label of a section, such as `根因`; every language but `zh` is written in English."""
    return LABELS["zh" if language == "zh" else "en"][name]


def section_of(written: str) -> str:
    """The section that a label in either language names; empty for none."""
    return _NAMES.get(written.strip().casefold(), "")


def normal(text: str) -> str:
    """A section's text as it survives a round trip: line ends `\\n`, no blanks around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def escaped(text: str) -> str:
    """Section text with each line escaped that would read as a label or a delimiter."""
    return "\n".join("\\" + line if _needs_escape(line) else line for line in text.split("\n"))


def render(kind: Kind, language: str, sections: Iterable[tuple[str, str]], template: str = "") -> str:
    """The body of an entry, ending with a newline; empty sections are left out.

    Args:
        template: the body template of `templates.md` for this kind and language; without one the
            text is the stored format itself, which the shipped templates give byte for byte.

    Raises:
        Invalid: when the template fails, or what it gives does not read back to these sections.
    """
    given = {name: normal(text) for name, text in sections}
    if not template:
        names = [name for name in SECTIONS[kind] if given.get(name)]
        return "\n\n".join(_paragraph(label(name, language), given[name]) for name in names) + "\n"
    # Bodies are read by the thousand, and only a template needs jinja2.
    from . import rendering

    values = {name: _tail(given.get(name, "")) for name in SECTIONS[kind]}
    text = rendering.render(template, values, escape=False).strip("\n") + "\n"
    expected = tuple((name, given[name]) for name in SECTIONS[kind] if given.get(name))
    if parse(kind, text) != (expected, []):
        raise Invalid(
            Text("errors_entry.body_roundtrip", kind=kind.value, language=language),
            Text("errors_entry.body_roundtrip_hint"),
        )
    return text


def parse(kind: Kind, text: str) -> tuple[tuple[tuple[str, str], ...], list[Text]]:
    """Sections of a body, labels in either language, in the order of their kind; and its faults.

    Faults, one line each: text before the first label, labels of no section of this kind, doubled
    sections. Empty and missing sections are left out: which ones must be there is the caller's to say.
    """
    found: dict[str, list[str]] = {}
    faults: list[Text] = []
    allowed = SECTIONS[kind]
    current: list[str] = []
    lead: list[str] = current
    for number, line in enumerate(normal(text).split("\n"), 1):
        match = _label_of(line)
        if match is None:
            current.append(_unescaped(line))
            continue
        written = match["label"].strip()
        name = _NAMES.get(written.casefold(), "")
        current = [match["rest"]]
        if name not in allowed:
            labels = ", ".join(f"{label(each, 'en')}/{label(each, 'zh')}" for each in allowed)
            faults.append(
                Text("errors_entry.body_foreign", number=number, written=written, kind=kind.value, labels=labels)
            )
        elif name in found:
            faults.append(Text("errors_entry.body_twice", number=number, written=written))
        else:
            found[name] = current
    if normal("\n".join(lead)):
        faults.insert(0, Text("errors_entry.body_lead"))
    sections = ((name, normal("\n".join(found[name]))) for name in allowed if name in found)
    return tuple((name, value) for name, value in sections if value), faults


def _paragraph(written: str, text: str) -> str:
    return f"**{written}**{_tail(text)}"


def _tail(text: str) -> str:
    # One line follows its label; more begin below it, so that lists and code keep their shape.
    return f"\n{escaped(text)}" if "\n" in text else f" {text}" if text else ""


def _label_of(line: str) -> re.Match[str] | None:
    match = _LABEL.match(line) if line.startswith("**") else None
    if match is None:
        return None
    known = match["label"].strip().casefold() in _NAMES
    separated = bool(match["after"] or match["blank"]) or not match["rest"]
    # `**word**goes on` is emphasis, unless the word is a label: Chinese writes no blank after it.
    return match if known or separated else None


def _needs_escape(line: str) -> bool:
    bare = _ESCAPED.sub("", line, count=1) if line.startswith("\\") else line
    return bool(_DELIMITER.fullmatch(bare)) or _label_of(bare) is not None


def _unescaped(line: str) -> str:
    return line[1:] if line.startswith("\\") and _needs_escape(line) else line
