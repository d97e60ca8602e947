"""Text <-> Entry: the stored Markdown form with YAML front matter (DESIGN 5).

Front matter is read strictly: duplicate keys and aliases are refused, values of known fields stay
the text that stands there (`title: no` is "no"), unknown fields survive a round trip. It is written
by a serializer, in a fixed order, so that equal entries have equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from ..errors import Invalid, Text
from ..model import Cite, Condition, Entry, Guard, Kind, Provenance, Source, Status, Track
from . import body, checks, written

COMPUTED = ("status", "status_reason", "guard", "pinned", "parents", "revision", "created", "updated", "project")
"""Fields that we compute: a draft that brings them is told so, and they are ignored."""

KNOWN = (
    "id", "title", "aliases", "kind", "track", "domain", "project", "status", "status_reason", "language",
    "applies_when", "fails_when", "versions", "tags", "cites", "review", "guard", "pinned", "origin",
    "sources", "parents", "revision", "created", "updated",
)
"""All fields of the front matter, in the order in which they are written."""


_NAMES = frozenset(KNOWN)


@dataclass(frozen=True)
class Raw:
    """An entry's front matter and body before validation; `unknown` holds the fields we don't know."""

    known: Mapping[str, Any]
    body: str
    unknown: Mapping[str, Any] = field(default_factory=dict)


def parse(text: str) -> Entry:
    """An entry from its stored form.

    Raises:
        Invalid: with all faults, each naming field, limit and value.
    """
    raw = split(text)
    return build(raw)


def split(text: str) -> Raw:
    """Front matter and body of one Markdown document.

    Raises:
        Invalid: for no front matter, invalid YAML, duplicate keys, aliases, or a text over the limit.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > checks.MAX_DOCUMENT_BYTES:
        what = Text("errors_entry.entry_size", size=size, limit=checks.MAX_DOCUMENT_BYTES)
        raise Invalid(what, Text("errors_entry.shorten_it"))
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    as_written = written.split(text, _NAMES)
    if as_written is not None:
        return Raw(as_written[0], as_written[1].strip())
    if not text.startswith("---\n"):
        raise Invalid(Text("errors_entry.no_front"), Text("errors_entry.no_front_hint"))
    try:
        fields, content = frontmatter.parse(text, handler=_Handler())
    except yaml.YAMLError as error:
        raise Invalid(Text("errors_entry.front_yaml", place=_place(error)), Text("errors_entry.mend_line")) from error
    except (ValueError, RecursionError) as error:
        raise Invalid(Text("errors_entry.front_read", cause=error), Text("errors_entry.front_read_hint")) from error
    known = {name: value for name, value in fields.items() if name in KNOWN}
    unknown = {name: value for name, value in fields.items() if name not in KNOWN}
    return Raw(known, content.strip("\n"), unknown)


def build(raw: Raw) -> Entry:
    """An entry from its parts.

    Raises:
        Invalid: with all faults at once.
    """
    faults: list[Text] = []
    kind = checks.choice(raw.known, "kind", Kind, faults, None)
    sections: tuple[tuple[str, str], ...] = ()
    if kind is not None:
        sections, body_faults = body.parse(kind, raw.body)
        faults += body_faults
    return finish(raw.known, kind, sections, raw.unknown, faults)


def finish(
    known: Mapping[str, Any],
    kind: Kind | None,
    sections: tuple[tuple[str, str], ...],
    unknown: Mapping[str, Any],
    faults: list[Text],
) -> Entry:
    """An entry from fields and sections; `faults` are those found before.

    Raises:
        Invalid: with all faults at once.
    """
    entry = Entry(
        id=checks.identifier(known, faults),
        title=checks.line(known, "title", checks.MAX_TITLE, faults, required=True),
        aliases=checks.lines(known, "aliases", checks.MAX_ALIASES, checks.MAX_TITLE, faults),
        kind=kind or Kind.PITFALL,
        track=checks.choice(known, "track", Track, faults, None) or Track.PERSONAL,
        domain=checks.slug(known, "domain", faults),
        project=checks.slug(known, "project", faults),
        status=checks.choice(known, "status", Status, faults, Status.ACTIVE) or Status.ACTIVE,
        status_reason=checks.line(known, "status_reason", checks.MAX_RULE, faults),
        language=checks.language(known, faults),
        applies_when=checks.conditions(known, "applies_when", faults),
        fails_when=checks.conditions(known, "fails_when", faults),
        versions=checks.lines(known, "versions", checks.MAX_LIST, checks.MAX_TITLE, faults),
        tags=checks.lines(known, "tags", checks.MAX_LIST, 64, faults),
        cites=checks.cites(known, faults),
        review=checks.date(known, "review", faults),
        guard=checks.choice(known, "guard", Guard, faults, Guard.REMIND) or Guard.REMIND,
        pinned=checks.yes_no(known, "pinned", faults),
        origin=checks.one_of(known, "origin", ("stated", "observed"), faults, "stated"),
        sources=checks.sources(known, faults),
        parents=checks.parents(known, faults),
        revision=checks.number(known, "revision", faults, 1),
        created=checks.date(known, "created", faults),
        updated=checks.date(known, "updated", faults),
        sections=checks.sections(kind, sections, faults),
        extra=dict(unknown),
    )
    if faults:
        what = Text("errors_entry.entry_fault", title=entry.title or entry.id or "?")
        raise Invalid(what, Text("errors.mend_these"), faults)
    return entry


def render(entry: Entry) -> str:
    """The stored form of an entry: canonical, so that equal entries have equal bytes."""
    fields: dict[str, Any] = {}
    for name in KNOWN:
        value = _stored(entry, name)
        if value not in ("", (), [], None, False):
            fields[name] = value
    fields.update(entry.extra)
    head = yaml.dump(fields, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1_000_000)
    return f"---\n{head}---\n{body.render(entry.kind, entry.language, entry.sections)}"


def _stored(entry: Entry, name: str) -> Any:
    value = getattr(entry, name)
    if name in ("applies_when", "fails_when"):
        return [_Flow(condition.parts()) for condition in value]
    if name == "sources":
        return [_Flow(_source(source)) for source in value]
    if name == "cites":
        return [_Flow({k: v for k, v in (("path", c.path), ("lines", c.lines), ("hash", c.hash)) if v}) for c in value]
    if isinstance(value, tuple):
        return _FlowList(value)
    if isinstance(value, (Kind, Track, Status, Guard)):
        if value in (Status.ACTIVE, Guard.REMIND) and name != "status":
            return ""
        return value.value
    return value


def _source(source: Source) -> dict[str, Any]:
    pairs = (
        ("session", source.session), ("at", source.at), ("line", source.line), ("quote", source.quote),
        ("from", source.provenance.value if source.provenance is not Provenance.MODEL else ""),
    )
    return {name: value for name, value in pairs if value}


def condition_of(parts: Mapping[str, str]) -> Condition:
    """A condition from its parts by name."""
    return Condition(**{name: str(parts.get(name, "")) for name in ("command", "error", "path", "words")})


def cite_of(parts: Mapping[str, str]) -> Cite:
    """A cited span from its parts by name."""
    return Cite(**{name: str(parts.get(name, "")) for name in ("path", "lines", "hash")})


def _place(error: yaml.YAMLError) -> Text | str:
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "text", None) or getattr(error, "problem", None)
    problem: Text | str = said or Text("errors_entry.not_readable")
    return Text("errors_entry.line_cause", line=mark.line + 2, cause=problem) if mark else problem


def _strict(text: Text, mark: yaml.Mark) -> yaml.YAMLError:
    error = yaml.constructor.ConstructorError(None, None, str(text), mark)
    error.text = text  # type: ignore[attr-defined]
    return error


class _Flow(dict):  # type: ignore[type-arg]
    """A mapping that is written on one line."""


class _FlowList(list):  # type: ignore[type-arg]
    """A list that is written on one line."""


class _Dumper(yaml.SafeDumper):
    """Writes one-line scalars only, so that a hook can read a field without YAML."""

    def ignore_aliases(self, data: Any) -> bool:
        """Repeat values rather than writing anchors, which the reader refuses."""
        return True


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    special = any(ord(c) < 32 or ord(c) in (0x7F, 0x85, 0x2028, 0x2029) for c in value)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"' if special else None)


_Dumper.add_representer(str, _string)
_Dumper.add_representer(_Flow, lambda d, v: d.represent_mapping("tag:yaml.org,2002:map", v.items(), flow_style=True))
_Dumper.add_representer(_FlowList, lambda d, v: d.represent_sequence("tag:yaml.org,2002:seq", v, flow_style=True))


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _check(node: yaml.Node, seen: set[int]) -> None:
    """Refuse aliases (nine levels of them stand for millions of items) and doubled keys.

    The C loader composes without calling back, so an alias shows only as a node that comes twice.
    """
    if id(node) in seen:
        raise _strict(Text("errors_entry.yaml_aliases"), node.start_mark)
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _strict(Text("errors_entry.yaml_key"), key.start_mark)
            if key.value in keys:
                raise _strict(Text("errors_entry.yaml_twice", key=key.value), key.start_mark)
            keys.add(key.value)
            _check(value, seen)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check(item, seen)


def _text(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _text(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_text(item) for item in node.value]
    plain_null = node.value in ("", "~", "null") and getattr(node, "style", None) in (None, "")
    return "" if plain_null else node.value


def load_front(text: str) -> dict[str, Any]:
    """Fields of a front matter: known ones as text, unknown ones as YAML means them.

    Raises:
        yaml.YAMLError: for invalid YAML, duplicate keys, aliases, foreign tags.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise _strict(Text("errors_entry.yaml_mapping"), node.start_mark)
        _check(node, set())
        return {
            key.value: _text(value) if key.value in KNOWN else loader.construct_document(value)
            for key, value in node.value
        }
    finally:
        loader.dispose()


class _Handler(YAMLHandler):
    """python-frontmatter's splitting with our strict loader."""

    def load(self, fm: str, **_: object) -> Any:
        """Fields of the front matter."""
        return load_front(fm)
