"""The compact history of a session that scans keep: what a backtest needs, and nothing else.

One mapping a line of `evidence/history/<session>.jsonl`. A call: `l` line, `t` turn, `c` command or
`p` path, `r` line of its result, `f` 1 when it failed, `s` the signature words of the lines of its
output that tell something, `v` [program, version] when it asked for one. A prompt: `l`, `t`, `w` its
search words. Words only: no text of the session can be read back from outputs or prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ..fast import signature, tokens
from ..model import Event
from .conditions import Lexicon
from .freshness import seen_version
from .steps import Step, steps_of

VERSION: Final = 1
COMMAND_KEPT: Final = 400
LINES_KEPT: Final = 24
WORDS_IN_LINE: Final = 24
PROMPT_WORDS: Final = 150
SHORT_OUTPUT: Final = 6
"""Outputs of so few lines are kept whole: "Already up to date" is no error, and yet telling."""


def history_lines(
    events: Iterable[Event], lists: Lexicon, redact: Callable[[str], str] = lambda text: text
) -> list[dict[str, Any]]:
    """The history of one session's events, in their order.

    Args:
        lists: the word lists (`store.condition_rules.lexicon()`).
        redact: takes secrets out of a text; applied to commands, outputs and prompts before anything
            is kept of them.
    """
    found: list[dict[str, Any]] = []
    calls: dict[int, dict[str, Any]] = {}
    kept = [event for event in events if event.kind.value in ("prompt", "call", "result")]
    texts = {event.line: event.text for event in kept if event.kind.value == "prompt"}
    for step in steps_of(kept):
        if step.kind == "prompt":
            words = list(dict.fromkeys(tokens.terms(redact(texts.get(step.line, "")))))
            found.append({"l": step.line, "t": step.turn, "w": " ".join(words[:PROMPT_WORDS])})
        elif step.kind == "call":
            found.append(_call(step, redact))
            calls[step.line] = found[-1]
        else:
            line = calls.get(step.call_line)
            if line is None:
                line = {"l": step.line, "t": step.turn, **_command(step, redact)}
                found.append(line)
            line["r"] = step.line
            _result(line, step, lists, redact)
    return found


def _call(step: Step, redact: Callable[[str], str]) -> dict[str, Any]:
    return {"l": step.line, "t": step.turn, **_command(step, redact)}


def _command(step: Step, redact: Callable[[str], str]) -> dict[str, Any]:
    if step.command:
        return {"c": redact(step.command)[:COMMAND_KEPT]}
    return {"p": step.path} if step.path else {}


def _result(line: dict[str, Any], step: Step, lists: Lexicon, redact: Callable[[str], str]) -> None:
    if step.failed:
        line["f"] = 1
    lines = telling_lines(step.output, lists, redact)
    if lines:
        line["s"] = lines
    version = seen_version(step.command, step.output)
    if version:
        line["v"] = list(version)


def telling_lines(output: str, lists: Lexicon, redact: Callable[[str], str] = lambda text: text) -> list[str]:
    """Signature words, joined by blanks, of the lines that tell of a failure with both neighbours.

    A short output is kept whole. The last ones are kept when there are too many: a trace ends with
    its error.
    """
    lines = [line for line in tokens.without_ansi(tokens.clipped(output, 16000)).split("\n") if line.strip()]
    if len(lines) > SHORT_OUTPUT:
        chosen = {near for at, line in enumerate(lines) if lists.says_failure(line) for near in (at - 1, at, at + 1)}
        lines = [line for at, line in enumerate(lines) if at in chosen]
    kept = "\n".join(line[:2000] for line in lines[-LINES_KEPT:])
    words = (" ".join(signature.words(line)[:WORDS_IN_LINE]) for line in redact(kept).split("\n") if kept)
    return [line for line in words if line]


def steps_from(lines: Iterable[Mapping[str, Any]]) -> list[Step]:
    """The steps of a kept history, as `steps_of` gave them for the session itself."""
    found: list[Step] = []
    words: frozenset[str] = frozenset()
    for line in lines:
        number, turn = int(line.get("l", 0)), int(line.get("t", -1))
        if "w" in line:
            words = frozenset(str(line["w"]).split())
            found.append(Step("prompt", number, turn, words=words))
            continue
        command, path = str(line.get("c", "")), str(line.get("p", ""))
        ident = f"#{number}"
        if line.get("r") != number:
            found.append(Step("call", number, turn, command, path, number, ident, words=words))
        if "r" in line:
            outputs = [frozenset(str(part).split()) for part in line.get("s", ())]
            found.append(Step(
                "result", int(line["r"]), turn, command, path, number, ident, bool(line.get("f")), "", words, outputs,
            ))  # fmt: skip
    # Parallel calls: results come after all their calls in the transcript.
    found.sort(key=lambda step: step.line)
    return found
