"""Contradictions of closed classes between two entries; what needs judgement is left to a person or a model.

`choice`: they choose different ones of things of which one is used; `polarity`: one asks for what the
other forbids; `guard`: one lets an action pass that the other denies. Each is found in the words of
title, rule, decision and aliases, in both languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..fast import tokens
from ..model import Entry, Guard, Kind, Track
from .word_groups import Groups

COVERED: Final = 0.6
"""Share of the shorter clause's words that a clause of the other entry has to hold."""
ON_TOPIC: Final = 0.08
"""Share of words from which two entries without a common trigger speak of one thing."""

_CLAUSE = re.compile(r"[;；。！!?？\n]|\.(?=\s|$)|，|,(?! not\b)|、(?=不|别)|：|: | - |—|\(|\)|（|）")
_WITHOUT = re.compile(r"\b(without|unless|except|until|before|after|when|if)\b.*|^.*?(?:除非|之前|以前|之后|的时候)")


@dataclass(frozen=True)
class Rules:
    """Data of `rules/contradictions.yaml`; `words` are those of the cues."""

    no: re.Pattern[str]
    rather: re.Pattern[str]
    yes: re.Pattern[str]
    may: re.Pattern[str]
    none: re.Pattern[str]
    choices: Groups
    words: frozenset[str]


@dataclass(frozen=True)
class Clause:
    """One thing that an entry asks for (`wanted`) or forbids; `contrast`: as the other side of a choice."""

    wanted: bool
    words: frozenset[str]
    text: str
    contrast: bool = False


@dataclass(frozen=True)
class Stance:
    """What an entry stands for."""

    clauses: tuple[Clause, ...]
    chosen: Mapping[str, frozenset[str]]
    rejected: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Contradiction:
    """What two entries can't both hold on: its class, and the words on each side."""

    what: str
    one: str
    other: str
    across: bool = False


def rules_of(data: Mapping[str, Any]) -> Rules:
    """Rules from `rules/contradictions.yaml`."""
    cues = data["cues"]
    plain = {str(w).lower() for name in ("forbids", "rather", "asks") for w in cues[name]["en"]}
    known = frozenset(term for w in plain for term in tokens.terms(w))
    no, rather, yes, may = (_pattern(cues[name]) for name in ("forbids", "rather", "asks", "allows"))
    none = re.compile("|".join(map(re.escape, cues["none"]["zh"])))
    return Rules(no, rather, yes, may, none, Groups(data["choices"].items()), known)


def _pattern(cue: Mapping[str, Iterable[str]]) -> re.Pattern[str]:
    def either(words: Iterable[str]) -> str:
        return "(?:" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + ")"

    latin = [str(word) for word in cue["en"]]
    # One look behind for all words: a look for each makes the search five times slower.
    words = either(word for word in latin if word[0].isalpha())
    parts = [rf"(?<![a-z'])(?=[a-z]){words}(?![a-z'])"]
    if any(not word[0].isalpha() for word in latin):
        marks = either(word for word in latin if not word[0].isalpha())
        parts.append(rf"{marks}(?![a-z'])")
    return re.compile("|".join([*parts, either(map(str, cue["zh"]))]))


def stance_of(entry: Entry, rules: Rules) -> Stance:
    """What an entry stands for."""
    texts = [entry.rule, entry.section("decision")]
    if entry.kind in (Kind.PREFERENCE, Kind.DESIGN):
        # Title and aliases of the others tell what went wrong: "does not start" forbids nothing.
        texts += [entry.title, *entry.aliases]
    clauses = [clause for text in texts for part in _CLAUSE.split(text.lower()) for clause in _clauses(part, rules)]
    rejected = entry.section("alternatives_rejected").lower()
    for part in re.split(r"[;；。，,、\n]|\.(?=\s|$)", rejected):
        words = _words(re.split(r"[:：(（]", part)[0], rules)
        if words:
            clauses.append(Clause(False, words, part.strip(), True))
    yes, no = _choices(clauses, True, rules), _choices(clauses, False, rules)
    chosen = {group: members - no.get(group, frozenset()) for group, members in yes.items()}
    return Stance(tuple(clauses), chosen, no)


def _clauses(part: str, rules: Rules) -> list[Clause]:
    """What one clause asks for and forbids: parted where it says "rather than"."""
    contrast = rules.rather.search(part)
    if contrast and contrast.start() > 0 and part[: contrast.start()].strip():
        rest = part[contrast.end():]
        refused = _words(rest, rules)
        # 用 A 代替 B chooses A as "A instead of B" does.
        return [
            *_clauses(part[: contrast.start()], rules),
            *([Clause(False, refused, rest.strip(), True)] if refused else []),
        ]
    found = _forbids(part, rules)
    core = _WITHOUT.sub("", part)
    if found and found.start() > len(core):
        found = None
    words = _words(core, rules)
    if not words:
        return []
    if found is None:
        return [Clause(True, words, core.strip())]
    before = part[: found.start()].strip()
    if before and rules.yes.search(before) and _words(before, rules):
        after = _words(part[found.end():], rules)
        kept = [Clause(True, _words(before, rules), before)]
        return [*kept, Clause(False, after, part[found.end():].strip(), True)] if after else kept
    return [Clause(False, words, core.strip())]


def _forbids(part: str, rules: Rules) -> re.Match[str] | None:
    """The first cue that forbids, unless it is a part of another word (别 in 别名)."""
    inside = [match.span() for match in rules.none.finditer(part)]
    for found in rules.no.finditer(part):
        if not any(start <= found.start() and found.end() <= end for start, end in inside):
            return found
    return None


def _allows(entry: Entry, rules: Rules) -> bool:
    """Whether an entry says that something may be done unasked."""
    texts = [entry.title, entry.rule, entry.section("decision")]
    texts += entry.aliases if entry.kind in (Kind.PREFERENCE, Kind.DESIGN) else ()
    for part in (part for text in texts for part in _CLAUSE.split(text.lower())):
        may, no = rules.may.search(part), _forbids(part, rules)
        if may is not None and (no is None or no.start() >= may.start()):
            return True
    return False


def _words(text: str, rules: Rules) -> frozenset[str]:
    bare = rules.yes.sub(" ", rules.no.sub(" ", text))
    return frozenset(word for word in tokens.terms(bare) if word not in rules.words)


def _choices(clauses: Iterable[Clause], wanted: bool, rules: Rules) -> dict[str, frozenset[str]]:
    return rules.choices.find("\n".join(clause.text for clause in clauses if clause.wanted is wanted))


def between(
    one: Entry, other: Entry, first: Stance, second: Stance, rules: Rules, *, share: float, trigger: bool,
    apart: Mapping[str, str],
) -> Contradiction | None:
    """The contradiction between two entries, or None.

    Args:
        share: their similarity over weighted words, 0 to 1.
        trigger: whether they have a trigger in common.
        apart: what names different cases (`similarity.apart`); such entries don't contradict.
    """
    if one.project and other.project and one.project != other.project:
        return None
    if one.kind is Kind.PITFALL and other.kind is Kind.PITFALL:
        # Two causes of one failure may both be right: that needs judgement.
        return None
    across = (one.track is Track.PROJECT) != (other.track is Track.PROJECT)
    blocked = bool(set(apart) - {"subject"})
    guard = None if blocked else _guard(one, other, rules, trigger)
    if guard is not None:
        return Contradiction("guard", *guard, across)
    choice = _choice(one, other, first, second, share, trigger)
    if choice is not None:
        # What is chosen tells the two apart as well, and so does the command that it replaces.
        sides = {f"{choice[1]} | {choice[2]}", f"{choice[1]} | -", f"- | {choice[2]}"}
        if all(why in (choice[0], "command", "subject") or words.replace(",", "") in sides
               for why, words in apart.items()):
            return Contradiction("choice", choice[1], choice[2], across)
    if blocked:
        return None
    opposed = _opposed(first, second, share, trigger)
    return Contradiction("polarity", *opposed, across) if opposed else None


def _choice(
    one: Entry, other: Entry, first: Stance, second: Stance, share: float, trigger: bool
) -> tuple[str, str, str] | None:
    both_choose = Kind.PITFALL not in (one.kind, other.kind)
    for group in first.chosen.keys() | first.rejected.keys():
        mine = first.chosen.get(group, frozenset())
        theirs = second.chosen.get(group, frozenset())
        refused, refused_too = first.rejected.get(group, frozenset()), second.rejected.get(group, frozenset())
        # A pitfall names a tool as where it happens: only at the same trigger is that a choice.
        if not (trigger or (both_choose and share >= ON_TOPIC)):
            continue
        if (mine & refused_too and not theirs & mine) or (theirs & refused and not theirs & mine):
            return group, " ".join(sorted(mine)) or "-", " ".join(sorted(theirs)) or "-"
        if both_choose and mine and theirs and not mine & theirs:
            return group, " ".join(sorted(mine)), " ".join(sorted(theirs))
    return None


def _guard(one: Entry, other: Entry, rules: Rules, trigger: bool) -> tuple[str, str] | None:
    denies = [entry.guard is Guard.DENY for entry in (one, other)]
    if not trigger or all(denies) or not any(denies):
        return None
    # A weaker guard, or none, allows nothing by itself: its entry has to say so.
    return (one.guard.value, other.guard.value) if _allows(other if denies[0] else one, rules) else None


def _opposed(first: Stance, second: Stance, share: float, trigger: bool) -> tuple[str, str] | None:
    for mine in first.clauses:
        for theirs in second.clauses:
            if mine.wanted is theirs.wanted:
                continue
            common = mine.words & theirs.words
            least = min(len(mine.words), len(theirs.words))
            if not common or len(common) < COVERED * least:
                continue
            no = theirs if mine.wanted else mine
            if _says_both(first if mine.wanted else second, no):
                continue
            enough = len(common) >= 2 or (no.contrast and (trigger or share >= 0.12)) or (trigger and share >= 0.2)
            if enough and (trigger or share >= ON_TOPIC):
                return mine.text, theirs.text
    return None


def _says_both(asking: Stance, no: Clause) -> bool:
    """Whether the entry that seems to ask for something forbids it in another clause, as the other one does."""
    return any(not c.wanted and len(c.words & no.words) >= COVERED * min(len(c.words), len(no.words))
               for c in asking.clauses)
