"""The quick ways of the redaction find exactly what the plain ones find."""

from __future__ import annotations

import random
import re

import pytest

from experience_forge.core import labels, literal_search, personal, redact
from experience_forge.store import ruleset
from redaction_texts import PIECES, materials

MORE = [
    *("phone", "tel ", "身份证号", "SSN", "card no. ", "passport is ", "电话：", "卡号是", "number", "联系电话 ("),
    *("138" + "00001234", "4111 1111 1111 " + "1111", "a.b@firm" + ".co.uk", "bob:Xy7!kk2@h", "415) 555-0134", "é"),
    *("EZAK", "EZTK", "uth=(", "identified by ", " password '", "nemonic", "助记词", "PASS", "Sess", "--pass"),
    *("İ", "\u212a", "keypass ", "call +"),
]


@pytest.fixture(scope="module")
def rules():
    return redact.Rules(ruleset.load("redaction"))


def texts(count):
    chars = random.Random(77)
    pieces = PIECES + MORE
    lines = "".join(text for _, text in materials(3000)).split("\n")
    for _ in range(count):
        size = chars.randint(1, 40)
        numbers = [str(chars.getrandbits(chars.randint(3, 60))) for _ in range(size)]
        made = [chars.choice(pieces) if chars.random() < 0.6 else number for number in numbers]
        line = chars.choice(lines)
        yield "".join(made)
        yield line[: len(line) // 2] + "".join(made[:6]) + line[len(line) // 2 :]


class Plain(literal_search.Literals):
    """Each literal looked for on its own, from the first place to the last."""

    def __init__(self, items):
        self.items = list(items)

    def places(self, text, low):
        found = {}
        for literal, any_case, owner in self.items:
            searched = text.lower() if any_case and len(text.lower()) == len(text) else text
            found.setdefault(id(owner), (owner, []))[1].extend(
                match.start() for match in re.finditer(f"(?={re.escape(literal)})", searched)
            )
        return [(owner, sorted(set(places))) for owner, places in found.values()]


def plain_number(self, text, start, end):
    value = text[start:end]
    for pattern, kind, good, needs in personal._SOLID if value[:-1].isdigit() else personal._FORMS:
        if needs and not any(sign in value for sign in needs):
            continue
        for match in pattern.finditer(text, start, end + 24):
            if match.start() < end and good(match.group()):
                yield labels.Found(match.start(), match.end(), kind)
                return
    odd = personal._CHINA_MOBILE_ODD.search(text, start, end + 24)
    if odd and odd.start() < end and not personal._glued(text, odd.start(), odd.end()):
        yield labels.Found(odd.start(), odd.end(), "phone")


def plain_labelled(self, text, start, end, count):
    before = text[max(0, start - 40) : start].lower()
    if 7 <= count <= 15 and self.phone.search(before):
        yield labels.Found(start, end, "phone")
    elif 6 <= count <= 20 and self.identity.search(before):
        yield labels.Found(personal._letters_left(text, start), end, "id-number")
    elif 8 <= count <= 22 and self.account.search(before):
        yield labels.Found(start, end, "card")


def test_the_quick_way_finds_what_the_plain_way_finds(rules, monkeypatch):
    """Prefilters, shared searches and remembered names change no finding in 4,000 made-up texts."""
    made = list(texts(2000))
    quick = [redact.redact(text, rules, b"k").spans for text in made]
    monkeypatch.setattr(literal_search, "Literals", Plain)
    monkeypatch.setattr(personal.Personal, "_number", plain_number)
    monkeypatch.setattr(personal.Personal, "_labelled", plain_labelled)
    monkeypatch.setattr(labels.functools, "lru_cache", lambda maxsize: lambda function: function)
    plain_rules = redact.Rules(ruleset.load("redaction"))
    plain = [redact.redact(text, plain_rules, b"k").spans for text in made]
    assert sum(map(len, quick)) > 1000
    assert [(made[at], quick[at], plain[at]) for at in range(len(made)) if quick[at] != plain[at]] == []


def test_lowering_moves_no_character():
    """A text in lower case has the same length, and small Latin letters, whatever else stands in it."""
    for text in ("PaSS", "密码PASS\u0130\u212aÑ😀Z", "ÀÉÞ×"):
        low = literal_search.lowered(text)
        assert len(low) == len(text)
        assert all(low[at] == char.lower() for at, char in enumerate(text) if char.isascii() or char in "ÑÀÉÞ×")


def test_every_place_of_every_literal_is_found():
    """Literals that overlap, share an owner or a piece, or differ in case are all found."""
    first, second = {"a": 1}, {"b": 2}
    text = "keypass KEYPASS 助记词 pass"
    low = literal_search.lowered(text)
    with_lower = literal_search.Literals([("keypass ", False, first), ("pass", True, second), ("助记词", True, first)])
    assert dict((owner.get("a", "b"), places) for owner, places in with_lower.places(text, low)) == {
        1: [0, 16],
        "b": [3, 11, 20],
    }
    assert with_lower.places("", "") == []
