"""What somebody who wants to break it would try: odd memory files, strange entry files, undo of undo, missing files."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

from experience_forge import cli, shared
from experience_forge.model import Track
from experience_forge.store import derived, entries, home, journal, projects, proposals, redaction, scanning
from helpers import confirm, entry, tree
from recall_home import bash, fill, process, said
from test_safety_faults import carried_out
from test_safety_structure import client  # noqa: F401 - a fixture

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
BEGIN, END = "<!-- experience-forge:begin {} -->", "<!-- experience-forge:end {} -->"


def project_draft(name="four"):
    """A draft of a project entry for the working folder."""
    where = home.current()
    project = projects.current(where)
    projects.record(where, project)
    from experience_forge.core import codec

    text = codec.render(entry(name, track=Track.PROJECT, project=project.id))
    return proposals.create(where, "draft", text, {}, name)


MEMORY = {
    "bom": ("\ufeff# Mine\n".encode(), True),
    "crlf": (b"# Mine\r\n\r\ntext\r\n", True),
    "no final newline": (b"# Mine\n\ntext", True),
    "empty": (b"", True),
    "mixed ends": (b"a\r\nb\nc\r\n", True),
    "in a fence": (b"```\n" + BEGIN.format("x").encode() + b"\n```\n", True),
    "utf-16": ("# Mine\n".encode("utf-16"), False),
    "nul": (b"# Mine\n\0\0\0\n", False),
    "gbk": ("# 我的\n".encode("gbk"), False),
}


@posix
@pytest.mark.parametrize("name", MEMORY)
def test_a_memory_file_of_any_form_keeps_its_bytes_through_a_confirm(name, client, tmp_path):  # noqa: F811
    """F11: the user's bytes stay, our block follows their line ends; what can't be edited safely is left and told."""
    data, written = MEMORY[name]
    path = tmp_path / "CLAUDE.md"
    path.write_bytes(data)
    draft = project_draft()
    code, told = carried_out(draft.id)()
    assert code == 0, told
    assert entries.get(home.current(), "four").state == "confirmed"
    after = path.read_bytes()
    if written:
        assert after.startswith(data) and b"experience-forge:begin four" in after[len(data) :]
        ours = after[len(data) :]
        if b"\r\n" in data and b"mixed" not in name.encode():
            assert ours.count(b"\n") == ours.count(b"\r\n")
    else:
        assert after == data
    assert cli.main(["doctor", "--json"]) in (0, 1)


@posix
@pytest.mark.parametrize("kind", ["directory", "dangling", "link", "0444", "fifo"])
def test_a_memory_file_that_is_something_else(kind, client, tmp_path, capsys):  # noqa: F811
    """F4, F5, F6: a link is written through; a folder, a dangling link, a read-only file, a pipe: left, told."""
    path = tmp_path / "CLAUDE.md"
    real = tmp_path / "dotfiles" / "memory.md"
    real.parent.mkdir()
    real.write_bytes(b"# Mine\n")
    if kind == "directory":
        path.mkdir()
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "link":
        path.symlink_to(real)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.write_bytes(b"# Mine\n")
        path.chmod(0o444)
        if os.access(path, os.W_OK):
            pytest.skip("this user may write everything")
    draft = project_draft()
    assert carried_out(draft.id)()[0] == 0
    assert entries.get(home.current(), "four").state == "confirmed"
    if kind == "link":
        assert path.is_symlink() and b"begin four" in real.read_bytes()
        return
    assert real.read_bytes() == b"# Mine\n"
    assert path.is_dir() if kind == "directory" else path.is_symlink() if kind == "dangling" else path.exists()
    capsys.readouterr()
    assert cli.main(["doctor"]) == 1
    assert "CLAUDE.md" in capsys.readouterr().out


TORN = {
    "only begin": "# T\n" + BEGIN.format("four") + "\nold\n",
    "only end": "# T\nold\n" + END.format("four") + "\n",
    "reversed": END.format("four") + "\nx\n" + BEGIN.format("four") + "\n",
    "twice": ("{b}\nx\n{e}\n".format(b=BEGIN.format("four"), e=END.format("four"))) * 2,
    "nested": "{b}\n{b}\nx\n{e}\n{e}\n".format(b=BEGIN.format("four"), e=END.format("four")),
}


@pytest.mark.parametrize("name", TORN)
def test_f15_torn_marks_leave_the_file_alone_through_a_confirm(name, client, tmp_path, capsys):  # noqa: F811
    """F15: whatever is in doubt is refused untouched; the entry is saved, and doctor names the file."""
    path = tmp_path / "CLAUDE.md"
    path.write_text(TORN[name], encoding="utf-8")
    assert carried_out(project_draft().id)()[0] == 0
    assert path.read_text(encoding="utf-8") == TORN[name]
    capsys.readouterr()
    assert cli.main(["doctor"]) == 1
    assert "CLAUDE.md" in capsys.readouterr().out


def tampering(where):
    """Ways to change entry files behind our back, by name."""
    path = entries.get(where, "use-pnpm").path

    def edit():
        path.write_text(path.read_text(encoding="utf-8").replace("never npm", "always npm"), encoding="utf-8")

    def rename():
        path.rename(path.with_name("other-name.md"))

    def double():
        shutil.copy(path, path.with_name("use-pnpm-2.md"))

    def move_track():
        (where.entries / "profile").mkdir(exist_ok=True)
        path.rename(where.entries / "profile" / path.name)

    def copy_track():
        (where.entries / "profile").mkdir(exist_ok=True)
        shutil.copy(path, where.entries / "profile" / path.name)

    def empty():
        path.write_bytes(b"")

    def case():
        shutil.copy(path, path.with_name("USE-PNPM.md"))

    return {one.__name__: one for one in (edit, rename, double, move_track, copy_track, empty, case)}


@pytest.mark.parametrize("name", ["edit", "rename", "double", "move_track", "copy_track", "empty", "case"])
def test_entry_files_changed_behind_our_back_are_not_delivered(name, client, tmp_path, capsys):  # noqa: F811
    """S1: an edited, renamed, doubled, moved or emptied entry file delivers nothing new, harms no command, is told."""
    where = fill(entry())
    assert "Use pnpm" in said(bash("npm install x"))
    tampering(where)[name]()
    shared.refresh(where)
    loaded = "\n".join(data.decode("utf-8", "replace") for key, data in tree(client).items() if key.endswith(".md"))
    assert "always npm" not in loaded and "always npm" not in said(bash("npm install y", session_id="s2"))
    for words in (["list"], ["status"], ["show", "use-pnpm"], ["review", "--json"], ["tidy"], ["undo", "use-pnpm"]):
        assert cli.main(words) in (0, 1, 4, 5), words
    capsys.readouterr()
    assert cli.main(["doctor"]) == 1
    assert re.search(r"WARN|FAULT|warn|fault|注意", capsys.readouterr().out)
    assert journal.check(where) == []


def test_undo_of_undo_of_undo(client):  # noqa: F811
    """Each undo is one more change: the entry comes and goes, the chain holds, and the last state is the true one."""
    where = fill(entry())
    text = entries.get(where, "use-pnpm").path.read_bytes()
    for turn in range(6):
        last = [record for record in journal.read(where) if record["what"] == "change"][-1]
        assert cli.main(["undo", str(last["seq"])]) == 0
        found = [one for one in proposals.all(where) if one.change == "undo"]
        assert len(found) == 1
        assert carried_out(found[0].id)()[0] == 0
        there = entries.find(where, "use-pnpm")
        assert (there is None) == (turn % 2 == 0), turn
        if there is not None:
            assert there.path.read_bytes() == text and there.deliverable
    assert journal.check(where) == []


EVENTS = (
    ("SessionStart", {"source": "startup"}), ("UserPromptSubmit", {"prompt": "用 pnpm 不要用 npm"}),
    ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "npm install x"}}),
)  # fmt: skip
DAMAGE = (b"", b"{", b"[]", b'{"version": 99999}', b"\0" * 64, b"SQLite format 3\0" + b"x" * 90)


@pytest.mark.parametrize("damage", DAMAGE)
def test_f23_every_derived_file_may_be_broken_or_newer(damage):
    """F23: each derived file in turn, and all at once, emptied, torn or newer: hooks end well, silent or right."""
    where = fill(entry())
    names = [path for path in sorted(where.derived.rglob("*")) if path.is_file()]
    kept = {path: path.read_bytes() for path in names}
    for broken in (*([path] for path in names), names):
        for path in broken:
            path.write_bytes(damage)
        for event, data in EVENTS:
            done = process(event, json.dumps({"session_id": broken[0].name, "cwd": "/", **data}).encode())
            assert (done.returncode, done.stderr) == (0, b""), (broken, event)
            assert not done.stdout.strip() or json.loads(done.stdout)
        for path, data in kept.items():
            path.write_bytes(data)
    for path in names:
        path.write_bytes(damage)
    assert cli.main(["doctor", "--repair"]) in (0, 1)
    assert "Use pnpm" in said(bash("npm install z", session_id="after"))


def test_a_missing_file_is_one_exit_code_for_all(tmp_path, capsys):
    """A file that is named and is not there: exit 1 (failed as expected), and its path, whatever the command."""
    fill(entry("one"), entry("two"))
    none = str(tmp_path / "none.md")
    for words in (["recall", "--error", none], ["redact", none], ["vet", none], ["draft", "--from", none],
                  ["scan", none], ["signals", none], ["score", none], ["merge", "one", "two", "--from", none],
                  ["restore", none]):  # fmt: skip
        assert cli.main(words) == 1, words
        assert none in capsys.readouterr().err, words


def test_a_database_that_the_disk_refuses_is_no_bug(monkeypatch, capsys):
    """A full disk behind SQLite is a refusal with its cause; another fault of SQLite stays a bug."""
    derived.rebuild(home.current())

    def refusing(*arguments):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(scanning, "_open", refusing)
    assert cli.main(["scan"]) == 1
    assert "disk is full" in capsys.readouterr().err

    def mistaken(*arguments):
        raise sqlite3.OperationalError("no such column: x")

    monkeypatch.setattr(scanning, "_open", mistaken)
    assert cli.main(["scan"]) == 3


@posix
def test_a_full_and_a_read_only_disk_are_told_and_a_backup_still_goes(tmp_path, monkeypatch, capsys):
    """A small disk, filled, then read-only: commands refuse with the cause, doctor says so, a backup still goes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("this user may mount nothing")
    try:
        monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(disk / "home"))
        confirm(entry("one"))
        redaction.key()
        filled = os.open(disk / "fill", os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError, match="No space"):
            while True:
                os.write(filled, b"x" * 4096)
        os.close(filled)
        for words in (["suggest", "--threshold", "5"], ["measure", "on"], ["scan"], ["doctor", "--repair"]):
            assert cli.main(words) == 1, words
            assert re.search("full|No space left", capsys.readouterr().err), words
        assert cli.main(["list"]) == 0
        capsys.readouterr()
        assert cli.main(["doctor"]) == 1 and "is full" in capsys.readouterr().out
        gc.collect()  # A failed connection of SQLite may still hold its file.
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert cli.main(["doctor"]) == 1 and "can't be written" in capsys.readouterr().out
        assert cli.main(["measure", "on"]) == 1
        assert cli.main(["backup", str(tmp_path / "out.zip")]) == 0 and (tmp_path / "out.zip").stat().st_size > 500
        assert "Use pnpm" in (disk / "home" / "entries" / "personal" / "one.md").read_text(encoding="utf-8")
    finally:
        subprocess.run(["umount", str(disk)], check=False)


@pytest.mark.parametrize("form", ["body", "title", "tags", "fields"])
def test_f18_five_megabytes_of_draft_are_one_sentence(form, tmp_path, capsys):
    """F18: a draft of 5 MB, wherever they stand, is refused with the limit, and nothing is kept of it."""
    head, body = ["title: one", "kind: preference", "track: personal"], "**Rule** Use it.\n**Why** So.\n**How** Here.\n"
    if form == "body":
        body += "x" * 5_000_000
    elif form == "title":
        head[0] = "title: " + "one " * 1_250_000
    elif form == "tags":
        head.append("tags: [" + ", ".join(f"t{number}" for number in range(500_000)) + "]")
    else:
        head += [f"f{number}: a" for number in range(500_000)]
    path = tmp_path / "big.md"
    path.write_text("---\n" + "\n".join(head) + "\n---\n" + body, encoding="utf-8")
    assert cli.main(["draft", "--from", str(path)]) == 5
    assert "98304" in capsys.readouterr().err
    assert proposals.all(home.current()) == []
