"""Finds personal data: e-mail, phone, identity and card numbers, names of home folders."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import digits, plausible
from .labels import Found
from .literal_search import Views, any_of

_LOCAL_CHARS = string.ascii_letters + string.digits + "._%+-"
_LOCALS = bytes(97 if chr(code) in _LOCAL_CHARS else 32 for code in range(256))
_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?\.){1,6}([A-Za-z]{2,24})(?![A-Za-z0-9\-]|\.[A-Za-z0-9])",
    re.A,
)
_BARE_LOGIN = re.compile(r"(?<![A-Za-z0-9_.\-])[A-Za-z0-9_.\-]{1,40}:([^\s@:/'\"]{6,60})\Z", re.A)
_LOGIN_VALUE = re.compile(r"[^\s@:/'\"]{6,60}", re.A)
_DIGITS = r"(?:[ ().\-]{0,2}[0-9]){6,21}[Xx]?"
# A number is looked at when a label may stand before it, or when it is long enough for a form of its own. One that
# is passed over is so at each of its digits: before the later ones stands a digit, or too few of them follow.
_FIRST = r"[0-9](?=[0-9 ().\-]{6})(?:(?<![/_\-,<&%{}\[;|\n\r@~^*!?$\\0-9].)"
# `a9` and `ab9`: a piece of a hash, for labels without digits and of three letters or more.
_NO_HASH = r"(?<![0-9][A-Za-z].)(?<![0-9][A-Za-z]{2}.)"
_LONG = r"|(?=[0-9]{9}[0-9Xx])|(?=[0-9]{0,7}[ ().\-])(?=[0-9 ().\-]{7}[0-9 ().\-Xx]))"
_BEGIN = re.compile(r"(?<![0-9])[0-9+(]", re.A)
_NO_LABEL = frozenset("/_-,<&%{}[;|\n\r@~^*!?$\\0123456789")
"""Signs that never stand between a label and its number."""
_PLUS = re.compile(r"\+[1-9][0-9 ().\-]{7,22}[0-9]", re.A)
_YEAR = re.compile(r"(?:19|20)[0-9]{2}[-./ ][01]?[0-9][-./ ][0-3]?[0-9](?![0-9])", re.A)
_CHINA_MOBILE = re.compile(
    r"(?<![0-9A-Za-z_.\-])(?:(?:\+|00)?86[- ]?)?(1[3-9][0-9](?P<d>[- ]?)[0-9]{4}(?P=d)[0-9]{4})"
    r"(?![0-9A-Za-z_]|[.\-][0-9])",
    re.A,
)
_CHINA_MOBILE_ODD = re.compile(r"(?<![0-9])1[3-9][0-9]{9}(?![0-9])", re.A)
_CHINA_LINE = re.compile(
    r"(?<![0-9.\-])\(?0[1-9][0-9]{1,2}\)?[- ][2-8][0-9]{6,7}(?:[-转 ]{1,2}[0-9]{1,5})?(?![0-9\-])", re.A
)
_US = re.compile(
    r"(?<![0-9A-Za-z.\-+])(?:\+?1[-. ]?)?(?:\([2-9][0-9]{2}\)[ \-.]?|[2-9][0-9]{2}(?P<s>[-. ]))"
    r"[2-9][0-9]{2}(?(s)(?P=s)|[-. ])[0-9]{4}"
    r"(?![0-9A-Za-z]|[-.][0-9])",
    re.A,
)
_GROUPED = re.compile(
    r"(?<![0-9A-Za-z.\-+])(?:0[1-9][0-9]{1,4}[ \-][0-9]{3,4}[ \-]?[0-9]{3,4}|0[1-9](?:[ .\-][0-9]{2}){4}"
    r"|0[1-9][0-9][ \-]?[0-9]{4}[ \-][0-9]{4}|0[1-9][0-9]{3}[ ][0-9]{6})(?![0-9A-Za-z]|[-.][0-9])",
    re.A,
)
_SSN = re.compile(r"(?<![0-9A-Za-z.\-])([0-9]{3})-([0-9]{2})-([0-9]{4})(?![0-9A-Za-z\-])", re.A)
_CPF = re.compile(r"(?<![0-9.])[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}(?![0-9])", re.A)
_KOREA = re.compile(r"(?<![0-9.\-])[0-9]{6}-[1-8][0-9]{6}(?![0-9\-])", re.A)
_AADHAAR = re.compile(
    r"(?<![0-9A-Za-z.\-])[2-9][0-9]{3}([ \-])[0-9]{4}\1[0-9]{4}(?![0-9A-Za-z]|[ .\-][0-9])", re.A
)
_CARD = re.compile(
    r"(?<![0-9A-Za-z_.\-])(?:[0-9]{13,19}|[0-9]{4}([ \-])[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}(?:\1[0-9]{1,3})?"
    r"|3[47][0-9]{2}([ \-])[0-9]{6}\2[0-9]{5})(?![0-9A-Za-z_]|[.\-][0-9])",
    re.A,
)
_CARD_ODD = re.compile(r"(?<![0-9])[0-9]{15,19}(?![0-9])", re.A)
_CHINA_ID = re.compile(r"(?<![0-9A-Za-z])[1-8][0-9]{5}(?:18|19|20)[0-9]{9}[0-9Xx](?![0-9A-Za-z])", re.A)
_CHINA_ID_SPACED = re.compile(
    r"(?<![0-9A-Za-z])([1-8][0-9]{5})[ \-]((?:18|19|20)[0-9]{6})[ \-]([0-9]{3}[0-9Xx])(?![0-9A-Za-z])",
    re.A,
)
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![A-Za-z0-9])", re.A)
_PATH_CHARS = string.ascii_letters + string.digits + "_.-/"
_LETTER_ID = re.compile(
    r"(?<![A-Za-z0-9_\-])(?:[A-Z][0-9]{9}|[STFG][0-9]{7}[A-Z]|[XYZ]?[0-9]{7,8}[A-Z])(?![A-Za-z0-9_\-])",
    re.A,
)


class Personal:
    """The lists of the rule file, ready to search."""

    def __init__(self, rules: Mapping[str, Any]) -> None:
        self.heads = tuple(rules["home_heads"])
        self.names = frozenset(str(name).lower() for name in rules["home_names"])
        self.roles = frozenset(rules["mail_roles"])
        self.hosts = frozenset(rules["mail_hosts"])
        self.not_ends = frozenset(str(end).lower() for end in rules["mail_not_ends"])
        self.phone = _Label(rules["phone_labels"])
        self.identity = _Label(rules["id_labels"])
        self.account = _Label(rules["account_labels"])
        words = {*self.phone.words, *self.identity.words, *self.account.words}
        self.any_label = re.compile(_BACKWARDS + any_of(word[::-1] for word in words), re.I | re.A)
        hashes = min(len(word) for word in words if word.isascii()) > 2 and not any(map(_has_digit, words))
        self.number = re.compile(_FIRST + (_NO_HASH if hashes else "") + _LONG + _DIGITS, re.A)

    def find(self, views: Views, heads: Mapping[str, Sequence[int]], taken: frozenset[int]) -> Iterator[Found]:
        """All personal data.

        Args:
            heads: the places of the heads of home folders.
            taken: the places of `@` that belong to URLs with a password.
        """
        yield from self._mails(views, taken)
        yield from self._homes(views.text, heads)
        yield from self._numbers(views)

    def _mails(self, views: Views, taken: frozenset[int]) -> Iterator[Found]:
        text = views.text
        place = text.find("@")
        locals_ = views.plain.translate(_LOCALS) if place >= 0 else b""
        while place >= 0:
            begin = locals_.rfind(b" ", max(0, place - 64), place) + 1 or max(0, place - 64)
            if begin < place and place not in taken:
                local = text[begin:place]
                login = _bare_login(text, place)
                host = None if login else _HOST.match(text, place + 1)
                if login:
                    yield Found(place - len(login), place, "password")
                elif host and self._is_mail(text, local, host, place):
                    yield Found(place - len(local.lstrip(".-%+_")), host.end(), "email")
            place = text.find("@", place + 1)
        place = text.find("%40")
        while place >= 0:
            local = _local_before(text, place)
            host = _HOST.match(text, place + 3) if local else None
            if host and self._is_mail(text, local, host, place):
                yield Found(place - len(local.lstrip(".-%+_")), host.end(), "email")
            place = text.find("%40", place + 3)

    def _is_mail(self, text: str, local: str, host: re.Match[str], place: int) -> bool:
        name = local.lower().strip(".-%+_")
        domain = host.group().lower()
        if not name or name in self.roles or domain in self.hosts or host[1].lower() in self.not_ends:
            return False
        # scp-like addresses (host:path) and npm's package@version are no mail.
        return not (
            text[host.end() : host.end() + 1] == ":" and text[host.end() + 1 : host.end() + 2].isalpha()
        )

    def _homes(self, text: str, heads: Mapping[str, Sequence[int]]) -> Iterator[Found]:
        for head in self.heads:
            done = 0
            for place in heads.get(head, ()):
                if place < done:
                    continue
                start = place + len(head)
                if head.endswith("\\"):
                    start += text[start : start + 1] == "\\"
                end = _home_end(text, start, head)
                name = text[start:end]
                if (
                    (name[:1].isalnum() or name[:1] == "_")
                    and name.lower() not in self.names
                    and not (head[0] == "/" and _elsewhere(text, place))
                ):
                    yield Found(start, end, "home-name")
                done = start

    def _numbers(self, views: Views) -> Iterator[Found]:
        text = views.text
        for match in self.number.finditer(text):
            start, end = match.span()
            solid = text[start : end - 1].isdigit()
            before = text[start - 1 : start]
            signed = before == "+" or before == "("
            if signed:
                start -= 1
            # No form has less than 9 digits; without a sign or a blank among them, less than 11.
            short = end - start < 9 or (solid and not signed and end - start < 11)
            if short and not self._behind_label(views, start):
                continue
            if not solid and end - start <= 16 and _is_date(text[start:end]):
                continue
            count = len(views.plain[start:end].translate(None, b" ().-+Xx"))
            found = list(self._number(text, start, end)) if count >= 9 else []
            yield from found
            if not found and self._behind_label(views, start):
                yield from self._labelled(text, start, end, count)

    def _behind_label(self, views: Views, start: int) -> bool:
        """Whether some label may stand before the number at `start`: true of few places, and of all that have one."""
        if views.text[start - 1 : start] in _NO_LABEL:
            return False
        return self.any_label.match(views.backwards, len(views.text) - start) is not None

    def _number(self, text: str, start: int, end: int) -> Iterator[Found]:
        value = text[start:end]
        solid = value[:-1].isdigit()
        if solid and len(value) < 11:
            return  # The forms below that need neither a sign nor a blank have 11 digits and more.
        # Every form begins behind something that is no digit: few places to try, in place of a search.
        places = [start] if solid else [start + match.start() for match in _BEGIN.finditer(value)]
        stop = min(len(text), end + 24)
        signs = frozenset(value)
        for pattern, kind, good, needs in _SOLID if solid else _FORMS:
            if needs and signs.isdisjoint(needs):
                continue
            done = 0
            for place in places:
                match = pattern.match(text, place, stop) if place >= done else None
                if match and good(match.group()):
                    yield Found(place, match.end(), kind)
                    return
                done = match.end() if match else done
        for place in places:
            odd = _CHINA_MOBILE_ODD.match(text, place, stop)
            if odd:
                # `客户13800000000投诉`: letters of a script without blanks may touch the number.
                if not _glued(text, place, odd.end()):
                    yield Found(place, odd.end(), "phone")
                return

    def _labelled(self, text: str, start: int, end: int, count: int) -> Iterator[Found]:
        before = text[max(0, start - 40) : start].lower()
        if 7 <= count <= 15 and self.phone.search(before):
            yield Found(start, end, "phone")
        elif 6 <= count <= 20 and self.identity.search(before):
            yield Found(_letters_left(text, start), end, "id-number")
        elif 8 <= count <= 22 and self.account.search(before):
            yield Found(start, end, "card")

    def find_lettered(self, text: str, capitals: list[int]) -> Iterator[Found]:
        """Numbers that begin with a capital letter; `capitals` are the places where a word begins with one."""
        for place in capitals:
            match = _IBAN.match(text, place)
            if match and digits.iban(match.group()):
                yield Found(place, match.end(), "iban")
                continue
            match = _LETTER_ID.match(text, place)
            if match and (
                digits.taiwan_id(match.group())
                or digits.singapore_id(match.group())
                or self.identity.search(text[max(0, place - 40) : place].lower())
            ):
                yield Found(place, match.end(), "id-number")


def _local_before(text: str, place: int) -> str:
    before = text[max(0, place - 64) : place]
    return before[len(before.rstrip(_LOCAL_CHARS)) :]


def _bare_login(text: str, place: int) -> str:
    """The password of `name:password@`, when it looks like one."""
    colon = text.rfind(":", max(0, place - 61), place)
    if colon < 0 or not _LOGIN_VALUE.fullmatch(text, colon + 1, place):
        return ""
    login = _BARE_LOGIN.search(text[max(0, place - 110) : place])
    return login[1] if login and plausible.strong(login[1]) else ""


def _is_date(value: str) -> bool:
    return value[0] in "12" and _YEAR.match(value) is not None and value[:10].count(" ") < 2


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _only_digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _is_card(text: str) -> bool:
    return digits.card(_only_digits(text))


def _is_international(text: str) -> bool:
    count = len(_only_digits(text))
    return 9 <= count <= 15 and text.count("(") == text.count(")")


# pattern, kind, check, signs of which one must be there (spares most of the searches)
_FORMS = (
    (_CHINA_ID, "id-number", digits.china_id, ""),
    (_CHINA_ID_SPACED, "id-number", lambda text: digits.china_id(re.sub(r"[ \-]", "", text)), " -"),
    (_CARD, "card", _is_card, ""),
    (_PLUS, "phone", _is_international, "+"),
    (_CHINA_MOBILE, "phone", lambda text: True, ""),
    (_SSN, "id-number", lambda text: digits.us_ssn(_only_digits(text)), "-"),
    (_US, "phone", lambda text: True, "-. ("),
    (_CPF, "id-number", lambda text: digits.cpf(_only_digits(text)), "."),
    (_KOREA, "id-number", lambda text: digits.korea_id(_only_digits(text)), "-"),
    (_AADHAAR, "id-number", lambda text: digits.aadhaar(_only_digits(text)), " -"),
    (_CHINA_LINE, "phone", lambda text: True, " -"),
    (_GROUPED, "phone", lambda text: True, " -."),
)
_SOLID = tuple(form for form in _FORMS if form[0] in (_CHINA_ID, _CARD, _CHINA_MOBILE, _PLUS))


def _glued(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if before == "." and text[start - 2 : start - 1].isdigit():
        return True
    return any(
        char and char.isascii() and (char.isalnum() or char in "_.-/#%&=+:") and char not in ":="
        for char in (before, after)
        if char != "."
    )


def _letters_left(text: str, start: int) -> int:
    while start and text[start - 1].isascii() and text[start - 1].isupper():
        start -= 1
    return start


class _Label:
    """A label at the end of the text before a number, with a few signs or `no.` between."""

    def __init__(self, words: list[object]) -> None:
        self.words = tuple(str(word).lower() for word in words)
        self.pattern = _before(words)

    def search(self, before: str) -> bool:
        """Whether the (lower-case) text ends in a label."""
        return self.pattern.search(before) is not None


def _before(words: list[object]) -> re.Pattern[str]:
    names = "|".join(
        re.escape(str(word).lower()) for word in sorted(map(str, words), key=len, reverse=True)
    )
    return re.compile(
        rf"(?:{names})(?:[ _\-]?(?:number|num|no|nr|id|号码|号|#))?[\"'”’」\])）.]{{0,3}}[ \t]{{0,3}}"
        r"(?:[:：=＝#]|is|was|are|at|是|为|為|=>)?[ \t\"'“‘「(（+]{0,4}[a-z]{0,3}\Z"
    )


# What may stand between a label and its number, read from the number: tried at one place only, so it is quick.
_BACKWARDS = (
    r"[a-z]{0,3}[ \t\"'“‘「(（+]{0,4}(?:[:：=＝#]|si|saw|era|ta|是|为|為|>=)?"
    r"[ \t]{0,3}[\"'”’」\])）.]{0,3}(?:(?:rebmun|mun|on|rn|di|码号|号|#)[ _\-]?)?"
)


def _elsewhere(text: str, place: int) -> bool:
    """Whether the `/home/` at `place` belongs to a relative path (`src/home/`) or to a web address."""
    before = text[max(0, place - 120) : place]
    path = before[len(before.rstrip(_PATH_CHARS)) :]
    if path.startswith("//"):
        scheme = text[max(0, place - len(path) - 8) : place - len(path)]
        return len(path) > 2 and scheme.endswith(("http:", "https:"))
    return path[:1].isalnum() and len(path) > 1 and not path.startswith(("home", "Users"))


def _home_end(text: str, start: int, head: str) -> int:
    """End of the folder name at `start`; names with a blank count on Windows when a backslash follows."""
    if head.startswith("-"):
        match = re.compile(r"[A-Za-z0-9_.]{1,64}(?=-)", re.A).match(text, start)
        return match.end() if match else start
    stops = "/\\\"'`<>|:*?\n\r\t,;()[]{}，。；：、（）」』”’》】！？ "
    end = start
    while end < len(text) and end - start < 64 and text[end] not in stops:
        end += 1
    if "\\" in head and text[end : end + 1] == " ":
        more = re.compile(r"(?: [^\s\\/:*?\"<>|]{1,30}){1,2}(?=\\)").match(text, end)
        end = more.end() if more else end
    return end
