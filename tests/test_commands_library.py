"""The verbs of the library at the command line: what a user sees, and with which exit code."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from experience_forge import cli
from experience_forge.model import Track
from experience_forge.store import entries, home, projects, proposals
from helpers import answering, confirm, entry, tree
from terminal import Terminal

PITFALL = """---
title: pip in a Debian image refuses to install
aliases: ["Debian 镜像里 pip 装不了包"]
kind: pitfall
applies_when:
  - {command: "pip install *", error: "externally-managed-environment"}
fails_when:
  - {error: "externally-managed-environment"}
signals: [rework, root-cause]
sources:
  - {session: s1, quote: "it still says externally managed", from: person}
---
**Scenario** Installing into the system Python of a Debian 12 image.
**Symptom** error: externally-managed-environment
**Root cause** The distribution marks its interpreter (PEP 668).
**Right action** Make a venv first.
**Rule** Make a venv before pip install on Debian 12 and newer.
"""
posix = pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal needs POSIX")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Runs the command line in a project folder; returns exit code, stdout and stderr."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", __import__("io").StringIO(stdin))
        code = cli.main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_a_draft_is_kept_and_nothing_else_is_written(run):
    """`draft` answers with what it computed, puts the text into the inbox, and touches no entry."""
    code, out, _ = run("draft", "--from", "-", "--json", stdin=PITFALL)
    draft = json.loads(out)["drafts"][0]
    assert code == 0
    assert (draft["id"], draft["score"], draft["suggest"], draft["stress"]) == (
        "pip-in-a-debian-image-refuses",
        5,
        True,
        True,
    )
    assert draft["confirm_command"].endswith(f"confirm {draft['id']} --digest {draft['digest']}")
    assert draft["rendered"] == proposals.load(home.current(), draft["id"]).text
    assert entries.load_all(home.current()).entries == ()


def test_confirm_without_consent_is_refused_and_keeps_the_draft(run):
    """Without a dialog's receipt and without a terminal, `confirm` ends with 4 and the draft stays."""
    _, out, _ = run("draft", "--from", "-", "--json", stdin=PITFALL)
    draft = json.loads(out)["drafts"][0]
    code, _, err = run("confirm", draft["id"], "--digest", draft["digest"])
    assert code == 4
    assert "review" in err
    assert [p.id for p in proposals.all(home.current())] == [draft["id"]]
    assert entries.load_all(home.current()).entries == ()


@posix
def test_review_confirms_what_it_showed(run):
    """At a terminal `c` writes the shown text as an entry, and says where."""
    run("draft", "--from", "-", stdin=PITFALL)
    text = proposals.all(home.current())[0].text
    terminal = Terminal(["review"])
    terminal.expect("[q]uit")
    assert "Make a venv before pip install" in terminal.seen and "score 5" in terminal.seen
    terminal.send("c")
    assert terminal.end() == 0
    stored = entries.load_all(home.current()).entries[0]
    assert stored.path.read_text(encoding="utf-8") == text
    assert (stored.state, stored.confirmed.by) == ("confirmed", "terminal")


@posix
def test_review_discards_with_a_reason_and_skips(run):
    """`d` asks for a reason and takes the draft away; `s` keeps the next one."""
    run("draft", "--from", "-", stdin=PITFALL)
    run("draft", "--from", "-", stdin=PITFALL.replace("pip in a Debian", "npm in a Debian"))
    terminal = Terminal(["review"])
    terminal.expect("[q]uit")
    terminal.send("d")
    terminal.expect("why")
    terminal.send("one-off")
    terminal.expect("2/2")
    terminal.send("s")
    assert terminal.end() == 0
    assert "1 discarded, 1 still open" in terminal.seen
    assert len(proposals.all(home.current())) == 1


@posix
def test_review_moves_a_draft_to_another_track_and_modifies_it(run, tmp_path):
    """`t` routes the draft anew, `m` opens the editor; both give a text with a new digest to confirm."""
    run("draft", "--from", "-", stdin=PITFALL)
    digest = proposals.all(home.current())[0].digest
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\np = pathlib.Path(sys.argv[1])\n"
        "old = p.read_text(encoding='utf-8')\n"
        "p.write_text(old.replace('Make a venv first', 'Make a venv, always'), encoding='utf-8')\n",
        encoding="utf-8",
    )
    terminal = Terminal(["review"], EDITOR=f"{sys.executable} {editor}")
    terminal.expect("[q]uit")
    terminal.send("t")
    terminal.expect("which track")
    terminal.send("personal")
    terminal.expect("track: personal")
    terminal.send("m")
    terminal.expect("Make a venv, always")
    terminal.send("q")
    assert terminal.end() == 0
    draft = proposals.all(home.current())[0]
    assert draft.digest != digest and "track: personal" in draft.text and "Make a venv, always" in draft.text


@posix
def test_an_interrupt_at_the_question_writes_nothing(run):
    """The end of input at the question leaves the draft open and no entry."""
    run("draft", "--from", "-", stdin=PITFALL)
    terminal = Terminal(["review"])
    terminal.expect("[q]uit")
    assert terminal.interrupt() == 130
    assert len(proposals.all(home.current())) == 1 and entries.load_all(home.current()).entries == ()


def test_a_secret_that_is_the_point_is_refused(run):
    """A draft whose rule needs a secret is refused by kind, never by value; a quoted one is masked and said."""
    token = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    needs = PITFALL.replace("Make a venv before", f"Log in with {token} before")
    code, _, err = run("draft", "--from", "-", stdin=needs)
    assert code == 1 and token not in err and "rule: holds" in err
    quotes = PITFALL.replace("it still says", f"it still says {token}")
    code, out, _ = run("draft", "--from", "-", "--json", stdin=quotes)
    draft = json.loads(out)["drafts"][0]
    assert code == 0 and token not in draft["rendered"]
    assert any("taken out" in warning for warning in draft["warnings"])


def test_a_fault_in_one_of_several_keeps_none(run):
    """When the second entry of an input does not hold, the first is not kept either, and all faults are named."""
    bad = PITFALL.replace("kind: pitfall", "kind: pitfall\ncolour: red").replace("**Rule**", "**Regel**")
    code, _, err = run("draft", "--from", "-", stdin=PITFALL + "\n" + bad)
    assert code == 5
    assert "colour" in err and "Regel" in err
    assert proposals.all(home.current()) == []


def test_a_near_entry_is_named(run):
    """A draft of what is known already names the entry that is there."""
    run("draft", "--from", "-", stdin=PITFALL)
    confirm(entry("pip-in-debian", title="pip in a Debian image refuses to install anything"))
    _, out, _ = run("draft", "--from", "-", "--json", stdin=PITFALL)
    assert "pip-in-debian" in [near["id"] for near in json.loads(out)["drafts"][0]["near"]]


def test_words_of_a_document_are_marked_and_not_preselected(run):
    """A draft that stands on a document says so with its source line, and is not preselected."""
    _, out, _ = run("draft", "--from", "-", "--json", stdin=PITFALL.replace("from: person", "from: document"))
    draft = json.loads(out)["drafts"][0]
    assert draft["preselected"] is False
    assert any("document" in warning and "still says" in warning for warning in draft["warnings"])


def test_list_show_and_status_agree(run):
    """What was confirmed is listed, shown whole and counted; an outdated or edited one says so."""
    confirm(entry("one"))
    confirm(entry("two"))
    path = entries.get(home.current(), "two").path
    path.write_text(path.read_text(encoding="utf-8") + "\nby hand\n", encoding="utf-8")
    _, out, _ = run("list", "--json")
    assert [(e["id"], e["state"]) for e in json.loads(out)["entries"]] == [("one", "active"), ("two", "edited")]
    code, out, _ = run("show", "one")
    assert code == 0 and "Use pnpm, never npm." in out
    _, out, _ = run("status", "--json")
    assert json.loads(out)["states"] == {"confirmed": 1, "edited": 1}


def test_a_project_is_listed_by_its_name(run, tmp_path, monkeypatch):
    """The list names the project of an entry as a person knows it; JSON keeps its id."""
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    monkeypatch.chdir(shop)
    here = projects.current(home.current())
    projects.record(home.current(), here)
    confirm(entry("use-pnpm", track=Track.PROJECT, project=here.id))
    assert "project/shop" in run("list")[1]
    assert json.loads(run("list", "--json")[1])["entries"][0]["project"] == here.id


def test_json_is_all_that_a_script_is_told(run):
    """The confirm line stands in the JSON alone: a client hands both streams to the model as one text."""
    draft = "---\ntitle: Use pnpm\nkind: preference\n---\n**Rule** a\n**Why** b\n**How** c\n"
    Path("draft.md").write_text(draft, encoding="utf-8")
    for arguments in (["draft", "--from", "draft.md"], ["show", "use-pnpm"]):
        assert "confirm use-pnpm" in run(*arguments)[2]
        _, out, talk = run(*arguments, "--json")
        assert "confirm_command" in out and talk == ""


def test_undo_is_a_proposal(run):
    """`undo` of an entry proposes to take it back; nothing changes before that is confirmed."""
    confirm(entry("one"))
    before = tree(home.current().entries)
    code, out, _ = run("undo", "one", "--json")
    assert code == 0 and json.loads(out)["proposal"]["change"] == "undo"
    assert tree(home.current().entries) == before


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "nothing"], 1, "there is no entry 'nothing'"),
        (["nonsense"], 2, "there is no command 'nonsense'"),
        (["draft", "--from", "missing.md"], 1, "there is no file missing.md"),
        (["undo", "99"], 1, "nothing was changed yet"),
        (["discard", "nothing"], 1, "there is no proposal 'nothing'"),
        (["confirm", "x", "--digest", "zz"], 2, ""),
        (["restore", "missing.zip"], 1, "there is no file missing.zip"),
        (["move", "nothing", "--to", "profile"], 1, "there is no entry"),
    ],
)
def test_garbage_is_answered_with_what_where_and_what_to_do(run, arguments, code, says):
    """Every refusal is one line of what and where, a hint, and the exit code of its kind."""
    got, _, err = run(*arguments)
    assert got == code
    assert says in err
    assert "Traceback" not in err


def test_a_full_disk_is_said_and_nothing_is_lost(run):
    """When the disk is full the draft command says so in one line and leaves nothing half-written."""
    from experience_forge.store import files

    class Full(files.Calls):
        @staticmethod
        def write(descriptor, data):
            raise OSError(28, "No space left on device")

    before = files.set_calls(Full)
    try:
        code, _, err = run("draft", "--from", "-", stdin=PITFALL)
    finally:
        files.set_calls(before)
    assert code == 1 and "No space left" in err and "hint:" in err
    assert proposals.all(home.current()) == []


def test_forget_leaves_no_trace(run):
    """After `forget` no file below the home holds a word of the entry; a tombstone of id and hash stays."""
    confirm(entry("leak", sections=(("rule", "The word is zanzibarium."), ("why", "w"), ("how", "h"))))
    run("list")
    assert run("forget", "leak")[0] == 4
    assert run("show", "leak")[0] == 0
    with answering("leak"):
        code, _, _ = run("forget", "leak")
    assert code == 0
    assert all(b"zanzibarium" not in data for data in tree(home.current().root).values())
    _, out, _ = run("list", "--changes", "--json")
    assert json.loads(out)["changes"][0]["what"] == "forget"


@pytest.mark.parametrize(("arguments", "says"), [
    (("--to", "personal"), "is at personal/one.md already"),
    (("--to", "domain", "--domain", "My Domain"), "there is no domain 'My Domain'"),
    (("--to", "domain", "--domain", "../../x"), "there is no domain"),
    (("--to", "project", "--project", "nope"), "there is no project 'nope'"),
])  # fmt: skip
def test_a_move_to_nowhere_is_refused(run, arguments, says):
    """A move to the same place, or to a domain or project that is none, is refused before there is a proposal."""
    confirm(entry("one"))
    code, _, err = run("move", "one", *arguments)
    assert code in (1, 2) and says in err
    assert proposals.all(home.current()) == []


def test_a_usage_error_is_json_when_json_was_asked_for(run):
    """A wrong argument gives one JSON document with the error, a hint, and exit code 2."""
    code, out, err = run("status", "--json", "--bogus")
    assert code == 2 and "--bogus" in json.loads(out)["error"]["what"]
    assert "--help" in err


def test_forget_cleans_the_drafts_that_named_the_entry(run):
    """An open draft that lists a forgotten entry as near holds none of its words afterwards."""
    confirm(entry("leak", title="pip in a Debian image refuses to install", sections=(
        ("rule", "The word is zanzibarium."), ("why", "w"), ("how", "h"))))  # fmt: skip
    run("draft", "--from", "-", stdin=PITFALL)
    assert any(b"zanzibarium" in data for data in tree(home.current().proposals).values())
    with answering("leak"):
        assert run("forget", "leak")[0] == 0
    assert all(b"zanzibarium" not in data for data in tree(home.current().root).values())
    assert len(proposals.all(home.current())) == 1


def test_a_draft_that_can_not_be_tested_says_so_and_ranks_behind(run):
    """Without conditions a draft is allowed, labelled, and comes after those that can be tested, however old."""
    bare = PITFALL.replace(PITFALL[PITFALL.index("applies_when"): PITFALL.index("signals")], "").replace("pip", "npm")
    code, out, _ = run("draft", "--from", "-", "--json", stdin=bare)
    assert code == 0 and any("cannot be tested" in each for each in json.loads(out)["drafts"][0]["warnings"])
    run("draft", "--from", "-", stdin=PITFALL)
    assert [p.id.partition("-")[0] for p in proposals.all(home.current())] == ["pip", "npm"]
