"""The quick ways of the redaction find exactly what the plain ones find."""

from __future__ import annotations

import hashlib
import hmac
import random
import re
import string

import pytest

from experience_forge.core import label_patterns, labels, literal_search, personal, redact, runs
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


class Plain(literal_search.Literals):
    """Each literal looked for on its own, from the first place to the last."""

    def __init__(self, items):
        self.items = list(items)

    def places(self, views):
        found = {}
        for literal, any_case, owner in self.items:
            pattern = re.compile(f"(?={re.escape(literal)})", re.A | (re.I if any_case else 0))
            found.setdefault(id(owner), (owner, []))[1].extend(match.start() for match in pattern.finditer(views.text))
        return [(owner, sorted(set(places))) for owner, places in found.values() if places]


def plain_starts(views):
    return tuple([match.start() for match in p.finditer(views.text)] for p in (runs._SEPARATOR, runs._CAPITAL))


PLAIN_NUMBER = re.compile(r"[0-9](?=[0-9 ().\-]{6})(?:[ ().\-]{0,2}[0-9]){6,21}[Xx]?", re.A)


def plain_numbers(self, views):
    text = views.text
    for match in PLAIN_NUMBER.finditer(text):
        start, end = match.span()
        start -= bool(start) and text[start - 1] in "+("
        value = text[start:end]
        if len(value) <= 16 and personal._YEAR.match(value) and value[:10].count(" ") < 2:
            continue
        count = sum(map(str.isdigit, value))
        found = list(plain_number(self, text, start, end)) if count >= 9 else []
        yield from found
        if not found and text[start - 1 : start] not in personal._NO_LABEL:
            yield from self._labelled(text, start, end, count)


def plain_rules(monkeypatch):
    """The rules with every shortcut taken out."""
    monkeypatch.setattr(literal_search, "Literals", Plain)
    monkeypatch.setattr(runs, "starts", plain_starts)
    monkeypatch.setattr(personal.Personal, "_numbers", plain_numbers)
    monkeypatch.setattr(personal, "_LOGIN_VALUE", re.compile(".*", re.S))
    monkeypatch.setattr(labels.Labels, "_may_be_key", lambda self, text, place: True)
    monkeypatch.setattr(labels.functools, "lru_cache", lambda maxsize: lambda function: function)
    monkeypatch.setattr(label_patterns, "_soon", lambda pattern: "")
    monkeypatch.setattr(label_patterns, "longest_of", lambda words: f"(?:{'|'.join(map(re.escape, longest(words)))})")
    monkeypatch.setattr(label_patterns, "idle_right_of", lambda rules, headers, root: re.compile(r"(?!)"))
    monkeypatch.setattr(label_patterns, "behind_chinese", lambda rules: Everything())
    return redact.Rules(ruleset.load("redaction"))


class Everything:
    def __contains__(self, item):
        return True


def longest(words):
    return sorted(set(words), key=lambda word: (-len(word), word))


def examples(count):
    """Literals, heads, labels and values of the rules side by side: each may touch each, and any border."""
    data = ruleset.load("redaction")
    chars = random.Random(78)
    heads = [head for rule in data["tokens"] for head in rule["heads"]]
    heads += [literal for rule in data["marks"] for literal in rule.get("find", ())]
    names = [str(word) for part in ("labels", "personal") for words in data[part].values() for word in words]
    names += data["headers"]["names"] + data["headers"]["schemes"]
    alphabets = (string.ascii_letters + string.digits + "_-.", "0123456789abcdef", "0123456789 -().+")
    between = ("", "", " ", "=", ": ", ' is "', "\n", "是", "：", "(", ", ", "é", "😀", "    ")
    for _ in range(count):
        parts = []
        for _ in range(chars.randint(1, 12)):
            size = chars.choice((5, 7, 9, 11, 15, 16, 17, 24, 32, 36, 40))
            value = "".join(chars.choice(alphabets[chars.randrange(3)]) for _ in range(size))
            known = chars.choice((heads, names, PIECES + MORE))
            part = chars.choice((value, value, chars.choice(known), chars.choice(known), chars.choice(known)))
            parts.append(part.upper() if chars.random() < 0.05 else part)
            parts.append(chars.choice(between))
        yield "".join(parts)


def test_the_quick_way_finds_what_the_plain_way_finds(rules, monkeypatch):
    """Shared walks, shortcuts and remembered names change no finding: 6,000 made-up texts, and one line of many."""
    made = [*texts(2000), *examples(2000)]
    made.append("".join(made[::3]).replace("\n", " "))
    quick = [redact.redact(text, rules, b"k").spans for text in made]
    monkeypatch.setattr(literal_search, "_SAMPLED", 0)
    assert [redact.redact(text, rules, b"k").spans for text in made[::16]] == quick[::16]
    plain_ways = plain_rules(monkeypatch)
    plain = [redact.redact(text, plain_ways, b"k").spans for text in made]
    assert sum(map(len, quick)) > 2000
    assert [(made[at], quick[at], plain[at]) for at in range(len(made)) if quick[at] != plain[at]] == []


def test_one_walk_finds_every_literal_of_the_rules_at_every_border(rules, monkeypatch):
    """At even and odd places, at both ends, in another case, cut by one character: as a search for each would."""
    data = ruleset.load("redaction")
    items = [(word, bool(rule.get("lower")), rule) for rule in data["marks"] for word in rule.get("find", ())]
    items += [(root, True, root) for root in rules.labels.right]
    quick, plain = literal_search.Literals(items), Plain(items)
    for least, step in ((literal_search._SAMPLED, 1), (0, 8)):
        monkeypatch.setattr(literal_search, "_SAMPLED", least)
        for literal, _, _ in items[::step]:
            capital = "密" + literal.upper() + "é"
            for text in (literal, " " + literal, literal + " ", literal[1:], literal[:-1], capital):
                views = literal_search.Views(text)
                assert quick.places(views) == plain.places(views), text


def test_the_starts_of_tokens_are_those_of_the_patterns():
    """Separators and capitals found by the runs around them are all that the patterns find, in order."""
    chars = random.Random(79)
    for _ in range(4000):
        size = chars.randint(0, 90)
        text = "".join(chars.choice("aZ0A9_-." if chars.random() < 0.9 else " +/é\n") for _ in range(size))
        views = literal_search.Views(text)
        assert runs.starts(views) == plain_starts(views), text


def test_the_views_of_a_text_move_no_character():
    """Every view has the length of the text, and Latin letters where the text has them."""
    for text in ("PaSS", "密码PASS\u0130\u212aÑ😀Z", "\ud800x", ""):
        views = literal_search.Views(text)
        assert len(views.plain) == len(views.low) == len(views.backwards) == len(text)
        assert all(views.low[at] == ord(char.lower()) for at, char in enumerate(text) if char.isascii())


def test_every_place_of_every_literal_is_found():
    """Literals that overlap, share an owner or a piece, or differ in case are all found."""
    first, second = {"a": 1}, {"b": 2}
    views = literal_search.Views("keypass KEYPASS 助记词 pass")
    found = literal_search.Literals([("keypass ", False, first), ("pass", True, second), ("助记词", True, first)])
    assert found.places(views) == [(first, [0, 16]), (second, [3, 11, 20])]
    assert found.places(literal_search.Views("")) == []


def test_fingerprints_are_the_standard_ones():
    """A mark's hex digits are those of HMAC-SHA-256, for keys of any length."""
    for key in (b"", b"k" * 32, b"k" * 64, b"k" * 99):
        expected = hmac.new(key, "ключ密".encode(), hashlib.sha256).hexdigest()[:8]
        assert redact.mark("ключ密", "key", key) == f"[redacted:key:{expected}]"
