"""The few system calls that hooks need, without importing `os` (a sixth of a bare start)."""

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

calls: "Any"
"""The module of system calls that `os` itself is made of."""
try:
    import posix

    calls, SEPARATOR = posix, "/"
except ImportError:  # Windows
    import nt

    calls, SEPARATOR = nt, "\\"

WINDOWS = SEPARATOR == "\\"
_BINARY = getattr(calls, "O_BINARY", 0) | getattr(calls, "O_NOINHERIT", 0) | getattr(calls, "O_CLOEXEC", 0)


def environment() -> dict[str, str]:
    """The environment as a dict of text."""
    if WINDOWS:
        return dict(calls.environ)
    return {
        key.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for key, value in calls.environ.items()
    }


def join(*parts: str) -> str:
    """Parts of a path with the system's separator; later absolute parts do not win."""
    return SEPARATOR.join(part.rstrip("/\\") if index < len(parts) - 1 else part for index, part in enumerate(parts))


def parent(path: str) -> str:
    """The folder above, or the path itself at the top."""
    cut = max(path.rfind("/"), path.rfind("\\") if WINDOWS else -1)
    if cut <= 0:
        return path[:1] if cut == 0 else path
    return path[:cut]


def read(path: str, limit: int = 4 * 1024 * 1024) -> bytes | None:
    """At most `limit` bytes of a file; None when it is not there or can't be read."""
    try:
        descriptor = calls.open(path, calls.O_RDONLY | _BINARY)
    except (OSError, ValueError):
        return None
    try:
        parts = []
        while limit > 0:
            part = calls.read(descriptor, min(limit, 1 << 20))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        calls.close(descriptor)


def read_text(path: str, limit: int = 4 * 1024 * 1024) -> str | None:
    """`read` as text, faulty bytes replaced; None when it is not there."""
    data = read(path, limit)
    return None if data is None else data.decode("utf-8", "replace")


def append(path: str, data: bytes) -> None:
    """Append a line by one write, mode 0600, the folder made when missing; a torn line before it is closed first.

    Raises:
        OSError: when the system refuses.
    """
    flags = calls.O_RDWR | calls.O_APPEND | calls.O_CREAT | _BINARY
    try:
        descriptor = calls.open(path, flags, 0o600)
    except FileNotFoundError:
        make_folders(parent(path))
        descriptor = calls.open(path, flags, 0o600)
    try:
        calls.write(descriptor, b"\n" + data if data.endswith(b"\n") and _torn(descriptor) else data)
    finally:
        calls.close(descriptor)


def _torn(descriptor: int) -> bool:
    """Whether a file ends within a line, as a crash leaves it."""
    try:
        calls.lseek(descriptor, -1, 2)
        return bool(calls.read(descriptor, 1) != b"\n")
    except OSError:  # an empty file
        return False


def make_folders(path: str) -> None:
    """Make a folder and its missing parents, mode 0700."""
    if kind(path) == "folder":
        return
    above = parent(path)
    if above != path:
        make_folders(above)
    try:
        calls.mkdir(path, 0o700)
    except FileExistsError:
        return


def kind(path: str) -> str:
    """`file`, `folder`, or empty for anything else and nothing."""
    try:
        mode = calls.stat(path).st_mode & 0o170000
    except (OSError, ValueError):
        return ""
    return {0o100000: "file", 0o040000: "folder"}.get(mode, "")


def now() -> str:
    """The time as ISO text in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


INPUT_SECONDS = 2.0
"""So long a hook waits for more of its input: the client writes it at once."""
SILENT_SECONDS = 0.2
"""So long when what came is a whole document already, at whose end a line ends."""


class _Late(Exception):
    """Nothing more came for too long."""


def read_input(limit: int) -> tuple[bytes, bool]:
    """Bytes of stdin up to `limit`, the rest drained; and whether there was more.

    A client that never closes it is not waited for: what has come within `INPUT_SECONDS` is the input.
    """
    parts: list[bytes] = []
    size, more = 0, False
    read, stop = _waiting_reader()
    end = time.monotonic() + INPUT_SECONDS
    try:
        while True:
            left = end - time.monotonic()
            if parts and parts[-1].endswith(b"}\n"):
                left = min(left, SILENT_SECONDS)
            part = read(left) if left > 0 else b""
            if not part:
                break
            if size < limit:
                parts.append(part[: limit - size])
            more = more or size + len(part) > limit
            size += len(part)
    except _Late:
        pass
    finally:
        stop()
    return b"".join(parts), more


def _waiting_reader() -> "tuple[Any, Any]":
    """A function that gives the next bytes of stdin, none at its end and on a fault, and one to be called at last.

    Raises:
        _Late: (the function) when nothing came for so many seconds.
    """
    if WINDOWS:
        return _threaded_reader(), lambda: None
    # A built-in module: `select` is a file of its own, and slower to load.
    import _signal  # type: ignore[import-not-found]

    def late(*_: object) -> None:
        raise _Late

    try:
        before = _signal.signal(_signal.SIGALRM, late)
    except (ValueError, OSError):  # not the main thread
        return lambda seconds: _some(), lambda: None

    def read(seconds: float) -> bytes:
        _signal.setitimer(_signal.ITIMER_REAL, seconds)
        return _some()

    def stop() -> None:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, before)

    return read, stop


def _threaded_reader() -> "Any":
    """As `_waiting_reader` where there are no alarms: a thread reads, and is left behind when it hangs."""
    from _thread import allocate_lock, start_new_thread

    def read(seconds: float) -> bytes:
        found: list[bytes] = []
        done = allocate_lock()
        done.acquire()

        def work() -> None:
            found.append(_some())
            done.release()

        start_new_thread(work, ())
        return found[0] if done.acquire(timeout=max(0.0, seconds)) else b""

    return read


def _some() -> bytes:
    try:
        return bytes(calls.read(0, 1 << 16))
    except OSError:
        return b""


def write_output(data: bytes) -> None:
    """Write all bytes to stdout."""
    view = memoryview(data)
    while view:
        view = view[calls.write(1, view):]


def sha256(data: bytes) -> str:
    """Hex digest; the accelerated module alone is ten times cheaper to import than hashlib."""
    try:
        module = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:
        module = __import__("hashlib")
    return str(module.sha256(data).hexdigest())


def realpath(path: str) -> str:
    """An absolute path with its links resolved, as `os.path.realpath` gives it."""
    if WINDOWS or not path.startswith("/"):
        import os

        return os.path.realpath(path)
    done, rest, links = "", path.split("/")[::-1], 0
    while rest:
        name = rest.pop()
        if name in ("", "."):
            continue
        if name == "..":
            done = done.rpartition("/")[0]
            continue
        try:
            target = calls.readlink(done + "/" + name) if links < 40 else ""
        except OSError:
            target = ""
        if target:
            links += 1
            rest.extend(target.split("/")[::-1])
            done = "" if target.startswith("/") else done
        else:
            done += "/" + name
    return done or "/"


