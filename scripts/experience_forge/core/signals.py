"""Signals of a session: its events in, scored reasons to keep something out.

`Watch` is fed one event after another and can be put away and taken up again, so that the Stop hook
does each turn's work once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model import Episode, Event, EventKind, Signal, SignalKind, Speaker
from . import checks_output, speakers
from .episodes import Tracker
from .lazy import Pattern
from .phrases import Before, Hit, Phrases
from .scoring import Weights
from .tools import is_edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CALL, _RESULT, _PROMPT, _ANSWER = EventKind.CALL, EventKind.RESULT, EventKind.PROMPT, EventKind.ANSWER
"""A member of an enum costs a search each time that it is named; there are many events."""

QUOTE = 200
WORK_REACH = 3
"""Turns for which an edit or a run counts as what a complaint is about."""

_CHINESE = Pattern(r"[\u4e00-\u9fff]")
_ASKS = Pattern(r"[?？]\s*(?:[*_`)\]]|\s)*$")
_REQUEST = Pattern(
    r"^\W*(?:(?:ok|okay|so|and|now|then|great|good|cool|yes|next|alright|also)[,.!]? )*(?:can|could|would|will)"
    r" (?:you|we|u)\b|请|帮我|给我",
    re.I,
)
_SAME = Pattern(r"\b(?:again|still|also|too|instead|it|this|that|them|those|these)\b|再|还|也|它|这个|那个|刚才", re.I)
_GOES_ON = Pattern(
    r"^\W*(?:yes|yeah|yep|yup|ok(?:ay)?|sure|go (?:ahead|on)|continue|proceed|do it|please do|sounds good"
    r"|let'?s (?:do|go|implement|try)|option \w+"
    r"|[a-d1-9]\b|both|all|right|correct|try again|thanks?|done"
    r"|好|可以|行|继续|执行|是|对|嗯|开始|接着|没错|同意)\b|^.{0,24}$",
    re.I,
)


@dataclass
class Turn:
    """What was found in one user turn."""

    turn: int
    line: int
    speaker: str
    labels: list[str] = field(default_factory=list)
    strength: str = ""
    why: str = ""


class Watch:
    """Follows one session.

    Args:
        phrases: the compiled cues.
        weights: weights by kind.
        explain: cues for root causes and design decisions (`rules/scoring.yaml`, `explain`).
        keep_turns: keep every turn for `turns`; off in the hook, which needs the signals only.
    """

    def __init__(
        self, phrases: Phrases, weights: Weights, explain: Mapping[str, Any], *, keep_turns: bool = True
    ) -> None:
        self.phrases = phrases
        self.weights = weights
        self.causes, self.choices, self.reasons = (
            tuple(map(str, explain.get(name, ()))) for name in ("root_cause", "design", "reason")
        )
        self.keep_turns = keep_turns
        self.turns: list[Turn] = []
        self.signals: list[Signal] = []
        self.tracker = Tracker()
        self.before = _State()

    def feed(self, event: Event) -> None:
        """One event, in the order of the session."""
        state = self.before
        kind = event.kind
        if kind is _CALL:
            edits = is_edit(event)
            if edits or event.command:
                state.calls += 1
                state.stopped = False  # it was told why and went on: the next prompt speaks of what came after
                state.acted = event.turn
                state.tools = True
                state.edits += edits
            if edits:
                self.tracker.feed(event)
        elif kind is _RESULT:
            self.tracker.feed(event)
            self._ran(event)
        elif kind is _PROMPT:
            self._prompt(event)
        elif kind is _ANSWER:
            state.spoke = True
            state.asked = bool(_ASKS.search(event.text[-200:]))
            self._explained(event)
        elif event.marker == "interrupt":
            state.stopped = state.stopped or state.calls > 0
        elif event.marker == "denied":
            self._denied(event)

    def episodes(self) -> tuple[Episode, ...]:
        """The episodes so far."""
        return self.tracker.episodes()

    @property
    def language(self) -> str:
        """`zh` when at least half of the person's prompts hold Chinese, else `en`."""
        return "zh" if self.before.prompts and self.before.chinese * 2 >= self.before.prompts else "en"

    def all_signals(self) -> list[Signal]:
        """Signals of turns and of episodes, in the order of turns."""
        rework = [
            self._signal(
                SignalKind.REWORK,
                episode.turns[0],
                episode.lines[0],
                _described(episode),
                f"rework-{episode.rework_rounds}",
            )
            for episode in self.episodes()
            if episode.rework_rounds >= self.weights.rework_rounds
        ]
        found = [signal for signal in (*self.signals, *rework) if self.weights.counts(signal.detector)]
        return sorted(found, key=lambda signal: (signal.turn, signal.line))

    def _prompt(self, event: Event) -> None:
        state = self.before
        heard = speakers.hear(event.text, headless=event.speaker is not Speaker.PERSON)
        hits: list[Hit] = []
        stated = False
        if heard.speaker is Speaker.PERSON:
            before = state.seen(event.turn)
            hits = self.phrases.find(heard.words, before)
            stated = not hits and self.phrases.states(heard.words, before)
        kinds = [hit.kind for hit in hits]
        for hit in hits:
            self._hit(event, hit)
        if self.keep_turns:
            strength = hits[0].strength if hits else ""
            self.turns.append(Turn(event.turn, event.line, heard.speaker.value, kinds, strength, heard.why))
        if heard.why not in ("machine", "headless"):
            self.tracker.said(
                event,
                correction="correction" in kinds or stated,
                paste_failed=bool(heard.pasted) and checks_output.failed(heard.pasted),
                content="correction" not in kinds and heard.why == "person" and self.phrases.content(heard.words),
                continues=heard.why != "person" or _goes_on(heard.words),
            )
            state.last_prompt = heard.words[:QUOTE]
            state.chinese += not heard.words[:QUOTE].isascii() and bool(_CHINESE.search(heard.words[:QUOTE]))
            state.prompts += 1
        state.next_turn()

    def _hit(self, event: Event, hit: Hit) -> None:
        if hit.quote == self.before.last_hit:
            return  # the client stored the prompt again, after a hook had blocked it
        self.before.last_hit = hit.quote
        kind = SignalKind(hit.kind)
        quote = _as_written(event.text, hit.quote)
        self.signals.append(self._signal(kind, event.turn, event.line, quote, hit.detector, hit.strength))

    def _denied(self, event: Event) -> None:
        self.before.stopped = True
        if event.text:
            self.signals.append(
                self._signal(SignalKind.CORRECTION, event.turn, event.line, event.text, "refused-with-words")
            )

    def _ran(self, event: Event) -> None:
        """A command that failed and, after an edit, passes: its cause was found."""
        state = self.before
        if not event.command:
            return
        if event.failed:
            state.failures[event.command[:120]] = state.failures.get(event.command[:120], 0) + 1
            state.failed_turns += 1
        elif event.command[:120] in state.failures:
            state.fixed = state.failures.pop(event.command[:120])

    def _explained(self, event: Event) -> None:
        """The agent names a cause after several failures, or a choice with its alternatives and reason."""
        state = self.before
        text = event.text[:6000].lower()
        if state.failed_turns >= 2:
            place = _first(self.causes, text)
            if place >= 0:
                self._once(SignalKind.ROOT_CAUSE, event, _around(event.text, place), "cause-after-failures")
                state.failed_turns = 0
        place = _first(self.choices, text)
        if place >= 0 and _first(self.reasons, text) >= 0:
            self._once(SignalKind.DESIGN, event, _around(event.text, place), "alternatives-weighed")

    def _once(self, kind: SignalKind, event: Event, quote: str, detector: str) -> None:
        if not any(signal.kind is kind and signal.turn == event.turn for signal in self.signals):
            self.signals.append(self._signal(kind, event.turn, event.line, quote, detector))

    def _signal(
        self, kind: SignalKind, turn: int, line: int, quote: str, detector: str, strength: str = "strong"
    ) -> Signal:
        return Signal(kind, self.weights.of_signal(kind, strength), turn, line, quote[:QUOTE], detector, strength)

    def to_json(self) -> dict[str, Any]:
        """A mapping that `resume` takes back."""
        return {
            "before": {**vars(self.before), "failures": dict(self.before.failures)},
            "tracker": self.tracker.to_json(),
            "signals": [{**vars(signal), "kind": signal.kind.value} for signal in self.signals[-100:]],
        }

    def resume(self, data: Any) -> None:
        """Take up what `to_json` put away; starts anew when it does not hold."""
        try:
            self.before = _State(**data["before"])
            self.signals = [Signal(**{**item, "kind": SignalKind(item["kind"])}) for item in data["signals"]]
            self.tracker = Tracker.from_json(data["tracker"])
        except (KeyError, TypeError, ValueError):
            self.before, self.signals, self.tracker = _State(), [], Tracker()


def telling(explain: Mapping[str, Any]) -> tuple[str, ...]:
    """The phrases without which an answer explains neither a cause nor a choice."""
    return tuple(str(phrase) for name in ("root_cause", "design") for phrase in explain.get(name) or ())


@dataclass
class _State:
    """What happened before the next prompt."""

    calls: int = 0
    edits: int = 0
    acted: int = -100
    tools: bool = False
    spoke: bool = False
    asked: bool = False
    stopped: bool = False
    ever: bool = False
    last_hit: str = ""
    last_prompt: str = ""
    prompts: int = 0
    chinese: int = 0
    failed_turns: int = 0
    fixed: int = 0
    failures: dict[str, int] = field(default_factory=dict)

    def seen(self, turn: int) -> Before:
        acted = self.calls > 0 or self.spoke
        ever = self.ever or acted
        # Exports without tool records tell nothing of edits: what the agent said has to do.
        work = self.calls > 0 or turn - self.acted <= WORK_REACH if self.tools else ever
        return Before(after=ever, work=work, own=acted, asked=self.asked, stopped=self.stopped, edited=self.edits > 0)

    def next_turn(self) -> None:
        self.ever = self.ever or self.calls > 0 or self.spoke
        self.edits = 0
        self.calls, self.spoke, self.asked, self.stopped = 0, False, False, False


def _first(words: tuple[str, ...], text: str) -> int:
    """Where the first of these words that is there stands; -1 without any."""
    for word in words:
        if word in text:
            return text.find(word)
    return -1


def _as_written(text: str, found: str) -> str:
    """The words of a hit as the person wrote them; cues are matched on lower case with quotations blanked."""
    begin = found.split("‹›", 1)[0].strip()[:40]
    place = text.lower().find(begin) if len(begin) > 3 else -1
    if place < 0:
        return found
    length = len(found) if "‹›" not in found else QUOTE
    return text[place : place + length].split("\n", 1)[0].strip()


def _goes_on(words: str) -> bool:
    """Whether a prompt stays with the matter: a consent, a remark, a question; no new wish."""
    if _GOES_ON.match(words):
        return True
    if _REQUEST.match(words) or not words.rstrip().endswith(("?", "？", "吗", "呢")):
        return len(words) < 120 and bool(_SAME.search(words))
    return True


def _around(text: str, place: int) -> str:
    begin = max(text.rfind("\n", 0, place), text.rfind(". ", 0, place), text.rfind("。", 0, place)) + 1
    return text[begin : begin + QUOTE].strip()


def _described(episode: Episode) -> str:
    paths = ", ".join(path.replace("\\", "/").rsplit("/", 1)[-1] for path in episode.paths[:3])
    told = next(filter(None, map(checks_output.failure_line, episode.errors)), "")
    return f"{episode.rework_rounds} rounds on {paths}" + (f": {told[:80]}" if told else "")
