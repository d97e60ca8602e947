"""A delivery as `log` and `why` show it: when, where, why, and what proves it."""

from __future__ import annotations

import functools
import json
import re
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

    def text(self, message: Callable[..., str], word: Callable[[str, str], str], moment: Callable[[str], str]) -> str:
        """As a person reads it.

        Args:
            message, word, moment: texts, words and times as the user reads them (see `report.Output`).
        """
        head = message(
            "recall.delivery", at=moment(self.at), session=self.session, place=self.place,
            form=word("form", self.form), characters=self.characters, why=self._why(message),
        )
        verdict = message(f"recall.verdict_{self.verdict}")
        source = self.source if self.source_exists else message("recall.source_gone", source=self.source)
        lines = [head, "    " + (message("words.count", name=verdict, count=source) if self.source else verdict)]
        if self.source and not self.source_exists and self.excerpt:
            lines.append(f"    “{self.excerpt}”")
        return "\n".join(lines)

    def _why(self, message: Callable[..., str]) -> str:
        """The reason in the user's language: hooks write theirs in English, since they read no texts."""
        for name, form in _WHY:
            found = form.fullmatch(self.why)
            if found:
                return message(f"recall.why_{name}", **found.groupdict())
        return self.why


_WHY = tuple((name, re.compile(form)) for name, form in (
    ("signature", r"error signature, (?P<share>\d+) % seen"),
    ("place", r"project, branch and commits, score (?P<score>[\d.]+)"),
    ("project", r"an entry of this project"),
    ("asked", r"the model asked for it"),
    ("loaded", r"always loaded, or with its skill"),
    ("words", r"words"),
    ("search", r"search, score (?P<score>[\d.]+)"),
))


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
