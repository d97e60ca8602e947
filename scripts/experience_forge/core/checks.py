"""Checks of an entry's fields; each appends its faults as `field: limit, value` and goes on."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from ..errors import Text
from ..model import SECTIONS, Cite, Condition, Kind, Provenance, Source
from . import body

MAX_TITLE = 200
MAX_RULE = 300
MAX_BODY_BYTES = 64 * 1024
MAX_DOCUMENT_BYTES = 96 * 1024
MAX_LIST = 20
MAX_ALIASES = 5
MAX_QUOTE = 300
MAX_PART = 300
ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
SLUG = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
SESSION = re.compile(r"[\w@+#][\w.:@+#=/-]{0,127}")
"""An id or a file's name, as a client gives its sessions."""
MOMENT = re.compile(
    r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
    r" ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?)?)?)?"
)
HASH = re.compile(r"(?:[a-z0-9]{2,8}:)?[0-9a-fA-F]{1,64}(?:-[0-9a-fA-F]{1,64}){0,5}")
RESERVED = frozenset(
    ("con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10)))
)
"""Names that Windows keeps for devices, whatever the ending."""

Choice = TypeVar("Choice", bound=Enum)
Fields = Mapping[str, Any]


def shown(value: object) -> str:
    """A value as a fault names it: one line, at most 60 characters."""
    text = str(value).replace("\n", "\\n")
    return text if len(text) <= 60 else text[:57] + "..."


def line(fields: Fields, name: str, limit: int, faults: list[Text], required: bool = False) -> str:
    """A text of one line of at most `limit` characters; empty when missing."""
    value = fields.get(name, "")
    if not isinstance(value, str):
        faults.append(Text("errors_entry.text", name=name, kind=_kind(value)))
        return ""
    if not value and not required:
        return ""
    value = value.strip()
    if required and not value:
        faults.append(Text("errors.missing", name=name))
    if "\n" in value or "\r" in value:
        faults.append(Text("errors_entry.one_line", name=name, value=shown(value)))
    if len(value) > limit:
        faults.append(Text("errors_entry.characters", name=name, limit=limit, count=len(value), value=shown(value)))
    return str(value)


def lines(fields: Fields, name: str, count: int, limit: int, faults: list[Text]) -> tuple[str, ...]:
    """A list of at most `count` one-line texts; a single text is a list of one."""
    value = fields.get(name, ())
    if value == ():
        return ()
    if isinstance(value, str):
        value = [value] if value else []
    if not isinstance(value, Sequence):
        faults.append(Text("errors_entry.list", name=name, kind=_kind(value)))
        return ()
    if len(value) > count:
        faults.append(Text("errors_entry.at_most", name=name, limit=count, count=len(value)))
    found = [line({name: item}, name, limit, faults) for item in value[: count + 1]]
    return tuple(item for item in found if item)


def identifier(fields: Fields, faults: list[Text]) -> str:
    """The id: `[a-z0-9][a-z0-9-]{0,63}`, no device name of Windows."""
    value = line(fields, "id", 64, faults, required=True)
    if value and not ID.fullmatch(value):
        faults.append(Text("errors_entry.id_form", value=shown(value)))
    if value in RESERVED:
        faults.append(Text("errors_entry.id_device", value=value))
    return value


def formed(fields: Fields, name: str, form: re.Pattern[str], limit: int, faults: list[Text]) -> str:
    """A text of one line in a form of its own, or empty; its message is `form_<name>`."""
    value = line(fields, name, limit, faults)
    if value and not form.fullmatch(value):
        faults.append(Text(f"errors_entry.form_{name}", value=shown(value)))
    return value


def slug(fields: Fields, name: str, faults: list[Text]) -> str:
    """A name that becomes part of a path."""
    value = line(fields, name, 64, faults)
    if value and (not SLUG.fullmatch(value) or ".." in value or value.split(".")[0] in RESERVED or value[-1] == "."):
        faults.append(Text("errors_entry.slug", name=name, value=shown(value)))
    return value


def choice(
    fields: Fields, name: str, kind: type[Choice], faults: list[Text], default: Choice | None
) -> Choice | None:
    """One of an enum's values; `default` when missing, a fault when there is no default."""
    value = fields.get(name, "")
    if value == "" and default is not None:
        return default
    if isinstance(value, str) and value in kind._value2member_map_:
        return kind(value)
    names = ", ".join(member.value for member in kind)
    if value == "":
        faults.append(Text("errors_entry.missing_choice", name=name, names=names))
    else:
        faults.append(Text("errors_entry.choice", name=name, names=names, value=shown(value)))
    return None


def one_of(fields: Fields, name: str, allowed: Sequence[str], faults: list[Text], default: str) -> str:
    """One of the allowed texts."""
    value = line(fields, name, MAX_TITLE, faults) or default
    if value not in allowed:
        faults.append(Text("errors_entry.choice", name=name, names=", ".join(allowed), value=shown(value)))
    return value


def language(fields: Fields, faults: list[Text]) -> str:
    """`en` or `zh`."""
    return one_of(fields, "language", ("en", "zh"), faults, "en")


def yes_no(fields: Fields, name: str, faults: list[Text]) -> bool:
    """`true` or `false`; false when missing."""
    value = str(fields.get(name, "") or "false").lower()
    if value not in ("true", "false"):
        faults.append(Text("errors_entry.yes_no", name=name, value=shown(value)))
    return value == "true"


def parents(fields: Fields, faults: list[Text]) -> tuple[str, ...]:
    """The ids of the entries that an entry was made of."""
    found = lines(fields, "parents", MAX_LIST, 64, faults)
    faults += [Text("errors_entry.form_parents", value=shown(one)) for one in found if not ID.fullmatch(one)]
    return found


def number(fields: Fields, name: str, faults: list[Text], default: int) -> int:
    """A whole number from 1."""
    value = str(fields.get(name, "") or default)
    if not value.isascii() or not value.isdigit() or not int(value[:9]) >= 1:
        faults.append(Text("errors_entry.whole_number", name=name, value=shown(value)))
        return default
    return int(value[:9])


def date(fields: Fields, name: str, faults: list[Text]) -> str:
    """A date as `2026-08-28`, or empty."""
    value = line(fields, name, 40, faults)
    if value:
        try:
            datetime.date.fromisoformat(value)
        except ValueError:
            faults.append(Text("errors_entry.date", name=name, value=shown(value)))
    return value


def conditions(fields: Fields, name: str, faults: list[Text]) -> tuple[Condition, ...]:
    """At most 20 conditions; each a mapping with command, error, path or words."""
    found = []
    for number_, item in enumerate(_mappings(fields, name, faults), 1):
        unknown = sorted(set(item) - {"command", "error", "path", "words"})
        if unknown:
            faults.append(Text("errors_entry.condition_keys", name=name, number=number_, keys=", ".join(unknown)))
        parts = {
            key: line(item, key, MAX_PART, faults) for key in ("command", "error", "path", "words") if key in item
        }
        if not any(parts.values()):
            faults.append(Text("errors_entry.condition_empty", name=name, number=number_))
        found.append(Condition(**parts))
    return tuple(found)


def sources(fields: Fields, faults: list[Text]) -> tuple[Source, ...]:
    """At most 20 sources; `from` is one of person, model, tool, document."""
    found = []
    for item in _mappings(fields, "sources", faults):
        unknown = sorted(set(item) - {"session", "at", "line", "quote", "from"})
        if unknown:
            faults.append(Text("errors_entry.source_keys", keys=", ".join(unknown)))
        raw_line = str(item.get("line", "") or "0")
        if not (raw_line.isascii() and raw_line.isdigit()):
            faults.append(Text("errors_entry.source_line", value=shown(raw_line)))
            raw_line = "0"
        found.append(Source(
            session=formed(item, "session", SESSION, 128, faults),
            at=formed(item, "at", MOMENT, 40, faults),
            quote=line(item, "quote", MAX_QUOTE, faults),
            line=int(raw_line[:9]),
            provenance=choice(item, "from", Provenance, faults, Provenance.MODEL) or Provenance.MODEL,
        ))
    return tuple(found)


def cites(fields: Fields, faults: list[Text]) -> tuple[Cite, ...]:
    """At most 20 cited spans: path, lines as `12-20`, hash."""
    found = []
    for item in _mappings(fields, "cites", faults):
        unknown = sorted(set(item) - {"path", "lines", "hash"})
        if unknown:
            faults.append(Text("errors_entry.cite_keys", keys=", ".join(unknown)))
        span = line(item, "lines", 24, faults)
        if span and not re.fullmatch(r"[0-9]{1,9}(-[0-9]{1,9})?", span):
            faults.append(Text("errors_entry.cite_lines", value=shown(span)))
        path = line(item, "path", 1000, faults, required=True)
        found.append(Cite(path, span, formed(item, "hash", HASH, 72, faults)))
    return tuple(found)


def sections(
    kind: Kind | None, given: tuple[tuple[str, str], ...], faults: list[Text]
) -> tuple[tuple[str, str], ...]:
    """The sections of a kind in their order; a missing one, a rule of several lines and a long body are faults."""
    if kind is None:
        return given
    by_name = dict(given)
    missing = [name for name in SECTIONS[kind] if not by_name.get(name, "").strip()]
    if missing:
        needed, lacking = (", ".join(map(_labels, names)) for names in (SECTIONS[kind], missing))
        faults.append(Text("errors_entry.body_sections", kind=kind.value, needed=needed, missing=lacking))
    line(by_name, "rule", MAX_RULE, faults)
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in by_name.values())
    if size > MAX_BODY_BYTES:
        faults.append(Text("errors_entry.body_size", limit=MAX_BODY_BYTES, size=size))
    return tuple((name, by_name[name].strip()) for name in SECTIONS[kind] if name in by_name)


def _labels(name: str) -> str:
    return f"{body.label(name, 'en')}/{body.label(name, 'zh')}"


def _mappings(fields: Fields, name: str, faults: list[Text]) -> list[Mapping[str, Any]]:
    value = fields.get(name)
    if not value:
        return []
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, str):
        faults.append(Text("errors_entry.list", name=name, kind=_kind(value)))
        return []
    if len(value) > MAX_LIST:
        faults.append(Text("errors_entry.at_most", name=name, limit=MAX_LIST, count=len(value)))
    good = [item for item in value[: MAX_LIST + 1] if isinstance(item, Mapping)]
    if len(good) < len(value[: MAX_LIST + 1]):
        faults.append(Text("errors_entry.mapping", name=name))
    return good


def _kind(value: object) -> Text:
    names = {dict: "mapping", list: "list", int: "number", float: "number", bool: "yes_no", str: "text"}
    name = names.get(type(value))
    return Text(f"errors_entry.a_{name}") if name else Text("errors_entry.other_kind", name=type(value).__name__)
