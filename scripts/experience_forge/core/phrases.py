"""Finds corrections and lasting preferences in a person's words, clause by clause, in both languages.

The cues are data (`rules/phrases.yaml`); this module compiles and applies them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import Invalid, Text
from .lazy import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONG_WORDS = 700
"""Above this many characters a prompt is a specification: only its beginning and end are read for cues."""
LONG_HEAD, LONG_TAIL = 400, 250
START_REACH = 320
CONTENT_WORDS = 120
"""Longer praise goes on to something else."""
FEW = 20
"""Prompts from which looking hints up by words pays; the Stop hook reads fewer."""
WORD_KEPT, WORDS_KEPT = 24, 20_000
"""Words of a text that are remembered: how long, how many."""
COMPLAINT_WORDS, COMPLAINT_HEAD = 300, 160
"""In a prompt above 300 characters a complaint about the work stands at its head: further in, the same words
describe what is to be built."""

_SENTENCE = Pattern(
    r"[^.!?。！？;；\n…]*(?:(?<!\.)\.(?![\s.\u4e00-\u9fff]|$)[^.!?。！？;；\n…]*)*(?:[.!?。！？;；…]+|\n+|$)"
)
_CLAUSE_END = Pattern(
    r"[,，、:：—(（)）]+|\s-+\s|\.{2,}|…+| (?=(?:but|because|since|so that|although|though|however|while|whereas) )"
)
_CLAUSE_SIGNS = (
    ",", ":", "-", "(", ")", "..", " but ", " because ", " since ", " so that ", " although ", " though ", " however ",
    " while ", " whereas ",
)  # fmt: skip
"""Where none of these is, ASCII text has no end of a clause within."""
_ASKS = Pattern(
    r"^\W*(?:(?:ok|okay|so|and|but|hmm+|well|also|then|now|wait|just|sorry|hey|oh|question|actually|or)[,:]? )*"
    r"(?:why|what|how|where|when|which|who|whose|is|are|am|was|were|do(?! not)|does|did|can|could|should"
    r"|would|will|shall|has|have|any)\b"
    r"(?! (?:nothing|not|still|no|now|again|also|broken|wrong|empty|missing|incorrect|worse|too)\b)"
    r"|^\W*(?:(?:ok|okay|so|and|but|hmm+|well|also|then|now|wait|just|sorry|hey|oh|actually|or)[,:]? )*"
    r"(?:is|are|was|were|do|does|did|has|have|should|would|could|can|ca|wo)n'?t"
    r" (?:it|this|that|these|those|there|we|you|they|i|he|she|the|my|our|your|its)\b"
)
_TAG = Pattern(
    r"[,，] ?(?:ok(?:ay)?|please|got it|understood|deal|alright|thanks"
    r"|好吗|好不好|行吗|可以吗|知道了?吗|明白了?吗|懂吗|听到没)\s?[?？]+$"
)
"""What softens an order and asks nothing."""
_BULLET = Pattern(r"^(?:[-*•]|\d+[.)、])\s+")
_GOES_ON = Pattern(
    r"^(?:(?:please|wait|no|oh|sorry|ok|okay|yes),? )*"
    r"(?:continue|go on|go ahead|resume|proceed|carry on|keep going|try again|yes|ok|done)\b"
    r"|^(?:继续|接着|好了?|可以|执行)|\bbefore you (?:go|continue|start)\b[^.]{0,12}\balso\b|^(?:also|one more thing)\b"
)
_ASKED = Pattern(r"(?<![?？])[?？](?![?？])|怎么(?:切换|用|改|做|弄|办|配|处理|写|看)|如何")
"""A question asks once; `??` exclaims."""
_ZH_ASKS = Pattern(
    r"(?:吗|么|呢)[?？。.!！…\s]*$|[?？]\s*$|^(?:那|所以)?(?:为什么|为啥)"
    r"|^[^，,]*(?:能不能|会不会|是不是|有没有|要不要|可不可以|支不支持|对不对|行不行|怎么(?:切换|用|改|做|弄|办|配|处理|写|看)|如何)"
)


@dataclass(frozen=True)
class Cue:
    """One general form of the language that marks a correction or a preference."""

    name: str
    kind: str
    reads: str
    needs: str
    question: bool
    general: bool
    short: int
    hint: tuple[str, ...]
    find: Pattern
    spoil: Pattern | None
    also: str


@dataclass(frozen=True)
class Hit:
    """A cue found in a prompt, with the words that hold it."""

    kind: str
    detector: str
    quote: str
    strength: str = "strong"


@dataclass(frozen=True)
class Before:
    """What the agent had done before a prompt.

    `after`: it said or did something in this session; `work`: it changed or ran something in the
    last turns; `own`: it acted or answered in the turn just before; `asked`: its last answer ended in
    a question; `stopped`: the person interrupted or refused what it was doing; `edited`: it changed
    files in the turn just before.
    """

    after: bool = False
    work: bool = False
    own: bool = False
    asked: bool = False
    stopped: bool = False
    edited: bool = False

    def allows(self, needs: str) -> bool:
        """Whether a cue with this need counts here."""
        return needs == "none" or bool(getattr(self, needs))


class _Text:
    """A stretch of the prompt; what damps a cue in it is looked for only when a cue was found."""

    __slots__ = ("_question", "_rules", "calm_in", "sentence", "text")

    def __init__(
        self, rules: Phrases, text: str, question: bool | None, calm_in: str | None = None, sentence: str | None = None
    ) -> None:
        self._rules, self.text, self._question = rules, text, question
        self.calm_in = text if calm_in is None else calm_in
        self.sentence = text if sentence is None else sentence

    @property
    def question(self) -> bool:
        """Whether it asks."""
        if self._question is None:
            self._question = is_question(self.text)
        return self._question

    def damps(self, cue: Cue) -> bool:
        """Whether a question, praise, or something merely supposed takes the cue back."""
        if not cue.question and self.question:
            return True
        if cue.kind != "correction":
            return False
        rules = self._rules
        calm = rules.calm.search(self.calm_in) or rules.turned.search(self.sentence)
        if calm or rules.third_party.search(self.sentence):
            return True
        return bool(cue.needs in ("work", "own") and rules.supposed.search(self.text))


class _Parts:
    """A prompt as the cues read it: its start, its sentences, its clauses; each made when first read."""

    def __init__(self, rules: Phrases, plain: str) -> None:
        self._rules, self._plain = rules, plain
        self._made: dict[str, list[_Text]] = {}
        self._describes: bool | None = None

    def __getitem__(self, reads: str) -> list[_Text]:
        if reads not in self._made:
            self._made[reads] = {"start": self._start, "sentence": self._sentences, "clause": self._clauses}[reads]()
        return self._made[reads]

    @property
    def asks_first(self) -> bool:
        """Whether the prompt begins with a question: what follows then mostly gives its background."""
        sentences = self["sentence"]
        return bool(sentences) and sentences[0].question

    @property
    def describes(self) -> bool:
        """Whether the prompt begins with a consent or an order, or asks anything."""
        if self._describes is None:
            plain, rules = self._plain, self._rules
            self._describes = bool(
                _ASKED.search(plain) or rules.consents.match(plain) or rules.orders.match(plain)
            )
        return self._describes

    def _start(self) -> list[_Text]:
        start = self._plain
        if start[0] == "@":
            start = re.sub(r"^(?:@\S+\s+)+", "", start)
        start = start[:START_REACH]
        first = next(iter(_SENTENCE.findall(start)), start)
        return [_Text(self._rules, start, is_question(first.strip()), first[:60])]

    def _sentences(self) -> list[_Text]:
        texts = (sentence.strip() for text in _looked_at(self._plain) for sentence in _SENTENCE.findall(text))
        return [_Text(self._rules, text, None) for text in texts if text]

    def _clauses(self) -> list[_Text]:
        found = []
        for sentence in self["sentence"]:
            text = sentence.text
            if text[-1] in "?？":
                text = _TAG.sub("", text)
            whole = text.isascii() and not any(map(text.__contains__, _CLAUSE_SIGNS))
            cut = [text] if whole else _CLAUSE_END.split(text)
            parts = [part.strip() for part in cut if part and part.strip()]
            found += [_Text(self._rules, part, None, sentence=text) for part in parts]
            if parts and text.rstrip().endswith(("?", "？")):
                found[-1] = _Text(self._rules, parts[-1], True, sentence=text)
        return found


class Phrases:
    """The compiled cues.

    Args:
        rules: the mapping of `rules/phrases.yaml`, with sets still named or already filled in.

    Raises:
        Invalid: naming every cue that does not hold.
    """

    def __init__(self, rules: Mapping[str, Any]) -> None:
        sets = {f"{{{name}}}": str(text) for name, text in dict(rules.get("sets") or {}).items()}
        faults: list[Text] = []
        self.cues = tuple(cue for item in rules.get("cues") or () if (cue := _cue(item, sets, faults)))
        self._hints = _indexed(self.cues)
        self._by_start: dict[str, list[tuple[str, str, set[int]]]] = {}
        self._known: dict[str, tuple[tuple[str, set[int]], ...]] = {}
        self._idle: set[str] = set()
        self._asked = 0
        if faults:
            raise Invalid(Text("errors_entry.phrases_fault"), Text("errors.restore_file"), faults)
        self.calm = Pattern("|".join(f"(?:{text})" for text in rules["calm"]))
        self.elsewhere = Pattern("|".join(f"(?:{text})" for text in rules["elsewhere"]))
        self.third_party = Pattern(str(rules["third_party"]))
        self.moves_on = Pattern(str(rules["moves_on"]))
        self.consents = Pattern(str(rules["consents"]))
        self.orders = Pattern(str(rules["orders"]))
        self.own_fault = Pattern("|".join(f"(?:{text})" for text in rules["own_fault"]))
        statement = dict(rules["statement"])
        self.longest = int(statement["longest"])
        self.stated = Pattern(str(statement["words"]))
        self.aside = tuple(Pattern(str(text)) for text in statement["aside"])
        self.turned = Pattern(str(rules["turned"]))
        self.supposed = Pattern(_filled(str(rules["supposed"]), sets))

    def find(self, words: str, before: Before) -> list[Hit]:
        """All cues that count in a person's words.

        Args:
            words: the person's part of a prompt, pastes and quotations already taken out.
            before: what the agent had done.
        """
        plain = _plain(words)
        if not plain:
            return []
        hits: dict[str, Hit] = {}
        parts = _Parts(self, plain)
        for number in sorted(self._hinted(plain, parts)):
            cue = self.cues[number]
            if not before.allows(cue.needs) or (cue.short and len(plain) > cue.short) or cue.kind in hits:
                continue
            found = self._first(cue, parts, before, plain)
            if found:
                for kind in (cue.kind, cue.also):
                    if kind and kind not in hits:
                        hits[kind] = Hit(kind, cue.name, found)
        if "correction" not in hits and before.stopped and self._speaks_up(parts, plain):
            hits["correction"] = Hit("correction", "stopped", plain[:160])
        if _only_a_rule(hits):
            del hits["correction"]
        if "correction" in hits and self._of_other_things(plain):
            del hits["correction"]
        return list(hits.values())

    def _hinted(self, plain: str, parts: _Parts) -> set[int]:
        """Numbers of the cues of which a hint stands where cues are read."""
        texts = _looked_at(plain)
        if len(texts) > 1 and plain[0] == "@":
            texts = (*texts, parts["start"][0].text)
        text = "\n".join(texts)
        found: set[int] = set()
        if self._asked < FEW:
            self._asked += 1
            for hint, numbers in self._hints[text.isascii()]:
                if hint in text:
                    found |= numbers
            return found
        known = self._known
        for token in set(text.split()) - self._idle:
            held = known.get(token)
            for hint, numbers in self._held_by(token) if held is None else held:
                if hint in text:
                    found |= numbers
        return found

    def _held_by(self, token: str) -> tuple[tuple[str, set[int]], ...]:
        """The hints whose longest word is part of this word of a text; remembered, since words come again."""
        if not self._by_start:
            for hint, numbers in self._hints[0]:
                word = max(hint.split(), key=len)
                self._by_start.setdefault(word[:3], []).append((word, hint, numbers))
        starts = {token[place : place + size] for size in (1, 2, 3) for place in range(len(token))}
        some = [item for start in starts for item in self._by_start.get(start, ())]
        held = tuple((hint, numbers) for word, hint, numbers in some if word in token)
        if len(token) > WORD_KEPT:
            return held
        if len(self._known) + len(self._idle) >= WORDS_KEPT:
            self._known.clear()
            self._idle.clear()
        if held:
            self._known[token] = held
        else:
            self._idle.add(token)
        return held

    def _first(self, cue: Cue, parts: _Parts, before: Before, plain: str) -> str:
        far = len(plain) > COMPLAINT_WORDS
        if before.asked and cue.name.endswith((".no", ".not-this")):
            return ""
        if cue.kind == "correction" and not cue.question and cue.needs != "none" and parts.asks_first:
            return ""
        if cue.general and parts.describes:
            return ""
        for part in parts[cue.reads]:
            if not any(map(part.text.__contains__, cue.hint)) or not cue.find.search(part.text):
                continue
            if (cue.spoil is not None and cue.spoil.search(part.text)) or part.damps(cue):
                continue
            if far and cue.needs in ("work", "own") and plain.find(part.text) >= COMPLAINT_HEAD:
                continue
            return part.text
        return ""

    def _of_other_things(self, plain: str) -> bool:
        """Whether the person takes the blame, has changed their mind, or goes on to the next task."""
        start = plain[:START_REACH]
        return bool(self.own_fault.search(start) or self.elsewhere.search(start) or self.moves_on.match(start))

    def states(self, words: str, before: Before) -> bool:
        """Whether a short prompt right after edits states what may be amiss with them.

        Two of five such statements are corrections: too few to call one so, enough to say that an edit
        after it works on the same problem.
        """
        plain = _plain(words)
        if not plain or not before.edited or before.asked:
            return False
        parts = _Parts(self, plain)
        return not self._of_other_things(plain) and self._states(plain, parts)

    def _states(self, plain: str, parts: _Parts) -> bool:
        """Whether a short prompt states something, without asking, wishing, praising or consenting."""
        return (
            len(plain) <= self.longest
            and bool(self.stated.search(plain))
            and not any(part.question or self.calm.search(part.text) for part in parts["sentence"])
            and not any(aside.search(plain) for aside in self.aside)
            and not self.third_party.search(plain)
        )

    def content(self, words: str) -> bool:
        """Whether a person's words say that all is well and ask for nothing."""
        plain = _plain(words)
        if not plain or len(plain) > CONTENT_WORDS:
            return False
        return bool(self.calm.search(plain)) and not is_question(plain)

    def _speaks_up(self, parts: _Parts, plain: str) -> bool:
        """After an interrupt, a statement that denies or contrasts redirects the agent.

        It is no question, no praise, no order and no `go on`.
        """
        if parts.describes or not self.stated.search(plain):
            return False
        sentences = parts["sentence"]
        first = sentences[0]
        return not (
            any(part.question for part in sentences)
            or len(first.text) < 4
            or self.calm.search(first.text)
            or _GOES_ON.match(first.text)
        )


def _only_a_rule(hits: Mapping[str, Hit]) -> bool:
    """Whether an order not to do something is said for later, by a cue of its own: it blames nothing."""
    if "correction" not in hits or "preference" not in hits:
        return False
    forbids = hits["correction"].detector.endswith(".prohibit")
    return forbids and not hits["preference"].detector.endswith((".always-never", ".told-before", ".always"))


def _indexed(cues: tuple[Cue, ...]) -> tuple[list[tuple[str, set[int]]], list[tuple[str, set[int]]]]:
    """All hints with the numbers of their cues: first every one, then those in ASCII."""
    holders: dict[str, set[int]] = {}
    for number, cue in enumerate(cues):
        for hint in cue.hint:
            holders.setdefault(hint, set()).add(number)
    every = list(holders.items())
    return every, [(hint, numbers) for hint, numbers in every if hint.isascii()]


def _cue(item: Any, sets: Mapping[str, str], faults: list[Text]) -> Cue | None:
    if not isinstance(item, dict) or not all(item.get(key) for key in ("name", "kind", "pattern", "hint")):
        faults.append(Text("errors_entry.cue_parts", item=str(item)[:80]))
        return None
    try:
        return Cue(
            name=str(item["name"]),
            kind=str(item["kind"]),
            reads=str(item.get("reads", "clause")),
            needs=str(item.get("needs", "after")),
            question=bool(item.get("question", False)),
            general=bool(item.get("general", False)),
            short=int(item.get("short", 0)),
            hint=tuple(str(hint) for hint in item["hint"]),
            find=Pattern(_filled(str(item["pattern"]), sets)),
            spoil=Pattern(_filled(str(item["unless"]), sets)) if item.get("unless") else None,
            also=str(item.get("also", "")),
        )
    except (TypeError, ValueError) as error:
        faults.append(Text("errors.field_reason", field=item.get("name"), reason=error))
        return None


def _filled(pattern: str, sets: Mapping[str, str]) -> str:
    for _ in range(3):
        for name, text in sets.items():
            pattern = pattern.replace(name, text)
    return pattern


def _plain(words: str) -> str:
    text = words.lower().strip()
    if not text.isascii():
        text = text.replace("’", "'").replace("´", "'").replace("\u3000", " ")
    if text[:1] in "-*•0123456789":
        text = _BULLET.sub("", text)
    while "  " in text or "\t" in text:
        text = text.replace("\t", " ").replace("  ", " ")
    return text.replace("`", "'")


def _looked_at(plain: str) -> tuple[str, ...]:
    if len(plain) <= LONG_WORDS:
        return (plain,)
    return plain[:LONG_HEAD], plain[-LONG_TAIL:]


def is_question(text: str) -> bool:
    """Whether a sentence or clause asks, in either language, with its mark or without."""
    if text.endswith(("?", "？")):
        text = _TAG.sub("", text)
    if text.endswith(("??", "？？")):
        return bool(_ASKS.match(text))  # a statement with two marks exclaims
    return text.endswith(("?", "？")) or bool(_ASKS.match(text) or (not text.isascii() and _ZH_ASKS.search(text)))
