"""The shape of a text in its field: names, commands, front matter, bodies, encoded blobs."""

from __future__ import annotations

import base64
import binascii
import datetime
import re
import unicodedata
from collections.abc import Callable, Iterator

import yaml

Found = tuple[str, str, str]
MAX_NAME = 80
_RESERVED = frozenset(
    (
        "con",
        "prn",
        "aux",
        "nul",
        "conin$",
        "conout$",
        "clock$",
        *(f"com{n}" for n in range(10)),
        *(f"lpt{n}" for n in range(10)),
    )
)
_ID = re.compile(r"[a-z0-9\u3400-\u9fff](?:[a-z0-9\u3400-\u9fff._-]*[a-z0-9\u3400-\u9fff_-])?")
_DOMAIN = re.compile(r"[\w+#](?:[\w+# .-]*[\w+#])?", re.UNICODE)
_PROJECT = re.compile(r"[\w(\[](?:[\w ()\[\].+#@,-]*[\w)\]+#])?(?:/\w(?:[\w.-]*\w)?)?", re.UNICODE)
_HOST_LIKE = re.compile(r"(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|test|sh|xyz|app|cn|ru|top)(?:\b|-)", re.I)
_SHELL = re.compile(r"\$\(|`|\$\{[^}]*[^A-Za-z0-9_}][^}]*\}|&&|\|\||[;|&<>\n\r]|\$'|\$\"|%[A-Za-z]+%|!!|\^")
# What stands below or right of so much nothing is not seen by who confirms it.
_GAP = re.compile(r"\n(?:[ \t]{0,40}\n){24}|[ \t\u00a0\u3000]{150}")
_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.M)
_RULE_LINE = re.compile(r"^(?:---|\.\.\.|\+\+\+)[ \t]*$", re.M)
_OWN_FIELD = re.compile(
    r"^(?:scope|confirmed|consent|confidence|status|allowed-tools|allowedTools|guard|pinned|score|stress|"
    r"provenance|proof|digest|"
    r"receipt|disable-model-invocation|permissions?|hooks)\s*:\s*\S",
    re.M | re.I,
)
_JSON_BREAK = re.compile(
    r"[\"'}\]]\s*[}\]]\s*,?\s*[\{\[]\s*[\"']|\"\s*,\s*\"[a-z_]{2,20}\"\s*:\s*(?:true|\"|\{|\[|\d)", re.I
)
_TABLE_BREAK = re.compile(r"\]\(\s*(?:https?:|javascript:|data:|//)|\|[^|\n]*\|[^|\n]*\]\(|^\s*\]|\]\(\s*$")
_BLOB = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{32,20000}={0,2}(?![A-Za-z0-9+/=_-])", re.A)
_HEX = re.compile(
    r"(?<![0-9A-Fa-f])(?:[0-9a-fA-F]{2}){24,4000}(?![0-9A-Fa-f])|(?:\\x[0-9a-fA-F]{2}){8,2000}|(?:%[0-9a-fA-F]{2}){10,2000}",
    re.A,
)
_STAMP = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_EXPONENT = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+")
_OURS = frozenset(
    (
        "confirmed",
        "consent",
        "confidence",
        "score",
        "stress",
        "verdict",
        "proof",
        "preselected",
        "provenance",
        "allowed-tools",
        "hooks",
        "permissions",
        "protected",
        "never_delete",
        "never-delete",
        "undeletable",
    )
)


def name(field: str, text: str) -> Iterator[Found]:
    """A name that becomes part of a path: letters, digits and few signs, no way out of the store."""
    folded = unicodedata.normalize("NFKC", text)
    low = folded.casefold()
    if len(text) > MAX_NAME:
        yield "long", "block", f"{MAX_NAME} characters"
    pattern = {"id": _ID, "domain": _DOMAIN, "project": _PROJECT}[field]
    target = low if field == "id" else folded
    shaped = bool(text) and pattern.fullmatch(target) is not None and ".." not in folded and folded == folded.strip()
    reserved = low.split(".")[0].strip() in _RESERVED or (field == "domain" and _HOST_LIKE.search(low) is not None)
    if not shaped or reserved:
        yield "name", "block", text
    elif text != folded or (field == "id" and text != low):
        yield "case", "warn", ""


def command(text: str) -> Iterator[Found]:
    """A command of ours is one program with arguments: nothing that starts another."""
    quiet = re.sub(
        r"\$(?:HOME|CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_ROOT|PWD)\b|\$\{(?:HOME|CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_ROOT|PWD)\}",
        "",
        text,
    )
    match = _SHELL.search(quiet)
    if match:
        yield "shell", "block", match.group()


def body(text: str, *, one_line: bool) -> Iterator[Found]:
    """A text in a Markdown body or a title: it may not end our front matter or our record."""
    outside = _without_fences(text)
    if _RULE_LINE.search(outside) and (
        _OWN_FIELD.search(outside)
        or outside.lstrip().startswith(("---\n", "...\n"))
        or (len(_RULE_LINE.findall(outside)) > 1)
    ):
        yield "separator", "block", ""
    elif _RULE_LINE.search(outside):
        yield "separator", "warn", ""
    gap = _GAP.search(outside)
    if gap:
        yield "layout", "warn", f"{len(gap.group())} blank characters"
    if not one_line:
        return
    match = _JSON_BREAK.search(text) or _TABLE_BREAK.search(text)
    if match:
        yield "layout", "block", match.group()
    elif text.lstrip().startswith(("---", "...")) and len(text.strip()) == 3:
        yield "separator", "block", ""


def _without_fences(text: str) -> str:
    pieces = _FENCE.split(text)
    # split gives text, mark, text, mark ...: the texts at odd pairs stand inside a fence.
    return "\n".join(pieces[0::4]) if len(pieces) > 3 else text


def blobs(text: str, orders: Callable[[str], bool]) -> Iterator[Found]:
    """Encoded text that reads as language; block when it gives orders."""
    for match in _BLOB.finditer(text):
        decoded = _decoded(match.group())
        if decoded and _reads(decoded):
            yield "blob", "block" if orders(decoded) else "warn", decoded
    for match in _HEX.finditer(text):
        decoded = _unhexed(match.group())
        if decoded and _reads(decoded):
            yield "blob", "block" if orders(decoded) else "warn", decoded


def _decoded(blob: str) -> str:
    try:
        raw = base64.b64decode(
            blob.replace("-", "+").replace("_", "/").rstrip("=") + "=" * (-len(blob.rstrip("=")) % 4)
        )
        return raw.decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _unhexed(blob: str) -> str:
    try:
        return bytes.fromhex(re.sub(r"\\x|%", "", blob)).decode("utf-8")
    except ValueError:
        return ""


def _reads(text: str) -> bool:
    """Whether decoded bytes are language: printable, and with blanks or Chinese letters."""
    printable = sum(char.isprintable() or char in "\n\t" for char in text)
    return (
        len(text) >= 12
        and printable >= 0.97 * len(text)
        and (
            text.count(" ") * 12 >= len(text) or sum("\u4e00" <= char <= "\u9fff" for char in text) * 3 >= len(text)
        )
    )


def says_nothing(text: str, part: str = "") -> bool:
    """Whether a condition holds nearly everywhere: only wildcards, or a single letter to look for in a text."""
    said = sum(map(str.isalnum, text))
    return said < (2 if part in ("words", "error") else 1)


def frontmatter(text: str) -> Iterator[Found]:
    """YAML: no tags, aliases, duplicate keys; values that YAML reads as something else are shown."""
    if len(text.encode("utf-8", "surrogatepass")) > 64 * 1024:
        yield "long", "block", "64 KiB"
        return
    try:
        aliases = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader))
        node = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        yield "yaml", "block", str(getattr(error, "problem", "") or error).split("\n")[0]
        return
    if aliases > 1:
        yield "yaml", "block", f"{aliases} aliases"
    elif aliases or re.search(r"(?:^|[\s\[,])&\w", text):
        yield "yaml", "warn", "anchor and alias"
    if node is not None and not isinstance(node, yaml.MappingNode):
        yield "yaml", "block", "no mapping"
    yield from _nodes(node, set(), 0)


def _nodes(node: yaml.Node | None, seen: set[int], depth: int) -> Iterator[Found]:
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if depth > 20:
        yield "yaml", "block", "too deep"
        return
    if (
        not node.tag.startswith("tag:yaml.org,2002:")
        or "python" in node.tag
        or node.tag.endswith((":binary", ":omap", ":pairs", ":set"))
    ):
        yield "yaml", "block", node.tag
    if isinstance(node, yaml.ScalarNode):
        yield from _scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _nodes(item, seen, depth + 1)
    elif isinstance(node, yaml.MappingNode):
        yield from _mapping(node, seen, depth)


def _mapping(node: yaml.MappingNode, seen: set[int], depth: int) -> Iterator[Found]:
    names: set[str] = set()
    for key, value in node.value:
        label = str(key.value) if isinstance(key, yaml.ScalarNode) else "(no text)"
        if label in names:
            yield "yaml", "block", f"{label} twice"
        names.add(label)
        if key.tag == "tag:yaml.org,2002:merge":
            yield "yaml", "warn", "merge key"
        if label.lower() in _OURS:
            yield "yaml", "block", f"{label} is computed by us"
        yield from _nodes(value, seen, depth + 1)


def _scalar(node: yaml.ScalarNode) -> Iterator[Found]:
    value = str(node.value)
    kind = node.tag.rsplit(":", 1)[-1]
    if node.style:
        return
    if kind == "bool" and value.lower() not in ("true", "false"):
        yield "yaml", "warn", f"{value} reads as yes or no"
    elif _EXPONENT.fullmatch(value) or (kind in ("int", "float") and not _DECIMAL.fullmatch(value)):
        yield "yaml", "warn", f"{value} reads as a number"
    elif kind == "null" and value == "~":
        yield "yaml", "warn", "~ reads as nothing"
    elif _STAMP.fullmatch(value):
        try:
            datetime.date.fromisoformat(value)
        except ValueError:
            yield "yaml", "warn", f"{value} is no date"
