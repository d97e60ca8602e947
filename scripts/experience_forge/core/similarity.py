"""How near two entries are, which of them tell of the same thing, and clusters around a centre.

Words (our own tokens) give candidates by an exact prefix-filter join; a pair counts as the same when
enough of what it says is shared, and nothing that names a case (an error's code, a number in its
text, a program, a place, an environment) tells the two apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..fast import shellwords, signature, tokens
from ..model import Entry, Kind
from .word_groups import Groups

BIGRAM: Final = 0.5
"""Weight of a Chinese bigram beside a Latin word: a word of Chinese gives about two."""
HEAD: Final = ("title", "rule", "alias", "condition")
REMEDIES: Final = ("root_cause", "right_action", "rule")
REMEDY: Final = 0.05
"""Jaccard below which cause, remedy and rule of two pitfalls have nothing in common."""

_NUMBER = re.compile(r"(?<![\w.])\d{1,6}(?:\.\d+){0,2}(?![\w.]*\d)")
_CODE = re.compile(r"[A-Za-z0-9_@$#][A-Za-z0-9_.:@$/#+-]*[A-Za-z0-9_+#]|[A-Za-z0-9]")
_QUOTED = re.compile(r"[`'\"“‘「]([^`'\"”’」\s]{2,60})[`'\"”’」]")


@dataclass(frozen=True)
class Rules:
    """Data of `rules/tidy.yaml` and the choices of `rules/contradictions.yaml`.

    `apart` holds groups of environments, platforms, products: entries that name different ones of a
    group are never the same. The shares are of weighted words. `asks` are the Chinese words that say that
    something is to be done, `forbids` the characters with which one that forbids begins.
    """

    same: float
    same_trigger: float
    same_kinds: float
    near: float
    cluster_most: int
    apart: Groups
    everyday: frozenset[str]
    asks: frozenset[str] = frozenset()
    forbids: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Shape:
    """What is compared of one entry."""

    id: str
    language: str
    kind: Kind
    project: str
    words: frozenset[str]
    subject: frozenset[str]
    remedy: frozenset[str]
    said: frozenset[str]
    narrowed: frozenset[str]
    names: frozenset[str]
    error_names: frozenset[str]
    told_names: frozenset[str]
    error_words: frozenset[str]
    error_numbers: frozenset[str]
    title_numbers: frozenset[str]
    commands: frozenset[str]
    paths: frozenset[str]
    groups: Mapping[str, frozenset[str]]
    asking: frozenset[str] = frozenset()
    forbids: bool = False


def rules_of(data: Mapping[str, Any], stances: Mapping[str, Any]) -> Rules:
    """Rules from the data of `rules/tidy.yaml`, and the choices and cues of `rules/contradictions.yaml`."""
    groups = Groups((*data["apart"].items(), *stances["choices"].items()))
    cues = stances["cues"]
    everyday = frozenset(str(data.get("everyday", "")).lower().split())
    return Rules(
        float(data["same"]), float(data["same_trigger"]), float(data["same_kinds"]), float(data["near"]),
        int(data["cluster_most"]), groups, everyday, frozenset(map(str, cues["asks"]["zh"])),
        frozenset(str(word)[0] for word in cues["forbids"]["zh"]),
    )


def texts_of(entry: Entry) -> dict[str, str]:
    """The texts of an entry by part; `condition` holds those of its triggers."""
    return {
        "title": entry.title, "alias": "\n".join(entry.aliases), "tag": "\n".join(entry.tags),
        "condition": "\n".join(part for c in entry.applies_when for part in c.parts().values()),
        **dict(entry.sections),
    }


def shape_of(entry: Entry, rules: Rules, words: frozenset[str] | None = None) -> Shape:
    """What is compared of an entry.

    Args:
        words: all words of its texts, when they are known already.
    """
    texts = texts_of(entry)
    errors = " \n ".join(c.error for c in entry.applies_when if c.error)
    pitfall = entry.kind is Kind.PITFALL
    told = f"{errors} \n {texts.get('symptom', '')}" if pitfall else errors
    # Without an error to know it by, a pitfall is what its title and its story speak of.
    story = pitfall and not errors
    needed = texts if words is None or story else ("title", *REMEDIES)
    terms = {name: frozenset(tokens.terms(texts[name])) for name in needed if texts.get(name)}
    spoken = [words for name, words in terms.items() if name not in ("title", "alias", "tag")]
    place = frozenset().union(*spoken) if story else terms.get("rule", frozenset())
    error_names = names_of(errors, rules)
    return Shape(
        entry.id, entry.language, entry.kind, entry.project,
        words=frozenset().union(*terms.values()) if words is None else words,
        subject=terms.get("title", frozenset()) & place,
        remedy=frozenset().union(*(terms.get(name, frozenset()) for name in REMEDIES)) if pitfall else frozenset(),
        said=frozenset(term for c in entry.applies_when for term in tokens.terms(c.words)),
        narrowed=frozenset(t for c in entry.applies_when if c.error or c.command for t in tokens.terms(c.words)),
        # They tell cases apart; what is no case has none that matter.
        names=names_of("\n".join(texts.values()), rules) if pitfall or errors else frozenset(),
        error_names=error_names,
        told_names=names_of(told, rules) if pitfall else error_names,
        error_words=frozenset(signature.words(errors)),
        error_numbers=frozenset(_NUMBER.findall(told)), title_numbers=frozenset(_NUMBER.findall(entry.title)),
        commands=frozenset(program(c.command) for c in entry.applies_when if c.command),
        paths=frozenset(c.path for c in entry.applies_when if c.path),
        groups=rules.apart.find("\n".join(texts.get(name, "") for name in HEAD).lower()),
        asking=frozenset(t for t in terms.get("title", ()) if not t.isascii() and not rules.asks.isdisjoint((t, *t))),
        forbids=not rules.forbids.isdisjoint(entry.title),
    )


def names_of(text: str, rules: Rules) -> frozenset[str]:
    """Code words of a text, in lower case: identifiers, codes, flags, quoted names; they are alike in all languages."""
    found = {word.strip(".:").lower() for word in _QUOTED.findall(text)}
    for chunk in _CODE.findall(text):
        if chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
            continue
        word = chunk.strip(".:/-")
        if len(word) > 1 and _is_code(word):
            found.add(word.lower())
    return frozenset(word for word in found if word not in rules.everyday and not word.isdigit())


def _is_code(word: str) -> bool:
    if "://" in word or len(word) > 60:
        return False
    if any(mark in word for mark in "_.:@$#/"):
        return not word.replace(".", "").replace(":", "").isdigit()
    if any(mark.isdigit() for mark in word):
        return any(mark.isalpha() for mark in word)
    body = word.replace("-", "")
    return (len(body) > 2 and body.isupper()) or any(mark.isupper() for mark in body[1:])


def program(command: str) -> str:
    """Program and subcommand of a command pattern."""
    words = command.replace("*", " ").split()
    if not words:
        return ""
    name = shellwords.name_of(words[0])
    second = next((word for word in words[1:] if not word.startswith("-")), "")
    return f"{name} {second}".strip()


def apart(one: Shape, other: Shape) -> dict[str, str]:
    """What tells two entries apart, so that they are siblings at most: reason to the words on both sides.

    Reasons are `error`, `number`, `command`, `path`, `subject` and names of groups; empty when nothing does.
    """
    found: dict[str, str] = {}
    if _errors_differ(one, other):
        found["error"] = ""
    elif one.narrowed and other.narrowed and not one.narrowed & other.narrowed:
        # Words beside an error or a command narrow it down to one case.
        found["words"] = f"{_join(one.narrowed)} | {_join(other.narrowed)}"
    for mine, theirs in ((one.error_numbers, other.error_numbers), (one.title_numbers, other.title_numbers)):
        if mine and theirs and not mine & theirs:
            found["number"] = f"{_join(mine)} | {_join(theirs)}"
    for group, names in one.groups.items():
        others = other.groups.get(group, frozenset())
        if others and not names & others:
            found[group] = f"{_join(names)} | {_join(others)}"
    if one.commands and other.commands and not _some_fit(one.commands, other.commands):
        found["command"] = f"{_join(one.commands)} | {_join(other.commands)}"
    if one.paths and other.paths and not any(_paths_meet(a, b) for a in one.paths for b in other.paths):
        found["path"] = f"{_join(one.paths)} | {_join(other.paths)}"
    comparable = bool(one.remedy and other.remedy) and one.language == other.language
    if comparable and len(one.remedy & other.remedy) < REMEDY * len(one.remedy | other.remedy):
        # The same symptom with another cause and another remedy is another case.
        found["remedy"] = ""
    least = min(len(one.names), len(other.names))
    if one.kind is other.kind is Kind.PITFALL and least and len(one.names & other.names) * 3 < least:
        found["names"] = f"{_join(one.names - other.names)} | {_join(other.names - one.names)}"
    # Pieces such as 一律 or 赖用 (of 依赖用) name no subject; beside a rule that forbids they tell the two apart.
    asking = frozenset() if one.forbids or other.forbids else one.asking | other.asking
    mine, theirs = one.subject - other.words - asking, other.subject - one.words - asking
    if mine and theirs and one.language == other.language:
        found["subject"] = f"{_join(mine)} | {_join(theirs)}"
    return found


def _errors_differ(one: Shape, other: Shape) -> bool:
    own, theirs = one.error_names - other.names, other.error_names - one.names
    if own and theirs:
        return True
    shown, shown_too = one.told_names, other.told_names
    if shown and shown_too and not shown & shown_too and shown - other.names and shown_too - one.names:
        return True
    if one.error_words and other.error_words:
        shared = len(one.error_words & other.error_words)
        return shared < 0.5 * min(len(one.error_words), len(other.error_words))
    return False


def _join(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)[:4])


def trigger_shared(one: Shape, other: Shape) -> bool:
    """Whether the entries act on the same error, command, file or words."""
    if one.error_words and other.error_words:
        shared = len(one.error_words & other.error_words)
        return shared >= 0.8 * min(len(one.error_words), len(other.error_words))
    if one.commands & other.commands or any(_telling(path) for path in one.paths & other.paths):
        return True
    if one.commands and other.commands:
        return _some_fit(one.commands, other.commands)
    least = min(len(one.said), len(other.said))
    return least > 0 and len(one.said & other.said) >= 0.6 * least


def _telling(glob: str) -> bool:
    # `**/*.py` is where half of all work happens: it is shared by entries that have nothing in common.
    return any("*" not in part for part in glob.replace("\\", "/").split("/") if part not in ("src", "."))


def _some_fit(mine: Iterable[str], theirs: Iterable[str]) -> bool:
    return any(a.startswith(b) or b.startswith(a) for a in mine for b in theirs)


def _paths_meet(one: str, other: str) -> bool:
    """Whether two globs may speak of the same files: one names every folder that the other names."""
    def parts(glob: str) -> tuple[set[str], str]:
        pieces = [p for p in glob.replace("\\", "/").split("/") if p and "*" not in p]
        last = glob.rpartition("/")[2]
        ending = last.rpartition(".")[2] if "." in last else ""
        return set(pieces), ending

    (a, end_a), (b, end_b) = parts(one), parts(other)
    if end_a and end_b and end_a != end_b:
        return False
    return a <= b or b <= a


class Weights:
    """What words say: shipped background for everyday words, else how rare they are in the library.

    Args:
        counts: how many of the `total` entries hold each word.
    """

    def __init__(self, counts: Mapping[str, int], total: int, background: Mapping[str, float]) -> None:
        self._known = _Known(counts, total, background)
        self._sums: dict[frozenset[str], float] = {}

    def of(self, words: Iterable[str]) -> float:
        """The sum of what these words say."""
        return sum(map(self._known.__getitem__, words))

    def whole(self, words: frozenset[str]) -> float:
        """As `of`, kept for the next time."""
        if words not in self._sums:
            self._sums[words] = self.of(words)
        return self._sums[words]


class _Known(dict[str, float]):
    """Weights worked out when they are asked for: of 200,000 words a plan looks at a tenth."""

    def __init__(self, counts: Mapping[str, int], total: int, background: Mapping[str, float]) -> None:
        super().__init__()
        self._given = (counts, total, background)
        self._rare: dict[int, float] = {}

    def __missing__(self, word: str) -> float:
        counts, total, background = self._given
        count = counts.get(word, 1)
        rare = self._rare.get(count)
        if rare is None:
            rare = self._rare[count] = _rarity(count, total)
        known = background.get(word, signature.UNKNOWN) / signature.UNKNOWN
        value = self[word] = max(0.05, min(known, rare)) * (1.0 if word.isascii() else BIGRAM)
        return value


def _rarity(count: int, total: int) -> float:
    """What a word says by how many entries hold it, 0 to 1; in a small library every word says all."""
    if total < 50:
        return 1.0
    return min(1.0, math.log((total + 1) / (count + 0.5)) / math.log(total + 1) * 1.6)


def share(one: Shape, other: Shape, weights: Weights) -> float:
    """Jaccard over weighted words, 0 to 1."""
    common = weights.of(one.words & other.words)
    return common / (weights.whole(one.words) + weights.whole(other.words) - common) if common else 0.0


def same(one: Shape, other: Shape, found: float, rules: Rules) -> bool:
    """Whether two entries with this share, which nothing tells apart, tell of the same thing."""
    if one.kind is not other.kind and found < rules.same_kinds:
        return False
    return found >= (rules.same_trigger if trigger_shared(one, other) else rules.same)
