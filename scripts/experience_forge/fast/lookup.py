"""The recall index as hooks read it: prefilter first, the database only on a possible hit."""

import sys

from . import minijson, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from collections.abc import Iterable
    from typing import Any

VERSION = 3
"""Of prefilter and database together; another one is not read."""

PREFILTER = "recall.txt"
SETTINGS = "recall.json"
PARTNERS = 60
_HEAD = 1024
_BUCKETED = ("e", "w")


def path_of(home: str, name: str) -> str:
    """A file of the index below the data home."""
    return system.join(home, "derived", name)


def head_line(values: "dict[str, Any]") -> bytes:
    """The first line of the prefilter, padded so that one read gets it."""
    return (minijson.dumps(values).encode("utf-8")).ljust(_HEAD - 1) + b"\n"


def prefilter(values: "dict[str, Any]", keys: "Iterable[tuple[str, str]]") -> bytes:
    """Bytes of the prefilter: a head line, then the keys by kind (`c` commands, `p` paths, `e` errors, `w` words).

    Few kinds of commands and paths: a list to search. Many words: buckets with an index before them.
    """
    kinds: dict[str, list[bytes]] = {kind: [] for kind in "cpew"}
    for kind, key in keys:
        kinds[kind].append(key.encode("utf-8"))
    body, sections = b"", {}
    for kind, found in kinds.items():
        found.sort()
        if kind in _BUCKETED:
            part, buckets = _bucketed(found)
        else:
            part, buckets = b"\n" + b"\n".join(found) + b"\n", 0
        sections[kind] = [len(body), len(part), buckets]
        body += part
    return head_line({**values, "sections": sections}) + body


def _bucketed(found: list[bytes]) -> tuple[bytes, int]:
    count = max(1, len(found) // 4) | 1
    buckets: list[list[bytes]] = [[] for _ in range(count)]
    for key in found:
        buckets[bucket_of(key, count)].append(key)
    offset = 8 * (count + 1)
    index, texts = [], []
    for bucket in buckets:
        text = b"\n" + b"\n".join(bucket) + b"\n" if bucket else b""
        index.append(b"%08x" % offset)
        texts.append(text)
        offset += len(text)
    return b"".join(index) + b"%08x" % offset + b"".join(texts), count


def bucket_of(key: bytes, count: int) -> int:
    """The bucket of a key; the modulus is odd, so that all bytes count."""
    return int.from_bytes(key[-12:], "little") % count


class Prefilter:
    """The open prefilter; sections are read when first asked for."""

    def __init__(self, path: str) -> None:
        self.descriptor = system.calls.open(path, system.calls.O_RDONLY | getattr(system.calls, "O_BINARY", 0))
        self.sections: dict[str, bytes] = {}
        self.head: dict[str, Any] = minijson.loads(system.calls.read(self.descriptor, _HEAD).decode("utf-8"))
        if self.head.get("version") != VERSION:
            raise ValueError("recall index of version %s, not %d" % (self.head.get("version"), VERSION))

    def section(self, kind: str) -> bytes:
        """Bytes of one kind's keys."""
        data = self.sections.get(kind)
        if data is None:
            offset, length, _ = self.head["sections"][kind]
            system.calls.lseek(self.descriptor, _HEAD + offset, 0)
            data = b""
            while len(data) < length:
                part = system.calls.read(self.descriptor, length - len(data))
                if not part:
                    raise ValueError("recall index is cut short")
                data += part
            self.sections[kind] = data
        return data

    def present(self, kind: str, keys: "Iterable[str]") -> list[str]:
        """Those of the keys that are there, in the order given."""
        data = self.section(kind)
        count = self.head["sections"][kind][2]
        found = []
        for key in keys:
            name = key.encode("utf-8", "replace")
            if count:
                at = 8 * bucket_of(name, count)
                start, end = int(data[at:at + 8], 16), int(data[at + 8:at + 16], 16)
                if start < end and b"\n" + name + b"\n" in data[start:end]:
                    found.append(key)
            elif b"\n" + name + b"\n" in data:
                found.append(key)
        return found

    def errors(self, words: list[str]) -> list[str]:
        """The anchor keys that an output's words show: single words, and pairs of those that need a partner."""
        found = self.present("e", words)
        partners = sorted(key[1:] for key in self.present("e", ["~" + word for word in words]))[:PARTNERS]
        pairs = [one + "+" + other for at, one in enumerate(partners) for other in partners[at + 1:]]
        return found + self.present("e", pairs)

    def close(self) -> None:
        """Give the file back."""
        system.calls.close(self.descriptor)


def header(home: str) -> "dict[str, Any] | None":
    """The head line of a home's prefilter as a dict; None when there is none of this version."""
    try:
        opened = Prefilter(path_of(home, PREFILTER))
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    opened.close()
    return opened.head


def whole(home: str) -> bool:
    """Whether all sections of a home's prefilter are there."""
    try:
        opened = Prefilter(path_of(home, PREFILTER))
    except (OSError, ValueError, KeyError, AttributeError):
        return False
    try:
        return all(opened.section(kind) for kind in opened.head["sections"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    finally:
        opened.close()


def settings(home: str) -> "dict[str, Any]":
    """Switches, frames and complaint words that the last build wrote; empty when there are none."""
    data = system.read(path_of(home, SETTINGS))
    try:
        value = minijson.loads(data.decode("utf-8")) if data else {}
    except (ValueError, UnicodeDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def engine() -> "Any":
    """The module `_sqlite3`, without the import of `functools` that takes four fifths of its start.

    It asks that module for `lru_cache` alone, for its statement cache: a stand-in over the C part
    serves while it starts. Any trouble, and it is imported as usual.
    """
    found = sys.modules.get("_sqlite3")
    if found is not None or "functools" in sys.modules:
        import _sqlite3

        return _sqlite3
    try:
        wrapper = __import__("_functools")._lru_cache_wrapper
        stand_in: Any = type(sys)("functools")
        stand_in.lru_cache = lambda size=128: lambda function: wrapper(function, size, False, tuple)
        sys.modules["functools"] = stand_in
        import _sqlite3
    except Exception:
        sys.modules.pop("functools", None)
        import _sqlite3
    finally:
        sys.modules.pop("functools", None)
    return _sqlite3


def connect(home: str, head: "dict[str, Any]") -> "Any":
    """The database of a prefilter, read only and without locks: its bytes never change.

    Raises:
        Exception: of `_sqlite3`, when it can't be read.
    """
    _sqlite3 = engine()
    path = path_of(home, head["db"])
    if system.kind(path) != "file":
        raise OSError("%s is missing" % path)
    if system.WINDOWS:
        path = "/" + path.replace("\\", "/")
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return _sqlite3.connect("file:" + quoted + "?mode=ro&immutable=1", uri=True)
