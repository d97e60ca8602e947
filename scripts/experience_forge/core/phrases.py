"""Finds corrections and lasting preferences in a person's words, clause by clause, in both languages.

The cues are data (`rules/phrases.yaml`); this module compiles and applies them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import Invalid, Text
from . import clauses
from .hints import Hints
from .lazy import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTENT_WORDS = 120
"""Longer praise goes on to something else."""
COMPLAINT_WORDS, COMPLAINT_HEAD = 300, 160
"""In a prompt above 300 characters a complaint about the work stands at its head: further in, the same words
describe what is to be built."""

_GOES_ON = Pattern(
    r"^(?:(?:please|wait|no|oh|sorry|ok|okay|yes),? )*"
    r"(?:continue|go on|go ahead|resume|proceed|carry on|keep going|try again|yes|ok|done)\b"
    r"|^(?:继续|接着|好了?|可以|执行)|\bbefore you (?:go|continue|start)\b[^.]{0,12}\balso\b|^(?:also|one more thing)\b"
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
    unasked: bool
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
        self._hints = Hints(cue.hint for cue in self.cues)
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
        parts = clauses.Parts(clauses.plain(words))
        plain = parts.plain
        if not plain:
            return []
        hits: dict[str, Hit] = {}
        for number in sorted(self._hints.of(_where_cues_are_read(parts))):
            cue = self.cues[number]
            if not before.allows(cue.needs) or (cue.short and len(plain) > cue.short) or cue.kind in hits:
                continue
            if (cue.unasked and before.asked) or (cue.general and self._describes(parts)):
                continue
            found = self._first(cue, parts)
            if found:
                for kind in (cue.kind, cue.also):
                    if kind and kind not in hits:
                        hits[kind] = Hit(kind, cue.name, found)
        if "correction" not in hits and before.stopped and self._speaks_up(parts):
            hits["correction"] = Hit("correction", "stopped", plain[:160])
        if _only_a_rule(hits):
            del hits["correction"]
        if "correction" in hits and self._of_other_things(plain):
            del hits["correction"]
        return list(hits.values())

    def _first(self, cue: Cue, parts: clauses.Parts) -> str:
        """The first stretch in which the cue holds; empty without one."""
        far = len(parts.plain) > COMPLAINT_WORDS
        if cue.kind == "correction" and not cue.question and cue.needs != "none" and parts.asks_first:
            return ""
        for part in parts[cue.reads]:
            if not any(map(part.text.__contains__, cue.hint)) or not cue.find.search(part.text):
                continue
            if (cue.spoil is not None and cue.spoil.search(part.text)) or self._damps(part, cue):
                continue
            if far and cue.needs in ("work", "own") and parts.plain.find(part.text) >= COMPLAINT_HEAD:
                continue
            return part.text
        return ""

    def _damps(self, part: clauses.Stretch, cue: Cue) -> bool:
        """Whether a question, praise, a third party, or something merely supposed takes the cue back."""
        if not cue.question and part.question:
            return True
        if cue.kind != "correction":
            return False
        if self.calm.search(part.calm_in) or self.turned.search(part.sentence):
            return True
        if self.third_party.search(part.sentence):
            return True
        return bool(cue.needs in ("work", "own") and self.supposed.search(part.text))

    def _describes(self, parts: clauses.Parts) -> bool:
        """Whether the prompt begins with a consent or an order, or asks anything."""
        return bool(parts.asks or self.consents.match(parts.plain) or self.orders.match(parts.plain))

    def _of_other_things(self, plain: str) -> bool:
        """Whether the person takes the blame, has changed their mind, or goes on to the next task."""
        start = plain[: clauses.START_REACH]
        return bool(self.own_fault.search(start) or self.elsewhere.search(start) or self.moves_on.match(start))

    def states(self, words: str, before: Before) -> bool:
        """Whether a short prompt right after edits states what may be amiss with them.

        Two of five such statements are corrections: too few to call one so, enough to say that an edit
        after it works on the same problem.
        """
        parts = clauses.Parts(clauses.plain(words))
        if not parts.plain or not before.edited or before.asked:
            return False
        return not self._of_other_things(parts.plain) and self._states(parts)

    def _states(self, parts: clauses.Parts) -> bool:
        """Whether a short prompt states something, without asking, wishing, praising or consenting."""
        plain = parts.plain
        return (
            len(plain) <= self.longest
            and bool(self.stated.search(plain))
            and not any(part.question or self.calm.search(part.text) for part in parts["sentence"])
            and not any(aside.search(plain) for aside in self.aside)
            and not self.third_party.search(plain)
        )

    def content(self, words: str) -> bool:
        """Whether a person's words say that all is well and ask for nothing."""
        plain = clauses.plain(words)
        if not plain or len(plain) > CONTENT_WORDS:
            return False
        return bool(self.calm.search(plain)) and not clauses.is_question(plain)

    def _speaks_up(self, parts: clauses.Parts) -> bool:
        """After an interrupt, a statement that denies or contrasts redirects the agent.

        It is no question, no praise, no order and no `go on`.
        """
        if self._describes(parts) or not self.stated.search(parts.plain):
            return False
        sentences = parts["sentence"]
        first = sentences[0]
        return not (
            any(part.question for part in sentences)
            or len(first.text) < 4
            or self.calm.search(first.text)
            or _GOES_ON.match(first.text)
        )


def _where_cues_are_read(parts: clauses.Parts) -> str:
    texts = clauses.looked_at(parts.plain)
    if len(texts) > 1 and parts.plain[0] == "@":
        texts = (*texts, parts["start"][0].text)
    return "\n".join(texts)


def _only_a_rule(hits: Mapping[str, Hit]) -> bool:
    """Whether an order not to do something is said for later, by a cue of its own: it blames nothing."""
    if "correction" not in hits or "preference" not in hits:
        return False
    forbids = hits["correction"].detector.endswith(".prohibit")
    return forbids and not hits["preference"].detector.endswith((".always-never", ".told-before", ".always"))


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
            unasked=bool(item.get("unasked", False)),
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
