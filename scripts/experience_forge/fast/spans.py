"""The normalised hash of a cited span: survives moves and reformatting, not changes.

A text becomes words and signs; blanks, line breaks, quote style, trailing commas and semicolons at
line ends do not count. Where indentation carries meaning (Python, YAML), stepping in and out does.
"""

INDENTED = (".py", ".pyi", ".yaml", ".yml", ".pyx", ".nim", ".coffee")
IN, OUT = "\x01in", "\x01out"
_SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"
_TABLE = str.maketrans({**{sign: " " + sign + " " for sign in _SIGNS}, "'": ' " ', "\ufeff": " "})
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_MARKS = frozenset("([{)]}\"'")


def tokens(text: str, indented: bool = False, until: int = 1 << 60) -> "list[tuple[str, int, int]]":
    """Words and signs as (word, line from 1, width); the width of the indentation where it counts, else -1.

    It counts for the first word of a statement: not for comments, nor inside brackets or long strings.
    """
    found: list[tuple[str, int, int]] = []
    depth, joined, quotes = 0, False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if number > until:
            break
        words = line.translate(_TABLE).split()
        if not words:
            continue
        width = -1
        if indented:
            wide = line.expandtabs(8)
            margin = len(wide) - len(wide.lstrip())
            if margin == 0 and not quotes and words[0].isidentifier():
                depth = 0  # a statement at the margin: an earlier bracket was part of something else
            if depth == 0 and not joined and not quotes and words[0] != "#":
                width = margin
            joined = words[-1] == "\\"
            change, quotes = _brackets(line, quotes)
            depth = max(0, depth + change)
        if words[-1] in (";", "\\"):
            words.pop()
        for word in words:
            if word in _CLOSE and found and found[-1][0] == ",":
                found.pop()
            found.append((word, number, width))
            width = -1
    return found


def digest(words: "list[tuple[str, int, int]]") -> str:
    """`<count>-<first word>-<last word>-<hash>` of a span's tokens, at most 64 characters; empty for none.

    Steps in and out are counted from the span's own first statement, so that it may move.
    """
    if not words:
        return ""
    levels: list[int] = []
    parts: list[str] = []
    for word, _, width in words:
        if width >= 0:
            parts.extend(_steps(levels, width))
        parts.append(word)
    ends = _hash(words[0][0])[:4], _hash(words[-1][0])[:4]
    return "-".join((str(len(words)), *ends, _hash("\0".join(parts))[:40]))


def span(text: str, lines: str = "", indented: bool = False) -> "list[tuple[str, int, int]]":
    """The tokens of the lines `12-20` (or `12`, or all when empty)."""
    first, last = bounds(lines)
    return [token for token in tokens(text, indented, last) if first <= token[1] <= last]


def bounds(lines: str) -> "tuple[int, int]":
    """First and last line of `12-20`, `12` or an empty text (everything)."""
    if not lines:
        return 1, 1 << 60
    first, _, last = lines.partition("-")
    return int(first), int(last or first)


def find(text: str, lines: str, wanted: str, indented: bool = False) -> "str | None":
    """Where the span with the hash `wanted` is now: its lines, None when it is nowhere.

    Looks at the cited lines first, then in the whole text.
    """
    if digest(span(text, lines, indented)) == wanted:
        return lines
    parts = wanted.split("-")
    if len(parts) != 4 or not parts[0].isdigit() or not lines:
        return None
    count = int(parts[0])
    found = tokens(text, indented)
    known: dict[str, str] = {}
    for start in range(len(found) - count + 1):
        first = found[start][0]
        if _short(first, known) != parts[1] or _short(found[start + count - 1][0], known) != parts[2]:
            continue
        if digest(found[start:start + count]) == wanted:
            return "%d-%d" % (found[start][1], found[start + count - 1][1])
    return None


def _short(word: str, known: "dict[str, str]") -> str:
    if word not in known:
        known[word] = _hash(word)[:4]
    return known[word]


def _steps(levels: "list[int]", width: int) -> "list[str]":
    """The steps that a statement of this width takes; `levels` are those open in the span, innermost last."""
    if not levels:
        levels.append(width)
        return []
    marks = []
    while levels and width < levels[-1]:
        levels.pop()
        marks.append(OUT)
    if not levels or width > levels[-1]:
        if not marks:
            marks.append(IN)
        levels.append(width)
    return marks


def _brackets(line: str, quotes: str) -> "tuple[int, str]":
    """(brackets opened minus closed outside strings and comments, the long string still open)."""
    if not quotes and _MARKS.isdisjoint(line):
        return 0, ""
    change, at, quote = 0, 0, quotes
    while at < len(line):
        mark = line[at]
        if quote:
            if line.startswith(quote, at):
                at += len(quote) - 1
                quote = ""
            elif mark == "\\":
                at += 1
        elif mark in "\"'":
            quote = mark * 3 if line.startswith(mark * 3, at) else mark
            at += len(quote) - 1
        elif mark == "#":
            break
        elif mark in _OPEN:
            change += 1
        elif mark in _CLOSE:
            change -= 1
        at += 1
    return change, quote if len(quote) == 3 else ""


def _hash(text: str) -> str:
    try:
        from _blake2 import blake2b
    except ImportError:  # an interpreter without the C module
        from hashlib import blake2b
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
