"""Whether a receipt and the client's record of its call stand for a person's answer; pure.

Each check returns the name of the first thing that is wrong (a message `confirm.<name>`), or an
empty text. The order is the protocol's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Text
from ..fast import dialog
from .changes import Change

CLOCK_SLACK_SECONDS = 1.0
PERSON: Mapping[str, str] = {
    "decision": "accept", "source": "user_temporary", "reasonCode": "hook:PreToolUse", "grantScope": "once",
}  # fmt: skip
"""How the client records a *Yes* of a person to a dialog that a hook asked for (2.1.332)."""


@dataclass(frozen=True)
class Receipt:
    """What the gate wrote down when it asked; times are seconds since 1970."""

    draft: str
    digest: str
    session: str
    call: str
    command: str
    minted: float
    not_before: float
    expires: float


@dataclass(frozen=True)
class Asked:
    """What `confirm` was started with, where, and when: `answered` is when its process began.

    Loading Python takes up to half a second, which must not count as reading time.
    """

    draft: str
    digest: str
    session: str
    attended: bool
    now: float
    answered: float


@dataclass(frozen=True)
class Call:
    """A tool call in the client's record; `decision` is that of its result, None when it has none."""

    command: str
    answered: bool = False
    decision: Mapping[str, Any] | None = None
    denied: bool = False
    entrypoint: str = ""
    sidechain: bool = False


def receipt_of(record: Mapping[str, Any]) -> Receipt | None:
    """A receipt from its stored form; None when a field is missing or of another type."""
    try:
        if record["v"] != 1:
            return None
        texts = {name: str(record[name]) for name in ("draft", "digest", "session", "call", "command")}
        minted, not_before, expires = (float(record[name]) for name in ("minted", "not_before", "expires"))
    except (KeyError, TypeError, ValueError):
        return None
    if not all(texts.values()):
        return None
    return Receipt(**texts, minted=minted, not_before=not_before, expires=expires)


def receipt_fault(receipt: Receipt | None, asked: Asked) -> str:
    """Checks 4 to 6: the receipt belongs to this proposal, session and moment."""
    if receipt is None or (receipt.draft, receipt.digest) != (asked.draft, asked.digest):
        return "other_proposal"
    if receipt.session != asked.session:
        return "other_session"
    if not asked.attended:
        return "unattended"
    if not receipt.minted - CLOCK_SLACK_SECONDS <= asked.now <= receipt.expires:
        return "expired"
    if asked.answered < receipt.not_before:
        return "too_fast"
    return ""


def call_fault(receipt: Receipt, call: Call | None) -> str:
    """Check 7: the client wrote down this very call, and no result of it yet."""
    if call is None:
        return "no_call"
    if call.command != receipt.command:
        return "other_command"
    return "answered" if call.answered else ""


def answer(call: Call | None) -> str:
    """Who answered a call that ran: `person`, `other`, or empty while the record does not say."""
    if call is None or not call.answered:
        return ""
    if call.denied:
        return "other"
    if call.decision is None:
        return ""
    matches = all(call.decision.get(name) == value for name, value in PERSON.items())
    return "person" if matches and call.entrypoint == "cli" and not call.sidechain else "other"


def shown_faults(text: str, change: Change) -> list[Text]:
    """Where the dialog's rows, read without a YAML reader, differ from what would be applied."""
    shown = dialog.fields(text)
    named = "" if change.change in ("draft", "import") else change.change
    pairs = (
        ("change", shown.get("change", ""), named), ("title", shown.get("title", ""), change.title),
        ("rule", shown.get("rule", ""), change.rule), ("track", shown.get("track", ""), change.track),
    )  # fmt: skip
    return [
        Text("errors_entry.shown_other", name=name, seen=seen, meant=meant)
        for name, seen, meant in pairs
        if seen != meant
    ]
