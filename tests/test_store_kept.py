"""What is kept in `derived/` of unchanged files: always equal to what the files say, whatever happened to either."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import contextmanager

import pytest

from experience_forge import cli, report
from experience_forge.core import codec
from experience_forge.model import Status
from experience_forge.store import (
    effects,
    entries,
    files,
    home,
    journal,
    journal_fold,
    journal_lines,
    ledger,
)
from helpers import confirm, entry

KEPT = ("entries.sqlite", "journal.sqlite", "effects.sqlite")


def status(capsys):
    """The figures of `status`."""
    assert cli.main(["status", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def listed(capsys):
    """What `list` says of each entry: its title, its state and its last delivery."""
    assert cli.main(["list", "--all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["entries"]
    return {one["id"]: (one["title"], one["state"], one["last_delivery"]) for one in found}


@pytest.fixture
def three(capsys):
    """A home with three confirmed entries of which everything is kept already."""
    for number in range(3):
        confirm(entry(f"e{number}"))
    status(capsys)
    listed(capsys)
    return home.current()


def retimed(path, text):
    """Change a file without changing what a listing says of its time."""
    info = path.stat()
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def test_status_sees_an_entry_that_was_edited_added_or_removed_by_hand(three, capsys):
    """Each hand edit of the entries shows at the next `status` and `list`, as when nothing is kept."""
    first = entries.get(three, "e0").path
    first.write_text(first.read_text("utf-8").replace("pnpm add", "pnpm put"), encoding="utf-8")
    (first.parent / "by-hand.md").write_text(codec.render(entry("by-hand")), encoding="utf-8")
    entries.get(three, "e2").path.unlink()
    (first.parent / "torn.md").write_text("---\nid: torn\n", encoding="utf-8")
    found = status(capsys)
    assert found["states"] == {"confirmed": 1, "edited": 1, "unconfirmed": 1} and found["unreadable"] == 1
    assert {name: state for name, (_, state, _) in listed(capsys).items()} == {
        "by-hand": "unconfirmed", "e0": "edited", "e1": "active"}
    (first.parent / "torn.md").unlink()
    shutil.rmtree(first.parent)
    assert status(capsys)["states"] == {} and listed(capsys) == {}


def test_doctor_sees_an_edit_that_hides_behind_size_and_time(three, capsys):
    """An edit that keeps size and time of a file is found by `doctor`, and by all from then on."""
    path = entries.get(three, "e0").path
    retimed(path, path.read_text("utf-8").replace("pnpm add", "pnpm put"))
    assert cli.main(["doctor"]) == 1
    assert "e0" in capsys.readouterr().out and status(capsys)["states"] == {"confirmed": 2, "edited": 1}


def test_a_journal_that_was_changed_is_read_anew_whatever_its_time_says(three, capsys):
    """A record whose bytes were changed breaks the chain for `status` at once, also with size and time as before."""
    (path,) = journal_lines.paths(three)
    lines = path.read_text("utf-8").split("\n")
    retimed(path, "\n".join([lines[0].replace('"terminal"', '"Terminal"'), *lines[1:]]))
    found = status(capsys)
    assert len(found["journal_faults"]) == 1 and found["states"] == {"confirmed": 2, "pending": 1}
    retimed(path, "\n".join(lines))
    found = status(capsys)
    assert found["journal_faults"] == [] and found["states"] == {"confirmed": 3}


@pytest.mark.parametrize("damage", ["gone", "empty", "garbage", "torn", "newer", "odd rows", "folder"])
@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_may_be_lost_or_damaged(three, capsys, name, damage):
    """Without it, or with a damaged one, `status` and `list` say the same; the next run has it again."""
    ledger.append(three, "s1", {"what": "exposure", "entry": "e1", "sha256": "x", "at": "2026-08-01T10:00:00Z"})
    before = status(capsys), listed(capsys)
    path = three.derived / name
    if damage == "gone":
        path.unlink()
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    elif damage == "newer":
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version=99")
    elif damage == "odd rows":
        with sqlite3.connect(path) as connection:
            for table in ("parsed", "outlines", "chain", "confirmed", "sessions"):
                for column in ("entry", "track", "seq", "ledger"):
                    try:
                        connection.execute(f"UPDATE {table} SET {column} = NULL")
                    except sqlite3.OperationalError:
                        continue
    else:
        data = path.read_bytes()
        torn = data[: len(data) // 2]
        path.write_bytes({"empty": b"", "garbage": b"\0\xff" * 5000, "torn": torn}[damage])
    if damage != "odd rows" or name == "effects.sqlite":
        assert (status(capsys), listed(capsys)) == before
    assert len(entries.load_all(three, verify=True).entries) == 3 and cli.main(["doctor"]) in (0, 1)
    capsys.readouterr()
    assert (status(capsys), listed(capsys)) == before


def test_two_processes_keep_at_once(three, capsys):
    """Four runs of `status` and `list` that all have to read anew end well, say the same, and leave what holds."""
    before = status(capsys)
    for name in KEPT:
        (three.derived / name).unlink(missing_ok=True)
    command = [sys.executable, "-c", "import sys; from experience_forge.cli import main; sys.exit(main(sys.argv[1:]))"]
    runs = [subprocess.Popen([*command, verb, "--json"], stdout=subprocess.PIPE, env={**os.environ})
            for verb in ("status", "list", "status", "list")]  # fmt: skip
    found = [json.loads(run.communicate(timeout=120)[0]) for run in runs]
    assert [run.returncode for run in runs] == [0] * 4
    assert found[0] == found[2] == before and found[1] == found[3]
    assert status(capsys) == before
    for name in KEPT[:2]:
        with sqlite3.connect(three.derived / name) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_home_that_cannot_be_written_is_counted_all_the_same(three, capsys):
    """When nothing can be kept, figures come from the files."""
    shutil.rmtree(three.derived)
    three.derived.write_text("in the way", encoding="utf-8")
    assert status(capsys)["states"] == {"confirmed": 3} and len(listed(capsys)) == 3


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_kept_files_are_private(three):
    """What is kept of entries is readable to the user alone."""
    assert all((three.derived / name).stat().st_mode & 0o077 == 0 for name in KEPT[:2])


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_no_file_of_the_home_is_readable_to_others_whatever_the_umask(three, capsys):
    """Under umask 000 every file that a command leaves, databases and copies of them too, is the user's alone."""
    before = os.umask(0)
    try:
        for arguments in (["scan"], ["status"], ["list"], ["recall", "pnpm"], ["worker"], ["doctor", "--repair"],
                          ["scan"], ["tidy"], ["digest"], ["backup", str(three.root.parent / "b.zip")]):
            cli.main(arguments)
    finally:
        os.umask(before)
    capsys.readouterr()
    open_ones = [str(path) for path in [*three.root.rglob("*"), three.root.parent / "b.zip"]
                 if path.exists() and path.stat().st_mode & 0o077]
    assert (three.derived / "scan.db").exists() and not open_ones


def test_a_torn_line_of_a_ledger_is_passed_over_until_it_is_whole(three, capsys):
    """Deliveries behind and before a torn line count, and the torn one when it is complete."""
    path = ledger.path_of(three, "s1")
    ledger.append(three, "s1", {"what": "exposure", "entry": "e0", "sha256": "x", "at": "2026-08-01T10:00:00Z"})
    whole = json.dumps({"what": "exposure", "session": "s1", "entry": "e1", "at": "2026-08-03T10:00:00Z"})
    with path.open("a", encoding="utf-8") as file:
        file.write(whole[:40])
    assert [listed(capsys)[name][2] for name in ("e0", "e1")] == ["2026-08-01", ""]
    with path.open("a", encoding="utf-8") as file:
        file.write(whole[40:] + "\n")
    assert [listed(capsys)[name][2] for name in ("e0", "e1")] == ["2026-08-01", "2026-08-03"]
    path.unlink()
    assert [listed(capsys)[name][2] for name in ("e0", "e1")] == ["", ""] and effects.ledgers(three) == []


def test_a_line_of_the_journal_without_its_end_counts_and_is_not_kept(three, capsys):
    """The last record counts without its line feed, and again when something was written behind it."""
    (path,) = journal_lines.paths(three)
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert status(capsys)["states"] == {"confirmed": 3}
    path.write_bytes(data[:-20])
    found = status(capsys)
    assert len(found["journal_faults"]) == 1 and found["states"] == {"confirmed": 2, "unconfirmed": 1}
    path.write_bytes(data)
    assert status(capsys)["journal_faults"] == [] and status(capsys)["states"] == {"confirmed": 3}


def test_a_journal_of_several_months_is_kept_in_its_order(three, capsys):
    """A later file is added to what is kept; lines that come into an earlier one make all be read anew."""
    (path,) = journal_lines.paths(three)
    lines = path.read_bytes().splitlines(keepends=True)
    later = path.with_name("9999-01.jsonl")
    later.write_bytes(lines.pop())
    path.write_bytes(b"".join(lines))
    assert status(capsys)["states"] == {"confirmed": 3} and status(capsys)["journal_faults"] == []
    with path.open("ab") as file:
        file.write(b"{torn\n")
    assert len(status(capsys)["journal_faults"]) == 1
    later.unlink()
    assert status(capsys)["states"] == {"confirmed": 2, "unconfirmed": 1}


def test_a_superseded_entry_is_shown_as_its_heir(three, capsys):
    """`show` of an id that was merged away shows the entry that took it over, over several merges."""
    confirm(entry("old", status=Status.SUPERSEDED))
    confirm(entry("middle", status=Status.SUPERSEDED, parents=("old",)))
    confirm(entry("last", parents=("middle",)))
    assert cli.main(["show", "old", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entry"]["id"] == "last"
    assert entries.family(three, entries.get(three, "last").entry) == {"last", "middle", "old"}
    assert entries.heir(three, "nobody") is None


def random_records(rng, count):
    """Records of all kinds in any order, some with odd numbers, for a few paths."""
    for seq in range(1, count + 1):
        what = rng.choice(("change", "change", "change", "proof", "revoked", "forget", "discard"))
        record = {"what": what, "seq": seq if rng.random() < 0.9 else rng.randint(0, 9)}
        if what in ("proof", "revoked"):
            record |= {"of": rng.randint(1, count), "proof": rng.choice(("person", "other"))}
        if what != "discard":
            record["files"] = [{"path": f"personal/{rng.randint(0, 4)}.md", "before": None, "proof": "terminal",
                                "after": rng.choice((None, "a" * 64, "b" * 64))} for _ in range(rng.randint(0, 2))]
            record["consent"] = {"by": "dialog", "proof": rng.choice(("pending", "terminal", "person"))}
        yield record


@pytest.mark.parametrize("seed", range(12))
def test_what_is_kept_of_the_journal_grows_to_what_a_whole_reading_gives(own_home, seed):
    """Read record by record, with torn and foreign lines between, kept state and state read anew are one."""
    where, rng = home.current(), random.Random(seed)
    for record in random_records(rng, 40):
        path = (journal_lines.paths(where) or [where.journal / "2026-01.jsonl"])[-1]
        line = json.dumps({"at": "2026-01-01T00:00:00Z", **record})
        if rng.random() < 0.3:
            files.append_line(path, rng.choice(("{torn", "[]", line.replace('"seq"', '"sequence"'))))
        journal.append(where, {name: value for name, value in record.items() if name != "seq" or rng.random() < 0.2})
        if rng.random() < 0.5:
            known = journal.state(where)
            assert known == journal.state(where)
    known = journal.state(where)
    assert known == journal.state(where, anew=True) == journal.state(where)
    assert known.confirmed == journal.fold(journal.read(where)) and known.records == len(journal.read(where))


def test_the_fold_says_what_the_records_say():
    """The last proof of a change counts, also one that stands before it; what was taken back keeps its own proof."""
    fold = journal_fold.Fold()
    change = {"what": "change", "at": "t", "consent": {"proof": "pending", "by": "dialog"}}
    fold.record({**change, "seq": 1, "files": [{"path": "a", "after": "1"}]})
    fold.record({**change, "seq": 2, "files": [{"path": "b", "after": "2"}]})
    fold.record({"what": "proof", "seq": 3, "of": 1, "proof": "person", "at": "t"})
    fold.record({"what": "revoked", "seq": 4, "of": 2, "at": "t",
                 "files": [{"path": "b", "after": "0", "proof": "terminal", "by": "terminal"}]})
    fold.record({"what": "proof", "seq": 5, "of": 4, "proof": "other", "at": "t"})
    assert fold.confirmed["a"].proof == "person" and fold.confirmed["b"].proof == "terminal" and fold.pending == []


def test_status_says_how_far_it_is_when_it_has_to_read_anew(three, capsys, monkeypatch):
    """Without what is kept `status` counts bytes of the journal and entries while it reads, each up to its total."""
    shutil.rmtree(three.derived)
    told = []

    @contextmanager
    def progress(out, label, total):
        seen = []
        yield seen.append
        told.append((label, total, seen[-1]))

    monkeypatch.setattr(report.Output, "progress", progress)
    assert status(capsys)["states"] == {"confirmed": 3}
    size = sum(path.stat().st_size for path in journal_lines.paths(three))
    assert told == [("journal, bytes", size, size), ("entries", 3, 3)]


@pytest.mark.parametrize("brief", [True, False])
def test_a_journal_that_a_kill_left_empty_has_no_records(own_home, brief):
    """A journal whose first line never came is one without records, and the next change is written."""
    where = home.current()
    where.journal.mkdir(parents=True)
    (where.journal / "2026-08.jsonl").write_bytes(b"")
    assert journal.state(where, brief=brief).records == 0
    confirm(entry("first"))
    assert [one.state for one in entries.load_all(where).entries] == ["confirmed"]
