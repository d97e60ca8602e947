"""What the ledgers say of an entry version: coins with outcomes, counts, costs. Pure arithmetic on records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from . import coin, eprocess
from .eprocess import Row
from .judge import BAD, GOOD, UNKNOWN

BACKWARDS: Final = 300.0
"""Seconds by which the clock may step back between two records of a session before it counts as jumped."""

KNOWN: Final = (BAD, GOOD, UNKNOWN)


@dataclass(frozen=True)
class Opportunity:
    """One logged opportunity with what became of it; `outcome` is empty while it is not judged.

    `coin` is `new`, `kept` or `none`. `fault` names why it is not counted; empty when it is.
    """

    session: str
    entry: str
    sha256: str
    at: str
    arm: str
    coin: str
    p: float = 0.0
    event: str = ""
    call: str = ""
    transcript: str = ""
    agent: str = ""
    outcome: str = ""
    reason: str = ""
    line: int = 0
    trigger: int = 0
    fault: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What an outcome record names it by, within its session."""
        return self.entry, self.sha256, self.at


@dataclass(frozen=True)
class Exposure:
    """One recorded delivery; `proof` is where the client's own record shows it, empty until found."""

    session: str
    entry: str
    sha256: str
    at: str
    place: str
    characters: int
    transcript: str = ""
    proof: str = ""


@dataclass(frozen=True)
class SessionLedger:
    """What one ledger holds about measuring; `faults` are sentences' names with a detail.

    `last` is when a hook last wrote into it (ISO), empty when none did.
    """

    session: str
    opportunities: tuple[Opportunity, ...]
    exposures: tuple[Exposure, ...]
    faults: tuple[tuple[str, str], ...] = ()
    last: str = ""


def read_ledger(session: str, records: Sequence[Mapping[str, Any]], torn: int = 0) -> SessionLedger:
    """Make sense of one session's records, in their order; what does not hold is named, never counted.

    Args:
        torn: how many lines could not be read.
    """
    outcomes = {
        (str(r.get("entry")), str(r.get("sha256")), str(r.get("opportunity"))): r
        for r in records if r.get("what") == "outcome" and r.get("outcome") in KNOWN
    }
    jumped = _jumps(records)
    tossed: set[tuple[str, str]] = set()
    found: list[Opportunity] = []
    faults: list[tuple[str, str]] = [("torn_lines", str(torn))] if torn else []
    for number, record in enumerate(records):
        if record.get("what") != "opportunity":
            continue
        problem = _problem(record, session, tossed, number in jumped)
        one = _opportunity(session, record, outcomes, problem)
        found.append(one)
        if problem:
            faults.append((problem, f"{one.entry} {one.at}"))
    known = {one.key for one in found}
    faults += [("outcome_without_opportunity", f"{key[0]} {key[2]}") for key in outcomes if key not in known]
    return SessionLedger(session, tuple(found), tuple(_exposures(session, records)), tuple(faults), last_hook(records))


def last_hook(records: Iterable[Mapping[str, Any]]) -> str:
    """When a hook last wrote one of a session's records (ISO); what the worker adds later does not count."""
    own = (record for record in records if record.get("what") not in ("outcome", "proof"))
    return max((str(record.get("at") or "") for record in own if record.get("state") != "checked"), default="")


def _problem(
    record: Mapping[str, Any], session: str, tossed: set[tuple[str, str]], jumped: bool
) -> str:
    """Why an opportunity is not counted, as a message name."""
    if not record.get("entry") or not record.get("sha256"):
        return "no_version"
    if not record.get("session") or not session:
        return "no_session"
    if jumped:
        return "clock_jumped"
    if record.get("coin") != "new":
        return ""
    faults = coin.coin_faults(record)
    if faults:
        return faults[0]
    key = str(record["entry"]), str(record["sha256"])
    if key in tossed:
        return "second_coin"
    tossed.add(key)
    return ""


def _opportunity(
    session: str, record: Mapping[str, Any], outcomes: Mapping[tuple[str, str, str], Mapping[str, Any]], problem: str
) -> Opportunity:
    entry, sha256, at = (str(record.get(name) or "") for name in ("entry", "sha256", "at"))
    judged = outcomes.get((entry, sha256, at), {})
    p = record.get("holdout_p")
    return Opportunity(
        session, entry, sha256, at, "withheld" if record.get("arm") == "withheld" else "shown",
        str(record.get("coin") or "none"), float(p) if isinstance(p, (int, float)) else 0.0,
        str(record.get("event") or ""), str(record.get("call") or ""), str(record.get("transcript") or ""),
        str(record.get("agent") or ""), str(judged.get("outcome") or ""), str(judged.get("reason") or ""),
        int(judged.get("line") or 0), int(judged.get("trigger") or 0), problem,
    )  # fmt: skip


def _exposures(session: str, records: Sequence[Mapping[str, Any]]) -> Iterable[Exposure]:
    proofs: dict[tuple[str, str], str] = {}
    for record in records:
        if record.get("what") == "proof":
            where = str(record.get("source") or record.get("where") or record.get("line") or record.get("state") or "")
            proofs[str(record.get("entry")), str(record.get("exposure") or record.get("of") or "")] = where
    for record in records:
        if record.get("what") != "exposure":
            continue
        entry, at = str(record.get("entry") or ""), str(record.get("at") or "")
        size = record.get("characters")
        yield Exposure(
            session, entry, str(record.get("sha256") or ""), at, str(record.get("place") or ""),
            int(size) if isinstance(size, int) else 0, str(record.get("transcript") or ""),
            proofs.get((entry, at)) or proofs.get((entry, ""), ""),
        )


def seconds_of(at: str) -> float | None:
    """Seconds since 1970 of an ISO time in UTC; None when it can't be read."""
    try:
        return datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _jumps(records: Sequence[Mapping[str, Any]]) -> set[int]:
    """Numbers of the records at which the clock had stepped back, or told no time."""
    latest, found = float("-inf"), set()
    for number, record in enumerate(records):
        if record.get("what") in ("outcome", "proof"):
            continue  # written later, by the worker
        now = seconds_of(str(record.get("at") or ""))
        if now is None or now < latest - BACKWARDS:
            found.add(number)
        else:
            latest = max(latest, now)
    return found


@dataclass(frozen=True)
class Tally:
    """One entry version: all that a verdict and a report need.

    `counts` are of the coins alone once there are any: what was shown while nothing could be withheld
    (`without_coin`) is no arm to compare with.
    """

    entry: str
    sha256: str
    sessions: int = 0
    opportunities: int = 0
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    coins: int = 0
    without_coin: int = 0
    waiting: int = 0
    characters: int = 0
    exposures: int = 0
    proved: int = 0
    last: Exposure | None = None
    helps: float = 1.0
    hurts: float = 1.0
    after_claim: int = 0
    faults: tuple[tuple[str, str], ...] = ()

    def count(self, arm: str, outcome: str) -> int:
        """Opportunities of an arm with an outcome, without those that are not counted."""
        return self.counts.get((arm, outcome), 0)

    def judged(self, arm: str) -> int:
        """Opportunities of an arm with a good or a bad outcome."""
        return self.count(arm, BAD) + self.count(arm, GOOD)


def tally(entry: str, sha256: str, ledgers: Iterable[SessionLedger]) -> Tally:
    """Add up one entry version over all ledgers."""
    opportunities: list[Opportunity] = []
    exposures: list[Exposure] = []
    sessions: set[str] = set()
    for ledger in ledgers:
        own = [one for one in ledger.opportunities if (one.entry, one.sha256) == (entry, sha256)]
        opportunities += own
        exposures += [one for one in ledger.exposures if (one.entry, one.sha256) == (entry, sha256)]
        sessions |= {ledger.session} if own else set()
    opportunities.sort(key=lambda one: (one.at, one.session))
    counted = [one for one in opportunities if not one.fault and one.coin != "kept"]
    coins = [one for one in counted if one.coin == "new"]
    counts: dict[tuple[str, str], int] = {}
    for one in coins or counted:
        counts[one.arm, one.outcome] = counts.get((one.arm, one.outcome), 0) + 1
    rows = tuple(Row(one.arm == "shown", one.outcome == BAD, one.p) for one in coins if one.outcome in (BAD, GOOD))
    return Tally(
        entry, sha256, len(sessions), len(counted), counts, rows, len(coins), len(counted) - len(coins) if coins else 0,
        sum(1 for one in counted if not one.outcome), sum(one.characters for one in exposures), len(exposures),
        sum(1 for one in exposures if one.proof), max(exposures, key=lambda one: one.at, default=None),
        eprocess.e_value(rows), eprocess.e_value(rows, harm=True), _after_claim(rows),
        tuple((one.fault, f"{one.session} {one.at}") for one in opportunities if one.fault),
    )  # fmt: skip


def _after_claim(rows: Sequence[Row]) -> int:
    """Rows after the one at which a claim first stood; 0 when none ever did."""
    if max(eprocess.e_value(rows), eprocess.e_value(rows, harm=True)) < eprocess.CLAIM:
        return 0
    for count in range(1, len(rows) + 1):
        part = rows[:count]
        if max(eprocess.e_value(part), eprocess.e_value(part, harm=True)) >= eprocess.CLAIM:
            return len(rows) - count
    return 0
