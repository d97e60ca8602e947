"""Faults around us: clocks, broken files, sync tools, hostile stdin, a terminal that goes away."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from experience_forge.core import codec
from experience_forge.errors import Invalid
from experience_forge.store import doctor, entries, files, home, journal, proposals
from helpers import confirm, entry, tree
from recall_home import GUARD, SCRIPTS, bash, fill, process

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def test_f16_a_clock_that_goes_back_changes_no_order(monkeypatch):
    """F16: the journal is ordered by number; a record made a year earlier by the clock is still the later one."""
    confirm(entry("one"))
    monkeypatch.setattr(journal, "now", lambda: "2020-01-01T00:00:00Z")
    confirm(entry("two"))
    monkeypatch.setattr(journal, "now", lambda: "2036-01-01T00:00:00Z")
    confirm(entry("three"))
    found = journal.read(home.current())
    assert [record["seq"] for record in found] == list(range(1, len(found) + 1))
    assert journal.check(home.current()) == []
    assert {one.state for one in entries.load_all(home.current()).entries} == {"confirmed"}


BROKEN = {
    "invalid": "---\ntitle: [x\n---\n", "twice": "---\nid: a\nid: b\n---\n",
    "tag": "---\nx: !!python/name:os.system\n---\n",
    "tab": "---\n\tid: a\n---\n", "empty": "", "none": "no front matter\n",
    "date": "---\nid: a\nreview: 2026-13-45\n---\n",
    "bomb": "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n---\n",
    "nul": "---\nid: a\0\n---\n", "big": "---\nid: a\n---\n" + "x" * 300_000,
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_f19_a_broken_entry_is_listed_left_and_harms_no_other(name):
    """F18, F19: an entry that can't be read is named with its reason, keeps its bytes, and all others work."""
    confirm(entry("good"))
    path = home.current().entries / "personal" / "bad.md"
    path.write_bytes(BROKEN[name].encode("utf-8"))
    begun = time.monotonic()
    library = entries.load_all(home.current())
    assert time.monotonic() - begun < 1
    assert [one.entry.id for one in library.entries] == ["good"]
    assert [found[0].name for found in library.unreadable] == ["bad.md"] and library.unreadable[0][1]
    assert path.read_bytes() == BROKEN[name].encode("utf-8")


@pytest.mark.parametrize("data", [
    b"", b"garbage", b'{"session_id": "s', b"\0\0\0", b'{"prompt": "\\ud800"}', b"[" * 100_000, b"[1, 2]",
    b'"text"', b"{}",
    b'{"session_id": 7, "tool_input": [], "tool_name": {}}', b"\xff\xfe\x00", b'{"tool_input": {"command": 5}}',
])  # fmt: skip
def test_f22_a_hook_ends_well_whatever_comes_in(data):
    """F22: empty, broken, deep or wrongly typed input: exit 0, nothing on stdout, nothing of it stored."""
    fill(entry())
    done = process("PreToolUse", data)
    assert (done.returncode, done.stdout) == (0, b"")
    if len(data) > 20:
        assert not any(data[:40] in content for content in tree(home.current().root).values())


@pytest.mark.parametrize("data, says", [
    (b"", False), (b'{"session_id": "s', False), (b"x" * 2_000_000, False),
    (b'{"session_id":"s","tool_name":"Bash","tool_input":{"command":"npm install x"}}\n', True),
])  # fmt: skip
def test_f22_a_hook_does_not_wait_for_an_input_that_never_ends(data, says):
    """F22: a stdin that is never closed: exit 0 soon, nothing of it stored; a whole document is acted upon."""
    fill(entry())
    environment = {"EXPERIENCE_FORGE_HOME": os.environ["EXPERIENCE_FORGE_HOME"], "HOME": os.environ["HOME"]}
    begun = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", GUARD, str(SCRIPTS), "PreToolUse"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, bufsize=0,
    ) as running:
        try:
            view = memoryview(data)
            while view:
                view = view[running.stdin.write(view):]
            assert running.wait(timeout=20) == 0
            said = running.stdout.read()
        finally:
            running.kill()
    assert time.monotonic() - begun < 15
    assert (b"Use pnpm" in said) if says else said == b""
    if not says and data:
        assert not any(data[:16] in content for content in tree(home.current().root).values())


def test_f23_a_hook_ends_well_whatever_the_store_is_like(tmp_path):
    """F23: no store, a store that is a file, an index of a newer format: exit 0 and silent."""
    body = json.dumps({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "npm install x"}}).encode()
    assert process("PreToolUse", body).stdout == b""
    place = tmp_path / "a file"
    place.write_text("not a folder", encoding="utf-8")
    done = process("PreToolUse", body, {"EXPERIENCE_FORGE_HOME": str(place)})
    assert (done.returncode, done.stdout) == (0, b"")


def test_f27_unknown_fields_survive():
    """F27: a field of a newer version comes back as it was after a round trip."""
    text = codec.render(entry()).replace("title:", "novel: {a: [1, x]}\ntitle:", 1)
    assert "novel" in codec.render(codec.parse(text))
    assert codec.parse(codec.render(codec.parse(text))) == codec.parse(text)


@pytest.mark.parametrize("name", [
    "use-pnpm (conflicted copy 2026-01-01).md", "use-pnpm.sync-conflict-20260101-1.md", "use-pnpm (1).md",
    "use-pnpm 2.md", ".use-pnpm.md.icloud",
])  # fmt: skip
def test_f28_a_sync_tools_copy_is_never_loaded(name):
    """F28: a conflict copy or a placeholder of a sync tool is not delivered, and the entry itself still is."""
    fill(entry())
    path = entries.get(home.current(), "use-pnpm").path
    (path.parent / name).write_bytes(path.read_bytes().replace(b"never npm", b"always npm"))
    loaded = entries.load_all(home.current())
    assert [one.path for one in loaded.deliverable()] == [path]
    assert bash("npm install x") is not None
    if "conflict" in name:
        assert any(one.text == "entry_conflict" for one in doctor.examine(home.current()))


@posix
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_f32_a_terminal_that_goes_away_writes_nothing(how):
    """F32: interrupted, ended or closed while it asks, `confirm` writes nothing and the draft is kept."""
    from terminal import Terminal

    draft = proposals.create(home.current(), "draft", codec.render(entry()), {}, "use-pnpm")
    terminal = Terminal(["confirm", draft.id, "--digest", draft.digest])
    terminal.expect("[y/N]" if "[y/N]" in terminal.seen else "?")
    assert terminal.kill(how) != 0
    assert entries.load_all(home.current()).entries == () and journal.read(home.current()) == []
    assert proposals.load(home.current(), draft.id).digest == draft.digest


def test_f10_a_damaged_journal_line_is_named_and_the_rest_still_reads():
    """F10: a torn, glued or empty line in the journal is reported with its place; other consents still hold."""
    confirm(entry("one"))
    path = next(home.current().journal.glob("*.jsonl"))
    with path.open("ab") as file:
        file.write(b'{"v": 1, "torn')
    confirm(entry("two"))
    faults = journal.check(home.current())
    assert faults and all(path.name in fault and "line" in fault for fault in faults)
    assert {one.state for one in entries.load_all(home.current()).entries} == {"confirmed"}


def test_f2_nothing_is_half_confirmed_when_the_text_does_not_hold():
    """A proposal whose text is no entry is refused before anything is written."""
    draft = proposals.create(home.current(), "draft", "no entry at all", {}, "x")
    before = tree(home.current().root)
    from experience_forge.model import Consent
    from experience_forge.store import library

    with pytest.raises(Invalid):
        library.apply(home.current(), draft, Consent("terminal", datetime.datetime.now().isoformat(), "terminal"))
    after = tree(home.current().root)
    after.pop("lock", None)
    before.pop("lock", None)
    assert after == before and files.TEMP_MARK not in " ".join(after)
