"""Sections of an entry <-> the text of its body: `**Label** text`, labels in the entry's language.

The labels are part of the stored format: they are read in both languages whatever a user has
tuned in `templates.md`, and a body template that does not read back to the same sections is
refused there. A line inside a section that would read as a label or as a delimiter of front
matter is written with a backslash before it, which Markdown shows as the plain line.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import Invalid, Text
from ..fast.sections import LABELS, NAMES, label_of, needs_escape, normal, unescaped
from ..model import SECTIONS, Kind


def label(name: str, language: str) -> str:
    """The label of a section, such as `根因`; every language but `zh` is written in English."""
    return LABELS["zh" if language == "zh" else "en"][name]


def section_of(written: str) -> str:
    """The section that a label in either language names; empty for none."""
    return NAMES.get(written.strip().casefold(), "")


def escaped(text: str) -> str:
    """Section text with each line escaped that would read as a label or a delimiter."""
    return "\n".join("\\" + line if needs_escape(line) else line for line in text.split("\n"))


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
        match = label_of(line)
        if match is None:
            current.append(unescaped(line))
            continue
        written, rest = match
        name = NAMES.get(written.casefold(), "")
        current = [rest]
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
