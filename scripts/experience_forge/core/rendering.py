"""Renders our templates: sandboxed, strict, capped; values enter as variables only and are escaped.

A template may print names, walk lists and choose; anything else (calls, assignments, arithmetic,
includes) is refused before it runs, so that neither a tuned template nor a value can do more than
put text in a place. Texts that a client loads pass `escape`: what they hold can't become one of
our markers, an HTML comment, raw HTML or an import of a file.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..errors import Invalid, Text
from ..fast import visible

OUTPUT_CAP = 256 * 1024
"""Most characters that one template may give; a body has 64 KiB at most (DESIGN 5)."""
_FOR_DEPTH = 2
_ALLOWED: tuple[type[nodes.Node], ...] = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem,
    nodes.If, nodes.For, nodes.And, nodes.Or, nodes.Not, nodes.Compare, nodes.Operand, nodes.CondExpr,
    nodes.Filter,
)  # fmt: skip
_FILTERS = ("join", "length")
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
# The client expands `@path` after a blank and wherever its Markdown reader begins a piece of text: behind
# `code`, inside **bold** and _italics_, behind an escaped character. Only letters and digits before it
# (addresses) are safe, and one backslash that is no escaped backslash itself.
_IMPORT = re.compile(r"(?P<word>[A-Za-z0-9]?)(?P<slashes>\\*)@(?=\S)")


class Safe(str):
    """Text that was rendered and escaped before, and is put in as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class Book:
    """All templates by `name.language` (or `name` for both), with their version and the text they stand in."""

    version: str
    templates: Mapping[str, str]
    text: str = ""

    def get(self, name: str, language: str) -> str:
        """One template.

        Raises:
            Invalid: when there is none of that name.
        """
        for key in (f"{name}.{'zh' if language == 'zh' else 'en'}", name):
            if key in self.templates:
                return self.templates[key]
        raise Invalid(Text("errors_entry.no_template", name=name), Text("errors_entry.no_template_hint"))

    def render(self, name: str, language: str, values: Mapping[str, Any]) -> str:
        """What one template gives, values escaped for a place that a client loads; errors as `render`."""
        return render(self.get(name, language), values)


def escape(text: str) -> str:
    """Text that can't be a tag, a comment, an import or hidden; twice changes nothing more.

    `<` of tags and comments becomes `&lt;`, `@path` becomes `\\@path`, and hidden, bidirectional and
    control characters become visible escapes.
    """
    shown = "\t".join(visible.escape(part, keep_newlines=True) for part in text.split("\t"))
    return _IMPORT.sub(_no_import, _HTML.sub("&lt;", shown))


def _no_import(match: re.Match[str]) -> str:
    word, slashes = match["word"], match["slashes"]
    harmless = len(slashes) % 2 == 1 or (word and not slashes)
    return match.group() if harmless else f"{word}{slashes}\\@"


def one_line(text: str) -> str:
    """Text on one line: every run of blanks and line ends is one blank."""
    return " ".join(text.split())


def render(template: str, values: Mapping[str, Any], *, escape: bool = True, cap: int = OUTPUT_CAP) -> str:
    """What the template gives with these values.

    Args:
        values: str, numbers, and mappings or lists of them; `Safe` text is not escaped again.
        escape: whether values are escaped for a place that a client loads.
        cap: most characters of the result.

    Raises:
        Invalid: a template that may not run, a value that is missing, a result over the cap.
    """
    parts: list[str] = []
    size = 0
    try:
        for part in _compiled(template, escape).generate(dict(values)):
            size += len(part)
            if size > cap:
                raise Invalid(Text("errors_entry.template_long", limit=cap), Text("errors_entry.shorten_entry"))
            parts.append(part)
    except jinja2.TemplateError as error:
        raise Invalid(
            Text("errors_entry.template_error", cause=error.message), Text("errors_entry.restore_template")
        ) from error
    except TypeError as error:
        raise Invalid(
            Text("errors_entry.template_error", cause=error), Text("errors_entry.restore_template")
        ) from error
    return "".join(parts)


def faults_of(template: str) -> list[Text]:
    """What keeps a template from being used, one line a fault; empty when nothing does."""
    try:
        tree = _environment(True).parse(template)
    except jinja2.TemplateSyntaxError as error:
        return [Text("errors_entry.line_cause", line=error.lineno, cause=error.message)]
    faults = [_fault(node) for node in _walk(tree, 0)]
    return [fault for fault in faults if fault is not None]


def _walk(node: nodes.Node, depth: int) -> list[tuple[nodes.Node, int]]:
    inside = depth + isinstance(node, nodes.For)
    found = [(node, inside)]
    for child in node.iter_child_nodes():
        found += _walk(child, inside)
    return found


def _fault(found: tuple[nodes.Node, int]) -> Text | None:
    node, depth = found
    if not isinstance(node, _ALLOWED):
        return Text("errors_entry.template_node", line=node.lineno, name=type(node).__name__)
    if isinstance(node, nodes.Filter) and node.name not in _FILTERS:
        return Text("errors_entry.template_filter", line=node.lineno, name=node.name)
    if depth > _FOR_DEPTH:
        return Text("errors_entry.template_loops", line=node.lineno, depth=_FOR_DEPTH)
    return None


@functools.lru_cache(maxsize=256)
def _compiled(template: str, escaping: bool) -> jinja2.Template:
    faults = faults_of(template)
    if faults:
        raise Invalid(Text("errors_entry.template_forbidden"), Text("errors_entry.restore_template"), faults)
    return _environment(escaping).from_string(template)


@functools.cache
def _environment(escaping: bool) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, finalize=_escaped_value if escaping else None,
    )  # fmt: skip
    environment.globals.clear()
    return environment


def _escaped_value(value: Any) -> Any:
    return escape(value) if isinstance(value, str) and not isinstance(value, Safe) else value
