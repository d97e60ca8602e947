"""Where a draft's words come from: a draft is worth as much as the least of its sources."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Provenance, Source

ORDER = (Provenance.PERSON, Provenance.MODEL, Provenance.TOOL, Provenance.DOCUMENT)
"""Best first (issue GenAI-LLM-Top10#66: the class of a candidate is the minimum over its sources)."""


def lowest(sources: Iterable[Source]) -> Provenance:
    """The lowest provenance of the sources; `model` when there are none, for then nobody else spoke."""
    return max((source.provenance for source in sources), key=ORDER.index, default=Provenance.MODEL)


def preselected(provenance: Provenance) -> bool:
    """Whether a draft may be offered with its box ticked: never when tool output or a document spoke."""
    return provenance in (Provenance.PERSON, Provenance.MODEL)


def lowest_sources(sources: Iterable[Source]) -> tuple[Source, ...]:
    """The sources that decide, to be shown with their lines."""
    given = tuple(sources)
    least = lowest(given)
    return tuple(source for source in given if source.provenance is least)


def place(source: Source) -> str:
    """Where a source's words stand and what they say, as far as it tells; may be empty."""
    where = " ".join(part for part in (source.session, f"line {source.line}" if source.line else "") if part)
    return ": ".join(part for part in (where, source.quote) if part)
