"""What of a session is worth a look, and which findings of several sessions are the same problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..fast import signature, tokens
from ..model import Episode, Signal, SignalKind

SAME = 0.5
"""Share of words in common from which two findings of one kind are the same problem."""
COMMON = 200
"""A word that more findings hold joins nothing."""


@dataclass(frozen=True)
class Finding:
    """One moment of one session: its signals' kinds and sum, the words to know it by, and where it stands."""

    kinds: tuple[str, ...]
    score: float
    quote: str
    detector: str
    turn: int
    line: int
    words: tuple[str, ...]
    errors: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    rounds: int = 0


def of_session(signals: Sequence[Signal], episodes: Sequence[Episode], rounds: int = 2) -> list[Finding]:
    """The findings of one session: its episodes with rework, and each signal outside of them, best first."""
    found = []
    taken: set[int] = set()
    for episode in episodes:
        if episode.rework_rounds < rounds:
            continue
        inside = [n for n, signal in enumerate(signals) if _within(signal, episode)]
        taken.update(inside)
        found.append(_of_episode(episode, [signals[n] for n in inside]))
    for number, signal in enumerate(signals):
        if number not in taken:
            found.append(
                Finding(
                    (signal.kind.value,),
                    signal.weight,
                    signal.quote,
                    signal.detector,
                    signal.turn,
                    signal.line,
                    _words(signal.quote),
                )
            )
    return sorted(found, key=lambda item: (-item.score, item.turn))


def groups(found: Iterable[tuple[str, Finding]]) -> list[list[tuple[str, Finding]]]:
    """Findings of several sessions put together where they are the same problem; the largest score first.

    Args:
        found: pairs of a session's key and a finding.
    """
    items = list(found)
    holders: dict[tuple[str, str], list[int]] = {}
    joined: list[list[int]] = []
    home: dict[int, int] = {}
    for number, (_, finding) in enumerate(items):
        near = _nearest(items, number, holders)
        if near is None:
            home[number] = len(joined)
            joined.append([number])
        else:
            home[number] = home[near]
            joined[home[near]].append(number)
        for word in set(finding.words):
            holders.setdefault((finding.kinds[0], word), []).append(number)
    result = [[items[number] for number in group] for group in joined]
    return sorted(result, key=lambda group: (-rank(group), group[0][0], group[0][1].turn))


def rank(group: Sequence[tuple[str, Finding]]) -> float:
    """By what a group is listed: its best score, and half a point for each further session it came back in."""
    return max(finding.score for _, finding in group) + 0.5 * (len({key for key, _ in group}) - 1)


def _nearest(
    items: Sequence[tuple[str, Finding]], number: int, holders: dict[tuple[str, str], list[int]]
) -> int | None:
    finding = items[number][1]
    words = set(finding.words)
    if not words:
        return None
    counts: dict[int, int] = {}
    for word in words:
        others = holders.get((finding.kinds[0], word), ())
        for other in others if len(others) <= COMMON else ():
            counts[other] = counts.get(other, 0) + 1
    best, share = None, SAME
    for other, count in counts.items():
        now = count / len(words | set(items[other][1].words))
        if now >= share:
            best, share = other, now
    return best


def _within(signal: Signal, episode: Episode) -> bool:
    if signal.kind is SignalKind.PREFERENCE:
        return False  # a preference is an entry of its own, whatever problem it was said in
    return episode.turns[0] <= signal.turn <= episode.turns[1]


def _of_episode(episode: Episode, signals: Sequence[Signal]) -> Finding:
    best = {signal.kind: signal for signal in sorted(signals, key=lambda signal: signal.weight)}
    rework = best.get(SignalKind.REWORK)
    quote = next(
        (signal.quote for signal in signals if signal.kind is SignalKind.CORRECTION), rework.quote if rework else ""
    )
    words = set(_words(" ".join(path.replace("\\", "/").rsplit("/", 1)[-1] for path in episode.paths[:4])))
    for error in episode.errors[:2]:
        words.update(signature.words(error.split("\n", 2)[-1][:400]))
    return Finding(
        tuple(kind.value for kind in best) or (SignalKind.REWORK.value,),
        sum(signal.weight for signal in best.values()),
        quote,
        f"rework-{episode.rework_rounds}",
        episode.turns[0],
        episode.lines[0],
        tuple(sorted(words))[:40],
        tuple(error[:200] for error in episode.errors[:2]),
        tuple(episode.paths[:4]),
        episode.rework_rounds,
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(sorted(set(tokens.terms(text[:300]))))[:40]
