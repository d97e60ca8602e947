"""Sections <-> body text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experience_forge.core import body
from experience_forge.errors import Invalid
from experience_forge.model import SECTIONS, Kind

NASTY = (
    "---", "...", "--- ", "**Rule** x", "**规则**x", "**场景：**y", "\\---", "\\\\**Why** z",
    "**other** bold", "**a**b", "plain", "", "  indented", "```", "- item", "\\", "**Steps**", "... tail", "\u2028",
    "**",
)  # fmt: skip
LINES = st.one_of(st.sampled_from(NASTY), st.text(max_size=12).map(lambda text: text.replace("\n", " ")))
TEXTS = st.lists(LINES, min_size=1, max_size=6).map("\n".join)


def filled(kind, texts):
    pairs = ((name, body.normal(text)) for name, text in zip(SECTIONS[kind], texts, strict=False))
    return tuple((name, text) for name, text in pairs if text)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(Kind), st.sampled_from(("en", "zh", "de")), st.lists(TEXTS, min_size=5, max_size=5))
def test_any_section_text_survives_the_round_trip(kind, language, texts):
    """Whatever a section holds, lines like labels and front matter delimiters too, is read back as it was."""
    sections = filled(kind, texts)
    written = body.render(kind, language, sections)
    assert body.parse(kind, written) == (sections, [])
    assert not {"---", "..."} & {line.rstrip() for line in written.split("\n")}


def test_labels_follow_the_language_and_are_read_in_both():
    """The label is written in the entry's language; a body may be read with labels of the other one."""
    chinese = body.render(Kind.PREFERENCE, "zh", (("rule", "用 pnpm"), ("why", "快")))
    assert chinese == "**通用规则** 用 pnpm\n\n**原因** 快\n"
    english = chinese.replace("通用规则", "Rule").replace("原因", "Why:")
    assert body.parse(Kind.PREFERENCE, english) == body.parse(Kind.PREFERENCE, chinese)


def test_lines_right_below_each_other_are_sections_too():
    """The compact form of a hand-written entry, one label a line and no blank lines, is read."""
    text = "**场景** a\n**症状** b\n**根因**：c\n**正确做法**d\n**通用规则** e\r\n"
    assert [value for _, value in body.parse(Kind.PITFALL, text)[0]] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello\n\n**Rule** x", ["in front of the first"]),
        ("**Rule** x\n\n**Advice** y", ["line 3", "'Advice'", "not a section", "Rule/通用规则"]),
        ("**Rule** x\n**Symptom** y", ["line 2", "'Symptom'"]),
        ("**Rule** x\n**规则** y", ["line 2", "twice"]),
    ],
)
def test_what_belongs_to_no_section_is_reported(text, words):
    """Text before the first label, unknown labels, labels of another kind and doubled ones are named."""
    faults = " ".join(map(str, body.parse(Kind.PREFERENCE, text)[1]))
    assert [word for word in words if word not in faults] == []


def test_a_template_that_loses_a_section_is_refused():
    """A tuned body template must give text that reads back to the same sections."""
    with pytest.raises(Invalid, match="does not read back"):
        body.render(Kind.PREFERENCE, "en", (("rule", "x"), ("why", "y")), "**Rule**{{ rule }}\n")
