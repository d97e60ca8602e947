"""Binding an entry to what it stands on: cited spans, versions, a review date."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ..fast import spans, versions
from ..fast.freshness import delivery
from ..model import Cite, Entry

__all__ = ["bind", "bind_fault", "compiled", "delivery", "seen_version"]

_ASKS: Final = re.compile(
    r"(?:^|[;&|]\s*)(?:\S*/)?([A-Za-z][\w.-]{0,63})\s+(?:--version|-V|-version)\s*(?:$|[;&|>])"
)
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+){1,3}(?:[-+.][0-9A-Za-z.]+)?)")
MAX_PREDICATE: Final = 200


def bind(cite: Cite, text: str) -> Cite:
    """The cite with the normalised hash of its span in `text`, the file's content now."""
    words = spans.span(text, cite.lines, cite.path.endswith(spans.INDENTED))
    return replace(cite, hash=spans.digest(words))


def bind_fault(cite: Cite, text: str | None) -> str:
    """Why a cite can't be bound (`no_file`, `no_lines`), empty when it can."""
    if text is None:
        return "no_file"
    return "" if spans.span(text, cite.lines, cite.path.endswith(spans.INDENTED)) else "no_lines"


def compiled(entry: Entry) -> list[str]:
    """The lines of `derived/freshness.tsv` for one entry, fields parted by tabs; none when never bound."""
    lines = [
        "\t".join((entry.id, "cite", cite.path, cite.lines, cite.hash, entry.project)) for cite in entry.cites
    ]
    lines += ["\t".join((entry.id, "version", predicate)) for predicate in entry.versions]
    if entry.review:
        lines.append("\t".join((entry.id, "review", entry.review)))
    return [line for line in lines if "\n" not in line and len(line) < 2000]


def version_faults(predicates: Iterable[str]) -> list[str]:
    """Predicates that can't be checked: not of the form `name>=1.2,<2`."""
    return [text for text in predicates if len(text) > MAX_PREDICATE or not versions.parse(text)[1]]


def seen_version(command: str, output: str) -> tuple[str, str] | None:
    """(name, version) when a command asks a program for its version and the output tells it."""
    asks = _ASKS.search(command[:500])
    found = _VERSION.search(output[:500]) if asks else None
    return (asks[1].lower(), found[1]) if asks and found else None
