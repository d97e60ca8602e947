"""What a person reads of a change that is no draft: whose it is, what will be true, the diff, then machine parts."""

from __future__ import annotations

import json

import pytest

from experience_forge import cli
from experience_forge.core import changes
from experience_forge.model import Consent, Guard, Track
from experience_forge.store import config, entries, home, library, proposals
from helpers import confirm, entry


def proposed(capsys, *arguments):
    """The text of what one command proposes."""
    assert cli.main([*arguments, "--dry-run", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["proposal"]["text"]


def test_an_undo_says_what_goes_in_words(capsys):
    """Title, rule and what will be true stand before the file's diff, and what machines read comes last."""
    confirm(entry("one", title="Use pnpm"))
    text = proposed(capsys, "undo")
    parts = ("title: 'undo draft 1: Use pnpm'", "Rule: Use pnpm, never npm.", "Afterwards “Use pnpm” is gone",
             "-title: Use pnpm", ">>> personal/one.md")
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert changes.parse("undo", text).rule == "Use pnpm, never npm."


def test_an_undo_of_a_guard_names_the_level_that_comes_back(capsys):
    """An undone guard is told as its level before and after, with only the changed lines in the diff."""
    confirm(entry("one", title="Use pnpm"))
    assert cli.main(["guard", "one", "deny"]) == 0
    where = home.current()
    library.apply(where, proposals.all(where)[0], Consent("terminal", "2026-11-30T00:00:00+00:00", "terminal"))
    assert entries.get(where, "one").entry.guard is Guard.DENY
    capsys.readouterr()
    text = proposed(capsys, "undo")
    assert "is as it was before: guard remind (now deny)" in text and "-guard: deny" in text


@pytest.mark.parametrize(
    ("arguments", "said", "chinese"),
    [
        (("undo",), "Afterwards “用 pnpm” is gone", "之后“用 pnpm”就没有了"),
        (("move", "one", "--to", "profile"), "from the track personal to the track profile", "移到轨道“画像”"),
        (("guard", "one", "deny"), "A matching call never runs", "匹配的调用一律不执行"),
        (("outdate", "one"), "never delivered unasked", "不会主动提供"),
    ],
)  # fmt: skip
def test_every_change_has_title_rule_words_and_diff_in_both_languages(capsys, arguments, said, chinese):
    """undo, move, guard and outdate show whose they are and what follows, in the language of the user."""
    confirm(entry("one", title="用 pnpm", track=Track.PERSONAL))
    for language, words, rule in (("en", said, "Rule: "), ("zh", chinese, "规则：")):
        config.change({"language": language})
        text = proposed(capsys, *arguments)
        body = text.split("\n---\n", 1)[1]
        assert words in body and body.startswith("用 pnpm\n" + rule), body
        assert body.index("\n-") < body.index(">>> ")
