"""Ranking for the command line: what the hooks' own code found, with vectors added when there are some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

VECTOR_POINTS = 40.0
"""What a cosine of 1 adds to a lexical score; measured with a small multilingual encoder at 300 entries."""


@dataclass(frozen=True)
class Found:
    """One entry that fits a query: its score, and what it stands on.

    `share` is how much of an error signature was seen (0 to 1), `cosine` the centred similarity of
    meaning, None without vectors.
    """

    id: str
    title: str
    rule: str
    track: str
    project: str
    status: str
    score: float
    share: float = 0.0
    cosine: float | None = None
    kind: str = ""

    @property
    def outdated(self) -> bool:
        """Whether it must be shown with a mark."""
        return self.status == "outdated"


def blended(lexical: Mapping[str, float], cosines: Mapping[str, float], limit: int) -> list[tuple[float, str]]:
    """Lexical scores plus weighted cosines by id, best first; ids known to one side only are kept.

    Addition, not ranks: a score can be compared with a threshold, a merged rank can't.
    """
    scores = {
        name: lexical.get(name, 0.0) + VECTOR_POINTS * max(0.0, cosines.get(name, 0.0))
        for name in {*lexical, *cosines}
    }
    return sorted(((score, name) for name, score in scores.items()), key=lambda one: (-one[0], one[1]))[:limit]


def centred(vectors: Mapping[str, Sequence[float]], languages: Mapping[str, str]) -> dict[str, list[float]]:
    """Vectors minus the mean of their language, scaled to length 1.

    Encoders put a language's texts into a corner of their own; without this a query finds its own
    language rather than its meaning.
    """
    groups: dict[str, list[str]] = {}
    for name in vectors:
        groups.setdefault(languages.get(name, "en"), []).append(name)
    result = {}
    for names in groups.values():
        # One or two vectors have no mean worth taking away: it would leave nothing of them.
        mean = mean_of([vectors[name] for name in names]) if len(names) > 2 else [0.0] * len(vectors[names[0]])
        for name in names:
            result[name] = unit([value - middle for value, middle in zip(vectors[name], mean, strict=True)])
    return result


def mean_of(vectors: Sequence[Sequence[float]]) -> list[float]:
    """The mean vector; empty for none."""
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)] if vectors else []


def unit(vector: Sequence[float]) -> list[float]:
    """The vector scaled to length 1; zero stays zero."""
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector] if length else list(vector)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Dot product of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))
