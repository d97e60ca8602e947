"""`review` at a terminal: an edit is never lost, only keys that work are offered, what was done stays in sight."""

from __future__ import annotations

import os
import sys

import pytest

from experience_forge import cli, shared
from experience_forge.store import entries, home, library, proposals
from helpers import confirm, entry
from terminal import Terminal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal needs POSIX")

DRAFT = """---
title: Use pnpm in this repository
kind: preference
---
**Rule** Use pnpm, never npm.
**Why** The lock file is pnpm's.
**How** pnpm install.
"""


@pytest.fixture
def drafted(tmp_path, monkeypatch):
    """Keeps drafts with these titles in the inbox."""
    monkeypatch.chdir(tmp_path)

    def keep(*titles):
        for title in titles:
            path = tmp_path / "draft.md"
            path.write_text(DRAFT.replace("Use pnpm in this repository", title), encoding="utf-8")
            assert cli.main(["draft", "--from", str(path)]) == 0

    return keep


@pytest.fixture
def editor(tmp_path):
    """An editor that does these replacements, one list a call, and keeps what it was given each time."""

    def make(*rounds):
        script = tmp_path / "editor.py"
        script.write_text(
            "import pathlib, sys\n"
            f"rounds = {rounds!r}\n"
            "here = pathlib.Path(sys.argv[1])\n"
            "seen = pathlib.Path(__file__).parent\n"
            "number = len(list(seen.glob('given-*')))\n"
            "text = here.read_text(encoding='utf-8')\n"
            "(seen / f'given-{number}').write_text(text, encoding='utf-8')\n"
            "for old, new in rounds[number]:\n"
            "    assert old in text, old\n"
            "    text = text.replace(old, new)\n"
            "here.write_text(text, encoding='utf-8')\n",
            encoding="utf-8",
        )
        return f"{sys.executable} {script}"

    return make


BREAK = [("**Rule**", "**Regel**"), ("pnpm install", "pnpm install, an hour of my work")]


def test_an_edit_that_does_not_hold_opens_again_with_its_faults(drafted, editor, tmp_path):
    """`m` with a fault keeps the text, opens it again with the fault on top, and takes it once it is mended."""
    drafted("Use pnpm in this repository")
    terminal = Terminal(["review"], EDITOR=editor(BREAK, [("**Regel**", "**Rule**")]))
    terminal.expect("[q]uit")
    terminal.send("m")
    terminal.expect("[g]ive up")
    assert "Regel" in terminal.seen.split("[q]uit")[-1]
    terminal.send("e")
    terminal.expect("an hour of my work")
    terminal.send("q")
    assert terminal.end() == 0
    again = (tmp_path / "given-1").read_text(encoding="utf-8")
    assert again.startswith("# experience-forge: ") and "Regel" in again.split("---")[0]
    assert "an hour of my work" in again
    text = proposals.all(home.current())[0].text
    assert "an hour of my work" in text and "# experience-forge:" not in text
    assert list(home.current().derived.glob("edit/*")) == []


def test_an_edit_that_was_given_up_is_kept_and_gone_on_with(drafted, editor, tmp_path):
    """Giving up names the file that holds the edit; the next `m`, in a later run too, goes on with it."""
    drafted("Use pnpm in this repository")
    before = proposals.all(home.current())[0].text
    command = editor(BREAK, [("**Regel**", "**Rule**")])
    terminal = Terminal(["review"], EDITOR=command)
    terminal.expect("[q]uit")
    terminal.send("m")
    terminal.expect("[g]ive up")
    terminal.send("g")
    terminal.expect("is kept in")
    terminal.send("q")
    assert terminal.end() == 0
    kept = list(home.current().derived.glob("edit/*"))
    assert len(kept) == 1 and "an hour of my work" in kept[0].read_text(encoding="utf-8")
    assert proposals.all(home.current())[0].text == before
    terminal = Terminal(["review"], EDITOR=command)
    terminal.expect("[q]uit")
    terminal.send("m")
    terminal.expect("an hour of my work")
    assert "earlier edit" in terminal.seen
    terminal.send("c")
    assert terminal.end() == 0
    assert "an hour of my work" in entries.load_all(home.current()).entries[0].path.read_text(encoding="utf-8")
    assert list(home.current().derived.glob("edit/*")) == []


@pytest.mark.parametrize("command", ["false", "/nowhere/editor", "'"])
def test_an_editor_that_fails_loses_nothing(drafted, command):
    """An editor that can't start or ends with a fault is said, and the draft is as before."""
    drafted("Use pnpm in this repository")
    before = proposals.all(home.current())
    terminal = Terminal(["review"], EDITOR=command, VISUAL="")
    terminal.expect("[q]uit")
    terminal.send("m")
    terminal.expect("the editor")
    terminal.send("q")
    assert terminal.end() == 0 and "Traceback" not in terminal.seen
    assert proposals.all(home.current()) == before


def test_only_keys_that_work_are_offered(drafted):
    """A proposal that is no draft offers neither `m` nor `t`, and does not take them."""
    confirm(entry("one"))
    shared.propose(home.current(), library.undo_of(home.current(), 1), "undo-1", {})
    terminal = Terminal(["review"])
    seen = terminal.expect("[q]uit")
    assert "[m]odify" not in seen and "[t]rack" not in seen and "[c]onfirm" in seen
    terminal.send("m")
    terminal.expect("Please answer one of c, d, s, v, q")
    terminal.send("discard this")
    terminal.expect("[q]uit > ")
    terminal.send("skip")
    assert terminal.end() == 0 and "0 discarded, 1 still open" in terminal.seen


def test_an_empty_answer_decides_nothing(drafted):
    """Enter alone neither quits nor discards; the end of the input quits."""
    drafted("Use pnpm in this repository")
    terminal = Terminal(["review"])
    terminal.expect("[q]uit")
    terminal.send("")
    terminal.expect("Please answer one of")
    terminal.send("d")
    terminal.expect("why")
    os.write(terminal.descriptor, b"\x04")
    terminal.expect("[q]uit")
    os.write(terminal.descriptor, b"\x04")
    assert terminal.end() == 0
    assert len(proposals.all(home.current())) == 1


def test_what_was_done_is_said_again_below_a_long_text(drafted):
    """After an action its outcome stands above the next proposal, and again at the keys when that is long."""
    drafted("Always use pnpm", "Before " + "word " * 30)
    terminal = Terminal(["review"], LINES="12", COLUMNS="80")
    terminal.expect("[q]uit")
    terminal.send("c")
    terminal.expect("2/2")
    terminal.expect("(just done: Confirmed 'always-use-pnpm'.)")
    terminal.send("q")
    assert terminal.end() == 0
    head, tail = terminal.seen.split("── 2/2", 1)
    assert "written:" in head and tail.index("just done") < tail.index("[q]uit")


def test_a_fault_does_not_push_its_message_away(drafted):
    """After a fault the keys come again without the whole text; `v` shows it again."""
    drafted("Use pnpm in this repository")
    terminal = Terminal(["review"])
    terminal.expect("[q]uit")
    terminal.send("t")
    terminal.expect("which track")
    terminal.send("nowhere")
    terminal.expect("there is no track 'nowhere'")
    terminal.expect("[q]uit > ")
    assert terminal.seen.count("origin: stated") == 1
    terminal.send("v")
    terminal.expect("digest")
    terminal.send("q")
    terminal.end()
    assert terminal.seen.count("origin: stated") == 2


def test_confirm_shows_the_text_as_it_stands(drafted):
    """At a narrow terminal too, what a person is asked about is not wrapped by us."""
    rule = "Always use pnpm " + "and nothing else at all " * 7
    drafted(rule.strip())
    proposal = proposals.all(home.current())[0]
    terminal = Terminal(["confirm", proposal.id, "--digest", proposal.digest], columns=60)
    shown = terminal.expect("[y/N]").replace("\r\n", "\n")
    assert proposal.text in shown
    terminal.send("n")
    assert terminal.end() == 4
    assert [one.id for one in proposals.all(home.current())] == [proposal.id]


def test_a_command_to_copy_stands_on_a_line_of_its_own(drafted, capsys):
    """The confirm command that a draft names is one whole line, at a terminal and in a pipe."""
    drafted("Use pnpm in this repository")
    command = f"confirm {(one := proposals.all(home.current())[0]).id} --digest {one.digest}"
    assert any(line.startswith("    ") and line.endswith(command) for line in capsys.readouterr().err.splitlines())
    terminal = Terminal(["show", one.id], columns=60)
    terminal.end()
    assert any(line.startswith("    ") and line.endswith(command) for line in terminal.seen.splitlines())


def test_an_edit_with_an_unknown_key_is_refused_and_kept(drafted, editor, tmp_path):
    """`m` names a key that nobody knows as `draft` does, keeps the edit, and opens it again: nothing is dropped."""
    drafted("Use pnpm in this repository")
    wrong = [("language: en", 'language: en\nfail_when:\n- {command: "npm *"}')]
    terminal = Terminal(["review"], EDITOR=editor(wrong, [("fail_when", "fails_when")]))
    terminal.expect("[q]uit")
    terminal.send("m")
    terminal.expect("[g]ive up")
    assert "unknown: " in terminal.seen and "fail_when" in terminal.seen
    terminal.send("e")
    terminal.expect("fails_when:")
    terminal.send("q")
    assert terminal.end() == 0
    assert "npm *" in (tmp_path / "given-1").read_text(encoding="utf-8")
    assert "fails_when:" in proposals.all(home.current())[0].text


@pytest.mark.parametrize("key", ["c", "d"])
def test_a_key_typed_before_the_text_was_shown_decides_nothing(drafted, key):
    """A key pressed twice by impatience decides the first proposal alone: the second was not seen yet."""
    drafted("Use pnpm in the shop", "Write migrations by hand in the bank")
    terminal = Terminal(["review"])
    terminal.expect("> ")
    terminal.send("c")
    terminal.send(key)
    terminal.expect("typed before this text was shown")
    terminal.seen = terminal.seen.partition("once more, please.")[2]
    terminal.expect("> ")
    assert len(proposals.all(home.current())) == 1
    terminal.send("c")
    assert terminal.end() == 0 and "2 confirmed, 0 discarded" in terminal.seen


@pytest.mark.parametrize(("verb", "yes"), [("confirm", "y"), ("review", "c"), ("forget", "{id}")])
def test_an_answer_typed_before_the_question_decides_nothing(drafted, verb, yes):
    """What was typed while the command was still starting is no answer to a text that nobody had seen."""
    name = "use-pnpm-in-the-shop"
    if verb == "forget":
        confirm(entry(name))
    else:
        drafted("Use pnpm in the shop")
    given = {"review": [], "forget": [name]}
    if verb == "confirm":
        given["confirm"] = [name, "--digest", proposals.load(home.current(), name).digest]
    terminal = Terminal([verb, *given[verb]])
    terminal.send(yes.format(id=name))
    terminal.expect("once more, please.")
    terminal.seen = terminal.seen.partition("once more, please.")[2]
    terminal.expect({"confirm": "[y/N]", "review": "> ", "forget": "to go on: "}[verb])
    assert len(entries.load_all(home.current()).entries) == (verb == "forget")
    terminal.send(yes.format(id=name))
    assert terminal.end() == 0
    assert len(entries.load_all(home.current()).entries) == (verb != "forget")
