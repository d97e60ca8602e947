"""Matches conditions against the steps of a session, and proposes them from an episode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..fast import globs, shellwords, signature, tokens
from ..model import Condition, Episode
from . import checks_output
from .steps import Step

Segment = tuple[dict[str, float], float]

PROPOSED: Final = 3
WORDS_KEPT: Final = 3
LEAST_WORDS: Final = 2
LONGEST_PIECE: Final = 6
"""Characters of a Chinese piece: a longer one is half a sentence, which nobody says again."""
TELLING: Final = 3.0
"""Weight below which an error text is one everyday word, such as `FAIL`: it would match anything."""


@dataclass(frozen=True)
class Lexicon:
    """The word lists of `rules/conditions.yaml`."""

    everywhere: frozenset[str]
    with_subcommand: frozenset[str]
    failure_cues: tuple[str, ...]
    said_often: frozenset[str]
    says_nothing: tuple[str, ...]
    joints: tuple[str, ...] = ()
    """Chinese words at which a sentence falls into pieces that are words of their own."""
    weights: Mapping[str, float] = field(default_factory=dict)

    def says_nothing_of(self, text: str) -> bool:
        """Whether a line is a task runner's remark that something failed, not what failed."""
        low = text.lower()
        return any(phrase in low for phrase in self.says_nothing)

    def says_failure(self, text: str) -> bool:
        """Whether a line of output sounds like a failure or a refusal; generous."""
        low = text.lower()
        return any(cue in low for cue in self.failure_cues)


def lexicon(rules: Mapping[str, Any], weights: Mapping[str, float] | None = None) -> Lexicon:
    """The lists of a rule file as read from YAML, and the weights of generic error words."""
    return Lexicon(
        frozenset(str(rules["everywhere"]).split()), frozenset(str(rules["with_subcommand"]).split()),
        tuple(str(cue) for cue in rules["failure_cues"]), frozenset(tokens.terms(str(rules["said_often"]))),
        tuple(str(phrase) for phrase in rules["says_nothing"]),
        tuple(sorted(str(rules["joints"]).split(), key=lambda joint: -len(joint))), dict(weights or {}),
    )  # fmt: skip


@dataclass(frozen=True)
class Matcher:
    """One condition made ready; `weights` are the shipped weights of generic error words."""

    condition: Condition
    segments: tuple[Segment, ...]
    words: frozenset[str]
    root: str = ""

    @property
    def sees(self) -> str:
        """The kind of step on which the condition is decided: `result`, `call` or `prompt`."""
        if self.condition.error:
            return "result"
        return "call" if self.condition.command or self.condition.path else "prompt"

    def matches(self, step: Step) -> bool:
        """Whether all parts hold at this step."""
        condition = self.condition
        if step.kind != self.sees:
            return False
        if self.words and not self.words <= step.words:
            return False
        if condition.command and not _command(condition.command, step):
            return False
        if condition.path and not self._path(step):
            return False
        return not condition.error or any(
            signature.share_seen(pairs, step.lines) >= share - 1e-9 for pairs, share in self.segments
        )

    def _path(self, step: Step) -> bool:
        """Whether the file, or beside a command pattern one of the command's words, fits the path."""
        if step.path:
            return globs.matches(self.condition.path, step.path, self.root)
        return bool(self.condition.command) and any(
            globs.matches(self.condition.path, word, self.root) for words in step.commands for word in words[1:]
        )

    def possible(self, step: Step) -> bool:
        """Whether the condition could have shown itself at this step at all."""
        if step.kind != self.sees:
            return False
        return bool(step.path) if self.condition.path and not self.condition.command else True


def matcher(condition: Condition, weights: Mapping[str, float] | None = None, root: str = "") -> Matcher:
    """A condition made ready for many steps; of an error text only its telling sentences are kept."""
    known = dict(weights or {})
    compiled = [signature.compiled(segment, known) for segment in signature.segments(condition.error)]
    # As in the recall index: one of several sentences must be telling by itself ("see the log" is not).
    telling = tuple(
        segment for segment in compiled
        if segment is not None and (len(compiled) == 1 or sum(segment[0].values()) >= signature.FULL)
    )
    return Matcher(condition, telling, frozenset(tokens.terms(condition.words)), root)


def matchers(
    conditions: Iterable[Condition], weights: Mapping[str, float] | None = None, root: str = ""
) -> tuple[Matcher, ...]:
    """All conditions made ready; those that can never match are left out."""
    made = (matcher(condition, weights, root) for condition in conditions)
    return tuple(one for one in made if one.condition.parts() and usable(one))


def usable(one: Matcher) -> bool:
    """Whether a condition says anything: an error of one everyday word, or words of stop words only, do not."""
    if one.condition.error and all(sum(pairs.values()) < TELLING for pairs, _ in one.segments):
        return False
    if one.condition.words and not one.words:
        return False
    return bool(one.condition.parts()) and one.condition.command.strip() not in ("*", "**")


def testable(applies: Sequence[Condition], fails: Sequence[Condition]) -> bool:
    """Whether an entry can be tested: a usable trigger and a usable falsifier."""
    return bool(matchers(applies)) and bool(matchers(fails))


def _command(pattern: str, step: Step) -> bool:
    return any(shellwords.matches(pattern, words) for words in step.commands)


def pattern_of(command: str, lists: Lexicon) -> str:
    """A shell-word pattern for a command line: program and subcommand of its first telling command."""
    for words in shellwords.commands(command):
        name = shellwords.name_of(words[0])
        if name in lists.everywhere or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
            continue
        if name in lists.with_subcommand:
            second = next((word for word in words[1:] if not word.startswith("-")), "")
            if name in ("python", "python3") and "-m" in words[1:-1]:
                return f"{name} -m {words[words.index('-m') + 1]} *"
            if second and " " not in second and len(second) <= 60:
                return f"{name} {second} *"
        return f"{name} *"
    return ""


def error_of(text: str, lists: Lexicon) -> str:
    """The telling line of an output without its place in a file, at most 200 characters; empty when there is none.

    Only a line that the judge can use as a condition is one: `FAIL` alone is passed over for the next best.
    Lines in the form of a failure come before lines that only sound like one; a quoted name counts much.
    """
    best, heaviest = "", 0.0
    for segment in signature.segments(tokens.clipped(text, 16000))[:400]:
        plain = _PLACE.sub("", " ".join(segment.split()))
        made = signature.compiled(plain, {})
        if made is None or not lists.says_failure(segment) or lists.says_nothing_of(segment) or _CODE.search(plain):
            continue
        if not usable(matcher(Condition(error=plain[:200]), lists.weights)):
            continue
        heavy = min(sum(made[0].values()), 40.0) + (20.0 if signature.quoted(plain) else 0.0)
        heavy += 60.0 if checks_output.failure_line(segment) else 0.0
        if heavy > heaviest:
            best, heaviest = plain, heavy
    return best[:200]


_PLACE: Final = re.compile(r"^(?:\[[\w:.-]+\]\s+)?(?:[^\s:(]+(?::\d+)+:?\s+|[^\s:(]+\(\d+(?:,\d+)?\):?\s+)+")
_CODE: Final = re.compile(r"[{;]$|^\s*(?:return|if|for|func|def|_ =|throw)\b|^\w+(?:\.\w+)+\(")


def proposed(
    episode: Episode, lists: Lexicon, corrections: Sequence[str] = ()
) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
    """Conditions for a draft, from what happened: (applies_when, fails_when).

    A failing command with its error is the best trigger, and the same failure the falsifier; a
    correction is found again by its words; an edited file alone is a trigger of last resort, and no
    falsifier.

    Args:
        corrections: sentences in which the person said what was wrong.
    """
    found = (error_of(text, lists) for text in episode.errors)
    errors = list(dict.fromkeys(line for line in found if line))[:PROPOSED]
    patterns = (pattern_of(command, lists) for command in episode.commands)
    commands = list(dict.fromkeys(pattern for pattern in patterns if pattern))[:PROPOSED]
    applies = [Condition(error=error) for error in errors]
    fails = [Condition(error=error) for error in errors]
    if not errors:
        applies += [Condition(command=command) for command in commands]
    for correction in corrections[:PROPOSED]:
        words = key_words(correction, lists)
        if words:
            fails.append(Condition(words=words))
    if not applies:
        named = [path for path in episode.paths if "." in path.replace("\\", "/").rpartition("/")[2]]
        applies = [Condition(path=_glob(path)) for path in named[:PROPOSED]]
    return tuple(applies), tuple(fails)


def key_words(sentence: str, lists: Lexicon) -> str:
    """The two or three longest telling words of a sentence as the person wrote them; empty when it has too few.

    A repeated correction would hold them again: each is met in the very sentence by its search words.
    """
    said = set(tokens.terms(sentence))
    latin = [word for word in dict.fromkeys(_LATIN.findall(sentence)) if _telling(word, said, lists)]
    if len(latin) < LEAST_WORDS:
        pieces = (piece for run in _CHINESE.findall(sentence) for piece in _pieces(run, lists.joints))
        found = [piece for piece in dict.fromkeys(pieces) if 2 <= len(piece) <= LONGEST_PIECE]
        latin += [piece for piece in found if said.issuperset(tokens.terms(piece))]
    kept = sorted(latin, key=lambda word: -len(word))[:WORDS_KEPT]
    # One ordinary word would be met in all kinds of prompts.
    return " ".join(word for word in latin if word in kept) if len(kept) >= LEAST_WORDS else ""


_LATIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*")
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]+")


def _telling(word: str, said: set[str], lists: Lexicon) -> bool:
    found = tokens.terms(word)
    return len(word) > 2 and bool(found) and said.issuperset(found) and lists.said_often.isdisjoint(found)


def _pieces(run: str, joints: Sequence[str]) -> list[str]:
    for joint in joints:
        run = run.replace(joint, " ")
    return run.split()


def _glob(path: str) -> str:
    plain = path.replace("\\", "/")
    return "**/" + "/".join(plain.split("/")[-2:]) if "/" in plain else plain
