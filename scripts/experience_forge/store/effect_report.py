"""Puts together what `effect` tells: figures as one document, and its lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

from ..core import coin, eprocess, verdicts
from ..core.effect import Opportunity, SessionLedger, Tally
from ..core.verdicts import Verdict
from ..fast import coin as fast_coin
from ..fast import visible
from ..model import Entry, Status
from . import backtest, condition_rules, config, effects, entries, freshness, measure_rules, ruleset
from .home import Home

Text = Callable[..., str]


def one(
    home: Home, entry_id: str, language: str, *, backtest: bool = False, advance: Callable[[int], None] = lambda n: None
) -> dict[str, Any]:
    """All that is known of one entry.

    Raises:
        Refused: when there is no such entry.
    """
    stored = entries.resolved(home, entry_id)
    entry = stored.entry
    family = entries.family(home, entry)
    ledgers, sessions = effects.ledgers(home, family), effects.sessions(home)
    tallies = effects.tallies(home, ledgers)
    own = tallies.get((entry.id, stored.sha256)) or Tally(entry.id, stored.sha256)
    document = _document(entry, own, effects.sessions(home, _since(stored)), language)
    document["fails_when"] = [condition.parts() for condition in entry.fails_when]
    document["applies_when"] = [condition.parts() for condition in entry.applies_when]
    document["opportunities"] = [
        {"session": o.session, "at": o.at, "arm": o.arm, "coin": o.coin, "outcome": o.outcome or "open",
         "reason": o.reason, "trigger": o.trigger, "line": o.line, "transcript": o.transcript, "fault": o.fault}
        for o in _in_order(ledgers) if (o.entry, o.sha256) == (entry.id, stored.sha256)
    ]
    document["earlier"] = _earlier(family, stored.sha256, tallies, sessions, language)
    state, reason, detail, delivery = freshness.state(home, entry, os.getcwd(), date.today().isoformat())
    document["freshness"] = {"state": state, "reason": reason, "detail": detail, "delivery": delivery}
    document["backtest"] = _backtest(home, entry, language, advance) if backtest else ""
    document["faults"] = [
        {"name": name, "session": ledger.session, "detail": text} for ledger in ledgers
        for name, text in ledger.faults if text.split(" ")[0] == entry.id
    ]
    return document


def _in_order(ledgers: list[SessionLedger]) -> list[Opportunity]:
    found = [one for ledger in ledgers for one in ledger.opportunities]
    return sorted(found, key=lambda one: (one.at, one.session))


def _since(stored: entries.StoredEntry) -> str:
    """From when on these bytes could be delivered: when they were confirmed."""
    return stored.confirmed.at if stored.confirmed is not None else ""


def _watched(stored: entries.StoredEntry, ledgers: list[SessionLedger]) -> int:
    """In how many of these sessions hooks ran since these bytes were confirmed."""
    return sum(1 for ledger in ledgers if ledger.last and ledger.last >= _since(stored))


def _backtest(home: Home, entry: Entry, language: str, advance: Callable[[int], None]) -> str:
    report = backtest.run(home, entry.applies_when, entry.fails_when, advance=advance)
    return backtest.say(report, ruleset.messages(language))


def history_count(home: Home) -> int:
    """How many kept sessions a backtest goes through."""
    folder = backtest.folder(home)
    return sum(1 for _ in folder.glob("*.jsonl")) if folder.is_dir() else 0


def _document(entry: Entry, own: Tally, sessions: int, language: str) -> dict[str, Any]:
    allowed = config.load()["measure"].get("holdouts") is True
    found = verdicts.verdict(own, _reason(entry, allowed), sessions)
    last = own.last
    return {
        "entry": entry.id, "title": entry.title, "version": own.sha256, "state": found.state,
        "verdict": measure_rules.say(found, language), "counts": verdicts.figures(own), "coins": own.coins,
        "evidence": {"helps": round(own.helps, 3), "hurts": round(own.hurts, 3)},
        "under_test": not coin.why_not(entry, allowed, condition_rules.weights()), "cost": verdicts.cost(own),
        "tokens": round(own.characters / 4), "exposures": own.exposures, "proved": own.proved,
        "tokens_per_return": verdicts.tokens_per_return(own),
        "last": None if last is None else {
            "at": last.at, "session": last.session, "place": last.place, "transcript": last.transcript,
            "proof": last.proof,
        },
    }


def _reason(entry: Entry, allowed: bool) -> str:
    why = coin.why_not(entry, True, condition_rules.weights())
    return why if why or allowed else ""


def _earlier(
    family: frozenset[str], sha256: str, tallies: effects.Tallies, sessions: int, language: str
) -> list[dict[str, Any]]:
    """Other versions of the entry and its parents, shown but never added."""
    found = []
    for (name, version), own in sorted(tallies.items()):
        if name in family and version != sha256:
            said: Verdict = verdicts.verdict(own, "", sessions)
            found.append({
                "entry": name, "version": version, "state": said.state, "verdict": measure_rules.say(said, language),
                "counts": verdicts.figures(own),
            })
    return found


def all_of(home: Home, language: str) -> dict[str, Any]:
    """All entries by state, what holdouts cost, and what remains unknowable."""
    ledgers = effects.ledgers(home)
    tallies = effects.tallies(home, ledgers)
    rows = []
    for stored in entries.load_all(home).entries:
        if stored.entry.status is Status.SUPERSEDED:
            continue  # its evidence is told with the entry that took its place
        own = tallies.get((stored.entry.id, stored.sha256)) or Tally(stored.entry.id, stored.sha256)
        rows.append(_document(stored.entry, own, _watched(stored, ledgers), language))
    rows.sort(key=lambda row: (verdicts.STATES.index(row["state"]), row["entry"]))
    tested = [row for row in rows if row["coins"]]
    together = eprocess.e_bh([row["evidence"]["helps"] for row in tested])
    paid = [row["tokens_per_return"] for row in rows if row["tokens_per_return"] is not None]
    return {
        "entries": rows,
        "cost": {name: sum(row["cost"][name] for row in rows) for name in ("withheld", "came_back")},
        "tokens": sum(row["tokens"] for row in rows), "exposures": sum(row["exposures"] for row in rows),
        "proved": sum(row["proved"] for row in rows),
        "tokens_per_return": round(sum(paid) / len(paid)) if paid else None,
        "unknowable": {
            state: sum(1 for row in rows if row["state"] == state) for state in ("untestable", "untested", "never")
        },
        "claimed_together": [row["entry"] for row, kept in zip(tested, together, strict=True) if kept],
        "faults": _faults(ledgers), "question": fast_coin.question_text(str(home.root)) or "",
    }


def _faults(ledgers: list[SessionLedger]) -> list[dict[str, str]]:
    return [
        {"session": session, "name": name, "detail": detail} for session, name, detail in effects.faults(ledgers)
    ]


def lines_of_one(document: dict[str, Any], text: Text) -> Iterator[str]:
    """The three answers of one entry, then what stands beside them."""
    yield f"{document['entry']}  {document['title']}"
    if document["state"] == "untestable":
        why = "no_falsifier_short" if document["applies_when"] else "no_trigger_short"
        yield text("effect.not_falsifiable", why=text(f"effect.{why}"))
    elif document["fails_when"]:
        fails = (
            " + ".join(f"{text(f'words.part_{name}')} {value}" for name, value in one.items())
            for one in document["fails_when"]
        )
        yield text("effect.falsifiable", fails="; ".join(fails))
    last = document["last"]
    if last is None:
        yield text("effect.no_influence")
    else:
        proof = text("effect.proved", where=last["proof"]) if last["proof"] else text("effect.unproved")
        yield text("effect.last_influence", at=last["at"], session=last["session"], place=last["place"], proof=proof)
    yield text("effect.worse_without", verdict=document["verdict"])
    counts = document["counts"]
    if any(counts[name] for name in ("unknown", "waiting", "excluded", "without_coin")):
        yield "   " + text("effect.excluded", **counts)
    if document["cost"]["withheld"]:
        yield text("effect.cost", **document["cost"])
    for one in document["earlier"]:
        yield text("effect.parent", version=one["version"][:8], verdict=one["verdict"])
    fresh = document["freshness"]
    reason = text(f"effect.reason_{fresh['reason']}") if fresh["reason"] else ""
    state = "overdue" if fresh["reason"] == "review" else fresh["state"]
    yield text(f"effect.freshness_{state}", reason=reason, detail=fresh["detail"]).rstrip()
    for one in document["opportunities"]:
        if one["outcome"] != "open":
            where = f"{one['transcript'] or one['session']}:{one['line'] or one['trigger']}"
            reason = text(f"effect.reason_{one['reason']}")
            arm, outcome = text(f"effect.arm_{one['arm']}"), text(f"effect.outcome_{one['outcome']}")
            yield f"   {one['at']}  {_padded(arm, 8)}  {_padded(outcome, 7)}  {where}  {reason}"
    if document["backtest"]:
        yield document["backtest"]
    yield from _fault_lines(document["faults"], text)


def _padded(word: str, columns: int) -> str:
    return word + " " * (columns - visible.width(word))


def lines_of_all(document: dict[str, Any], text: Text) -> Iterator[str]:
    """What stands below the table."""
    if document["cost"]["withheld"]:
        yield text("effect.cost", **document["cost"])
    yield text("effect.tokens", tokens=document["tokens"], exposures=document["exposures"], proved=document["proved"])
    if document["tokens_per_return"] is not None:
        yield text("effect.tokens_per_return", tokens=document["tokens_per_return"])
    if any(one["coins"] for one in document["entries"]):
        ids = ", ".join(document["claimed_together"]) or text("effect.none_together")
        yield text("effect.together", ids=ids)
    yield text("effect.unknowable", **document["unknowable"])
    if document["question"]:
        yield document["question"]
    yield from _fault_lines(document["faults"], text)


def _fault_lines(faults: list[dict[str, str]], text: Text) -> Iterator[str]:
    for fault in faults:
        name = text(f"effect.fault_{fault['name']}")
        yield text("effect.fault", fault=name, session=fault["session"], detail=fault["detail"])
