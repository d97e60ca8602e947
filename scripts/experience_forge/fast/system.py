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


def read_input(limit: int) -> tuple[bytes, bool]:
    """Bytes of stdin up to `limit`, the rest drained; and whether there was more."""
    parts, size, more = [], 0, False
    while True:
        try:
            part = calls.read(0, 1 << 16)
        except OSError:
            break
        if not part:
            break
        if size < limit:
            parts.append(part[: limit - size])
        more = more or size + len(part) > limit
        size += len(part)
    return b"".join(parts), more


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


