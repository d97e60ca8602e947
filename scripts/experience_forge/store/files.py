"""The one module that writes files.

Whole files are written aside, flushed, replaced, and the folder flushed, so that a reader or a
crash sees the old bytes or the new ones. Lines are appended by one write. Locks belong to the
operating system and die with their process. Every call that can fail goes through `_os`, which
tests replace to make the n-th call fail.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import Refused, Text

LOCK_WAIT_SECONDS = 5.0
TEMP_MARK = ".forge-tmp-"


class Calls:
    """The system calls of this module, by name; tests put a failing one in its place."""

    open = staticmethod(os.open)
    write = staticmethod(os.write)
    fsync = staticmethod(os.fsync)
    close = staticmethod(os.close)
    replace = staticmethod(os.replace)
    unlink = staticmethod(os.unlink)
    mkdir = staticmethod(os.mkdir)
    rmdir = staticmethod(os.rmdir)
    chmod = staticmethod(os.chmod)
    rename = staticmethod(os.rename)
    truncate = staticmethod(os.truncate)
    chown: Any = staticmethod(os.chown) if hasattr(os, "chown") else None


_os: Any = Calls
_held: set[Path] = set()


def set_calls(calls: Any) -> Any:
    """Replace the system calls (tests only); returns the ones in force before."""
    global _os
    before, _os = _os, calls
    return before


def sha256(data: bytes) -> str:
    """Hex digest of bytes, 64 characters."""
    return hashlib.sha256(data).hexdigest()


def make_folder(folder: Path, mode: int = 0o700) -> None:
    """Create a folder and its missing parents; existing ones keep their mode.

    Raises:
        Refused: when the system refuses, naming the folder and the cause.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent, mode)
    try:
        _os.mkdir(folder, mode)
        # A folder whose name is not flushed can vanish in a power loss, with all that is flushed in it.
        _flush_folder(folder.parent)
    except FileExistsError:
        if not folder.is_dir():
            raise Refused(Text("errors_store.not_a_folder", path=folder), Text("errors.move_aside")) from None
    except OSError as error:
        raise _refused("make_folder", folder, error) from error


def listed(folder: Path, suffix: str) -> list[Path]:
    """The files of a folder whose names end so, by name; a folder that is not there has none.

    Raises:
        Refused: when it can't be read: what can't be listed must not look empty.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(suffix))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _refused("read", folder, error) from error


def walked(folder: Path, suffix: str = "") -> list[Path]:
    """The files below a folder whose names end so, in order; `glob` would pass over a folder that it may not read.

    Raises:
        Refused: as `listed`.
    """
    found: list[Path] = []
    for top, _, names in os.walk(folder, onerror=unlistable):
        found += [path for path in (Path(top, name) for name in names if name.endswith(suffix)) if path.is_file()]
    return sorted(found)


@contextmanager
def standing_in(folder: str) -> Iterator[Callable[[str], os.stat_result]]:
    """A `stat` for names of one folder; for tens of thousands it takes half the time of one by whole paths."""
    if os.stat not in os.supports_dir_fd:
        yield lambda name: os.stat(f"{folder}{os.sep}{name}")
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        unlistable(error)
        yield lambda name: os.stat(f"{folder}{os.sep}{name}")
        return
    try:
        yield functools.partial(os.stat, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def unlistable(error: OSError) -> None:
    """For the `onerror` of `os.walk`: as `listed`.

    Raises:
        Refused: unless the folder has gone meanwhile.
    """
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise _refused("read", Path(str(error.filename)), error) from error


def read_bytes(path: Path, limit: int = 64 * 1024 * 1024) -> bytes:
    """Bytes of a regular file.

    Raises:
        FileNotFoundError: when there is none.
        Refused: when it is not a regular file, larger than `limit` bytes, or can't be read.
    """
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise Refused(Text("errors_store.not_regular", path=path), Text("errors.move_aside"))
        if info.st_size > limit:
            raise Refused(
                Text("errors_store.too_large", path=path, size=info.st_size, limit=limit),
                Text("errors_store.make_smaller"),
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _refused("read", path, error) from error


def blocks(path: Path, size: int = 1 << 20) -> Iterator[bytes]:
    """The bytes of a regular file of any length, in pieces of at most `size`; errors as `read_bytes`."""
    try:
        with path.open("rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Refused(Text("errors_store.not_regular", path=path), Text("errors.move_aside"))
            while data := file.read(size):
                yield data
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _refused("read", path, error) from error


def read_text(path: Path, limit: int = 64 * 1024 * 1024) -> str:
    """UTF-8 text of a regular file, a byte order mark taken off; errors as `read_bytes`.

    Raises:
        Refused: also when it is not UTF-8, or holds NUL bytes (a torn write on some disks).
    """
    data = read_bytes(path, limit)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            Text("errors_store.not_utf8", path=path, byte=error.start), Text("errors_store.save_utf8_again")
        ) from error
    if "\0" in text:
        raise Refused(Text("errors_store.nul_bytes", path=path), Text("errors_store.nul_bytes_hint"))
    return text


def read_record(path: Path) -> Any:
    """The JSON value of a small record that is written anew as a whole; None when there is none or it is damaged.

    Raises:
        Refused: when the system does not let it be read: what is written then would lose what it holds.
    """
    try:
        return json.loads(read_text(path))
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    except Refused as error:
        if isinstance(error.__cause__, OSError):
            raise
        return None


def write_whole(path: Path, data: bytes, mode: int = 0o600, *, follow: bool = True) -> None:
    """Put `data` in place of the file at `path`, whole or not at all.

    A link is written through (`follow`), so that a dotfile keeps being one. An existing file
    keeps its mode. Folders are made with 0700.

    Raises:
        Refused: naming path and cause; the old bytes are still there then.
    """
    target = _resolve(path) if follow else path
    make_folder(target.parent)
    if target.exists():
        info = target.stat()
        if not stat.S_ISREG(info.st_mode):
            raise Refused(Text("errors_store.not_regular", path=target), Text("errors.move_aside"))
        if info.st_nlink > 1:
            raise Refused(
                Text("errors_store.hard_links", path=target, links=info.st_nlink), Text("errors_store.hard_links_hint")
            )
        if not os.access(target, os.W_OK):
            raise Refused(Text("errors_store.read_only", path=target), Text("errors_store.read_only_hint"))
        mode = stat.S_IMODE(info.st_mode)
    # The name is made from process and clock: tempfile would be one more import for hooks' writers.
    name = os.fsencode(target.name)[:80].decode("ascii", "replace").replace("\ufffd", "_")
    temp = target.parent / f"{TEMP_MARK}{name}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        _write_new(temp, data, mode)
        _keep_owner(temp, target)
        _replace(temp, target)
    except OSError as error:
        _drop(temp)
        raise _refused("write", target, error) from error
    except BaseException:
        _drop(temp)
        raise
    try:
        _flush_folder(target.parent)
    except OSError as error:
        raise _unsure(target, error) from error


def make_private(path: Path) -> None:
    """See that a file which another library will write is there, and for its owner alone.

    Raises:
        Refused: naming path and cause.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        write_whole(path, b"")
        return
    except OSError as error:
        raise _refused("read", path, error) from error
    if os.name != "nt" and mode & 0o077:
        # On a disk that does not let us, the file is as readable as it was.
        with suppress(OSError):
            _os.chmod(path, 0o600)


def write_text(path: Path, text: str, mode: int = 0o600) -> None:
    """`write_whole` for text, as UTF-8 with the line ends that the text has."""
    write_whole(path, text.encode("utf-8"), mode)


def append_line(path: Path, line: str, *, durable: bool = False) -> None:
    """Append one line by one write; a torn line before it is closed first.

    Args:
        durable: also flush file and folder (journal); hooks' ledgers do without.

    Raises:
        Refused: naming path and cause.
    """
    make_folder(path.parent)
    data = line.rstrip("\n").encode("utf-8") + b"\n"
    size = 0
    try:
        fresh = not path.exists()
        if not fresh:
            size = path.stat().st_size
            if not _ends_with_newline(path):
                data = b"\n" + data
        descriptor = _os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            _write_all(descriptor, data)
            if durable:
                _os.fsync(descriptor)
        finally:
            _os.close(descriptor)
        if durable and fresh:
            _flush_folder(path.parent)
    except OSError as error:
        if durable:
            # Only lines that are appended under a lock: nobody else can have written behind ours.
            _cut_back(path, size)
        raise _refused("append", path, error) from error


def remove(path: Path) -> bool:
    """Remove a file of ours; says whether there was one.

    Raises:
        Refused: naming path and cause.
    """
    try:
        _os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _refused("remove", path, error) from error
    try:
        _flush_folder(path.parent)
    except OSError as error:
        raise _unsure(path, error) from error
    return True


def move(source: Path, target: Path) -> None:
    """Rename within the data home, never over an existing file.

    Raises:
        Refused: when the target exists or the system refuses.
    """
    if target.exists():
        raise Refused(Text("errors_store.exists_already", path=target), Text("errors.move_aside"))
    make_folder(target.parent)
    try:
        _os.rename(source, target)
    except OSError as error:
        raise _refused("move", source, error) from error
    try:
        _flush_folder(target.parent)
        if source.parent != target.parent:
            _flush_folder(source.parent)
    except OSError as error:
        raise _unsure(target, error) from error


def remove_empty_folder(folder: Path) -> None:
    """Remove a folder when it is empty; silent when it is not or is gone."""
    try:
        _os.rmdir(folder)
    except OSError:
        return


def sweep_temps(folder: Path, *, below: bool = True) -> int:
    """Remove our own left-over temp files of dead processes in `folder`, and `below` it; returns how many."""
    swept = 0
    # Every command begins with this: a Path for each of 100,000 files would take a second. A folder that can't be
    # listed is passed over: left-overs harm nobody and are swept another time.
    for base, inner, names in os.walk(folder):
        if not below:
            inner.clear()
        for name in names:
            if name.startswith(TEMP_MARK):
                pid = name.rsplit(".", 2)[-2] if name.count(".") >= 2 else ""
                if pid.isdigit() and not _alive(int(pid)):
                    _drop(Path(base, name))
                    swept += 1
    return swept


@contextmanager
def locked(path: Path, wait: float = LOCK_WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock file at `path`; it ends with the process, and is never stolen by age.

    A process that holds it already goes on: one command is one change.

    Raises:
        Refused: after `wait` seconds, naming the lock.
    """
    if path in _held:
        yield
        return
    make_folder(path.parent)
    try:
        descriptor = _os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _refused("open_lock", path, error) from error
    try:
        deadline = time.monotonic() + wait
        while not _locks(descriptor, path):
            if time.monotonic() >= deadline:
                raise Refused(
                    Text("errors_store.lock", path=path, seconds=f"{wait:.0f}"), Text("errors_store.lock_hint")
                )
            time.sleep(0.05)
        _held.add(path)
        yield
    finally:
        _held.discard(path)
        _let_go(descriptor)


def _let_go(descriptor: int) -> None:
    # The lock is gone whatever close says, and nothing was written through this descriptor.
    try:
        _os.close(descriptor)
    except OSError:
        return
    except BaseException:
        # Interrupted before the system call: the descriptor would hold the lock as long as we live.
        os.close(descriptor)
        raise


def _locks(descriptor: int, path: Path) -> bool:
    try:
        return _try_lock(descriptor)
    except OSError as error:
        raise _refused("lock", path, error) from error


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            return False
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise Refused(Text("errors_store.no_locks"), Text("errors_store.no_locks_hint")) from error
        raise
    return True


def _resolve(path: Path) -> Path:
    """The file behind a link; a dangling link or a loop is refused rather than replaced."""
    if not path.is_symlink():
        return path
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise Refused(Text("errors.dangling_link", path=path), Text("errors.mend_link")) from error


def _write_new(path: Path, data: bytes, mode: int) -> None:
    descriptor = _os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        _write_all(descriptor, data)
        _os.fsync(descriptor)
    finally:
        _os.close(descriptor)
    if os.name != "nt":
        # The umask may have taken bits away from the mode given to open.
        _os.chmod(path, mode)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[_os.write(descriptor, view):]


def _replace(temp: Path, target: Path) -> None:
    # Windows refuses while a reader holds the file (bpo-46003): wait and try again.
    for pause in (0.05, 0.1, 0.25, 0.5):
        try:
            _os.replace(temp, target)
        except PermissionError:
            if os.name != "nt":
                raise
            time.sleep(pause)
        else:
            return
    _os.replace(temp, target)


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = _os.open(folder, os.O_RDONLY)
    try:
        _os.fsync(descriptor)
    finally:
        _os.close(descriptor)


def _keep_owner(temp: Path, target: Path) -> None:
    """Another user's file (below sudo, say) stays theirs; OSError when the system does not let us."""
    if os.name == "nt" or not target.exists():
        return
    info = target.stat()
    if (info.st_uid, info.st_gid) != (os.geteuid(), os.getegid()):
        _os.chown(temp, info.st_uid, info.st_gid)


def _cut_back(path: Path, size: int) -> None:
    """Take back a line that could not be made durable, so that what we refused is not there."""
    try:
        if path.stat().st_size > size:
            _os.truncate(path, size)
    except OSError:
        return


def _unsure(path: Path, error: OSError) -> Refused:
    cause = error.strerror or type(error).__name__
    what = Text("errors_store.unsure", path=path, cause=cause)
    return Refused(what, Text("errors_store.unsure_hint"))


def _drop(path: Path) -> None:
    try:
        _os.unlink(path)
    except OSError:
        return


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _refused(call: str, path: Path, error: OSError) -> Refused:
    cause = error.strerror or type(error).__name__
    hints = {
        errno.ENOSPC: "free_space", errno.EDQUOT: "free_quota", errno.EROFS: "disk_read_only",
        errno.EACCES: "permissions", errno.EPERM: "owner",
    }
    hint = Text(f"errors_store.hint_{hints.get(error.errno or 0, 'disk')}")
    return Refused(Text(f"errors_store.cant_{call}", path=path, cause=cause), hint)
