"""Front matter in the written form is read quickly and means what the YAML parser says it means."""

from __future__ import annotations

import dataclasses
import random

import frontmatter
import pytest

from experience_forge.core import codec, written
from experience_forge.fast import tokens
from experience_forge.model import Cite, Condition, Source
from helpers import entry

PIECES = (
    "use", "pnpm", "npm install *", ": ", ":", " #", "#", "'", '"', "[", "]", "{", "}", ", ", ",", "- ", "? ", "!",
    "&a", "*x", "|", ">", "%", "@", "`", "~", "null", "no", "123", "1.5e3", "2026-08-28", "用户", "「引号」", "，",
    "：", "é", "😀", "\\", "\\n", "\t", "\u00a0", "\u200b", "\u2028", "\u3000", "\ufeff", "C:\\x", "a=b", "=",
    "<<", "---", "...", "  ",
)


def by_yaml(text):
    """Fields and body as python-frontmatter and the YAML parser read them."""
    fields, body = frontmatter.parse(text, handler=codec._Handler())
    return fields, body


def anything(rng):
    """A text of a few pieces that mean something to YAML."""
    return "".join(rng.choice(PIECES) + rng.choice(("", "", " ", "x")) for _ in range(rng.randint(1, 6))).strip() or "x"


def made(rng):
    """An entry with such texts wherever one may stand."""
    said = [anything(rng) for _ in range(8)]
    return dataclasses.replace(
        entry("some-id"), title=said[0], aliases=tuple(said[1:3]), status_reason=rng.choice(("", said[3])),
        applies_when=(Condition(command=said[4], error=said[5]), Condition(words=said[6])),
        sources=(Source("s1", "2026-08-28", said[7], 12),), versions=(said[2],), tags=("t", said[3]),
        cites=(Cite("src/a.py", "1-2", "ab"),),
    )


def test_what_we_wrote_is_read_alike_with_and_without_a_yaml_parser():
    """Two thousand entries with everything that YAML gives a meaning to: never another meaning."""
    rng = random.Random(7)
    quick = 0
    for _ in range(2000):
        text = codec.render(made(rng))
        found = written.split(text, codec.KNOWN)
        if found is not None:
            quick += 1
            assert (found[0], found[1].strip()) == by_yaml(text), text
    assert quick > 200


def test_ordinary_entries_never_need_the_yaml_parser():
    """Of entries as people write them the written form is always read quickly."""
    for text in ("Use pnpm: npm breaks the lockfile", "它说 “already up to date”", "don't, [x] {y} #1", "50% & more"):
        one = dataclasses.replace(entry(), title=text, aliases=(text, "装不上"), versions=("node>=20",))
        stored = codec.render(one)
        assert written.split(stored, codec.KNOWN) is not None, text


def test_changed_by_hand_it_means_the_same_or_is_left_to_the_yaml_parser():
    """One character taken out of a stored entry, or put in, gives the fields of the YAML parser or none."""
    rng = random.Random(11)
    text = codec.render(made(random.Random(3)))
    head = text.index("\n---\n", 4)
    for _ in range(4000):
        at = rng.randrange(4, head)
        other = text[:at] + rng.choice(("", " ", "\n", ":", "'", '"', ",", "]", "}", "#", "x", "-", "&", "\u2028")) + (
            text[at + rng.randint(0, 1):])
        found = written.split(other, codec.KNOWN)
        if found is not None:
            assert (found[0], found[1].strip()) == by_yaml(other), other[:head]


@pytest.mark.parametrize("head", [
    "id: a\nid: b", "id: &x a", "id: *x", "id:\n  a", "a-b: c", "id: [a, b", "aliases: [a,, b]", "aliases: [a, ]",
    "applies_when:\n- {command: a, command: b}", "applies_when:\n- {command: a, }", "id: null", "aliases: [null]",
    "id: ", "id:", "applies_when: {a: b}", "id: 'a'b'", "other: x", "id: a\n# note", "", "id: a: b", "id: a\n...",
])
def test_what_is_not_surely_the_written_form_is_left_to_the_yaml_parser(head):
    """Doubled keys, anchors, nested or open values, comments and unknown fields are never read quickly."""
    assert written.split(f"---\n{head}\n---\nbody\n", codec.KNOWN) is None


def test_terms_are_the_same_with_words_that_were_met_before():
    """Keeping what single words give changes no term, whatever stands beside them."""
    rng = random.Random(5)
    parts = ("Python", "3.12", "12", "eslint", "9", "fooBar_baz2", "/usr/lib/x.py", "C:\\a\\b.ts", "装不上",
             "用户node18", "E1001", "\x1b[31mred", "--flag", "a/b", "…", "pip,npm", "0x80070005")
    known: dict[str, list[str]] = {}
    for _ in range(500):
        text = " ".join(rng.choice(parts) for _ in range(rng.randint(1, 9)))
        assert tokens.terms(text, known=known) == tokens.terms(text)
    assert tokens.terms("Python 3", known=known)[-1] == "python3"
