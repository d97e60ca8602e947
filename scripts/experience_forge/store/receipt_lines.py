"""A delivery as `log` and `why` show it: when, where, why, and what proves it."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import files, ledger
from .home import Home


@dataclass(frozen=True)
class Line:
    """One delivery; `verdict` is open until the worker has looked into the client's record."""

    entry: str
    at: str
    session: str
    event: str
    place: str
    form: str
    characters: int
    why: str
    sha256: str
    verdict: str
    source: str = ""
    source_exists: bool = False
    excerpt: str = ""

    def to_json(self) -> dict[str, Any]:
        """As commands print it in JSON."""
        return asdict(self)

    def text(self, message: Callable[..., str]) -> str:
        """As a person reads it; `message` gives the texts in the user's language."""
        verdict = message(f"recall.verdict_{self.verdict}")
        head = f"  {self.at}  {self.session}  {self.place}  {self.form}, {self.characters}: {self.why}"
        lines = [head, f"    {verdict}"]
        if self.source and self.source_exists:
            lines[1] += f": {self.source}"
        elif self.source:
            lines[1] += f": {message('recall.source_gone', source=self.source)}"
            if self.excerpt:
                lines.append(f"    “{self.excerpt}”")
        return "\n".join(lines)


def of(home: Home, exposure: Mapping[str, Any]) -> Line:
    """The line of an exposure as `ledger.with_proofs` gives it; the excerpt comes from the kept proof."""
    proof = exposure.get("proof") or {}
    source = str(proof.get("source", ""))
    exists = bool(source) and Path(source.rpartition(":")[0]).is_file()
    session, entry, at = str(exposure["session"]), str(exposure.get("entry", "")), str(exposure.get("at", ""))
    return Line(
        entry, at, session, str(exposure.get("event", "")), str(exposure.get("place", "")),
        str(exposure.get("form", "")), int(exposure.get("characters") or 0), str(exposure.get("why", "")),
        str(exposure.get("sha256", "")), str(proof.get("verdict", "open")), source, exists,
        _kept(home, session).get((entry, at), "") if source else "",
    )


@functools.lru_cache(maxsize=32)
def _kept(home: Home, session: str) -> Mapping[tuple[str, str], str]:
    path = home.evidence / f"deliveries-{ledger.path_of(home, session).name}"
    found = {}
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return {}
    for raw in data.split(b"\n"):
        try:
            record = json.loads(raw.decode("utf-8")) if raw.strip() else {}
        except (ValueError, RecursionError):
            continue
        found[str(record.get("entry")), str(record.get("exposure"))] = str(record.get("excerpt", ""))
    return found
