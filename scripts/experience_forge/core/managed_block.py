"""Our marked blocks in a file of the user's, and our mark on files of our own; bytes in, bytes out.

A block stands between two HTML comments, each alone on its line, which the client takes out before
the model sees the text. The begin line holds the block's id, the version of the marker and of the
template, how many line ends in front belong to us (`g0`, `g1`, `g2`; `gn`: we made the file), and a
digest of the block's text. Whatever does not read as such blocks beyond doubt is refused untouched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

VERSION = 1
_BEGIN = re.compile(
    r"<!-- experience-forge:begin (?P<id>[a-z0-9_][a-z0-9-]{0,79}) v(?P<version>\d{1,4})"
    r"(?: t(?P<template>[0-9a-z.+-]{1,40}) g(?P<gap>[0-2n]) (?P<digest>[0-9a-f]{12}))? -->"
)
_END = re.compile(r"<!-- experience-forge:end -->")
_OURS = re.compile(r"<!--[ \t]*experience-forge:(?:begin|end)\b")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_FILE = re.compile(
    r"^<!-- experience-forge v(?P<version>\d{1,4}) t(?P<template>[0-9a-z.+-]{1,40}) (?P<digest>[0-9a-f]{12}) -->\n?",
    re.MULTILINE,
)
_BOM = "\ufeff"


@dataclass(frozen=True)
class Block:
    """One block as it stands: `start` and `end` are character offsets of its two lines and what is between."""

    id: str
    version: int
    template: str
    gap: str
    start: int
    end: int
    text: str
    edited: bool


@dataclass(frozen=True)
class Scan:
    """The blocks of a file in their order, or why it may not be touched (`refused`, else empty)."""

    blocks: tuple[Block, ...] = ()
    refused: str = ""


@dataclass(frozen=True)
class Edit:
    """What a change comes to.

    `data` are the new bytes, None when the file is to go (or was not there); `refused` says why
    nothing was changed; `edited` are blocks that a person changed by hand: left as they are, or,
    when they were to be dropped by force, their text by id.
    """

    data: bytes | None
    refused: str = ""
    edited: Mapping[str, str] = field(default_factory=dict)


def scan(data: bytes) -> Scan:
    """The blocks of a file."""
    text, refused = _decoded(data)
    return Scan(refused=refused) if refused else _scan_text(text)


def update(
    data: bytes | None,
    wanted: Mapping[str, str],
    known: Collection[str],
    template: str,
    *,
    force: bool = False,
) -> Edit:
    """Bring our blocks of a file to what is wanted; everything else keeps its bytes.

    Args:
        data: the file's bytes, None when there is no file.
        wanted: text of each block by id, in order; new ones are appended.
        known: ids that are ours: of them, those not wanted are taken out. Others are a teammate's.
        template: version of the templates, kept in the begin line.
        force: also replace or take out blocks that were edited by hand (their text comes back).
    """
    text, refused = _decoded(data or b"")
    found = Scan(refused=refused) if refused else _scan_text(text)
    if found.refused:
        return Edit(data, found.refused)
    mine = {block.id: block for block in found.blocks if block.id in known or block.id in wanted}
    edited = {block.id: block.text for block in mine.values() if block.edited and not _fits(block, wanted)}
    made = data is None
    for block in reversed(found.blocks):
        if block.id not in mine or (block.id in edited and not force):
            continue
        if block.id in wanted:
            text = _replaced(text, block, wanted[block.id], template)
        else:
            text = _removed(text, block)
            made = made or block.gap == "n"
    for name, body in wanted.items():
        if name not in mine:
            text = _appended(text, name, body, template, made)
    if made:
        text = _claimed(text, mine)
    return Edit(None if made and not text.strip() else text.encode("utf-8"), "", edited)


def digest(text: str) -> str:
    """The digest of a block's or a file's text, 12 hex digits; the kind of line ends does not count."""
    return hashlib.sha256(_plain(text).encode("utf-8")).hexdigest()[:12]


def stamp(text: str, template: str) -> bytes:
    """A whole file of ours with its mark: on top, or behind the front matter of a skill."""
    mark = f"<!-- experience-forge v{VERSION} t{template} {digest(text)} -->\n"
    head = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    at = head.end() if head else 0
    return (text[:at] + mark + text[at:]).encode("utf-8")


def unstamp(data: bytes) -> tuple[str, str, str]:
    """State, template version and text of a file: `ours`, `edited` (our mark, other text) or `foreign`."""
    try:
        text = _plain(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return "foreign", "", ""
    match = _FILE.search(text)
    if match is None:
        return "foreign", "", text
    rest = text[: match.start()] + text[match.end():]
    state = "ours" if digest(rest) == match["digest"] and int(match["version"]) <= VERSION else "edited"
    return state, match["template"], rest


def _decoded(data: bytes) -> tuple[str, str]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
        return "", "it is UTF-16 or binary, not UTF-8"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        return "", f"it is not UTF-8 (byte {error.start})"


def _scan_text(text: str) -> Scan:
    blocks: list[Block] = []
    begin: tuple[re.Match[str], int, int] | None = None
    fence = ""
    comment = 0
    for line in _LINE.finditer(text):
        content = line.group().rstrip("\r\n").removeprefix(_BOM) if line.start() == 0 else line.group().rstrip("\r\n")
        fence, fenced = _step(fence, content)
        if fenced:
            continue
        comment = _comment(comment, content)
        if not _OURS.match(content.lstrip(" \t")):
            continue
        opening, closing = _BEGIN.fullmatch(content), _END.fullmatch(content)
        number = text.count("\n", 0, line.start()) + 1
        if opening and begin is None:
            begin = opening, line.start() + line.group().find("<"), line.end()
        elif closing and begin is not None:
            blocks.append(_block(text, begin, line.start(), line.start() + len(content)))
            begin = None
        else:
            return Scan(refused=f"line {number}: {_complaint(opening, closing)}")
    if begin is not None:
        return Scan(refused=f"the block '{begin[0]['id']}' has no end marker")
    return Scan(tuple(blocks), _doubt(blocks, fence, comment))


def _complaint(opening: re.Match[str] | None, closing: re.Match[str] | None) -> str:
    if opening:
        return f"a begin marker ('{opening['id']}') inside another block"
    return "an end marker without a begin marker" if closing else "a marker of ours that can't be read"


def _doubt(blocks: list[Block], fence: str, comment: int) -> str:
    ids = [block.id for block in blocks]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        return f"the block '{twice[0]}' stands twice"
    newer = [block.id for block in blocks if block.version > VERSION]
    if newer:
        return f"the block '{newer[0]}' was written by a newer version"
    if fence:
        return "a code fence is not closed"
    return "an HTML comment is not closed" if comment else ""


def _step(fence: str, content: str) -> tuple[str, bool]:
    """The open fence after this line, and whether the line belongs to one."""
    match = _FENCE.fullmatch(content)
    if fence:
        closes = match and match["mark"].startswith(fence) and not match["info"].strip()
        return ("" if closes else fence), True
    # A backtick in the info string makes it a code span, not a fence.
    if match and not (match["mark"][0] == "`" and "`" in match["info"]):
        return match["mark"], True
    return "", False


def _comment(open_now: int, content: str) -> int:
    for mark in re.findall(r"<!--|-->", re.sub(r"`+[^`]*`+", "", content)):
        open_now = 1 if mark == "<!--" else 0
    return open_now


def _block(text: str, begin: tuple[re.Match[str], int, int], last: int, end: int) -> Block:
    match, start, first = begin
    inner = _plain(text[first:last]).removesuffix("\n")
    known = match["digest"]
    # Markers before version 1 had no digest, so nothing can be said against replacing their text.
    edited = known != digest(inner) if known else int(match["version"]) >= VERSION
    return Block(match["id"], int(match["version"]), match["template"] or "", match["gap"] or "0", start, end, inner,
                 edited)


def _fits(block: Block, wanted: Mapping[str, str]) -> bool:
    return block.id in wanted and _plain(wanted[block.id]).strip("\n") == block.text


def _written(name: str, body: str, template: str, gap: str, end_of_line: str) -> str:
    inner = _plain(body).strip("\n")
    lines = [f"<!-- experience-forge:begin {name} v{VERSION} t{template} g{gap} {digest(inner)} -->",
             *inner.split("\n"), "<!-- experience-forge:end -->"]
    return end_of_line.join(lines)


def _replaced(text: str, block: Block, body: str, template: str) -> str:
    if block.version == VERSION and not block.edited and _plain(body).strip("\n") == block.text:
        return text  # another template version alone is no reason to touch a file that a team shares
    new = _written(block.id, body, template, block.gap, _end_of_line(text))
    return text[: block.start] + new + text[block.end:]


def _removed(text: str, block: Block) -> str:
    """Text without a block and the line ends that came with it, as far as they are still there."""
    before, after = text[: block.start], text[block.end:]
    shorter = _without_end(before)
    if block.gap in ("1", "2") and before != shorter and _without_end(shorter) != shorter:
        before = shorter if block.gap == "1" else _without_end(shorter)
    elif block.gap == "1" and not shorter.strip(_BOM):
        before = shorter
    if block.gap != "2":
        after = re.sub(r"\A(?:\r\n|\n|\r)", "", after)
    return before + after


def _appended(text: str, name: str, body: str, template: str, made: bool) -> str:
    end = _end_of_line(text)
    if not text.removeprefix(_BOM):
        return text + _written(name, body, template, "n" if made else "0", end) + end
    if text.endswith(("\n", "\r")):
        return text + end + _written(name, body, template, "1", end) + end
    # The file keeps being one without a final line end.
    return text + end * 2 + _written(name, body, template, "2", end)


def _claimed(text: str, mine: Mapping[str, Block]) -> str:
    """The block that says "we made this file" may have gone: the next of ours on top says so now."""
    for block in _scan_text(text).blocks[:1]:
        if block.id in mine and block.gap in ("0", "1") and not text[: block.start].strip():
            marked = text[block.start:block.end].replace(f" g{block.gap} ", " gn ", 1)
            return marked + text[block.end:]
    return text


def _without_end(text: str) -> str:
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end):
            return text[: -len(end)]
    return text


def _end_of_line(text: str) -> str:
    """The line end that the file uses, the last one where they are mixed."""
    ends = re.findall(r"\r\n|\n|\r", text)
    return ends[-1] if ends else "\n"


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
