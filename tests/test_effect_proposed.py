"""Conditions that a draft is offered, from the session it stands on."""

from __future__ import annotations

import json

import pytest

from experience_forge import drafting
from experience_forge.core import coin, conditions, drafts, testable
from experience_forge.fast import home as fast_home
from experience_forge.model import Condition, Entry, Kind, Source, Track
from experience_forge.store import condition_rules, proposed_conditions
from experience_forge.store import home as homes
from recall_home import fill, pitfall, prompt, said

LISTS = condition_rules.lexicon()


@pytest.mark.parametrize(("output", "line"), [
    ("[lint] src/a.go:3:9: undefined: runClean (typecheck)\n[lint] ERROR task failed\nexit status 1",
     "undefined: runClean (typecheck)"),
    ("x\nTraceback (most recent call last):\n  File \"a.py\", line 3\nModuleNotFoundError: No module named 'yaml'",
     "ModuleNotFoundError: No module named 'yaml'"),
    ("src/a.ts(4,2): error TS2345: Argument of type 'A' is not assignable",
     "error TS2345: Argument of type 'A' is not assignable"),
    ("if (err) {\n  return errors.New(\"found\")\n}", ""),
    ("all is well", ""),
    ("报错：无法连接数据库", "报错：无法连接数据库"),
])  # fmt: skip
def test_the_telling_line_is_taken_without_its_place(output, line):
    """File, line and column change from time to time; a task runner's remark and quoted code say nothing."""
    assert conditions.error_of(output, LISTS) == line


@pytest.fixture
def session(own_home):
    folder = own_home / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    assert str(folder).startswith(fast_home.client_folder())
    lines = []

    def add(role, block):
        lines.append({
            "type": role, "sessionId": "abc", "isSidechain": False, "cwd": "/p", "uuid": f"u{len(lines)}",
            "timestamp": f"2026-08-01T10:00:{len(lines):02}Z", "message": {"role": role, "content": block},
        })  # fmt: skip

    def tool(name, given, output, failed):
        ident = f"t{len(lines)}"
        add("assistant", [{"type": "tool_use", "id": ident, "name": name, "input": given}])
        add("user", [{"type": "tool_result", "tool_use_id": ident, "content": output, "is_error": failed}])

    add("user", "make the build pass")
    for _ in range(3):
        tool("Edit", {"file_path": "/p/src/a.go", "old_string": "a", "new_string": "b"}, "ok", False)
        tool("Bash", {"command": "go build ./..."}, "src/a.go:3:9: undefined: runClean", True)
    add("user", "no, that is wrong: use pnpm, not npm")
    (folder / "abc.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder / "abc.jsonl"


def test_a_draft_without_conditions_is_offered_those_of_its_episode(session):
    """The repeated error is trigger and falsifier; the draft's own conditions stay."""
    entry = Entry("e", "t", Kind.PITFALL, Track.PERSONAL, (), sources=(Source(session="abc", line=4),))
    filled = proposed_conditions.fill(entry)
    assert filled.applies_when == (Condition(error="undefined: runClean"),)
    assert Condition(error="undefined: runClean") in filled.fails_when
    own = Entry(**{**entry.__dict__, "applies_when": (Condition(words="x"),)})
    assert proposed_conditions.fill(own).applies_when == (Condition(words="x"),)


@pytest.mark.parametrize(("output", "line"), [
    ("FAIL\nFAIL\texample.com/x [build failed]\nx.go:3:2: undefined: runClean\nFAIL", "undefined: runClean"),
    ("FAIL\nexit status 1", ""),
])  # fmt: skip
def test_a_line_that_could_not_be_used_gives_way_to_the_next_best(output, line):
    """What is proposed is what the judge can use: `FAIL` alone is not, so another line is taken, or none."""
    assert conditions.error_of(output, LISTS) == line


def test_what_the_judge_cannot_use_is_labelled():
    """The label goes by the weights that the judge goes by, and so does the holdout."""
    bare = (Condition(error="FAIL"),)
    entry = Entry("e", "t", Kind.PITFALL, Track.PERSONAL, (), applies_when=bare, fails_when=bare)
    label = testable.label(entry, condition_rules.weights())
    assert label is not None and "useless" in repr(label)
    assert coin.why_not(entry, True, condition_rules.weights()) == "no_trigger"


@pytest.mark.parametrize(("sentence", "words"), [
    ("no revert those changes", "revert changes"), ("no, that is wrong: use pnpm, not npm", "pnpm npm"),
    ("不要改按钮颜色，应该改成蓝色背景", "按钮颜色 蓝色背景"), ("还是不对，数据库连接又超时了", "数据库连接 超时"),
    ("don't touch the API_TOKEN in config-loader.ts", "touch API_TOKEN config-loader"), ("no, not that", ""),
    ("You should use Decimal for money, never floats", "Decimal money floats"),
])  # fmt: skip
def test_words_are_proposed_as_the_person_wrote_them_and_are_met_at_the_prompt(sentence, words):
    """Two or three whole words, none that any correction holds; the same words again bring the entry."""
    assert conditions.key_words(sentence, LISTS) == words
    if words:
        fill(pitfall("corrected", aliases=(), applies_when=(Condition(words=words),)))
        assert "corrected" in said(prompt(sentence))
        assert prompt("please go on with the other task, 谢谢", session_id="s2") is None


@pytest.mark.parametrize("sources", [(), (Source(session="gone"),), (Source(session="../x"),), (Source(),)])
def test_without_a_readable_session_nothing_is_proposed(sources, session):
    """No guess without evidence."""
    entry = Entry("e", "t", Kind.PITFALL, Track.PERSONAL, (), sources=sources)
    assert proposed_conditions.fill(entry) == entry


@pytest.mark.parametrize(("kind", "quote", "applies", "fails"), [
    (Kind.PITFALL, "words that nobody said", (Condition(error="undefined: runClean"),), 1),
    (Kind.PREFERENCE, "words that nobody said", (), 0),
    (Kind.PREFERENCE, "use four spaces,  not tabs", (), 1),
    (Kind.PREFERENCE, "that is wrong: use pnpm, not npm", (), 1),
    (Kind.PITFALL, "use four spaces,  not tabs", (Condition(path="**/src/late.py"),), 1),
])  # fmt: skip
def test_the_quoted_words_say_which_episode_it_is(session, kind, quote, applies, fails):
    """A correction apart from all rework is met by its words and files; a preference never gets an episode's error."""
    lines = session.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])

    def add(role, block):
        lines.append(json.dumps({**first, "type": role, "uuid": f"u{len(lines)}",
                                 "message": {"role": role, "content": block}}))

    def tool(name, given):
        ident = f"late{len(lines)}"
        add("assistant", [{"type": "tool_use", "id": ident, "name": name, "input": given}])
        add("user", [{"type": "tool_result", "tool_use_id": ident, "content": "ok", "is_error": False}])

    tool("Edit", {"file_path": "/p/src/a.go", "old_string": "a", "new_string": "b"})
    tool("Bash", {"command": "go build ./..."})
    add("user", "write a report of the sales of last week into a new file")
    tool("Write", {"file_path": "/p/src/late.py", "content": "x"})
    add("user", "no, wrong: use four spaces, not tabs")
    session.write_text("\n".join(lines) + "\n", encoding="utf-8")
    entry = Entry("e", "t", kind, Track.PERSONAL, (), sources=(Source(session="abc", quote=quote),))
    filled = proposed_conditions.fill(entry)
    assert filled.applies_when == applies and bool(filled.fails_when) == bool(fails)


def test_words_quoted_without_a_session_are_of_the_session_that_drafts(session, own_home, monkeypatch):
    """The form in SKILL.md names quotes alone: the draft gets the session, the date and the episode's conditions."""
    text = """---
title: The generator comes first
aliases: ["先运行生成器"]
kind: pitfall
signals: [rework]
sources:
  - quote: "that is wrong: use pnpm"
    from: person
---
**Scenario** A build. **Symptom** undefined. **Root cause** Not generated.
**Right action** Generate. **Rule** Run the generator before the build.
""".replace(". **", ".\n**")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "abc")
    where = homes.current()
    given = drafts.read(text, as_json=False)[0]
    made = drafting.prepare(where, given, drafting.Options(language="en")).entry
    assert made.sources[0].session == "abc" and made.sources[0].at
    assert made.applies_when == (Condition(error="undefined: runClean"),)
    imported = drafting.prepare(where, given, drafting.Options(language="en", imported=True)).entry
    assert imported.sources[0].session == "" and not imported.applies_when
