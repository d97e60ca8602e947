"""Adds up the journal's records in their order: confirmed bytes, open proofs, faults of the chain. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import Text, told
from .journal_lines import START, Confirmed, Line


class Fault(NamedTuple):
    """One fault of the chain: `kind` is torn, number, earlier or nothing; `number` and `due` are of the record."""

    kind: str
    file: str
    line: int
    number: str = ""
    due: int = 0

    def told(self) -> str:
        """The sentence."""
        where = Text("errors_store.path_line", path=self.file, line=self.line)
        if self.kind == "torn":
            return told(Text("errors_store.chain_torn", where=where))
        if self.kind == "number":
            return told(Text("errors_store.chain_number", where=where, number=self.number, due=self.due))
        earlier = self.kind == "earlier"
        known = Text("errors_store.chain_earlier") if earlier else Text("errors_store.chain_nothing")
        return told(Text("errors_store.chain_order", where=where, known=known))


class Unknown(Exception):
    """A fault that can be named only by who read the whole journal."""


@dataclass
class Fold:
    """What the records so far say.

    `confirmed` is by path, `own` are paths whose bytes were taken back to (no later proof changes theirs), `touched`
    paths that changed since the fold was made. `hashes` are of all records, None when they are not at hand.
    """

    confirmed: dict[str, Confirmed] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    proofs: dict[int, str] = field(default_factory=dict)
    settled: set[int] = field(default_factory=set)
    pending: list[Mapping[str, Any]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    previous: str = START
    seq: int = 0
    records: int = 0
    hashes: set[str] | None = field(default_factory=lambda: {START})
    touched: set[str] = field(default_factory=set)
    _places: dict[int, list[str]] | None = None

    def line(self, line: Line) -> None:
        """Add one line: its place in the chain, then what it says.

        Raises:
            Unknown: for a fault when `hashes` is None.
        """
        if line.record is None:
            self.faults.append(Fault("torn", line.path.name, line.number))
            return
        self._link(line, line.record)
        self.record(line.record)

    def record(self, record: Mapping[str, Any]) -> None:
        """Add what one sound record says."""
        self.records += 1
        what, seq = record.get("what"), int(record["seq"])
        if what in ("proof", "revoked") and "of" in record:
            self._settle(int(record["of"]), str(record["proof"]) if what == "proof" else "")
        if what in ("change", "revoked", "forget"):
            self._files(record, seq, revoked=what == "revoked")
        if what == "change" and _proof(record) == "pending" and seq not in self.settled:
            self.pending.append(record)

    def _link(self, line: Line, record: Mapping[str, Any]) -> None:
        prev, number = record.get("prev"), record.get("seq")
        if prev != self.previous:
            if self.hashes is None:
                raise Unknown
            self.faults.append(Fault("earlier" if prev in self.hashes else "nothing", line.path.name, line.number))
        if number != self.seq + 1:
            self.faults.append(Fault("number", line.path.name, line.number, str(number), self.seq + 1))
        self.seq, self.previous = int(number or 0), line.hash
        if self.hashes is not None:
            self.hashes.add(line.hash)

    def _settle(self, of: int, proof: str) -> None:
        self.settled.add(of)
        self.pending = [one for one in self.pending if int(one["seq"]) != of] if self.pending else []
        if not proof:
            return
        self.proofs[of] = proof
        for path in self._by_seq().get(of, ()):
            known = self.confirmed.get(path)
            if known is not None and known.seq == of and path not in self.own:
                self._put(path, known._replace(proof=proof))

    def _files(self, record: Mapping[str, Any], seq: int, *, revoked: bool) -> None:
        given = record.get("consent") or {}
        proof = self.proofs.get(seq, _proof(record))
        for change in record.get("files", ()):
            path, source = str(change["path"]), change if revoked else given
            self.own.discard(path)
            if change.get("after") is None:
                self.confirmed.pop(path, None)
                self.touched.add(path)
                continue
            if revoked:
                self.own.add(path)
                proof = str(change.get("proof", ""))
            by = str(source.get("by", ""))
            self._put(path, Confirmed(str(change["after"]), proof, seq, str(record["at"]), by))
            if self._places is not None:
                self._places.setdefault(seq, []).append(path)

    def _put(self, path: str, state: Confirmed) -> None:
        self.confirmed[path] = state
        self.touched.add(path)

    def _by_seq(self) -> dict[int, list[str]]:
        """Paths by the record that confirmed them: made when the first proof asks for it."""
        if self._places is None:
            self._places = {}
            for path, state in self.confirmed.items():
                self._places.setdefault(state.seq, []).append(path)
        return self._places


def _proof(record: Mapping[str, Any]) -> str:
    return str((record.get("consent") or {}).get("proof", ""))
