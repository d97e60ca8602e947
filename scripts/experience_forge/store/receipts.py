"""Consent receipts in `<home>/receipts`: taken once by `confirm`, settled, told, swept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..fast import receipts
from . import files
from .home import Home


def folder(home: Home) -> str:
    """The folder as the hook's helpers want it."""
    return str(home.receipts)


def take(home: Home, receipt: str) -> tuple[str, Mapping[str, Any] | None]:
    """Use up an open receipt; `(its hash, its record)`, or `(its state, None)` when it is not open.

    The state is `used`, `void`, or empty when there never was one. Of two at once, one gets it.
    """
    name = receipts.hash_of(receipt)
    if receipts.change(folder(home), name, receipts.OPEN, receipts.USED):
        return name, receipts.read(folder(home), name, receipts.USED) or {}
    for state in (receipts.USED, receipts.DONE, receipts.REVOKED):
        if os.path.exists(receipts.path(folder(home), name, state)):
            return receipts.USED, None
    return (receipts.VOID if os.path.exists(receipts.path(folder(home), name, receipts.VOID)) else ""), None


def is_open(home: Home, session: str, proposal: str) -> bool:
    """Whether a receipt for this proposal was minted in this session and not used yet."""
    return any(
        record.get("session") == session and record.get("draft") == proposal
        for _, record in receipts.stored(folder(home), receipts.OPEN)
    )


def unsettled(home: Home, expired_at: float | None = None) -> list[str]:
    """Hashes of used receipts whose proof is not settled; with a time, those that expired before it."""
    found = receipts.stored(folder(home), receipts.USED)
    return [
        name for name, record in found if expired_at is None or float(record.get("expires") or 0) < expired_at
    ]


def settled(home: Home, name: str, revoked: bool = False) -> None:
    """Mark a used receipt as settled; a revoked one waits to be told."""
    receipts.change(folder(home), name, receipts.USED, receipts.REVOKED if revoked else receipts.DONE)


def untold(home: Home) -> list[str]:
    """Proposals whose consent was undone and of which the user was not told; each comes once."""
    return receipts.untold(folder(home))


def sweep(home: Home, now: float) -> int:
    """Remove files of all states one day after they expired; returns how many."""
    swept = 0
    for file in receipts.listed(folder(home)):
        name, _, state = file.rpartition(".")
        path = home.receipts / file
        record = receipts.read(folder(home), name, state) if state in receipts.STATES else None
        if record is None:
            # A temporary file or a damaged one: judged by its age.
            expires = path.stat().st_mtime + receipts.EXPIRES_SECONDS
        else:
            expires = float(record.get("expires") or 0)
        if now > expires + receipts.KEPT_SECONDS:
            swept += files.remove(path)
    return swept
