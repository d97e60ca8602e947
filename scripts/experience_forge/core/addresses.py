"""Finds passwords and tokens in the user part of URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import plausible
from .labels import Found

_USERINFO = re.compile(
    r"([^\s:/@\"'<>`,;，。；、（）()]{0,300})(?::([^\s\"'<>`，。；、（）/]{0,400}))?@(?=[A-Za-z0-9\[%$*.])"
)
_USERINFO_WIDE = re.compile(r"([^\s:/@\"'<>`]{0,100}):([^\s\"'<>`，。；@]{1,400})@(?=[A-Za-z0-9\[])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{0,30}\Z", re.A)
_WEAK_SCHEMES = (
    "http",
    "https",
    "ftp",
    "ssh",
    "git",
    "svn",
    "file",
    "ws",
    "wss",
    "sftp",
    "git+https",
    "git+ssh",
)


def find(text: str, placeholders: plausible.Placeholders, taken: set[int]) -> Iterator[Found]:
    place = text.find("://") if "@" in text else -1
    while place >= 0:
        if text.find("@", place, place + 710) < 0:
            place = text.find("://", place + 3)
            continue
        match = _USERINFO.match(text, place + 3)
        wide = _USERINFO_WIDE.match(text, place + 3) if match is None else None
        if match or wide:
            scheme = _SCHEME.search(text[max(0, place - 32) : place])
            if scheme is None:
                match = None
            elif wide and scheme.group().lower() not in _WEAK_SCHEMES:
                match = wide
        if match:
            taken.add(match.end() - 1)
            yield from _userinfo(match, placeholders)
        place = text.find("://", match.end() if match else place + 3)


def _userinfo(match: re.Match[str], placeholders: plausible.Placeholders) -> Iterator[Found]:
    user, password = match[1], match[2]
    if password and password.lower() not in placeholders.url and not placeholders.holds(password):
        yield Found(match.start(2), match.end(2), "url-password")
    if len(user) >= (20 if password else 16) and plausible.random_looking(user):
        yield Found(match.start(1), match.end(1), "url-token")
