"""The two patterns that stand right of a secret's name: for names in Latin letters, and for Chinese ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .literal_search import longest_of

_REMARK = r"(?:[ \t]{0,2}[(（\[【][^()（）\[\]【】\n]{0,24}[)）\]】])?"
_CLOSE = r"(?:\\?[\"'`”’」』*\])]){0,4}"


PASSWORD_NOUNS = ("pass", "pw", "psw", "pswd", "kenn", "contra", "motde", "cred")
_ANNOTATED = r"[ \t]{0,40}\??:[ \t]{0,8}[A-Za-z_][\w\[\]|., ?]{0,30}?[ \t]{0,4}=(?![=>])[ \t]{0,8}(?=[^\s=,;)\]}])"
_SET = rf"[\"']?(?!{_ANNOTATED})[ \t]{{0,40}}[:=][ \t]{{0,40}}"
_ENDS = r"\s\"'`,;<>()\[\]{}|\\"
_COMPOUNDS = (
    "authorization",
    r"secret[_\-. ]?access[_\-. ]?key",
    r"secret[_\-. ]?key",
    r"auth[_\-. ]?(?:token|key)",
    r"token[_\-. ]?(?:secret|key)",
    r"key[_\-. ]?(?:secret|token)",
    "passphrases?",
    r"pass[_\-. ]?(?:word|phrase|code)",
)


def nouns_of(rules: Mapping[str, Any], root: str) -> list[str]:
    """Patterns of the nouns that begin with a root, in the order in which they are tried."""
    words = sorted({*map(str, rules["long"]), *map(str, rules["short"]), "key"}, key=len, reverse=True)
    return [word for word in (*_COMPOUNDS, *map(re.escape, words)) if word.startswith(root)]


def idle_right_of(rules: Mapping[str, Any], headers: Mapping[str, Any], root: str) -> re.Pattern[str]:
    """What often stands right of a root where `right_of` finds no secret.

    A noun, a blank, and a word of letters alone that sets nothing; a noun that is set to what opens with a bracket;
    a noun, not of a password, that is set to less than the eight characters of a secret.
    It knows no more than `right_of`, only sooner: prose and code have such places by the thousand.
    """
    nouns = nouns_of(rules, root)
    links = {re.split(r"[^a-z]", str(link))[0] for link in rules["links"]} - {""}
    setting = "|".join(sorted({*links, "for", "of", "on", "to", "in"}))
    schemes = longest_of(map(str, headers["schemes"]))
    said = (
        rf"[ \t](?!(?:{setting})(?![a-z])|value|access|key|token|secret|word|phrase|code)"
        r"[a-z]{1,60}[.,;:)]{0,2}(?!\S)"
    )
    given = r"[\[({<]"
    if not any(map(of_password, nouns)):
        given += rf"|(?!{schemes}[ \t])\w[^{_ENDS}]{{0,6}}(?=[{_ENDS}])"
    # A name in capitals may be one of the shell, whose values end elsewhere.
    noun = rf"(?:{'|'.join(nouns)})s?"
    return re.compile(rf"{noun}{said}|(?=(?-i:[a-z])){noun}{_SET}(?:{given})", re.I | re.A)


def of_password(noun: str) -> bool:
    """Whether a noun speaks of a password, which may be short and simple."""
    return noun.startswith(PASSWORD_NOUNS) and not noun.startswith("passkey")


def right_of(rules: Mapping[str, Any], headers: Mapping[str, Any], root: str) -> re.Pattern[str]:
    """What stands right of a root: the noun, its tail, the sign that sets it, an opening quote."""
    nouns = nouns_of(rules, root)
    after = longest_of(map(str, rules["after"]))
    links = longest_of(map(str, rules["links"]))
    zh_links = longest_of(rules["zh_links"])
    zh_first = _firsts(rules["zh_links"])
    schemes = longest_of(map(str, headers["schemes"]))
    tail_soon = _soon(r"[_\-.a-z0-9]")
    any_soon = _soon(rf"[ \t?:=\-→：＝\"',{{>{zh_first}|]|[\r\n\t ]{{0,43}}[\"'v]")
    sign_soon = _soon(r"[ \t]{0,40}[?:=\-→：＝]")
    value_soon = _soon(r"[\"' \t,\r\n]{0,57}value")
    zh_soon = _soon(rf"[ \t]{{0,2}}[{zh_first}]")
    return re.compile(
        rf"(?P<noun>{'|'.join(nouns)})s?"
        rf"(?:{tail_soon}(?:[_\-.]?{after}(?![a-z])|[_\-.]?[0-9]{{1,2}})){{0,3}}(?![A-Za-z0-9_\-])"
        rf"{_CLOSE}{_REMARK}{_CLOSE}{any_soon}"
        r"(?:"
        rf"(?P<set>{sign_soon}(?:"
        rf"{_ANNOTATED}"
        r"|[ \t]{0,40}(?:=>|:=|->|→|===?|[:：＝=])[ \t]{0,40}"
        r"(?:(?:[|>][+-]?[ \t]{0,4})?\r?\n(?:[ \t]{1,40}(?=[^\s:]{8,}(?:\s|\Z))"
        r"|(?=[^\s:]{8,200}[ \t]{0,4}(?:[\r\n]|\Z))))?)"
        rf"|{value_soon}"
        r"[\"']?[ \t]{0,4},?[ \t]{0,4}(?:\r?\n[ \t]{0,40})?[ \t]{0,4}[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,8}"
        r"|[ \t]{0,4}\{[^{}\"']{0,80}default[ \t]{0,8}=[ \t]{0,8}"
        r"|>(?=[^<>\n]{1,400}</)"
        rf"|{zh_soon}[ \t]{{0,2}}{zh_links}[ \t：:]{{0,2}})"
        r"|(?P<pair>[ \t]{0,2},[ \t]{0,2}(?=[\"']))"
        r"|(?P<cell>[ \t]{0,4}\|[ \t]{0,4}(?=[^\s|]{6,200}[ \t]{0,4}\|))"
        # `password for the staging box is ...`
        rf"|(?P<word>(?:[ \t](?:for|of|on|to|in)(?:[ \t][\w.\-']{{1,20}}){{1,5}})?[ \t]{{1,2}}{links}[ \t:]{{1,3}})"
        r"|(?P<flag>[ \t]{1,4}(?=[\"'`“]|[^\s]{0,60}[0-9!#$&*~?^%@+=|])))"
        rf"(?P<open>(?:\\?[\"'`“‘「『《]|\*\*){{0,3}})(?:{schemes}[ \t]{{1,4}}(?=\S))?",
        re.I | re.A,
    )


def in_brackets(nouns: Iterable[str]) -> re.Pattern[str]:
    """A value in brackets right of a name: `password (...)`, `密码（...）`; group 1."""
    noun = f"(?:{'|'.join(nouns)})"
    return re.compile(
        rf"{noun}s?(?:[ \t]{{1,2}}[(\[]|(?<=[^\x00-\x7f])[(\[]|[ \t]{{0,2}}[（【])[ \t]{{0,2}}[\"'`“]?"
        r"([!#-&*-Z^_a-~]{8,200})[\"'`”]?[ \t]{0,2}[)）\]】]",
        re.I | re.A,
    )


def right_of_chinese(rules: Mapping[str, Any]) -> re.Pattern[str]:
    links, first = longest_of(rules["zh_links"]), _firsts(rules["zh_links"])
    return re.compile(
        rf"{_CLOSE}{_REMARK}{_CLOSE}(?P<gap>[ \t]{{0,4}})"
        rf"(?P<set>(?:{_soon(rf'[:：=＝→{first}-]')}(?:{links}|[:：=＝]|=>|->|→)[ \t]{{0,4}}){{1,3}}"
        r"(?:\r?\n[ \t]{0,40}(?=[!-~]{6,200}[ \t]{0,4}(?:[\r\n]|\Z)))?)?"
        r"(?P<open>[\"'`“‘「『《]{0,2})"
    )


def behind_chinese(rules: Mapping[str, Any]) -> frozenset[str]:
    """The characters of which one must stand right of a Chinese name, so that a value can follow."""
    links = {link[0] for link in rules["zh_links"]}
    return frozenset({*map(chr, range(33, 127)), *" \t（［【”’」』：＝→“‘「『《", *links})


def _soon(pattern: str) -> str:
    """A look ahead at what must come next: it decides nothing, and spares the search behind it."""
    return f"(?={pattern})"


def _firsts(words: Iterable[str]) -> str:
    """The characters that the words begin with, to stand between the brackets of a class."""
    return "".join(re.escape(char) for char in sorted({word[0] for word in words}))
