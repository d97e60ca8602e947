"""The rule file of the gate, compiled once."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .vet_concepts import Concepts

_WORD = re.compile(r"(?<![\w./@:-])[a-z][a-z0-9_.-]{4,30}(?![\w/@:-])", re.I | re.A)
_NEAR = re.compile(
    r"\b(?:pip3?|uv|npm|pnpm|yarn|cargo|gem|go|poetry|conda|brew|apt(?:-get)?|composer|pin|pinned|prefer|install|add|use|"
    r"import|package|packages|library|lib|module|dependency|dependencies|fork|crate|gem|version|upgrade|depend|require|"
    r"replace|switch|from|包|库|依赖|安装|模块)\b|[`'\"]|包|库|依赖|安装|模块",
    re.I,
)
_CACHE: dict[int, Rules] = {}


@dataclass(frozen=True)
class Pattern:
    """One class of texts: its kind, verdict and expressions, and what makes a hit harmless."""

    kind: str
    verdict: str
    expressions: tuple[re.Pattern[str], ...]
    negated: bool
    quoted: bool
    skip_code: bool
    fields: frozenset[str]


class Rules:
    """Patterns, negations, package names and reasons."""

    in_conditions = frozenset(("override", "own-marker", "fake-frame", "concealment"))
    in_disguise = frozenset(("override", "concealment"))

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self._words = {name: _either(words) for name, words in data["words"].items()}
        self._words["official"] = _either([re.escape(str(host)) for host in data["official"]])
        self.patterns = tuple(self._pattern(rule) for rule in data["patterns"])
        negations = data["negations"]
        self.negation = _phrases(negations["before"])
        self.not_negation = _phrases(negations["not_before"])
        self.negation_after = _phrases(negations["after"])
        self.about = _phrases(data["about"])
        self.comments = re.compile(rf"<!--\s*{_either(data['comments'])}\s*-->", re.I)
        self.concepts = Concepts(data)
        self.packages = frozenset(str(name) for name in data["packages"])
        self.not_typos = frozenset(str(name) for name in data["not_typos"])

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Rules:
        """The compiled form of a rule mapping; made once for each mapping."""
        kept = _CACHE.get(id(data))
        if kept is None or kept.data is not data:
            kept = _CACHE[id(data)] = cls(data)
        return kept

    def reason(self, kind: str, language: str, detail: str) -> str:
        """The sentence for one finding."""
        return str(self.data["reasons"][kind][language]).format(detail=detail)

    def near_packages(self, text: str) -> Iterator[str]:
        """Words one slip away from a well-known package, where a package is spoken of."""
        for match in _WORD.finditer(text[:20_000]):
            word = match.group().lower().rstrip(".")
            if word in self.packages or word in self.not_typos or word.rstrip("s") in self.packages:
                continue
            near = _slip(word, self.packages)
            if near and _NEAR.search(text[max(0, match.start() - 30) : match.end() + 2]):
                yield f"{word} ({near})"

    def _pattern(self, rule: Mapping[str, Any]) -> Pattern:
        return Pattern(
            rule["kind"],
            rule["verdict"],
            tuple(self._expression(text) for text in rule["any"]),
            rule.get("negated") == "ok",
            rule.get("quoted") == "ok",
            rule.get("code") == "skip",
            frozenset(rule.get("fields", ())),
        )

    def _expression(self, text: str) -> re.Pattern[str]:
        text = re.sub(r"<([a-z_]+)>", lambda match: self._words.get(match[1], match[0]), text)
        # A tilde in a class or before a slash is one; every other is the gap.
        text = re.sub(r"(?<!\[)~(?![/\-])", r"[^;。；!\\n]{0,40}?", text)
        return re.compile(text.replace(" ", r"\s"), re.I | re.M)


def _either(words: Any) -> str:
    return "(?:" + "|".join(sorted((str(word) for word in words), key=len, reverse=True)) + ")"


def _phrases(words: Any) -> re.Pattern[str]:
    latin = [re.escape(str(word)) for word in words if str(word).isascii()]
    other = [re.escape(str(word)) for word in words if not str(word).isascii()]
    parts = [rf"\b{_either(latin)}\b"] if latin else []
    return re.compile("|".join(parts + ([_either(other)] if other else [])), re.I)


@functools.lru_cache(maxsize=4096)
def _slip(word: str, packages: frozenset[str]) -> str:
    """The package that `word` misspells: neighbours swapped, a letter doubled, left out, or looking alike."""
    for other in packages:
        if len(other) < 5 or abs(len(other) - len(word)) > 1:
            continue
        if len(other) == len(word):
            wrong = [place for place in range(len(word)) if word[place] != other[place]]
            if (
                len(wrong) == 2
                and wrong[1] == wrong[0] + 1
                and word[wrong[0]] == other[wrong[1]]
                and (word[wrong[1]] == other[wrong[0]])
            ):
                return other
            if len(wrong) == 1 and {word[wrong[0]], other[wrong[0]]} in _ALIKE:
                return other
        elif (len(word) == len(other) + 1 and any(
            word[:place] + word[place + 1 :] == other and (place and word[place] == word[place - 1])
            for place in range(len(word))
        )) or (len(word) + 1 == len(other) and any(
            other[:place] + other[place + 1 :] == word for place in range(1, len(other) - 1)
        )):
            return other
    for twin, real in (("rn", "m"), ("vv", "w"), ("-", "_"), ("_", "-")):
        if twin in word and word.replace(twin, real) in packages:
            return word.replace(twin, real)
    return ""


_ALIKE = tuple({a, b} for a, b in ("0o", "1l", "1i", "il", "5s", "3e", "uv", "kc", "zs", "yi", "qg", "4a"))
