"""What a text is about: concepts that stand together in one sentence or in two neighbouring ones.

A wording can be put in ever new ways; what an attack must speak of can not. Concepts and the groups of
them that are odd together are data (`rules/poison.yaml`, `concepts` and `together`).
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r"[.~]?[a-z0-9]+(?:['’._/-][a-z0-9]+)*(?<!')")
_END = re.compile(r"[.!?;](?=\s|\Z)|[。！？；\n]")
_CLAUSE = re.compile(r"[,:，：、()]| - |—")
_CJK = re.compile(r"[\u3040-\u9fff]")
_REACH = 6
"""So many words (or Chinese characters) before a thing an English (Chinese) negation still speaks of it."""
_ZH_REACH = 12


@dataclass(frozen=True)
class Group:
    """Concepts that are odd together; `no` in front asks for the negated one, `unless` makes all harmless."""

    kind: str
    verdict: str
    all: tuple[tuple[str, ...], ...]
    unless: tuple[str, ...]
    wide: bool


class Concepts:
    """The words of all concepts in one table, and the groups."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._acts = frozenset(map(str, data.get("acts", ())))
        self._english: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._chinese: list[tuple[str, str]] = []
        self._denials: set[tuple[str, ...]] = set()
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        official = "|".join(re.escape(str(host)) for host in data.get("official", ()))
        self._official = f"(?:{official})"
        for name, words in data.get("concepts", {}).items():
            for word in map(str, words):
                self._add(name, word)
        self.groups = tuple(
            Group(
                str(row["kind"]),
                str(row["verdict"]),
                tuple(tuple(str(part).split(" | ")) for part in row["all"]),
                tuple(map(str, row.get("unless", ()))),
                row.get("near") == "two",
            )
            for row in data.get("together", ())
        )

    def _add(self, name: str, word: str) -> None:
        if word.startswith("/"):
            self._patterns.append((re.compile(word[1:].replace("<official>", self._official)), name))
        elif _CJK.search(word):
            self._chinese.append((word, name))
        else:
            if name == "denial":
                self._denials.add(tuple(word.split()))
                return
            words = tuple(part if part == "*" else _stem(part) for part in word.split())
            self._english.setdefault(words[0], []).append((words, name))

    def found(self, text: str) -> Iterator[tuple[str, str, str]]:
        """(kind, verdict, the sentence) of every group whose concepts stand together in the folded text."""
        sentences = [(start, self._concepts(sentence)) for start, sentence in _sentences(text)]
        for group in self.groups:
            for place, (start, here) in enumerate(sentences):
                before = sentences[place - 1][1] if group.wide and place else {}
                if _holds(group, here, before):
                    yield group.kind, group.verdict, text[start : start + 200]
                    break

    def _concepts(self, sentence: str) -> dict[str, None]:
        """The concepts of a sentence; the negated ones with `no ` in front."""
        found: dict[str, None] = {}
        tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(sentence)]
        stems = [_stem(token) for token, _ in tokens]
        breaks = [match.start() for match in _CLAUSE.finditer(sentence)]
        chinese = self._chinese_denials(sentence) if _CJK.search(sentence) else []
        plain = [token.replace("’", "'") for token, _ in tokens]
        denials = [
            place for place in range(len(plain))
            if (plain[place],) in self._denials or tuple(plain[place : place + 2]) in self._denials
        ]  # fmt: skip
        things = [
            (name, place) for place, stem in enumerate(stems) for words, name in self._english.get(stem, ())
            if _matches(words, stems, place)
        ]  # fmt: skip
        for name, place in things:
            begin = tokens[place][1]
            denied = sum(
                bisect.bisect(breaks, begin) == bisect.bisect(breaks, tokens[denial][1])
                for denial in _between(denials, place - _REACH, place - 1)
            ) + _denied(sentence, chinese, begin)
            found["no " + name if denied % 2 and name in self._acts else name] = None
        for token, _ in tokens:
            for part in token.split("/") if "/" in token else ():
                found.update((name, None) for words, name in self._english.get(_stem(part), ()) if len(words) == 1)
        if _CJK.search(sentence):
            self._chinese_concepts(sentence, chinese, found)
        for pattern, name in self._patterns:
            if pattern.search(sentence):
                found[name] = None
        return found

    def _chinese_denials(self, sentence: str) -> list[int]:
        """Where Chinese denials end."""
        return sorted(
            place + len(word)
            for word, name in self._chinese if name == "denial" for place in _places(word, sentence)
        )  # fmt: skip

    def _chinese_concepts(self, sentence: str, denials: list[int], found: dict[str, None]) -> None:
        for word, name in self._chinese:
            if name == "denial":
                continue
            for place in _places(word, sentence):
                negated = _denied(sentence, denials, place)
                found["no " + name if negated and name in self._acts else name] = None


def _between(places: list[int], first: int, last: int) -> list[int]:
    return places[bisect.bisect_left(places, first) : bisect.bisect(places, last)]


def _denied(sentence: str, denials: list[int], place: int) -> bool:
    """Whether a Chinese denial of the same clause ends shortly before the place."""
    near = _between(denials, place - _ZH_REACH, place)
    return any(not _CLAUSE.search(sentence, end, place) for end in near)


def _holds(group: Group, here: Mapping[str, None], before: Mapping[str, None]) -> bool:
    if any(name in here for name in group.unless):
        return False
    inside = 0
    for names in group.all:
        if any(name in here for name in names):
            inside += 1
        elif not any(name in before for name in names):
            return False
    return inside > 0


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for match in _END.finditer(text):
        if text[start : match.start()].strip():
            yield start, text[start : match.start()]
        start = match.end()
    if text[start:].strip():
        yield start, text[start:]


def _matches(words: tuple[str, ...], stems: list[str], place: int) -> bool:
    """Whether the words stand at the place; `*` is for at most three words between."""
    at = place
    loose = 0
    for word in words:
        if word == "*":
            loose = 3
            continue
        for skip in range(loose + 1):
            if at + skip < len(stems) and stems[at + skip] == word:
                at += skip + 1
                break
        else:
            return False
        loose = 0
    return True


def _places(word: str, text: str) -> Iterable[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


@functools.lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """An English word without its inflection: `ignoring`, `ignored` and `ignores` are all `ignor`."""
    word = word.replace("’", "'")
    if word.endswith("'s"):
        word = word[:-2]
    if not word.isalpha() or len(word) <= 3:
        return word
    for ending, kept in (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us")):
            word = word[: len(word) - len(ending)] + kept
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
