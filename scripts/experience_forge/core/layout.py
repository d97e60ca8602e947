"""How a table fits a terminal: ids, numbers and paths stay whole; prose is wrapped beside them, else below them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence

Say = Callable[[str], str]
"""Puts a text into another language."""

GAP = 2
VERBATIM = 4
LEAST = 16
"""Columns below which prose is not worth a column of its own."""
_WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
    "\U0001f300-\U0001faff\U00020000-\U0003fffd"
)
"""Letters between which a line may end."""
_OPENING = re.escape("([{\"'“‘（「『《【")
_CLOSING = re.escape("，。、；：！？）】》」』”’…,.;:!?)")
_EXAMPLE = re.compile(r"(  \S.*?)(\s{2,})(\S.*)")
_RULER = re.compile(r"([=\-_*#~+.])\1{3,}")
_MARGIN = re.compile(r" *\S+(?: \S+){0,3} {2,}(?=\S)")
"""A label with its gap: what follows is a column."""
_LABEL = re.compile(r"JSON[^{]*: |[^{：]*JSON：|[\w ]+: |\w{2,4}：")
_SHAPE_PART = re.compile(r'"[^"]*"|[^"{}\[\]|:]+')
_PHRASE = re.compile(r"\w[`,]* [`\w]")
"""What tells words of a shape from a placeholder (`id`, `n`)."""
_GOES_ON = re.compile(r"[a-z0-9`(]|  +[\"\[{|]|    ")
_PIECE = re.compile(
    # A command in a sentence stands on one line, so that it can be copied.
    rf"[{_OPENING}]*`[^`\n]+`[{_CLOSING}]*"
    rf"|[{_OPENING}]*[^\s`{_WIDE}]+[{_CLOSING}]*|[{_OPENING}]*[{_WIDE}][{_CLOSING}]*|`|\s+"
)

_WIDE_PIECE = re.compile(rf"[{_OPENING}]*[{_WIDE}]")


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], prose: Collection[int], width: int
) -> tuple[list[str], list[str]]:
    """The head and the lines of a table, at most `width` columns wide where the whole cells allow that.

    The head is empty where each field has a line of its own, with its name.

    Args:
        prose: numbers of the columns whose cells may be wrapped.
    """
    natural = [max(cells(line[at]) for line in (columns, *rows)) for at in range(len(columns))]
    given = _widths(natural, rows, prose, width)
    if given is not None:
        return _side_by_side(columns, given), [line for row in rows for line in _side_by_side(row, given)]
    whole = [at for at in range(len(columns)) if at not in prose]
    if sum(natural[at] for at in whole) + GAP * (len(whole) - 1) <= width:
        sizes = [natural[at] for at in whole]
        head, *body = (_prose_below(row, whole, sizes, prose, width) for row in (columns, *rows))
        return head, [line for lines in body for line in lines]
    return [], [line for row in rows for line in _stacked(columns, row, prose, width)]


def cells(text: str) -> int:
    """Columns that a text takes at a terminal: wide letters and emoji two, marks none."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most `width` columns; a word that is longer stays whole, and behind what it follows.

    Wide letters may be parted anywhere, but no line begins with a closing sign, a clause that begins near the end
    of a line goes to the next, and no letter stands alone on the last.
    """
    lines: list[list[str]] = [[]]
    used = 0
    for piece in _PIECE.findall(text):
        size = cells(piece)
        if lines[-1] and used + size > width >= size:
            lines.append(_clause_begun(lines[-1], width // 6) if _WIDE_PIECE.match(piece) else [])
            used = sum(map(cells, lines[-1]))
            if piece.isspace():
                continue
        lines[-1].append(piece)
        used += size
    if len(lines) > 1 and len(lines[-1]) == 1 and _WIDE_PIECE.match(lines[-1][0]) and _WIDE_PIECE.match(lines[-2][-1]):
        lines[-1].insert(0, lines[-2].pop())
    told = ["".join(line).rstrip() for line in lines]
    return told if told[-1] or len(told) == 1 else told[:-1]


def paragraph(line: str, width: int) -> list[str]:
    """A line of prose in rows of at most `width` columns, each indented like the line; commands stay whole.

    A line that begins with just four spaces is to be copied: it is left to the terminal.
    """
    text = line.lstrip(" ")
    margin = len(line) - len(text)
    if cells(line) <= width or margin == VERBATIM:
        return [line]
    label = _MARGIN.match(line)
    lead = label[0] if label and cells(label[0]) < width // 2 else line[:margin] + ("- " if text[:2] == "- " else "")
    first, *rest = wrapped(line[len(lead):], max(LEAST, width - cells(lead)))
    return [lead + first, *(" " * cells(lead) + row for row in rest)]


def quoted(text: str, most: int) -> str:
    """The beginning of somebody's words as one line, rulers (`=====`) made short; cut at a word where it can be."""
    line = _RULER.sub(r"\1\1\1", " ".join(text.split()))
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    space = cut.rfind(" ", most * 2 // 3)
    return (cut[:space] if space > 0 else cut) + "…"


def help_text(text: str, width: int, say: Say | None = None) -> str:
    """Examples and shapes of a help text in lines of at most `width` columns.

    Where the remark behind an example does not fit, all remarks go below their examples; other lines are wrapped.

    Args:
        say: gets each remark, sentence and phrase whole, and gives what stands in its place; commands stay.
    """
    lines = []
    given = [_said(line, say) for line in _joined(text.split("\n"), 0)] if say else _joined(text.split("\n"), width)
    below = any(cells(line) > width and _EXAMPLE.fullmatch(line) for line in given)
    for line in given:
        example = _EXAMPLE.fullmatch(line)
        if below and example:
            lines += [example[1], *("      " + row for row in wrapped(example[3], width - 6))]
        else:
            hang = "  " if _LABEL.match(line) else ""
            first, *rest = paragraph(line, width - len(hang))
            lines += [first, *(hang + row for row in rest)]
    return "\n".join(lines)


def _said(line: str, say: Say) -> str:
    """One line of a help text with its words put into another language."""
    if example := _EXAMPLE.fullmatch(line):
        return example[1] + example[2] + say(example[3])
    if line.startswith("JSON"):
        label, colon, shape = line.partition(": ")
        return say(label + colon) + _SHAPE_PART.sub(lambda part: _part_said(part[0], say), shape)
    # A line that stands in is an example without a remark.
    return line if not line or line[0] == " " else say(line)


def _part_said(part: str, say: Say) -> str:
    words = part.strip(" ,")
    return part.replace(words, say(words)) if part[0] != '"' and _PHRASE.search(words) else part


def _joined(lines: Sequence[str], width: int) -> list[str]:
    """The lines; where one is too long, those that go on with the sentence or the shape above join it."""
    narrow = any(cells(line) > width for line in lines)
    found: list[str] = []
    for line in lines:
        if narrow and found and found[-1] and _GOES_ON.match(line) and not found[-1].endswith(":"):
            found[-1] += " " + line.strip()
        else:
            found.append(line)
    return found


def _widths(
    natural: list[int], rows: Sequence[Sequence[str]], prose: Collection[int], width: int
) -> list[int] | None:
    """A width for each column; None when the whole cells leave too little for the prose."""
    free = width - GAP * (len(natural) - 1) - sum(size for at, size in enumerate(natural) if at not in prose)
    wanted = sum(natural[at] for at in prose)
    if wanted <= free:
        return natural
    least = {at: max([LEAST, *(cells(word) for row in rows for word in _words(row[at]))]) for at in prose}
    if not prose or sum(least.values()) > free:
        return None
    given = list(natural)
    for at in prose:
        given[at] = max(least[at], min(natural[at], free * natural[at] // wanted))
    return given


def _clause_begun(line: list[str], most: int) -> list[str]:
    """Takes the pieces behind the last comma, or the like, of a line away, when they are at most `most` columns."""
    at = next((at for at in range(len(line), 0, -1) if line[at - 1][-1] in "，、；：。！？"), 0)
    if not 0 < at < len(line) or sum(map(cells, line[at:])) > most:
        return []
    taken = line[at:]
    del line[at:]
    return taken[1:] if taken[0].isspace() else taken


def _words(text: str) -> list[str]:
    return [piece for piece in _PIECE.findall(text) if not piece.isspace()]


def _side_by_side(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    parts = [wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
    lines = []
    for number in range(max(map(len, parts))):
        here = [part[number] if number < len(part) else "" for part in parts]
        padded = (text + " " * (size - cells(text)) for text, size in zip(here, widths, strict=True))
        lines.append((" " * GAP).join(padded).rstrip())
    return lines


def _prose_below(
    row: Sequence[str], whole: Sequence[int], sizes: Sequence[int], prose: Collection[int], width: int
) -> list[str]:
    lines = _side_by_side([row[at] for at in whole], sizes)
    return [*lines, *(f"  {line}" for at in prose if row[at] for line in wrapped(row[at], width - GAP))]


def _stacked(columns: Sequence[str], row: Sequence[str], prose: Collection[int], width: int) -> list[str]:
    lines = [row[0]]
    for at in range(1, len(columns)):
        if row[at]:
            whole = f"{columns[at]}: {row[at]}"
            lines += [f"  {line}" for line in (wrapped(whole, width - GAP) if at in prose else [whole])]
    return lines
