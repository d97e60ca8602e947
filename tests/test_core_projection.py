"""Projections as texts: their shares of tokens, their order, and what they say of what is left."""

from __future__ import annotations

import itertools

import pytest

from experience_forge.core import managed_block, projection, rendering, tokens_estimate
from experience_forge.model import Condition, Track
from experience_forge.store import templates
from helpers_projection import entry, many, settings, whole

SHARES = {"reminder": 100, "profile": 500, "index": 700}


def made(entries, language="en", **changes):
    return projection.project(entries, settings(language, **changes), templates.shipped())


def longest(language):
    """Entries at the limits of title and rule, with many conditions."""
    word = "配置" if language == "zh" else "configuration "
    conditions = tuple(Condition(command=f"{word.strip()}-{n} *", error=word * 10) for n in range(20))
    return [
        entry(n, language, track, title=(word * 100)[:200], applies_when=conditions,
              sections=(("rule", (word * 200)[:300].strip()), ("why", "x"), ("how", "y")))
        for n, track in itertools.product(range(6), Track)
    ]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("count", [0, 10, 10_000, "longest"])
def test_the_three_files_stay_within_their_shares(language, count):
    """Reminder, profile and index keep 100 / 500 / 700 tokens, our mark counted, at 10 and at 10,000 entries."""
    entries = longest(language) if count == "longest" else many(count, language)
    for hooks in (True, False):
        result = made(entries, language, hooks=hooks)
        costs = {name: tokens_estimate.estimate(whole(result.files[name])) for name in SHARES if name in result.files}
        assert {name: cost for name, cost in costs.items() if cost > SHARES[name]} == {}
        assert sum(costs.values()) <= 1300
        if count == 10_000:
            assert costs["profile"] > 400 and costs["index"] > 600
    for domain in (name for name in result.files if name.count("/") == 1):
        assert tokens_estimate.estimate(whole(result.files[domain])) <= projection.SKILL_TOKENS


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("count", [2, 10, 10_000, "longest"])
def test_a_projects_blocks_stay_within_600(language, count):
    """A project's blocks keep 600 tokens with their markers, and the last one says how many more there are."""
    entries = longest(language) if count == "longest" else many(count, language, (Track.PROJECT,))
    blocks = projection.blocks(entries, settings(language), templates.shipped())
    data = managed_block.update(None, blocks, (), "1").data.decode("utf-8")
    assert tokens_estimate.estimate(data) <= 600
    mine = sum(entry.track is Track.PROJECT for entry in entries)
    shown = sum(not name.startswith("_more") for name in blocks)
    # A rule of 300 Chinese characters takes the whole share: such entries are counted, and delivered by hooks.
    assert shown or (language, count) == ("zh", "longest")
    assert shown == mine or str(mine - shown) in blocks["_more-000000"]


def test_the_most_useful_lines_are_kept_and_the_rest_counted():
    """Pinned first, then usefulness, then the last changed; the text says how many more, and how to ask."""
    entries = many(400, "en", (Track.PERSONAL,))
    useful, pinned = entries[7].id, entry(500, pinned=True, updated="2020-01-01")
    result = made([*entries, pinned], usefulness={useful: 3.0})
    lines = [line for line in result.files["index"].splitlines() if line.startswith("- [")]
    assert lines[0].startswith(f"- [{pinned.id}]") and lines[1].startswith(f"- [{useful}]")
    assert f"{401 - len(lines)} more" in result.files["index"] and "recall" in result.files["index"]
    assert result.left["index"] == 401 - len(lines)


def test_an_entry_under_test_leaves_the_index():
    """What a coin decides about must not be loaded by another way."""
    result = made(many(4, "en", (Track.PERSONAL,)), withheld=frozenset({"note-en-00001"}))
    assert "note-en-00001" not in result.files["index"] and "note-en-00002" in result.files["index"]


def test_a_line_that_is_too_long_does_not_starve_the_others():
    """An entry at the limits that does not fit is counted as left; shorter ones after it are shown."""
    big = [entry(n, "zh", Track.PROFILE, pinned=True, applies_when=(),
                 sections=(("rule", "字" * 300), ("why", "x"), ("how", "y"))) for n in range(3)]  # fmt: skip
    result = made([*big, entry(9, "zh", Track.PROFILE)], "zh")
    assert "note-zh-00009" in result.files["profile"] and 1 <= result.left["profile"] <= 3


def test_at_most_eight_domain_skills_then_two_are_proposed_to_become_one():
    """The ninth domain gets no skill: its entries stand in the index, and a merge with a near domain is proposed."""
    names = ("go", "rust", "java", "python", "database", "containers", "ci", "security", "frontend")
    entries = [entry(100 * place + n, "en", Track.DOMAIN, domain=name)
               for place, name in enumerate(names) for n in range(3 if name != "frontend" else 1)]  # fmt: skip
    result = made(entries)
    skills = [name for name in result.files if name.count("/") == 1]
    assert len(skills) == 8 and "domain/frontend" not in skills
    assert "note-en-00800" in result.files["index"] and result.merge == ("frontend", "ci")
    merged = made(entries, merged={"frontend": "java"})
    assert merged.merge is None and "note-en-00800" in merged.files["domain/java"]
    few = [one for one in entries if one.domain in ("go", "python")]
    assert made(few).merge is None


def test_a_skills_description_stays_short_and_plain():
    """Name, triggers of both languages, at most 500 characters, no angle brackets, one line of YAML."""
    import yaml

    odd = entry(1, "zh", Track.DOMAIN, title='a "quoted": <title> \\ # x', tags=("a: b", "- c"))
    for language in ("en", "zh"):
        text = made([odd, *many(300, language, (Track.DOMAIN,))], language).files["domain/python"]
        head = yaml.safe_load(text.split("---\n")[1])
        assert head["name"] == "python-experience" and 40 < len(head["description"]) <= 500
        assert not set("<>\n") & set(head["description"]) and "Python" in head["description"]


def test_the_reminder_has_two_forms():
    """With hooks on it only explains the words; without, that only the user's words start it: never an offer."""
    for language, word in (("en", "only when the user says so"), ("zh", "用户说了才用")):
        assert word not in made([], language).files["reminder"]
        assert word in made([], language, hooks=False).files["reminder"]
        assert not {"offer", "提议"} & set(made([], language, hooks=False).files["reminder"].split())
        assert "总结经验" in made([], language).files["reminder"] and "[id]" in made([], language).files["reminder"]


def test_conditions_read_as_a_sentence_in_both_languages():
    """All parts of a condition are named; several conditions are set apart."""
    conditions = (Condition(command="npm i *", error="E404"), Condition(path="**/*.sql", words="慢 查询"))
    book = templates.shipped()
    assert projection.trigger(entry(applies_when=conditions), book) == (
        "command `npm i *`, output “E404”; file `**/*.sql`, words “慢 查询”")  # fmt: skip
    assert projection.trigger(entry(language="zh", applies_when=conditions), book) == (
        "命令 `npm i *`，输出“E404”；文件 `**/*.sql`，提到“慢 查询”")  # fmt: skip
    assert projection.trigger(entry(applies_when=()), book) == ""


def test_escaping_twice_changes_nothing_more():
    """Texts may pass more than one template."""
    texts = ("<b> @x <!-- a --> a<b Vec<T>", "\u202e\t@y", "`@x` a@b.c (@z) x @s/p", r"\@a \\@b a\@c a\\@d _@e \"@f")
    for text in texts:
        once = rendering.escape(text)
        assert rendering.escape(once) == once
    assert rendering.escape("a < b, x >= 1, me@host.org, pip@1") == "a < b, x >= 1, me@host.org, pip@1"


@pytest.mark.parametrize(
    "before", ["", " ", "`x`", "**", "_", "~~", '\\"', "\\\\", "a\\\\", "(", "见", "- ", "| ", ".", "\t"]
)
def test_s9_no_import_is_left_wherever_the_client_follows_one(before):
    """S9: the client was seen to follow `@path` behind code and inside emphasis too; each @ gets an odd backslash."""
    text = rendering.escape(f"{before}@~/secret.md")
    slashes = text[: text.index("@")]
    assert (len(slashes) - len(slashes.rstrip("\\"))) % 2 == 1
