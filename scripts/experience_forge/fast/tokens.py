"""Words of a text for search: Chinese bigrams, split identifiers, light stems. No `re`.

The one tokeniser: hooks, index, command line and evaluation use these functions.
"""

VERSION = 1
"""Raised when the words of a text change: an index of another version is not used."""

LIMIT = 4000
_HEAD = 1000

STOP = frozenset(
    "a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it "
    "its just me my no of on or our she should so some than that the their them then there these they this to too "
    "us was we were what when where which who will with would you your".split()
)
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~\t\r\n\v\f\x00"
_PUNCTUATION += "，。；：！？、（）【】《》〈〉“”‘’「」『』…—·～￥｜│─╰╭└├"
_SPACES = {ord(mark): " " for mark in _PUNCTUATION}
_HEX = frozenset("0123456789abcdef")
_VOWELS = frozenset("aeiouy")


def clipped(text: str, limit: int = LIMIT) -> str:
    """The first 1,000 and the last characters of a long text: a trace ends with its error."""
    return text if len(text) <= limit else text[:_HEAD] + "\n" + text[_HEAD - limit:]


def without_ansi(text: str) -> str:
    """The text without terminal escapes."""
    if "\x1b" not in text:
        return text
    first, *rest = text.split("\x1b")
    kept = [first]
    for part in rest:
        if part[:1] == "[":
            end = 1
            while end < len(part) and part[end] in "0123456789;?=":
                end += 1
            kept.append(part[end + 1:])
        elif part[:1] == "]":
            bell = part.find("\x07")
            kept.append(part[bell + 1:] if bell >= 0 else "")
        else:
            kept.append(part[1:])
    return "".join(kept)


def is_cjk(mark: str) -> bool:
    """Whether a character belongs to a script that is written without blanks."""
    if mark < "\u2e80":
        return False
    return mark <= "\u9fff" or "\uac00" <= mark <= "\ud7af" or "\uf900" <= mark <= "\ufaff" or mark > "\U0001ffff"


def runs(chunk: str) -> list[tuple[str, bool]]:
    """Pieces of a chunk of mixed script: (text, whether it is Chinese), other marks dropped."""
    found, start, cjk = [], 0, None
    for index, mark in enumerate(chunk):
        now = None if not (mark.isalnum() or mark == "_") else is_cjk(mark)
        if now is not cjk:
            if cjk is not None:
                found.append((chunk[start:index], cjk))
            start, cjk = index, now
    if cjk is not None:
        found.append((chunk[start:], cjk))
    return found


def bigrams(run: str) -> list[str]:
    """Overlapping pairs of a Chinese run; a single character stays itself."""
    return [run] if len(run) == 1 else [run[index:index + 2] for index in range(len(run) - 1)]


def stem(word: str) -> str:
    """A word without the endings that English puts on: plural, -ed, -ing, final -e."""
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("sses"):
        word = word[:-2]
    elif word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) > 2 and not _VOWELS.isdisjoint(base):
            word = base[:-1] if base[-1] == base[-2] and base[-1] not in "lsz" else base
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def noise(word: str) -> bool:
    """Whether a Latin word says nothing by itself: numbers, hashes, addresses, very long strings."""
    if len(word) > 48 or len(word) < 2:
        return True
    if word.isdigit():
        # HTTP states are codes; any other number is a line, a size or a time.
        return not (len(word) == 3 and word[0] in "45")
    low = word.lower()
    if low.startswith("0x"):
        # Windows result codes have eight digits and begin with 8 or C; the rest are addresses.
        return not (len(low) == 10 and low[2] in "8c")
    if low[0].isdigit():
        # Times, sizes and durations (`02T10`, `31ms`); a code of a database (`42P01`) stays.
        letters = [mark for mark in word if mark.isalpha()]
        if len(letters) <= 2 and not (len(word) == 5 and word[2:3].isalpha() and letters != ["T"]):
            return True
    return len(low) >= 7 and _HEX.issuperset(low) and not low.isalpha()


def parts_of(word: str) -> list[str]:
    """The parts of an identifier: at `_`, at a change of case, between letters and digits."""
    parts, start = [], 0
    for index in range(1, len(word) + 1):
        if index == len(word) or _boundary(word, index):
            part = word[start:index].strip("_")
            if part:
                parts.append(part)
            start = index
    return parts


def _boundary(word: str, index: int) -> bool:
    before, mark = word[index - 1], word[index]
    if mark == "_" or before == "_":
        return True
    if before.isdigit() != mark.isdigit():
        return True
    if before.islower() and mark.isupper():
        return True
    after = word[index + 1:index + 2]
    return before.isupper() and mark.isupper() and bool(after) and after.islower() and after.isalpha()


def _latin(word: str, out: list[str]) -> None:
    word = word.strip("_")
    if noise(word):
        return
    low = word.lower()
    if low == word and word.isalpha():
        if word not in STOP:
            out.append(stem(word))
        return
    parts = parts_of(word)
    if len(parts) > 1:
        lows = [part.lower() for part in parts if len(part) > 2 and part.isalpha()]
        out.extend(stem(part) for part in lows if part not in STOP)
        # The whole name comes last: a version number behind it joins it.
        out.append(low.replace("_", ""))
    elif low not in STOP:
        out.append(stem(low))


def is_path(chunk: str) -> bool:
    """Whether a chunk names a place on a disk: several separators, or a leading one."""
    slashes = chunk.count("/") + chunk.count("\\")
    if not slashes or "://" in chunk:
        return False
    head = chunk.lstrip("\"'`(<[")
    return slashes > 1 or head[:1] in "/~\\" or head[:2] in ("./", ".\\") or head[1:3] in (":\\", ":/")


def terms(text: str, limit: int = LIMIT, known: "dict[str, list[str]] | None" = None) -> list[str]:
    """The search words of a text, in order, repeats kept; at most `limit` characters are read.

    Of a path the last name stays. `Python 3.12` also gives `python3`, `ESLint 9` `eslint9`.
    `known` keeps what single words give, for whoever reads thousands of texts.
    """
    out: list[str] = []
    text = without_ansi(clipped(text, limit))
    if "/" in text or "\\" in text:
        text = " ".join([_last_name(chunk) if is_path(chunk) else chunk for chunk in text.split()])
    for word in text.translate(_SPACES).split():
        if word.isascii():
            if word.isdigit():
                _number_after(word, out)
            elif known is None:
                _latin(word, out)
            else:
                if word not in known:
                    _latin(word, known.setdefault(word, []))
                out.extend(known[word])
            continue
        if "\u4e00" <= min(word) and max(word) <= "\u9fa5":
            out.extend(bigrams(word))
            continue
        for piece, cjk in runs(word):
            if cjk:
                out.extend(bigrams(piece))
            elif piece.isdigit():
                _number_after(piece, out)
            else:
                _latin(piece, out)
    return out


def _last_name(path: str) -> str:
    return path.rstrip("/\\\"'`.,:;)]>").replace("\\", "/").rpartition("/")[2]


def _number_after(digits: str, out: list[str]) -> None:
    if len(digits) <= 2 and out and out[-1].isascii() and out[-1].isalpha():
        out.append(out[-1] + digits)
    elif not noise(digits):
        out.append(digits)


def translate(text: str) -> str:
    """The text with every punctuation mark as a blank; `_` stays."""
    return text.translate(_SPACES)
