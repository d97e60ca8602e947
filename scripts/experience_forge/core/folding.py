"""Folds a text so that one pattern meets all its disguises; and names the characters that hide or imitate."""

from __future__ import annotations

import re
import unicodedata

# Letters that look like Latin ones (from Unicode's confusables, those of living alphabets).
_LOOKALIKE = dict(
    zip(
        "аеорсухіјѕһԁԛԝѵзкмнтвгАВЕКМНОРСТУХІЈЅԚԜҮαοερτυχκνιγΑΒΕΖΗΙΚΜΝΟΡΤΥΧօհոսցոքԁɡıƖʟꓐꓚꓟꓔⅼⅰⅴⅹϲϳ",
        "aeopcyxijshdqwv3kmhtbrABEKMHOPCTYXIJSQWYaoeptuxkviyABEZHIKMNOPTYXohnugnpdgilLBCMTlivxcj",
        strict=False,
    )
)
_LEET = str.maketrans("013457@$!|", "oieastasil")
_HIDDEN_KINDS = ("Cf", "Co", "Cs", "Zl", "Zp", "Cn")
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\u180b\u180c\u180d\u180f")
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKS = frozenset("\u200e\u200f\u061c")
_JOINERS = frozenset("\u200c\u200d")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_BLANKS = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]+")
_SPACED = re.compile(r"(?<![a-z])(?:[a-z][ .\-_*]){5,}[a-z](?![a-z])")
_ACCENT = re.compile("([A-Za-z])[\u0300-\u036f]+")
_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "HEBREW", "ARABIC", "COPTIC", "GEORGIAN")
_STYLED = re.compile(
    "[\U0001d400-\U0001d7ff\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001f130-\U0001f189\u1d00-\u1d2b]{2,}"
)


def hidden(text: str) -> list[str]:
    """The characters that draw nothing or reorder the line, as `U+XXXX`, without those that writing needs.

    Kept: the joiners inside emoji and between letters of scripts that need them, one variation
    selector behind a character that takes it, the tags of a flag, marks beside right-to-left letters.
    """
    if text.isascii():
        return []
    flags = [range(*match.span()) for match in _FLAG.finditer(text)]
    found = []
    for place, char in enumerate(text):
        if char < "\u00ad" or char in "\n\t\r":
            continue
        if _is_hidden(char) and not any(place in flag for flag in flags) and not _needed(text, place, char):
            found.append(f"U+{ord(char):04X}")
    return found


def _is_hidden(char: str) -> bool:
    return (
        unicodedata.category(char) in _HIDDEN_KINDS
        or char in _FILLERS
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def _needed(text: str, place: int, char: str) -> bool:
    before, after = text[place - 1 : place] if place else "", text[place + 1 : place + 2]
    if char in _JOINERS:
        if char == "\u200d" and _pictograph(before) and _pictograph(after):
            return True
        return _joins(before) and _joins(after)
    if char in _MARKS:
        return any(unicodedata.bidirectional(other) in ("R", "AL") for other in text)
    if "\ufe00" <= char <= "\ufe0f":
        return _pictograph(before) or (before in "#*0123456789" and bool(before))
    if "\U000e0100" <= char <= "\U000e01ef":
        return "\u3400" <= before <= "\u9fff" or "\U00020000" <= before <= "\U0003ffff"
    if unicodedata.category(char) == "Cn":
        # Unassigned here may be a newer emoji or letter; noncharacters and the specials stay hidden.
        return not (
            0xFDD0 <= ord(char) <= 0xFDEF
            or ord(char) & 0xFFFE == 0xFFFE
            or 0xFFF0 <= ord(char) <= 0xFFF8
            or ord(char) >= 0xE0000
        )
    return unicodedata.category(char) == "Cf" and "\u0600" <= char <= "\u08ff"


def _pictograph(char: str) -> bool:
    return bool(char) and (
        unicodedata.category(char) in ("So", "Sk", "Sm") or char in "\ufe0f\u20e3" or char > "\U0001f000"
    )


def _joins(char: str) -> bool:
    """Scripts in which joiners spell words: Arabic to Syriac, and the Indic ones to Khmer and Sinhala."""
    return (
        "\u0600" <= char <= "\u08ff"
        or "\u0900" <= char <= "\u0dff"
        or "\u1000" <= char <= "\u109f"
        or ("\u1780" <= char <= "\u17ff")
    )


def controls(text: str) -> list[str]:
    """Control characters besides tab and line feed, as `U+XXXX`."""
    return [
        f"U+{ord(char):04X}" for char in text if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"
    ]


def reorders(text: str) -> bool:
    """Whether a character changes the order in which the line is drawn."""
    return any(char in _BIDI for char in text)


def mixed_words(text: str) -> list[str]:
    """Words of Latin letters and of another alphabet; a Greek letter with a unit (`μs`) is none."""
    if text.isascii():
        return []
    found = []
    for match in _WORD.finditer(text):
        word = match.group()
        if word.isascii():
            continue
        scripts = {script for char in word for script in _SCRIPTS if unicodedata.name(char, "").startswith(script)}
        if len(scripts) > 1 and not (len(word) <= 4 and scripts == {"LATIN", "GREEK"}):
            found.append(word)
    return found


def styled(text: str) -> list[str]:
    """Runs of letters that only look different: mathematical, full-width, circled, small capitals."""
    return [] if text.isascii() else [match.group() for match in _STYLED.finditer(text)]


def fold(text: str) -> str:
    """Lower case, NFKC, look-alikes as Latin, hidden characters gone, runs of blanks as one."""
    text = "".join(char for char in text if not _is_hidden(char)) if not text.isascii() else text
    text = unicodedata.normalize("NFKC", text)
    if not text.isascii() and mixed_words(text):
        text = _WORD.sub(lambda match: _latin(match.group()), text)
    if not text.isascii():
        text = _ACCENT.sub(r"\1", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").lower()
    text = text.replace("’", "'").replace("‘", "'")
    return _BLANKS.sub(" ", text)


def _latin(word: str) -> str:
    latin = "".join(_LOOKALIKE.get(char, char) for char in word)
    return latin if latin.isascii() else word


def disguises(folded: str) -> list[str]:
    """Other readings of a folded text: digits as letters, spaced letters, backwards, rot13, all look-alikes."""
    readings = []
    leet = folded.translate(_LEET)
    if leet != folded:
        readings.append(leet)
    if _SPACED.search(folded):
        readings.append(_SPACED.sub(lambda match: re.sub(r"[ .\-_*]", "", match.group()), folded))
        readings.append(re.sub(r"[ .\-_*]+", " ", re.sub(r"(?<=\b[a-z])[ .\-_*](?=[a-z]\b)", "", folded)))
    plain = (
        "".join(char for char in unicodedata.normalize("NFD", folded) if unicodedata.category(char) != "Mn")
        if not folded.isascii()
        else folded
    )
    latin = "".join(_LOOKALIKE.get(char, char) for char in plain)
    if latin != folded:
        readings.append(latin)
    readings.append(re.sub(r"(?<=[a-z])[-_.*](?=[a-z])", "", folded))
    return readings


_ENTITY = re.compile(r"&#(?:x([0-9a-f]{2,6})|([0-9]{2,7}));?")
_ESCAPED = re.compile(r"\\(?:u([0-9a-f]{4})|u\{([0-9a-f]{2,6})\}|x([0-9a-f]{2}))|%([0-7][0-9a-f])")


def unescaped(folded: str) -> str:
    """The text with character references (`&#105;`), backslash and percent codes read as letters."""
    if not any(sign in folded for sign in ("&#", "%", "\\u", "\\x")):
        return folded

    def letter(match: re.Match[str]) -> str:
        digits = [group for group in match.groups() if group]
        base = 10 if match.re is _ENTITY and match[2] else 16
        code = int(digits[0], base)
        return chr(code) if 0x20 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else match.group()

    return _ESCAPED.sub(letter, _ENTITY.sub(letter, folded)).lower()


def turned(folded: str) -> list[str]:
    """Readings of a text written backwards or in rot13."""
    import codecs

    return [folded[::-1], codecs.encode(folded, "rot13")]
