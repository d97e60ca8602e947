"""Finds secrets by the name that stands before them: `DB_PASSWORD=`, `token: `, `密码是`, `Cookie:`."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from . import label_patterns, label_values, plausible, tables

_NAME_BACK = 48
_NAME_CHARS = string.ascii_letters + string.digits + "_-."
_SHORT_NAME = 24
"""Names of up to this length come again and again in a text: what was said of one is remembered."""
_NAME_SET = frozenset(_NAME_CHARS)
_KEY_COMPOUND = re.compile(r"key[_\-. ]?(?:secret|token)", re.I | re.A)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", re.A)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」", "『": "』", "《": "》"}
_SHELL_NAME = re.compile(
    r"(?:^|[\n;&|]|\\n)[ \t>$#-]{0,12}(?:export |set |ENV |ARG |env |setx |declare -x |\$env:|\$Env:)?\Z",
    re.A,
)
_COOKIE = re.compile(r"[\s:=\"'\\]{0,8}(?=[A-Za-z0-9_.\-]{1,60}=)", re.A)
_PAIR = re.compile(
    r"([A-Za-z0-9_.\-]{1,60})=([^\s;,\"'\\\x80-\U0010ffff]{1,4000})(?:;[ \t]{0,2}(?=[A-Za-z0-9_.\-]))?",
    re.A,
)
_ZH_VALUE = re.compile(r"[!-~]{2,2000}")
_CODE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.A)
_KEYWORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}==?", re.A)
# `User Id=sa;Password=...`, `username="app" password=...`, `user=jane&password=...`: a connection, not code.
_ACCOUNT_BEFORE = re.compile(
    r"(?i:uid|user(?:[ _]?(?:id|name))?|login|server|host|source|database|catalog)"
    r"=[\"']?[^;&=\n\"']{1,60}[\"']?[;& ] ?\Z",
    re.A,
)
_AFTER_ACCOUNT = frozenset(";& ")
SLASH = " / "
"""Between a name and a password that follows it without a word of its own."""


class Found(NamedTuple):
    """One secret value and what its name says it is."""

    start: int
    end: int
    kind: str


class Labels:
    """The names of the rule file, ready to search."""

    def __init__(
        self, rules: Mapping[str, Any], headers: Mapping[str, Any], placeholders: plausible.Placeholders
    ) -> None:
        self.placeholders = placeholders
        self.long = tuple(str(word) for word in rules["long"])
        self.short = frozenset(str(word) for word in rules["short"])
        self.key_before = frozenset(str(word) for word in rules["key_before"])
        self.key_endings = tuple(word for word in self.key_before if len(word) > 2)
        self.not_before = frozenset(str(word) for word in rules["not_before"])
        # The same few names come again and again in one text.
        self._secret_name = functools.lru_cache(maxsize=4096)(self._name_of_secret)
        self.header_names = frozenset(headers["names"])
        self.cookie_plain = frozenset(headers["cookie_plain"])
        self.zh_pivots = _pivots(rules["zh"])
        self.account_pivots = _pivots(rules["zh_accounts"])
        self.roots = (
            "pass",
            "pw",
            "secret",
            "token",
            "key",
            "auth",
            "cred",
            "jwt",
            "otp",
            "bearer",
            "cookie",
        )
        self.rest_roots = tuple(
            word
            for word in self.long
            if (not word.startswith(self.roots)
            and not word.isascii())
            or word in ("kennwort", "motdepasse")
        )
        self.right = {
            root: label_patterns.right_of(rules, headers, root) for root in (*self.roots, *self.rest_roots)
        }
        self.idle_right = {root: label_patterns.idle_right_of(rules, headers, root) for root in self.right}
        self.brackets = {
            root: label_patterns.in_brackets(label_patterns.nouns_of(rules, root)) for root in self.right
        }
        self.zh_brackets = label_patterns.in_brackets(map(re.escape, rules["zh"]))
        self.said = frozenset(str(link) for link in rules["said"])
        self.methods = re.compile("|".join(map(re.escape, rules["methods"])), re.I)
        self.head = re.compile(
            rf"(?:[\w ]*[ _])?(?:{'|'.join(map(re.escape, rules['heads']))})|\w{{0,4}}(?:{'|'.join(rules['zh'])})", re.I
        )
        self.key_headers = frozenset(
            name[: hit.start()] for name in self.header_names for hit in re.finditer("key", name)
        )
        self.zh_right = label_patterns.right_of_chinese(rules)
        self.zh_next = label_patterns.behind_chinese(rules)
        self.zh_account = re.compile(
            rf"(?:{'|'.join(map(re.escape, rules['zh_accounts']))})[:：= 是为]{{0,4}}[A-Za-z0-9_.@\-]{{2,40}}"
            r"[ \t,，、;；/／]{0,3}\Z",
            re.A,
        )
        self.zh_pair = re.compile(
            r"(?:号|户|名|员|號)?[:：= 是为\t]{0,4}[A-Za-z0-9_.@\-]{2,40}[ \t]{0,2}[/／|,，、;；][ \t]{0,2}",
            re.A,
        )

    def find(self, text: str, places: Mapping[str, Sequence[int]]) -> Iterator[Found]:
        """All values with a name; `places` are those of the keys of `right`, letters of any case."""
        for root in self.right:
            yield from self._walk(text, places.get(root, ()), root, self._cookie if root == "cookie" else self._named)
        if not text.isascii():
            for pivot, words in self.zh_pivots.items():
                yield from self._walk_pivot(text, pivot, words, self._chinese)
            for pivot, words in self.account_pivots.items():
                yield from self._walk_pivot(text, pivot, words, self._account)
        yield from self._walk(text, places.get(SLASH, ()), SLASH, self._slash)
        for start, end in tables.find(text, self._is_head):
            if not self.placeholders.holds(text[start:end]):
                yield Found(start, end, "password")

    def _is_head(self, head: str) -> bool:
        return len(head) <= 40 and self.head.fullmatch(head) is not None

    def _walk(
        self, text: str, places: Sequence[int], root: str, judge_at: Callable[[str, int, str], Sequence[Found]]
    ) -> Iterator[Found]:
        done = 0
        for place in places:
            found = judge_at(text, place, root) if place >= done else ()
            if found:
                yield from found
                done = found[-1].end

    def _walk_pivot(
        self,
        text: str,
        pivot: str,
        words: Sequence[tuple[str, int]],
        judge_at: Callable[[str, int, str], Sequence[Found]],
    ) -> Iterator[Found]:
        place = text.find(pivot)
        while place >= 0:
            for word, offset in words:
                if text.startswith(word, place - offset) and place >= offset:
                    yield from judge_at(text, place - offset, word)
                    break
            place = text.find(pivot, place + 1)

    def _named(self, text: str, place: int, root: str) -> Sequence[Found]:
        # Most keys are those of something else; of the other names most are set to nothing.
        if root == "key" and not self._may_be_key(text, place):
            return ()
        if self.idle_right[root].match(text, place):
            return ()
        match = self.right[root].match(text, place)
        found = self._set_to(text, place, root, match) if match else ()
        return found or self._bracketed(text, place, root)

    def _bracketed(self, text: str, place: int, root: str) -> Sequence[Found]:
        match = self.brackets[root].match(text, place)
        if match is None:
            return ()
        left, prior = _left_of(text, place, root)
        noun = text[place : match.start(1)].lower().rstrip("\"'`“ \t([（【")
        if not self._secret_name(left, prior, noun.removesuffix("s") if noun != "pass" else noun):
            return ()
        return self._in_brackets(match, _kind(noun, header=False))

    def _in_brackets(self, match: re.Match[str], kind: str) -> Sequence[Found]:
        # What stands in brackets is mostly a remark: a name, a method, a format.
        value = match[1]
        good = plausible.long_hex(value) or (plausible.strong(value) and plausible.restless(value))
        good = good and not plausible.wordy(value.replace("+", "-"))
        if not good or self.methods.search(value) or self.placeholders.holds(value):
            return ()
        return (Found(*match.span(1), kind),)

    def _set_to(self, text: str, place: int, root: str, match: re.Match[str]) -> Sequence[Found]:
        left, prior = _left_of(text, place, root)
        noun = match["noun"].lower()
        if text.endswith("${", 0, place - len(left)):
            return ()
        header = (left + match["noun"]).lower().lstrip("-.") in self.header_names and match[
            "set"
        ] is not None
        if not header and not self._secret_name(left, prior, noun):
            return ()
        return self._value(text, place - len(left), match, noun, left, header)

    def _may_be_key(self, text: str, place: int) -> bool:
        """Whether the key at a place may be one that the rules look for: by what stands left of it alone."""
        left, prior = _left_of(text, place, "key")
        return (
            len(left) > _SHORT_NAME
            or self._secret_name(left, prior, "key")
            or left.lower().lstrip("-.") in self.key_headers
            or _KEY_COMPOUND.match(text, place) is not None
        )

    def _name_of_secret(self, left: str, prior: str, noun: str) -> bool:
        """Whether a name says that it holds a secret: `left` of the noun, or the word before it, and the noun."""
        words = [word.lower() for word in _CAMEL.findall(left)]
        if self.not_before.intersection(words):
            return False
        glued = left[-1:].isalpha() and not (left[-1:].islower() and noun[:1].isupper())
        if noun == "key":
            return self._key_name(left or prior)
        if noun in self.short:
            # `bypass`, `compass`, `oauth` are other words; `dbpass`, `PGPWD`, `userPass` are not.
            return (
                not glued
                or (bool(words)
                and words[-1]
                in ("db", "pg", "user", "root", "my", "ftp", "smtp", "mysql", "redis", "admin"))
            )
        return True

    def _key_name(self, left: str) -> bool:
        # `api key` in prose: the word before the blank belongs to the name.
        words = [word.lower() for word in _CAMEL.findall(left)]
        if not words or self.not_before.intersection(words):
            return False
        return words[-1] in self.key_before or words[-1].endswith(self.key_endings)

    def _value(
        self, text: str, begin: int, match: re.Match[str], noun: str, left: str, header: bool
    ) -> Sequence[Found]:
        start = match.end()
        opened = match["open"] or ""
        quote = _QUOTES.get(opened[-1:], "")
        if text.startswith("://", begin - 3) and begin >= 3:
            return ()  # The user part of a URL: its password ends at the `@`, and `addresses` knows.
        shell = (
            match["set"] is not None
            and match["set"] == "="
            and (left + match["noun"]).isupper()
            and (_SHELL_NAME.search(text[max(0, begin - 24) : begin]) is not None)
        )
        end = label_values.end_of(text, start, quote, shell, opened)
        if not shell and match["set"] == "=" and text[begin - 1 : begin] in _AFTER_ACCOUNT:
            shell = _ACCOUNT_BEFORE.search(text[max(0, begin - 90) : begin]) is not None
        start, end = label_values.trimmed(text, start, end, bool(quote), opened)
        value = text[start:end]
        if (
            not value
            or not self._accept(text, match, noun, value, left, bool(quote), shell, header, end)
            or self.placeholders.holds(value)
        ):
            return ()
        return (Found(start, end, _kind(noun, header)),)

    def _accept(
        self,
        text: str,
        match: re.Match[str],
        noun: str,
        value: str,
        left: str,
        quoted: bool,
        shell: bool,
        header: bool,
        end: int,
    ) -> bool:
        if (
            not quoted
            and not shell
            and text[end : end + 1] in ("(", "[", "{")
            and _CODE_NAME.fullmatch(value)
        ):
            return False
        if (
            match["flag"] is not None
            and not left.startswith("-")
            and (noun == "pass" or _KEYWORD.match(value))
        ):
            return False
        password = label_patterns.of_password(noun)
        if noun in ("auth", "authorization", "bearer", "jwt") and not header:
            return plausible.random_looking(value) and len(value) >= 16
        if header:
            return len(value) >= 8 and not plausible.wordy(value)
        if match["cell"] is not None or (match["set"] is not None and match["set"][-1:] == "\n"):
            return plausible.strong(value)
        if match["set"] is not None or (match["flag"] is not None and left.startswith("-")):
            return plausible.assigned(value, password=password, quoted=quoted, shell=shell or left.startswith("--"))
        if match["pair"] is not None:
            return (
                plausible.strong(value)
                or (password
                and quoted
                and plausible.assigned(value, password=True, quoted=True, shell=False))
            )
        if match["flag"] is not None and quoted and password:
            return plausible.assigned(
                value, password=True, quoted=True, shell=False
            ) and not plausible.wordy(value)
        if match["word"] is None:
            return plausible.strong(value)
        return plausible.strong(value) or plausible.long_hex(value) or (
            password and match["word"].strip(" \t:").lower() in self.said
            and plausible.word_and_number(value) and not self.methods.search(value)
        )

    def _chinese(self, text: str, place: int, root: str) -> Sequence[Found]:
        if text[place + len(root) : place + len(root) + 1] not in self.zh_next:
            return ()
        bracketed = self.zh_brackets.match(text, place)
        if bracketed:
            found = self._in_brackets(bracketed, _zh_kind(root))
            if found:
                return found
        match = self.zh_right.match(text, place + len(root))
        if match is None:
            return ()
        value_match = _ZH_VALUE.match(text, match.end())
        if value_match is None:
            return ()
        start, end = match.end(), value_match.end()
        quote = _QUOTES.get((match["open"] or "")[-1:], "")
        if quote and text.find(quote, start, end) > start:
            end = text.find(quote, start, end)
        start, end = label_values.trimmed(text, start, end, bool(quote), "")
        value = text[start:end]
        if self.placeholders.holds(value):
            return ()
        kind = _zh_kind(root)
        linked = match["set"] is not None or (
            bool(match["gap"]) and self.zh_account.search(text[max(0, place - 48) : place]) is not None
        )
        if (
            root.endswith("码")
            and root != "密码"
            and value.isdigit()
            and 4 <= len(value) <= 8
            and (linked or match["gap"])
        ):
            return (Found(start, end, "code"),)
        good = (
            plausible.assigned(value, password=kind == "password", quoted=bool(quote), shell=True)
            and (plausible.long_hex(value) or not plausible.plain(value))
            if linked and "\n" not in (match["set"] or "")
            else plausible.long_hex(value) or plausible.strong(value)
        )
        return (Found(start, end, kind),) if good else ()

    def _account(self, text: str, place: int, root: str) -> Sequence[Found]:
        match = self.zh_pair.match(text, place + len(root))
        return self._second(text, match.end()) if match else ()

    def _slash(self, text: str, place: int, root: str) -> Sequence[Found]:
        before = text[max(0, place - 80) : place]
        if not before[-1:].isalnum() or not any(
            word in before.lower() for word in ("user", "acc", "login", "cred")
        ):
            return ()
        named = re.search(
            r"(?i:account|username|user|login|acct|creds|credentials)\W{1,4}(?:is )?[A-Za-z0-9_.@\-]{2,40}\Z",
            before,
            re.A,
        )
        return self._second(text, place + len(root)) if named else ()

    def _second(self, text: str, start: int) -> Sequence[Found]:
        match = label_values.UNQUOTED.match(text, start)
        if match is None:
            return ()
        start, end = label_values.trimmed(text, start, match.end(), False, "")
        value = text[start:end]
        return (
            (Found(start, end, "password"),)
            if plausible.strong(value) and not self.placeholders.holds(value)
            else ()
        )

    def _cookie(self, text: str, place: int, root: str) -> Sequence[Found]:
        start = _COOKIE.match(
            text, place + len(root) + (text[place + len(root) : place + len(root) + 1] in ("s", "S"))
        )
        found: list[Found] = []
        match = _PAIR.match(text, start.end()) if start and start.end() > place + len(root) else None
        while match is not None:
            value = match[2]
            if (
                match[1].lower() not in self.cookie_plain
                and len(value) >= 8
                and not self.placeholders.holds(value)
                and not plausible.wordy(value)
            ):
                found.append(Found(match.start(2), match.end(2), "cookie"))
            match = _PAIR.match(text, match.end()) if match.group().endswith((" ", ";")) else None
        return found


def _pivots(words: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
    """Words by the character that most of them share: one character is found much faster than each word."""
    shared = {char: sum(char in word for word in words) for char in "".join(words)}
    pivots: dict[str, list[tuple[str, int]]] = {}
    for word in sorted(words, key=len, reverse=True):
        pivot = max(word, key=lambda char: (shared[char], char))
        pivots.setdefault(pivot, []).append((word, word.index(pivot)))
    return pivots


def _left_of(text: str, place: int, root: str) -> tuple[str, str]:
    """The part of a name that stands left of a root, and the word before a key that has none."""
    before = text[max(0, place - _NAME_BACK) : place]
    if before[-1:] in _NAME_SET:
        return before[len(before.rstrip(_NAME_CHARS)) :], ""
    if root != "key":
        return "", ""
    before = before.rstrip(" ")
    return "", before[len(before.rstrip(_NAME_CHARS)) :]


def _zh_kind(root: str) -> str:
    return "password" if root in ("密码", "口令", "密碼", "解压码", "提取码", "访问码") else "secret"


def _kind(noun: str, header: bool) -> str:
    if header:
        return "header"
    if noun.startswith(label_patterns.PASSWORD_NOUNS):
        return "password"
    return (
        "token"
        if "token" in noun or noun in ("jwt", "bearer", "auth")
        else "key"
        if "key" in noun
        else "secret"
    )
