"""What a hook says of an entry, read out of the entry's own file: the index has to say the same.

The index is derived, so that its words are nobody's until the confirmed bytes have them too.
"""

from . import sections

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

TITLE_LIMIT = 200
RULE_LIMIT = 300
SHORT_LIMIT = 600
FIX_LIMIT = 1500
ACTIONS = ("right_action", "how", "steps", "decision")
_IGNORABLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u3164\uffa0\u2800"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9)))))
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f",
            "v": "\v", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}  # fmt: skip
_HEX = {"x": 2, "u": 4, "U": 8}


def columns(data: bytes) -> "dict[str, Any]":
    """The columns of the index that hooks go by, as an entry's file gives them.

    Raises:
        ValueError: when it is not the stored form of an entry.
    """
    head, found, rest = data.decode("utf-8").replace("\r\n", "\n").partition("\n---\n")
    if not found or not head.startswith("---\n"):
        raise ValueError("no front matter")
    known = _fields(head[4:])
    body = _sections(rest)
    kind, project = known.get("kind", ""), ""
    if known.get("track") == "project":
        # A project entry without its project belongs nowhere: it is kept out of every scope.
        project = known.get("project", "") or "?"
    return {
        "id": known.get("id", ""), "track": known.get("track", ""), "project": project,
        "status": known.get("status", "") or "active", "guard": known.get("guard", "") or "remind",
        "language": known.get("language", "") or "en", "kind": kind,
        "pinned": int(known.get("pinned", "").lower() == "true"),
        **texts(known.get("title", ""), body),
    }


def texts(title: str, body: "dict[str, str]") -> "dict[str, str]":
    """Title, rule, reason and action as hooks say them."""
    reason = body.get("why") or body.get("root_cause") or ""
    action = next((body[name] for name in ACTIONS if body.get(name)), "")
    return {
        "title": one_line(title, TITLE_LIMIT), "rule": one_line(body.get("rule", ""), RULE_LIMIT),
        "reason": one_line(reason, SHORT_LIMIT), "action": one_line(action, FIX_LIMIT),
    }


def one_line(text: str, limit: int) -> str:
    """Text on one line as a hook may say it, at most `limit` characters, a cut marked by `…`.

    Hidden and bidirectional characters become visible escapes, tags lose their `<`: a note can't end
    the frame that it is given in.
    """
    flat = " ".join(text.split())
    if not _safe(flat):
        # Its patterns take a hook as long as half a bare start.
        from . import visible

        flat = visible.escape(flat)
    first, *parts = flat.split("<")
    flat = first + "".join(("&lt;" if _opens(part) else "<") + part for part in parts)
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def _safe(text: str) -> bool:
    """Whether `visible.escape` surely leaves the text as it is."""
    if text.isascii():
        return text.isprintable()
    return text.isprintable() and max(text) < "\U000e0000" and _IGNORABLE.isdisjoint(text)


def _opens(text: str) -> bool:
    mark = text[:1]
    return ("A" <= mark <= "Z") or ("a" <= mark <= "z") or mark in ("/", "!", "?")


def _fields(head: str) -> "dict[str, str]":
    """One-line scalars of the front matter by name; lists stay as they are written."""
    found: "dict[str, str]" = {}
    for line in head.split("\n"):
        name, colon, value = line.partition(":")
        if colon and name and not name[0].isspace() and name[0] not in "-#'\"":
            found.setdefault(name, _scalar(value.strip(" ")))
    return found


def _scalar(written: str) -> str:
    if len(written) >= 2 and written[0] == written[-1] == "'":
        return written[1:-1].replace("''", "'")
    if len(written) >= 2 and written[0] == written[-1] == '"':
        return _unescaped(written[1:-1])
    return "" if written in ("~", "null") else written


def _unescaped(text: str) -> str:
    first, *parts = text.split("\\")
    done, literal = first, False
    for part in parts:
        if literal:
            # Behind an escaped backslash what follows is text.
            done, literal = done + part, False
        elif not part:
            done, literal = done + "\\", True
        elif part[0] in _HEX:
            count = _HEX[part[0]]
            done += chr(int(part[1:1 + count], 16)) + part[1 + count:]
        else:
            done += _ESCAPES.get(part[0], part[0]) + part[1:]
    return done


def _sections(text: str) -> "dict[str, str]":
    found: "dict[str, list[str]]" = {}
    current: "list[str]" = []
    for line in sections.normal(text).split("\n"):
        label = sections.label_of(line)
        if label is None:
            current.append(sections.unescaped(line))
            continue
        current = [label[1]]
        found.setdefault(sections.NAMES.get(label[0].casefold(), ""), current)
    return {name: sections.normal("\n".join(lines)) for name, lines in found.items()}
