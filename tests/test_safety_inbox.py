"""The inbox as anyone may have left it: damaged, edited or foreign files, and what `forget` takes out of it."""

from __future__ import annotations

import json
import os

import pytest

from experience_forge import cli
from experience_forge.store import home, proposals
from helpers import answering, confirm, entry, tree

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


def forge(capsys, *arguments):
    """Exit code, stdout, stderr of one command."""
    code = cli.main(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def draft():
    """One open draft beside the damaged ones."""
    from experience_forge.core import codec

    return proposals.create(home.current(), "draft", codec.render(entry()), {}, "use-pnpm")


def test_a_damaged_proposal_hides_no_other_and_can_be_discarded(draft, capsys):
    """A text that is not UTF-8 is told by doctor; the others are listed, and `discard` takes it away."""
    path = proposals.text_path(home.current(), "torn")
    path.write_bytes(b"\xff\xfe\x00")
    code, out, _ = forge(capsys, "list", "--proposals", "--json")
    assert code == 0 and [p["id"] for p in json.loads(out)["proposals"]] == [draft.id]
    assert forge(capsys, "status")[0] == forge(capsys, "review", "--json")[0] == 0
    assert "'torn' is not UTF-8" in forge(capsys, "doctor")[1]
    assert forge(capsys, "discard", "torn", "--reason", "damaged")[0] == 0 and not path.exists()


@posix
@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_no_file_in_the_inbox_hides_no_proposal(draft, capsys, kind):
    """A folder, a pipe or a dangling link named like a proposal is told by doctor, and waits for nobody."""
    path = proposals.text_path(home.current(), "odd")
    {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "link": lambda: path.symlink_to("nowhere")}[kind]()
    code, out, _ = forge(capsys, "list", "--proposals", "--json")
    assert code == 0 and [p["id"] for p in json.loads(out)["proposals"]] == [draft.id]
    assert "odd" in forge(capsys, "doctor")[1]


@pytest.mark.parametrize("text", [
    "[" * 5000, '{"change": 5}', '{"edited": "q", "emptied": 3, "signals": 7, "near": [1], "warnings": 5}',
    '{"signals": [{}], "score": "x", "created": 9, "score_lines": 4, "removed": 3}',
])  # fmt: skip
def test_odd_computed_fields_are_left_out(draft, capsys, tmp_path, text):
    """What is computed beside a draft binds nothing: with odd values it is shown, replaced and discarded as ever."""
    where = home.current()
    proposals.text_path(where, draft.id).with_suffix(".json").write_text(text, encoding="utf-8")
    assert forge(capsys, "list", "--proposals")[0] == forge(capsys, "review", "--json")[0] == 0
    assert forge(capsys, "review")[0] == 4
    again = tmp_path / "again.md"
    again.write_text(draft.text, encoding="utf-8")
    assert forge(capsys, "draft", "--from", str(again), "--replace-draft", draft.id)[0] == 0
    proposals.text_path(where, draft.id).with_suffix(".json").write_text(text, encoding="utf-8")
    assert forge(capsys, "discard", draft.id)[0] == 0 and proposals.all(where) == []


@pytest.mark.parametrize("name", ["2024", "null", "on", "1e3", "leak"])
def test_forget_takes_every_open_proposal_of_an_entry(name, capsys, tmp_path):
    """An id that YAML quotes is found in open proposals too, and in what others say is near to them."""
    secret = (("rule", "The word is zanzibarium."), ("why", "zanzibarium"), ("how", "h"))
    confirm(entry(name, title="zanzibarium in the build", sections=secret))
    forge(capsys, "guard", name, "hold")
    forge(capsys, "outdate", name)
    forge(capsys, "undo", "1")
    other = proposals.create(home.current(), "draft", "---\nid: other\n---\n", {
        "near": [{"id": name, "title": "zanzibarium in the build"}, {"id": "far", "title": "far"}],
    }, "other")  # fmt: skip
    with answering(name):
        assert forge(capsys, "forget", name)[0] == 0
    assert all(b"zanzibarium" not in data for data in tree(home.current().root).values())
    assert [p.id for p in proposals.all(home.current())] == [other.id]
    assert proposals.load(home.current(), other.id).meta["near"] == [{"id": "far", "title": "far"}]


def test_forget_names_what_was_merged_from_the_entry(capsys):
    """Words may live on in an entry that took it over: that one is named, and stays."""
    confirm(entry("leak"))
    confirm(entry("both", parents=("leak",)))
    with answering("leak"):
        code, _, err = forge(capsys, "forget", "leak")
    assert code == 0 and "'both' was merged from 'leak'" in err
