"""What hooks append: lines of a session's ledger, and faults into the log that doctor shows."""

from . import minijson, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

VERSION = 1
LOG_LIMIT = 512 * 1024
LEDGER_LIMIT = 8 * 1024 * 1024
_TAIL = 4096
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def ledger_path(home: str, session: str) -> str:
    """The ledger of a session; any id that is no plain file name is written as the hash of it."""
    name = session if 0 < len(session) <= 100 and _SAFE.issuperset(session) else "x" + system.sha256(
        session.encode("utf-8", "surrogatepass"))[:24]
    return system.join(home, "ledger", name + ".jsonl")


def append(home: str, session: str, record: "dict[str, Any]") -> "dict[str, Any]":
    """Append one record by one write; `v`, `at` and `session` are filled in. Returns it.

    Raises:
        OSError: when it can't be written; nothing may be said then.
    """
    full = {"v": VERSION, "what": "", "at": system.now(), "session": session}
    full.update(record)
    line = minijson.dumps(full) + "\n"
    system.append(ledger_path(home, session), line.encode("utf-8", "replace"))
    return full


def read(home: str, session: str) -> "list[dict[str, Any]]":
    """All readable records of a session's ledger, oldest first."""
    data = system.read(ledger_path(home, session), LEDGER_LIMIT)
    found = []
    for line in data.split(b"\n") if data else ():
        if line:
            try:
                record = minijson.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                found.append(record)
    return found


def fault(home: str, text: str) -> None:
    """Put one line into `<home>/logs/hooks.log`; the same text again at its end, or a full log, is left out."""
    path = system.join(home, "logs", "hooks.log")
    line = " ".join(text.split())[:500]
    known = system.read(path, LOG_LIMIT + 1)
    if known is not None and (len(known) > LOG_LIMIT or line.encode("utf-8", "replace") in known[-_TAIL:]):
        return
    try:
        system.append(path, (system.now() + " " + line + "\n").encode("utf-8", "replace"))
    except OSError:
        return
