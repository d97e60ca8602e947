"""Consent receipts as files: minted by the gate, made void by a later call, used up by `confirm`.

`receipts/<sha256 of the receipt>.<state>`; the state changes by rename, so one process wins.
"""

import hashlib
import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

OPEN, USED, VOID, DONE, REVOKED, CALL = "open", "used", "void", "done", "revoked", "call"
STATES = (OPEN, USED, VOID, DONE, REVOKED, CALL)
"""`done`: used, and its proof is settled; `revoked`: undone, and the user is to be told; `call`: a gated call."""

NOT_BEFORE_SECONDS = 1.0
"""The client has no grace period of its own: a key already on its way answers after 0.2 s."""
EXPIRES_SECONDS = 15 * 60
KEPT_SECONDS = 24 * 3600


def hash_of(text: str) -> str:
    """The name of a receipt or call: hex sha256 of it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def path(folder: str, name: str, state: str) -> str:
    """Where the file of one state is."""
    return os.path.join(folder, "%s.%s" % (name, state))


def mark_call(folder: str, call: str, session: str, now: float) -> bool:
    """Note that a call was gated; False when it was already (the hook runs twice)."""
    record = {"v": 1, "session": session, "expires": now + EXPIRES_SECONDS}
    os.makedirs(folder, 0o700, exist_ok=True)
    try:
        _write_new(path(folder, hash_of(call), CALL), record)
    except FileExistsError:
        return False
    return True


def mint(
    folder: str, proposal: str, digest: str, session: str, call: str, command: str, now: float
) -> str:
    """Store an open receipt; returns the receipt, which goes into the rewritten command only."""
    receipt = os.urandom(16).hex()
    name = hash_of(receipt)
    record = {
        "v": 1, "draft": proposal, "digest": digest, "session": session, "call": call, "command": command,
        "minted": now, "not_before": now + NOT_BEFORE_SECONDS, "expires": now + EXPIRES_SECONDS,
    }
    temp = os.path.join(folder, ".%s.%d" % (name[:16], os.getpid()))
    _write_new(temp, record)
    os.rename(temp, path(folder, name, OPEN))
    return receipt


def void_others(folder: str, session: str, call: str) -> None:
    """Make void every open receipt of the session that another call asked for."""
    for name, record in stored(folder, OPEN):
        if record.get("session") == session and record.get("call") != call:
            change(folder, name, OPEN, VOID)


def change(folder: str, name: str, old: str, new: str) -> bool:
    """Rename from one state to another; False when the file is not in the old state (any more)."""
    try:
        os.rename(path(folder, name, old), path(folder, name, new))
    except OSError:
        return False
    return True


def read(folder: str, name: str, state: str) -> "dict[str, Any] | None":
    """The record of one file, or None when it is missing or damaged."""
    try:
        with open(path(folder, name, state), "rb") as file:
            record = json.loads(file.read(65536).decode("utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def stored(folder: str, state: str) -> "list[tuple[str, dict[str, Any]]]":
    """`(name, record)` of all files of one state; damaged ones are left out."""
    ending = "." + state
    found = []
    for file in listed(folder):
        if file.endswith(ending):
            record = read(folder, file[: -len(ending)], state)
            if record is not None:
                found.append((file[: -len(ending)], record))
    return found


def untold(folder: str) -> list[str]:
    """Proposals whose consent was undone and of which the user was not told; each comes once, for one caller."""
    found = []
    for name, record in stored(folder, REVOKED):
        if change(folder, name, REVOKED, DONE):
            found.append(str(record.get("draft") or "?"))
    return sorted(found)


def any_used(folder: str) -> bool:
    """Whether something waits to be settled; cheap enough for a hook."""
    return any(file.endswith("." + USED) for file in listed(folder))


def listed(folder: str) -> list[str]:
    """File names in the folder; none when there is no folder."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def clock() -> float:
    """Seconds since 1970; one place, so that a test can move it."""
    return time.time()


def _write_new(target: str, record: "dict[str, Any]") -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        os.write(descriptor, json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace"))
    finally:
        os.close(descriptor)
