"""The two patterns that stand right of a secret's name: for names in Latin letters, and for Chinese ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_REMARK = r"(?:[ \t]{0,2}[(（\[【][^()（）\[\]【】\n]{0,24}[)）\]】])?"
_CLOSE = r"(?:\\?[\"'`”’」』*\])]){0,4}"


def right_of(rules: Mapping[str, Any], headers: Mapping[str, Any], root: str) -> re.Pattern[str]:
    """What stands right of a root: the noun, its tail, the sign that sets it, an opening quote."""
    words = sorted({*map(str, rules["long"]), *map(str, rules["short"]), "key"}, key=len, reverse=True)
    compounds = [
        "authorization",
        r"secret[_\-. ]?access[_\-. ]?key",
        r"secret[_\-. ]?key",
        r"auth[_\-. ]?(?:token|key)",
        r"token[_\-. ]?(?:secret|key)",
        r"key[_\-. ]?(?:secret|token)",
        "passphrases?",
        r"pass[_\-. ]?(?:word|phrase|code)",
    ]
    nouns = [word for word in compounds + [re.escape(word) for word in words] if word.startswith(root)]
    after = "|".join(sorted(map(str, rules["after"]), key=len, reverse=True))
    links = "|".join(
        re.escape(word) for word in sorted(map(str, rules["links"]), key=len, reverse=True)
    )
    zh_links = "|".join(sorted(rules["zh_links"], key=len, reverse=True))
    schemes = "|".join(
        re.escape(word) for word in sorted(set(headers["schemes"]), key=len, reverse=True)
    )
    return re.compile(
        rf"(?P<noun>{'|'.join(nouns)})s?"
        rf"(?:[_\-.]?(?:{after})(?![a-z])|[_\-.]?[0-9]{{1,2}}){{0,3}}(?![A-Za-z0-9_\-])"
        rf"{_CLOSE}{_REMARK}{_CLOSE}"
        r"(?:"
        r"(?P<set>[ \t]{0,40}\??:[ \t]{0,8}[A-Za-z_][\w\[\]|., ?]{0,30}?[ \t]{0,4}=(?![=>])[ \t]{0,8}"
        r"|[ \t]{0,40}(?:=>|:=|->|→|===?|[:：＝=])[ \t]{0,40}(?:\r?\n[ \t]{1,40}(?=[^\s:]{8,}(?:\s|\Z)))?"
        r"|[\"']?[ \t]{0,4},?[ \t]{0,4}(?:\r?\n[ \t]{0,40})?[ \t]{0,4}[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,8}"
        r"|[ \t]{0,4}\{[^{}\"']{0,80}default[ \t]{0,8}=[ \t]{0,8}"
        r"|>(?=[^<>\n]{1,400}</)"
        rf"|[ \t]{{0,2}}(?:{zh_links})[ \t：:]{{0,2}})"
        r"|(?P<pair>[ \t]{0,2},[ \t]{0,2}(?=[\"']))"
        # `password for the staging box is ...`
        rf"|(?P<word>(?:[ \t](?:for|of|on|to|in)(?:[ \t][\w.\-']{{1,20}}){{1,5}})?[ \t]{{1,2}}(?:{links})[ \t:]{{1,3}})"
        r"|(?P<flag>[ \t]{1,4}(?=[\"'`“]|[^\s]{0,60}[0-9!#$&*~?^%@+=|])))"
        rf"(?P<open>(?:\\?[\"'`“‘「『《]|\*\*){{0,3}})(?:(?:{schemes})[ \t]{{1,4}}(?=\S))?",
        re.I | re.A,
    )


def right_of_chinese(rules: Mapping[str, Any]) -> re.Pattern[str]:
    links = "|".join(sorted(rules["zh_links"], key=len, reverse=True))
    return re.compile(
        rf"{_CLOSE}{_REMARK}{_CLOSE}(?P<gap>[ \t]{{0,4}})"
        rf"(?P<set>(?:(?:{links}|[:：=＝]|=>|->|→)[ \t]{{0,4}}){{1,3}})?"
        r"(?P<open>[\"'`“‘「『《]{0,2})"
    )
