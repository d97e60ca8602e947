"""Settles pending proofs: the client's own record says whether a person answered (protocol, 7)."""

from __future__ import annotations

import time
from typing import Any

from ..core import consent
from ..errors import Refused
from . import client_record, files, journal, library, receipts
from .home import Home


def waiting(home: Home) -> bool:
    """Whether anything may be there to settle; cheap, for the start of every command."""
    return bool(receipts.unsettled(home))


def settle(home: Home) -> dict[str, Any]:
    """Settle every pending change by its call's result.

    Returns:
        `proved` and `revoked` (ids of proposals), `waiting` (records that do not say yet) and
        `stuck` (what could not be undone, one line each). When one of the first two has members,
        the projections have to be made again.

    Raises:
        Refused: when the journal can't be written.
    """
    result: dict[str, Any] = {"proved": [], "revoked": [], "waiting": [], "stuck": []}
    with files.locked(home.lock):
        now = time.time()
        crashed = set(receipts.unsettled(home, expired_at=now))
        for record in journal.pending(home):
            given = record["consent"]
            name = str(given.get("receipt", ""))
            call = client_record.find(str(given.get("session", "")), str(given.get("call", "")), tail=None)
            outcome = _settle_one(home, record, consent.answer(call), result)
            if outcome:
                receipts.settled(home, name, revoked=outcome == "revoked")
            crashed.discard(name)
        for name in crashed:
            # `confirm` died between taking the receipt and the journal: nothing was changed.
            receipts.settled(home, name)
        receipts.sweep(home, now)
    return result


def _settle_one(home: Home, record: dict[str, Any], who: str, result: dict[str, Any]) -> str:
    proposal, seq = str(record.get("proposal", "")), int(record["seq"])
    if who == "person":
        library.settle_proof(home, seq, "person")
        result["proved"].append(proposal)
        return "proved"
    if who == "other":
        try:
            library.revoke(home, seq, "no person answered the dialog")
        except Refused as error:
            result["stuck"].append(f"{proposal}: {error.what}")
            return ""
        result["revoked"].append(proposal)
        return "revoked"
    result["waiting"].append(proposal)
    return ""
