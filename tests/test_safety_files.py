"""The one writing module: at every call, in every way a disk can fail, old bytes or new ones and a true message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from experience_forge.errors import Refused
from experience_forge.store import files
from fault_shim import CALLS, Killed, faulty, pairs

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


def count_calls(action):
    with faulty() as shim:
        action()
    return shim.names


def test_f1_f2_f3_a_whole_write_leaves_old_or_new_at_every_call(tmp_path):
    """F1, F2, F3: killed, disk full, I/O error, failing fsync or close: old or new, never half or silent."""
    path = tmp_path / "a.md"
    old, new = b"old" * 9000, b"new" * 9000
    path.write_bytes(old)
    names = count_calls(lambda: files.write_whole(path, new))
    assert {"open", "write", "fsync", "close", "replace"} <= set(names)
    seen = 0
    for at, fault, lasting in pairs(len(names)):
        path.write_bytes(old)
        error = None
        with faulty(at, fault, lasting):
            try:
                files.write_whole(path, new)
            except (Refused, Killed) as caught:
                error = caught
        data = path.read_bytes()
        assert data in (old, new), (at, fault, names[at - 1])
        assert error is not None or data == new, (at, fault, names[at - 1])
        if isinstance(error, Refused):
            assert str(path) in error.what and error.hint
            if data == new:
                assert "was changed, but" in error.what
        seen += 1
    for temp in tmp_path.glob(f"{files.TEMP_MARK}*"):
        temp.unlink()
    assert seen == len(names) * 8


def test_f1_f2_f3_a_durable_line_is_there_or_not_at_every_call(tmp_path):
    """F1, F2, F3: a refused append of a journal line leaves the file as it was; only a kill may leave a torn line."""
    path = tmp_path / "j.jsonl"
    line = json.dumps({"n": 2, "text": "x" * 3000})
    first = b'{"n": 1}\n'
    path.write_bytes(first)
    names = count_calls(lambda: files.append_line(path, line, durable=True))
    for at, fault, lasting in pairs(len(names)):
        path.write_bytes(first)
        with faulty(at, fault, lasting):
            try:
                files.append_line(path, line, durable=True)
                outcome = "done"
            except Refused:
                outcome = "refused"
            except Killed:
                outcome = "killed"
        data = path.read_bytes()
        assert data.startswith(first)
        if outcome == "done":
            assert data == first + line.encode() + b"\n"
        elif outcome == "refused" and not lasting:
            assert data == first, (at, fault, names[at - 1])


def test_f1_remove_move_and_folders_fail_with_a_message(tmp_path):
    """F1, F2: remove, move and make_folder end in a message that names path and cause, and keep the file somewhere."""
    for at in range(1, 6):
        for fault in ("EIO", "EACCES", "ENOSPC"):
            base = tmp_path / f"{at}{fault}"
            base.mkdir()
            (base / "a").write_bytes(b"x")
            with faulty(at, fault):
                try:
                    files.move(base / "a", base / "new" / "b")
                    files.remove(base / "new" / "b")
                except Refused as error:
                    assert str(base) in error.what
                    if "was changed, but" not in error.what:
                        assert any(p.read_bytes() == b"x" for p in base.rglob("*") if p.is_file())


def test_f10_a_torn_line_is_closed_before_the_next(tmp_path):
    """F10: after a torn last line the next append stands on a line of its own."""
    path = tmp_path / "l.jsonl"
    path.write_bytes(b'{"a": 1}\n{"torn": ')
    files.append_line(path, '{"b": 2}')
    assert path.read_bytes().split(b"\n") == [b'{"a": 1}', b'{"torn": ', b'{"b": 2}', b""]


def test_f10_nul_bytes_and_other_encodings_are_named(tmp_path):
    """F10, F11, F29: NUL bytes (a crash on some disks) and text that is not UTF-8 are refused with the place."""
    path = tmp_path / "x"
    for data, words in ((b"ab\0\0", "NUL"), ("中".encode("gbk"), "UTF-8"), ("x".encode("utf-16"), "UTF-8")):
        path.write_bytes(data)
        with pytest.raises(Refused, match=words):
            files.read_text(path)
        assert path.read_bytes() == data
    path.write_bytes(b"\xef\xbb\xbfabc")
    assert files.read_text(path) == "abc"


@posix
def test_f4_a_read_only_file_and_folder_stay_so(tmp_path):
    """F4: we never change a mode to get our way; a read-only file is refused with its name."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write everything")
    with pytest.raises(Refused, match="read-only"):
        files.write_whole(path, b"new")
    assert path.read_bytes() == b"old" and path.stat().st_mode & 0o777 == 0o444


@posix
def test_f4_another_users_file_keeps_its_owner(tmp_path, monkeypatch):
    """F4: below sudo, a replaced file goes on belonging to its user; where that is refused, nothing is written."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    given = []
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)

    class Calls(files.Calls):
        chown = staticmethod(lambda *arguments: given.append(arguments[1:]))

    before = files.set_calls(Calls)
    try:
        files.write_whole(path, b"new")
        assert given == [(path.stat().st_uid, path.stat().st_gid)]

        def refuse(*arguments):
            raise PermissionError(1, "not permitted")

        Calls.chown = staticmethod(refuse)
        with pytest.raises(Refused):
            files.write_whole(path, b"newer")
    finally:
        files.set_calls(before)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.glob(f"{files.TEMP_MARK}*")) == []


@posix
def test_f5_a_link_is_written_through_and_stays_a_link(tmp_path):
    """F5: dotfiles that are links stay links; a dangling link and a loop are refused."""
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    files.write_whole(link, b"new")
    assert link.is_symlink() and real.read_bytes() == b"new"
    dangling, loop = tmp_path / "dangling", tmp_path / "loop"
    dangling.symlink_to(tmp_path / "nowhere")
    loop.symlink_to(loop)
    for path in (dangling, loop):
        with pytest.raises(Refused, match="leads nowhere"):
            files.write_whole(path, b"x")
        assert path.is_symlink()


@posix
def test_f6_what_is_no_plain_file_is_refused(tmp_path):
    """F6: a folder, a FIFO and a file with hard links are refused, and left."""
    folder, fifo, one, two = (tmp_path / name for name in ("folder", "fifo", "one", "two"))
    folder.mkdir()
    os.mkfifo(fifo)
    one.write_bytes(b"x")
    os.link(one, two)
    for path in (folder, fifo, one):
        with pytest.raises(Refused):
            files.write_whole(path, b"y")
    assert one.read_bytes() == b"x"
    with pytest.raises(Refused):
        files.read_bytes(fifo)


APPENDER = """
import json, sys
from pathlib import Path
from experience_forge.store import files
for n in range(200):
    size = (n * 61) % 12000
    files.append_line(Path(sys.argv[1]), json.dumps({"who": int(sys.argv[2]), "n": n, "text": "x" * size}))
"""


def test_f7_sixteen_processes_append_without_losing_a_line(tmp_path):
    """F7: 16 processes append 200 lines of up to 12 KB each: 3,200 valid lines, none lost, none mixed."""
    path = tmp_path / "l.jsonl"
    environment = dict(os.environ, PYTHONPATH=str(SCRIPTS))
    start = [sys.executable, "-c", APPENDER, str(path)]
    running = [subprocess.Popen([*start, str(number)], env=environment) for number in range(16)]
    assert [process.wait(timeout=120) for process in running] == [0] * 16
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    assert len(found) == 3200
    assert {(row["who"], row["n"]) for row in found} == {(who, n) for who in range(16) for n in range(200)}


HOLDER = """
import sys, time
from pathlib import Path
from experience_forge.store import files
with files.locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@posix
def test_f9_a_lock_goes_with_its_process(tmp_path):
    """F9: a held lock is waited for and then named; a killed holder's lock is free at once, its file may stay."""
    path = tmp_path / "lock"
    environment = dict(os.environ, PYTHONPATH=str(SCRIPTS))
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], env=environment, stdout=subprocess.PIPE)
    assert holder.stdout.readline().strip() == b"held"
    with pytest.raises(Refused, match="lock"), files.locked(path, wait=0.2):
        pass
    holder.kill()
    holder.wait()
    begun = time.monotonic()
    with files.locked(path, wait=2):
        assert path.exists()
    assert time.monotonic() - begun < 1


def test_f9_a_lock_that_fails_is_a_message(tmp_path, monkeypatch):
    """F9: a disk without locks, or one that fails at locking, ends in a message and not in a bug."""
    if os.name == "nt":
        pytest.skip("needs fcntl")
    import errno
    import fcntl

    for number in (errno.ENOLCK, errno.EIO):
        def fail(*arguments, number=number):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", fail)
        with pytest.raises(Refused), files.locked(tmp_path / "lock", wait=0.1):
            pass


def test_f9_letting_go_of_a_lock_never_spoils_the_work_done_under_it(tmp_path):
    """F3, F9: a failing close of the lock's own descriptor is no failure of the change, and the lock is free."""
    with faulty() as shim, files.locked(tmp_path / "lock"):
        pass
    with faulty(len(shim.names), "EIO"), files.locked(tmp_path / "lock"):
        pass
    with files.locked(tmp_path / "lock", wait=0.1):
        pass


def test_f18_a_file_over_the_limit_is_named_and_not_read(tmp_path):
    """F18: a huge file is refused with its size and the limit."""
    path = tmp_path / "big"
    path.write_bytes(b"x" * 2000)
    with pytest.raises(Refused, match="2000 bytes, more than 1000"):
        files.read_bytes(path, limit=1000)


def test_f21_a_long_name_in_any_script_can_be_written(tmp_path):
    """F21: the temp file's name stays below the system's limit for a long Chinese name."""
    path = tmp_path / ("经" * 80 + ".md")
    try:
        path.touch()
    except OSError:
        pytest.skip("this disk takes no such name")
    files.write_whole(path, b"x")
    assert path.read_bytes() == b"x"


def test_f29_a_new_folder_is_flushed_into_its_parent(tmp_path):
    """F29: file, its folder and each new folder's parent are flushed, so that a power loss drops none of them."""
    opened = []

    class Calls(files.Calls):
        open = staticmethod(lambda path, *rest: opened.append(Path(path)) or os.open(path, *rest))

    before = files.set_calls(Calls)
    try:
        files.write_whole(tmp_path / "a" / "b" / "c", b"x")
    finally:
        files.set_calls(before)
    if os.name != "nt":
        assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b"} <= set(opened)


def test_f8_two_threads_of_writers_leave_one_whole_file(tmp_path):
    """F8: writers of the same file leave one of their texts whole."""
    path = tmp_path / "a"
    texts = [bytes([65 + n]) * 50_000 for n in range(8)]
    threads = [threading.Thread(target=files.write_whole, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in texts
    assert list(tmp_path.glob(f"{files.TEMP_MARK}*")) == []


def test_left_over_temp_files_of_dead_processes_go(tmp_path):
    """F1: what a killed writer left is removed later, a living writer's file stays."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    gone, kept = (tmp_path / f"{files.TEMP_MARK}x.{pid}.1" for pid in (dead.pid, os.getpid()))
    gone.write_bytes(b"")
    kept.write_bytes(b"")
    assert files.sweep_temps(tmp_path) == 1
    assert kept.exists() and not gone.exists()


def test_every_call_of_the_module_can_be_made_to_fail():
    """The shim covers all calls of the module, so a new one can't escape the enumeration."""
    names = {name for name in vars(files.Calls) if not name.startswith("_")}
    assert names == {*CALLS, "chown"}


def test_private_modes(tmp_path):
    """Files are 0600 and folders 0700; a file of the user's keeps its mode."""
    if os.name == "nt":
        pytest.skip("needs POSIX modes")
    files.write_whole(tmp_path / "new" / "a", b"x")
    files.append_line(tmp_path / "new" / "b", "x")
    assert [(tmp_path / "new" / name).stat().st_mode & 0o777 for name in ("a", "b", ".")] == [0o600, 0o600, 0o700]
    (tmp_path / "c").write_bytes(b"x")
    (tmp_path / "c").chmod(0o640)
    files.write_whole(tmp_path / "c", b"y")
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o640
