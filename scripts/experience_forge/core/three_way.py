"""Three-way merge of texts by lines: what a user changed and what an update changed, over what both began with."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Merged:
    """The merged text, and the places where both changed the same lines otherwise: there the user's stand."""

    text: str
    conflicts: tuple[str, ...] = ()


def merge(base: str, mine: str, theirs: str) -> Merged:
    """`mine` with what `theirs` changed since `base`; where both changed the same lines `mine` holds.

    Args:
        base: the text that both were made from.
        mine: the user's.
        theirs: that of the update.
    """
    if mine == theirs or base == theirs:
        return Merged(mine)
    if base == mine:
        return Merged(theirs)
    lines = [text.splitlines(keepends=True) for text in (base, mine, theirs)]
    found: list[str] = []
    conflicts: list[str] = []
    at = [0, 0, 0]
    for anchors in [*_anchors(*lines), tuple(map(len, lines))]:
        gaps = [own[begin:end] for own, begin, end in zip(lines, at, anchors, strict=True)]
        old, own, new = gaps
        if own == old:
            found += new
        elif new in (old, own):
            found += own
        else:
            conflicts.append("".join(new).strip() or "".join(old).strip())
            found += own
        if anchors[0] < len(lines[0]):
            found.append(lines[0][anchors[0]])
        at = [end + 1 for end in anchors]
    return Merged("".join(found), tuple(conflicts))


def _anchors(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, ...]]:
    """Places of lines that all three have, in their order."""
    other = [_matches(base, side) for side in (mine, theirs)]
    return [(place, other[0][place], other[1][place]) for place in range(len(base))
            if place in other[0] and place in other[1]]


def _matches(base: Sequence[str], side: Sequence[str]) -> dict[int, int]:
    blocks = difflib.SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
