"""templates.md: every template renders on its example, and a template can do no more than put text in a place."""

from __future__ import annotations

import pytest

from experience_forge.core import body, rendering
from experience_forge.errors import Invalid
from experience_forge.model import SECTIONS, Kind
from experience_forge.store import templates
from helpers_projection import entry

NAMES = sorted(templates.shipped().templates)


@pytest.mark.parametrize("name", NAMES)
def test_every_template_renders_on_its_example(name):
    """Strictly: a value that the example lacks, or a template that uses none of a value, shows here."""
    base, _, _ = name.partition(".")
    example = templates.examples()[base]
    text = rendering.render(templates.shipped().templates[name], example)
    assert text.strip() and "{{" not in text
    for missing in example:
        left = {key: value for key, value in example.items() if key != missing}
        if base != "feedback":
            with pytest.raises(Invalid):
                rendering.render(templates.shipped().templates[name], left)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", Kind)
def test_body_templates_give_the_stored_format_and_read_back(kind, language):
    """The body templates of both languages are the stored format, byte for byte, and nothing is lost in them."""
    sections = tuple((name, templates.examples()[f"body-{kind.value}"][name]) for name in SECTIONS[kind])
    template = templates.shipped().get(f"body-{kind.value}", language)
    assert body.render(kind, language, sections, template) == body.render(kind, language, sections)
    assert body.parse(kind, body.render(kind, language, sections)) == (sections, [])


def test_every_example_has_its_template_and_both_languages():
    """Examples and templates name the same things; a template in one language stands in the other too."""
    bases = {name.partition(".")[0] for name in NAMES}
    assert bases == set(templates.examples())
    for name in NAMES:
        base, dot, _ = name.partition(".")
        assert not dot or {f"{base}.en", f"{base}.zh"} <= set(NAMES)


@pytest.mark.parametrize("template", [
    "{{ 'A' * 100000000 }}", "{{ ''.__class__ }}", "{% for x in range(9) %}{% endfor %}", "{{ x.format(1) }}",
    "{% set a = 1 %}", "{% include 'x' %}", "{% macro m() %}{% endmacro %}", "{{ x|attr('y') }}", "{{ x ~ x }}",
    "{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}", "{{ x", "{{ 1 + 1 }}",
])  # fmt: skip
def test_s5_a_template_can_do_no_more_than_put_text_in_a_place(template):
    """S5: calls, arithmetic, assignments, attributes of the machinery and deep loops are refused before they run."""
    with pytest.raises(Invalid):
        rendering.render(template, {"x": "value"})


def test_s5_values_are_never_templates_and_output_is_capped():
    """S5: braces in a value are text; a result over the cap is refused."""
    assert rendering.render("{{ x }}", {"x": "{{ 7*7 }}{% raw %}"}) == "{{ 7*7 }}{% raw %}"
    with pytest.raises(Invalid, match="more than 10 characters"):
        rendering.render("{{ x }}", {"x": "a" * 11}, cap=10)
    with pytest.raises(Invalid):
        rendering.render("{{ x.y.z }}", {"x": {"y": {}}})


def test_all_faults_of_a_templates_file_are_named():
    """One run names a missing version, a bad name, a doubled one, a missing block and a forbidden template."""
    block = "\n```jinja\nx\n```\n"
    text = f"## Bad Name{block}## a{block}## a{block}## b\nno block\n## c\n```jinja\n{{{{ f() }}}}\n```\n"
    with pytest.raises(Invalid) as caught:
        templates.parse(text)
    faults = " | ".join(caught.value.faults)
    words = ("Template version", "Bad Name", "a: stands twice", "b: needs one", "c: line 1: a template may not")
    assert [word for word in words if word not in faults] == []


def test_own_templates_go_over_the_shipped_ones():
    """A tuning replaces what it names; unknown names, unrenderable and unreadable ones are refused."""
    book = templates.shipped()
    own = templates.tuned(book, "## index.en\n\n```jinja\n# Mine\n{{ lines }}\n{{ left }}{{ command }}\n```\n")
    assert own.get("index", "en").startswith("# Mine") and own.get("index", "zh") == book.get("index", "zh")
    own_block = "## {}\n```jinja\n{}\n```\n".format
    unfit = (("none.en", "x"), ("index.en", "{{ nothing }}"), ("body-preference.en", "**Rule**{{ rule }}"))
    for tuning in (*(own_block(*pair) for pair in unfit), "## index.en\nno block\n"):
        with pytest.raises(Invalid):
            templates.tuned(book, tuning)


def test_texts_for_hooks_keep_their_fields_open():
    """Hooks fill `{id}` and the like in themselves; the frame says whose notes these are and that they may be old."""
    for language, words in (("en", ("user's own", "may be outdated")), ("zh", ("用户自己", "可能已过时"))):
        texts = templates.for_hooks(templates.shipped(), language)
        assert all(word in texts["delivery-head"] for word in words)
        assert "{id}" in texts["delivery-line"] and "{rule}" in texts["delivery-line"]
        to_type = "总结经验" if language == "zh" else "summarize experience"
        assert "{signals}" in texts["suggestion"] and to_type in texts["suggestion"]


def test_short_form_and_feedback_name_place_and_moment():
    """A draft shows title, trigger, rule and target; a confirm says where it was written and when it acts."""
    one = entry(1, "zh")
    short = templates.short_form(one, "index.md")
    assert one.title in short and one.rule in short and "deploy-1 *" in short and "index.md" in short
    assert "no condition" in templates.short_form(entry(0)) and "personal" in templates.short_form(entry(0))
    said = templates.feedback(one, "/home/me/x<y>.md", hooks=True)
    assert "/home/me/x<y>.md" in said and "索引" in said and "deploy-1 *" in said
    assert "deploy-1 *" not in templates.acts_when(one, hooks=False)
