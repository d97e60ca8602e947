"""Drafts as they are handed in: several in one input, JSON, what is filled in, what is refused."""

from __future__ import annotations

import json
import re

import pytest

from experience_forge.core import drafts
from experience_forge.errors import Invalid

ONE = """---
title: pip in a Debian image refuses to install
aliases: ["Debian 镜像里 pip 装不了包"]
kind: pitfall
applies_when:
  - {command: "pip install *", error: "externally-managed-environment"}
signals: [rework, {kind: root-cause, quote: "PEP 668"}]
---
**Scenario** Debian 12.
---
**Symptom** error: externally-managed-environment
**Root cause** PEP 668.
**Right action** Make a venv.
**Rule** Make a venv first.
"""
TWO = """---
kind: preference
title: 用中文回答
---
**通用规则** 一律用中文回答。
**原因** 用户这样要求。
**做法** 代码注释也用中文。
"""
GIVEN = {"id": "x", "language": "en", "track": "personal", "created": "2026-11-30", "updated": "2026-11-30"}


def test_several_entries_in_one_text_are_told_apart():
    """Two documents give two drafts, and a `---` line inside a body does not make a third."""
    found = drafts.read(ONE + "\n" + TWO, as_json=False)
    assert [d.known["title"] for d in found] == ["pip in a Debian image refuses to install", "用中文回答"]
    assert dict(found[0].sections)["scenario"] == "Debian 12.\n---"
    assert [s["kind"] for s in found[0].signals] == ["rework", "root-cause"]


def test_json_and_markdown_give_the_same_entry():
    """The same fields as JSON give the same entry as the stored Markdown form."""
    first = drafts.read(ONE.replace("---\n**Symptom", "**Symptom"), as_json=False)[0]
    item = {
        "title": "pip in a Debian image refuses to install",
        "aliases": ["Debian 镜像里 pip 装不了包"],
        "kind": "pitfall",
        "applies_when": [{"command": "pip install *", "error": "externally-managed-environment"}],
        "signals": ["rework", {"kind": "root-cause", "quote": "PEP 668"}],
        "scenario": "Debian 12.",
        "symptom": "error: externally-managed-environment",
        "root_cause": "PEP 668.",
        "right_action": "Make a venv.",
        "rule": "Make a venv first.",
    }
    second = drafts.read(json.dumps(item), as_json=True)[0]
    assert drafts.complete(first, GIVEN) == drafts.complete(second, GIVEN)
    assert first.signals == second.signals


def test_what_we_compute_is_ignored_and_named():
    """A draft that brings its own score, status or guard is told so, and the values do not count."""
    text = ONE.replace("kind: pitfall", "kind: pitfall\nstatus: superseded\nguard: deny\nconfidence: 0.99\nscore: 9")
    found = drafts.read(text, as_json=False)[0]
    assert set(found.ignored) == {"status", "guard", "confidence", "score"}
    assert drafts.complete(found, GIVEN).guard.value == "remind"


def test_unknown_keys_are_named_and_refused():
    """A key that nobody knows is a fault that names it and the known ones."""
    found = drafts.read(ONE.replace("kind: pitfall", "kind: pitfall\ncolour: red"), as_json=False)[0]
    with pytest.raises(Invalid) as caught:
        drafts.complete(found, GIVEN)
    assert "colour" in caught.value.faults[0] and "applies_when" in caught.value.faults[0]


@pytest.mark.parametrize(
    ("text", "as_json"), [("", False), ("  \n", True), ("{", True), ("[1, 2]", True), ("no front", False)]
)
def test_an_input_that_is_none_is_refused(text, as_json):
    """Empty, broken or foreign input is refused with a hint."""
    with pytest.raises(Invalid) as caught:
        drafts.read(text, as_json=as_json)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("title", "aliases", "hints", "domain", "slug"),
    [
        ("Use pnpm, never npm!", [], (), "", "use-pnpm-never-npm"),
        ("Python 3.12", [], (), "", "python-3-12"),
        ("用 pnpm 不要用 npm", ["use pnpm instead of npm"], ("x y",), "", "use-pnpm-instead-of-npm"),
        ("给 Excel 的 CSV 要用 utf-8-sig", [], (), "", "excel-csv-utf-8-sig"),
        ("部署脚本在容器里找不到证书", ["证书"], ("SSL certificate problem", "curl *", "docker"), "",
         "ssl-certificate-problem"),
        ("证书要用 utf-8", [], ("", "curl *", "docker tls"), "", "docker-tls"),
        ("所有的提交信息都用中文写", [], (), "git", "git-pitfall-c015"),
        ("一个中文标题", [], (), "", "pitfall-"),
        ("\u202e\u0645\u0631\u062d\u0628\u0627 🎉", [], (), "", "pitfall-"),
        ("a" * 200, [], (), "", "pitfall-"),
        ("one " + "b" * 200, [], (), "", "one-bbbb"),
    ],
)  # fmt: skip
def test_an_id_comes_from_the_words(title, aliases, hints, domain, slug):
    """An id is made of the title's words, of an English alias, of an error, a command or tags, before a hash."""
    made = drafts.slug(title, aliases, "pitfall", hints, domain)
    assert made.startswith(slug) and re.fullmatch("[a-z0-9][a-z0-9-]{0,63}", made)


@pytest.mark.parametrize(
    ("text", "language"), [("Use pnpm", "en"), ("用 pnpm", "zh"), ("", "en"), ("日志 in the ERROR log of nginx", "en")]
)
def test_the_language_is_that_of_the_letters(text, language):
    """One Chinese letter in ten makes a text Chinese."""
    assert drafts.language(text) == language


def test_a_missing_kind_is_a_fault_beside_the_others():
    """A draft without a kind says so, together with whatever else is wrong with it."""
    found = drafts.read("---\ntitle: x\ntrack: nonsense\n---\nhello\n", as_json=False)[0]
    with pytest.raises(Invalid) as caught:
        drafts.complete(found, GIVEN)
    faults = "\n".join(caught.value.faults)
    assert "kind: is missing" in faults and "track: one of" in faults


def test_missing_sections_are_named_as_they_are_written():
    """The fault about a missing section gives its label in both languages."""
    found = drafts.read(TWO.replace("**做法** 代码注释也用中文。\n", ""), as_json=False)[0]
    with pytest.raises(Invalid) as caught:
        drafts.complete(found, GIVEN)
    assert "missing: How/做法" in "\n".join(caught.value.faults)
