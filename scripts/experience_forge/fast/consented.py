"""Whether the journal says that a person confirmed these very bytes: asked for the one entry to be delivered.

The index and the file may both have been changed; the journal is the record of what was confirmed. The number
of the record leads to its line in a few small reads, since lines stand in the order of their numbers.
"""

from . import minijson, system

_STEP = 16384
_LONGEST = 4 * 1024 * 1024
_BLOCK = 1 << 20


def bytes_of(home: str, key: str, digest: str, seq: int) -> bool:
    """Whether a record confirmed the bytes with this sha256 for the entry file of this key.

    Args:
        key: the path below `entries/`, with `/`.
        seq: number of the record that did so when the index was made; any other one will do as well.
    """
    folder = system.join(home, "journal")
    try:
        names = sorted(name for name in system.calls.listdir(folder) if name.endswith(".jsonl"))
    except OSError:
        return False
    wanted = ('"after":"%s"' % digest).encode()
    paths = [system.join(folder, name) for name in reversed(names)]
    for path in paths:
        line = _numbered(path, seq)
        if line is not None and _says(line, key, digest):
            return True
    return any(_says(line, key, digest) for path in paths for line in _holding(path, wanted))


def _says(line: bytes, key: str, digest: str) -> bool:
    try:
        record = minijson.loads(line.decode("utf-8"))
        return record["what"] in ("change", "revoked") and any(
            one["path"] == key and one["after"] == digest for one in record["files"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


def _numbered(path: str, seq: int) -> "bytes | None":
    """The line of a record by its number, by halving; None when it is not found that way."""
    try:
        descriptor = system.calls.open(path, system.calls.O_RDONLY | getattr(system.calls, "O_BINARY", 0))
    except OSError:
        return None
    try:
        low, high = 0, system.calls.lseek(descriptor, 0, 2)
        while high - low > _STEP:
            middle = (low + high) // 2
            start, number = _line_behind(descriptor, middle, high)
            if number < 0 or start >= high:
                high = middle
            elif number > seq:
                high = middle
            else:
                low = start
        system.calls.lseek(descriptor, low, 0)
        # The last line found may begin before the end of the range and go on behind it.
        data, left = b"", high - low
        while left > 0 or (data and not data.endswith(b"\n") and len(data) < _LONGEST):
            part = system.calls.read(descriptor, max(left, _STEP))
            if not part:
                break
            data, left = data + part, left - len(part)
            if left <= 0 and b"\n" in part:
                break
        mark = b'"seq":%d,' % seq
        return next((line for line in data.split(b"\n") if mark in line[:64]), None)
    except OSError:
        return None
    finally:
        system.calls.close(descriptor)


def _line_behind(descriptor: int, offset: int, end: int) -> "tuple[int, int]":
    """Where the first line that begins behind an offset begins, and its number; -1 when it has none."""
    system.calls.lseek(descriptor, offset, 0)
    data = b""
    while len(data) < _LONGEST:
        part = system.calls.read(descriptor, _STEP)
        data += part
        at = data.find(b"\n")
        if at >= 0 and (len(data) > at + 64 or not part):
            _, found, rest = data[at + 1:at + 65].partition(b'"seq":')
            digits = rest.partition(b",")[0]
            return offset + at + 1, int(digits) if found and digits.isdigit() else -1
        if not part or offset + len(data) > end + _STEP:
            break
    return end, -1


def _holding(path: str, wanted: bytes) -> "list[bytes]":
    """Lines of a file that hold some bytes; the file is read in blocks."""
    found: "list[bytes]" = []
    try:
        descriptor = system.calls.open(path, system.calls.O_RDONLY | getattr(system.calls, "O_BINARY", 0))
    except OSError:
        return found
    try:
        rest = b""
        while True:
            part = system.calls.read(descriptor, _BLOCK)
            block, _, behind = (rest + part).rpartition(b"\n") if part else (rest, b"", b"")
            if wanted in block:
                found += [line for line in block.split(b"\n") if wanted in line]
            rest = behind
            if not part:
                return found
    except OSError:
        return found
    finally:
        system.calls.close(descriptor)
