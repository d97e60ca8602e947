"""Takes secrets and personal data out of a text, keeping the kind and a keyed fingerprint.

One walk finds the literals of all rules, one the long runs of token characters; a bounded pattern is tried
only there, so the work grows in step with the text. Text is redacted field by field, before anything is cut.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import addresses, literal_search, pem, plausible, portions, runs
from .labels import SLASH, Found, Labels
from .personal import Personal

_DISCORD = re.compile(r"[A-Za-z0-9_\-]{23,28}\.[A-Za-z0-9_\-]{6,7}\.[A-Za-z0-9_\-]{27,45}", re.A)
# A provider that the rules do not know: a head, `_`, and 32 or more mixed letters and digits.
_UNKNOWN = re.compile(r"_(?<=[a-z0-9]_)([A-Za-z0-9]{32,200})(?![A-Za-z0-9+/])", re.A)
_UNKNOWN_HEAD = re.compile(r"(?<![A-Za-z0-9_\-/+])[a-z][a-z0-9]{1,11}\Z", re.A)
_AIRTABLE = re.compile(r"pat[A-Za-z0-9]{14}\.[a-f0-9]{50,70}", re.A)
_ALONE = re.compile(r"[A-Za-z0-9_\-=]", re.A)
_MARK = re.compile(r"\[redacted:[a-z0-9\-]{2,40}:[0-9a-f]{8}\]")
_WIDE = re.compile("[\uff21-\uff3a\uff41-\uff5a]")
_NARROW = {code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_ALNUM = re.compile(r"[A-Za-z0-9]", re.A)
_MARK_BEFORE = re.compile(r"[A-Za-z0-9+]", re.A)
PERSONAL = frozenset({"email", "home-name", "phone", "id-number", "card", "iban", "code"})
"""Kinds that are personal data, and no secrets."""
_RANK = {
    "password": 3,
    "secret": 3,
    "token": 3,
    "key": 3,
    "header": 3,
    "cookie": 3,
    "api-key": 2,
    "email": 4,
}


@dataclass(frozen=True)
class Readers:
    """`count` processes; `read` has them read portions of a text that has these gates (see `find_in`)."""

    count: int
    read: Callable[[Sequence[str], frozenset[str]], Iterable[list[Found]]]


@dataclass(frozen=True)
class Redacted:
    """A text without its secrets: `counts` by kind, `spans` as (start, end, kind) in the old text."""

    text: str
    counts: Mapping[str, int]
    spans: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class _Token:
    kind: str
    head: str
    body: str
    random: bool

    @property
    def turn(self) -> int:
        """Place of the separator in the head at which the finder stops: the first, or the last dot."""
        first = min(self.head.find(sign) % 999 for sign in "_-.")
        return max(first, self.head.rfind("."))


class Rules:
    """The rule file `redaction.yaml`, ready to search; made once a process."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.placeholders = plausible.Placeholders.of(data["placeholders"])
        self.labels = Labels(data["labels"], data["headers"], self.placeholders)
        self.personal = Personal(data["personal"])
        self.keep_users = frozenset(data["urls"]["keep_users"])
        self.marks: list[Mapping[str, Any]] = []
        self.capitals: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        for rule in data["marks"]:
            self._add_mark(rule)
        self.scans = [rule for rule in self.marks if "scan" in rule]
        self.gates = frozenset(rule["gate"] for rule in self.marks if "gate" in rule)
        searched: list[tuple[str, bool, Mapping[str, Any] | str]] = [
            *((literal, bool(rule.get("lower")), rule) for rule in self.marks for literal in rule.get("find", ())),
            *((root, True, root) for root in (*self.labels.right, SLASH)),
            *((word, False, word) for word in self.personal.heads),
        ]
        self.literals = literal_search.Literals(searched)
        self.tokens: dict[str, list[_Token]] = {}
        for rule in data["tokens"]:
            for head in rule["heads"]:
                self._add(_Token(rule["kind"], head, rule["body"], bool(rule.get("random"))))
        for tokens in self.tokens.values():
            tokens.sort(key=lambda token: -len(token.head))

    def _add_mark(self, rule: Mapping[str, Any]) -> None:
        special = {
            "back",
            "digits",
            "chars",
            "line",
            "tools",
            "inside",
            "lower",
            "gate",
            "scan",
        }.intersection(rule)
        if special or not all(literal[0].isupper() and literal.isascii() for literal in rule["find"]):
            self.marks.append(rule)
            return
        for literal in rule["find"]:
            self.capitals.setdefault(literal[:2], []).append((literal, rule))

    def _add(self, token: _Token) -> None:
        self.tokens.setdefault(token.head[max(0, token.turn - 2) : token.turn + 1], []).append(token)


def redact(text: str, rules: Rules, key: bytes, readers: Readers | None = None) -> Redacted:
    """Replace each secret by `[redacted:<kind>:<8 hex>]`; the hex is a keyed hash of the value.

    The same value gives the same mark under the same key, so two mentions can still be joined.
    A text without findings comes back as it was; redacting twice changes nothing more.

    Args:
        readers: what reads a large text; without them it is read here.
    """
    spans = _merged(_unmarked(text, find(text, rules, readers)))
    if not spans:
        return Redacted(text, {}, ())
    parts: list[str] = []
    counts: dict[str, int] = {}
    fingerprint = _Fingerprint(key)
    done = 0
    for start, end, kind in spans:
        value = text[start:end]
        parts += (text[done:start], f"[redacted:{kind}:{fingerprint.of(value)}]")
        counts[kind] = counts.get(kind, 0) + 1
        done = end
    parts.append(text[done:])
    return Redacted("".join(parts), counts, tuple(spans))


def mark(value: str, kind: str, key: bytes) -> str:
    """The text that stands in place of `value`."""
    return f"[redacted:{kind}:{_Fingerprint(key).of(value)}]"


class _Fingerprint:
    """HMAC-SHA-256 (RFC 2104) of many values under one key, the key's two halves hashed once."""

    def __init__(self, key: bytes) -> None:
        block = (key if len(key) <= 64 else hashlib.sha256(key).digest()).ljust(64, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))
        self._known: dict[str, str] = {}

    def of(self, value: str) -> str:
        """The first eight hex digits."""
        known = self._known.get(value)
        if known is None:
            inner, outer = self._inner.copy(), self._outer.copy()
            inner.update(value.encode("utf-8", "surrogatepass"))
            outer.update(inner.digest())
            known = self._known[value] = outer.hexdigest()[:8]
        return known


def find(text: str, rules: Rules, readers: Readers | None = None) -> list[Found]:
    """All findings, in no order, perhaps overlapping; `readers` as in `redact`."""
    gates = frozenset(gate for gate in rules.gates if gate in text)

    def read(texts: Sequence[str]) -> Iterable[list[Found]]:
        return readers.read(texts, gates) if readers else (list(find_in(one, rules, gates)) for one in texts)

    return [*pem.find(text), *portions.find(text, read, readers.count if readers else 1)]


def find_in(text: str, rules: Rules, gates: frozenset[str]) -> Iterator[Found]:
    """All findings but private keys in a text or a portion of one; `gates` are those that the whole text has."""
    if not text.isascii() and _WIDE.search(text):
        # Letters of full width read as the plain ones; each is one character, so all places stay.
        text = text.translate(_NARROW)
    views = literal_search.Views(text)
    marked, named = _marked(views, rules, gates)
    separators, capitals = runs.starts(views)
    taken: set[int] = set()
    yield from addresses.find(text, rules.placeholders, taken)
    yield from _tokens(text, separators, rules)
    yield from _capitals(text, capitals, rules)
    for rule, places in marked:
        yield from _marks(text, places, rule, rules)
    yield from rules.labels.find(text, named)
    yield from rules.personal.find(views, named, frozenset(taken))
    yield from rules.personal.find_lettered(text, capitals)


def _marked(
    views: literal_search.Views, rules: Rules, gates: frozenset[str]
) -> tuple[list[tuple[Mapping[str, Any], Iterable[int]]], dict[str, list[int]]]:
    """The rules whose literals occur, and the words of the other finders, with the places at which to try them."""
    marked: list[tuple[Mapping[str, Any], Iterable[int]]] = []
    named: dict[str, list[int]] = {}
    for owner, places in rules.literals.places(views):
        if isinstance(owner, str):
            named[owner] = places
        elif "gate" not in owner or owner["gate"] in gates:
            marked.append((owner, places))
    for rule in rules.scans:
        if rule["gate"] in gates:
            marked.append((rule, (match.start() for match in _compiled(rule["scan"]).finditer(views.text))))
    return marked, named


def _unmarked(text: str, found: list[Found]) -> list[Found]:
    """Findings outside the marks that an earlier redaction left."""
    if "[redacted:" not in text:
        return found
    marks = [match.span() for match in _MARK.finditer(text)]
    starts = [start for start, _ in marks]

    def outside(item: Found) -> bool:
        place = bisect.bisect_left(starts, item.end) - 1
        return place < 0 or marks[place][1] <= item.start

    return [item for item in found if outside(item)]


def _merged(found: list[Found]) -> list[tuple[int, int, str]]:
    """Spans in order without overlap; the most telling kind of an overlap wins."""
    found.sort(key=lambda item: (item.start, -item.end))
    spans: list[tuple[int, int, str]] = []
    for item in found:
        if item.end <= item.start:
            continue
        if spans and item.start < spans[-1][1]:
            start, end, kind = spans[-1]
            better = min((kind, item.kind), key=lambda name: _RANK.get(name, 1))
            spans[-1] = (start, max(end, item.end), better)
        else:
            spans.append((item.start, item.end, item.kind))
    return spans


def _tokens(text: str, places: list[int], rules: Rules) -> Iterator[Found]:
    done = 0
    judged: dict[str, int] = {}
    for place in places:
        if place < done:
            continue
        for token in rules.tokens.get(text[max(0, place - 2) : place + 1], ()):
            if place < judged.get(token.head, 0):
                continue
            found, judged[token.head] = _token_at(text, place, token, rules)
            if found:
                done = found.end
                yield found
                break
        else:
            if text[place] == ".":
                yield from _dotted(text, place, rules)
            elif text[place] == "_":
                match = _UNKNOWN.match(text, place)
                head = _UNKNOWN_HEAD.search(text[max(0, place - 14) : place])
                if (
                    head
                    and match
                    and _three_classes(match[1])
                    and not rules.placeholders.is_dummy(match[1])
                ):
                    done = match.end()
                    yield Found(match.start(1), done, "api-key")


def _token_at(text: str, place: int, token: _Token, rules: Rules) -> tuple[Found | None, int]:
    """The token, and the place up to which its head need not be looked for again."""
    start = place - token.turn
    if start < 0 or not text.startswith(token.head, start) or (start and _ALNUM.match(text[start - 1])):
        return None, 0
    body = _compiled(token.body).match(text, start + len(token.head))
    if body is None:
        return None, 0
    if (
        rules.placeholders.is_dummy(body.group())
        or (token.random
        and not plausible.random_looking(body.group()))
    ):
        return None, body.end()
    return Found(start, body.end(), token.kind), body.end()


def _three_classes(value: str) -> bool:
    return (
        any(map(str.isdigit, value))
        and any(map(str.isupper, value))
        and any(map(str.islower, value))
        and not plausible.wordy(value)
    )


def _dotted(text: str, place: int, rules: Rules) -> Iterator[Found]:
    """Tokens in which only the place of the dots is typical."""
    if place >= 17 and text.startswith("pat", place - 17):
        match = _AIRTABLE.match(text, place - 17)
        if match:
            yield Found(match.start(), match.end(), "airtable-token")
    for gap in (7, 8):
        if place > gap + 22 and text[place - gap] == ".":
            start = place - gap
            while start and place - gap - start < 28 and _ALONE.match(text[start - 1]):
                start -= 1
            match = _DISCORD.match(text, start)
            if match and plausible.random_looking(match.group().replace(".", "")):
                yield Found(match.start(), match.end(), "discord-token")


def _capitals(text: str, places: list[int], rules: Rules) -> Iterator[Found]:
    """Marks that begin with a capital letter and run on: one pass for all of them."""
    done = 0
    for place in places:
        if place < done:
            continue
        for literal, rule in rules.capitals.get(text[place : place + 2], ()):
            if not text.startswith(literal, place):
                continue
            match = _compiled(rule["match"]).match(text, place)
            if match and _checked(match, rule, rules):
                done = match.end()
                yield Found(place, done, rule["kind"])
                break


def _marks(text: str, places: Iterable[int], rule: Mapping[str, Any], rules: Rules) -> Iterator[Found]:
    done = 0
    for place in places:
        if place < done:
            continue
        start = _mark_start(text, rule, place)
        before = text[start - 1 : start] if start else ""
        alone = _ALONE if rule.get("alone") else _MARK_BEFORE
        # A literal that begins with a sign (`/hook/`) may stand behind a letter.
        if not rule.get("inside") and before and text[start].isalnum() and alone.match(before):
            continue
        pattern = _compiled(rule["match"])
        match = pattern.match(text, start) if _tool_near(text, rule, place) else None
        done = match.end() if match else done
        if match and _checked(match, rule, rules):
            yield Found(*_unquoted(match, "s" if "s" in pattern.groupindex else 0), rule["kind"])


def _mark_start(text: str, rule: Mapping[str, Any], place: int) -> int:
    if "back" in rule and text.startswith(rule["back"], max(0, place - len(rule["back"]))):
        return max(0, place - len(rule["back"]))
    if rule.get("line"):
        return max(text.rfind("\n", 0, place) + 1, text.rfind(" ", 0, place) + 1, place - 200)
    good: Callable[[str], object] = str.isdigit if "digits" in rule else _ALONE.match
    start = place
    limit = int(rule.get("digits") or rule.get("chars") or 0)
    while start and place - start < limit and good(text[start - 1]) and text[start - 1].isascii():
        start -= 1
    return start


def _tool_near(text: str, rule: Mapping[str, Any], place: int) -> bool:
    if "tools" not in rule:
        return True
    line = text[max(0, place - 200) : place]
    line = line[line.rfind("\n") + 1 :]
    return any(tool in line for tool in rule["tools"])


def _checked(match: re.Match[str], rule: Mapping[str, Any], rules: Rules) -> bool:
    check = rule.get("check", "")
    value = (match["s"] if "s" in match.re.groupindex else match.group()).strip("'\"")
    if check == "literal":
        # Nothing but a password can stand here, be it a word.
        return len(value) >= 4 and not rules.placeholders.holds(value)
    if check == "password":
        if rules.placeholders.holds(value) or value.startswith("-"):
            return False
        return plausible.assigned(value, password=True, quoted=False, shell=False)
    if check and (
        rules.placeholders.is_dummy(value)
        or ("s" in match.re.groupindex
        and rules.placeholders.holds(value))
    ):
        return False
    return check != "random" or plausible.random_looking(value)


def _unquoted(match: re.Match[str], group: str | int) -> tuple[int, int]:
    start, end = match.span(group)
    value = match.group(group)
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return start + 1, end - 1
    return start, end


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.A)
