"""The outcome of an opportunity, by `fails_when` on later steps; knows nothing of the coin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .conditions import Matcher
from .steps import Step

BAD, GOOD, UNKNOWN = "bad", "good", "unknown"


@dataclass(frozen=True)
class Judged:
    """`outcome` (bad, good, unknown), `reason` as a message name, `line` of the transcript (0: none)."""

    outcome: str
    reason: str
    line: int = 0


def judge(
    steps: Sequence[Step],
    falsifiers: Sequence[Matcher],
    trigger: int,
    *,
    last_line: int = 0,
    damaged: Sequence[int] = (),
) -> Judged:
    """What followed the trigger at line `trigger`.

    Bad when a falsifier matches a later step; good when none does although one could have shown
    itself; unknown otherwise. The result of the very call that triggered is no later step: the
    entry is delivered with it, too late to change it.

    Args:
        last_line: last line of the transcript; a trigger beyond it is not in this transcript.
        damaged: lines that could not be read; a failure may hide in one after the trigger.
    """
    if not falsifiers:
        return Judged(UNKNOWN, "no_falsifier")
    if trigger <= 0 or (last_line and trigger > last_line):
        return Judged(UNKNOWN, "no_trigger_line")
    own = {step.call_id for step in steps if step.line == trigger and step.kind == "call" and step.call_id}
    later = [
        step for step in steps
        if step.line > trigger and not (step.kind == "result" and (step.call_id in own or step.call_line == trigger))
    ]
    for step in later:
        if any(falsifier.matches(step) for falsifier in falsifiers):
            return Judged(BAD, "came_back", step.line)
    torn = [line for line in damaged if line > trigger]
    if torn:
        return Judged(UNKNOWN, "damaged_lines", torn[0])
    chances = [step for step in later if any(falsifier.possible(step) for falsifier in falsifiers)]
    if not chances:
        return Judged(UNKNOWN, "nothing_followed")
    return Judged(GOOD, "did_not_come_back", chances[-1].line)
