"""Redaction with this home's key: what every writer of texts calls before it keeps one."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import Refused, Text
from ..model import Entry
from . import files, ruleset
from .home import current

if TYPE_CHECKING:
    from ..core import redact

MASKED = frozenset(
    {"scenario", "symptom", "root_cause", "why", "situation", "alternatives_rejected", "when", "quote"}
)
"""Parts that stay true with a mark in place of a value: they tell what was, not what to do."""
KEY_NAME = "redaction.key"
_KEY_BYTES = 32


def clean(text: str) -> tuple[str, dict[str, int]]:
    """Text without secrets and personal data, and how many were taken out, by kind.

    Raises:
        Refused: when the key can't be read or made.
    """
    # Its patterns take as long to compile as a small command takes: most commands keep no text.
    from ..core import portions, redact

    done = redact.redact(text, rules(), key(), _readers() if len(text) >= portions.LARGE else None)
    return done.text, dict(done.counts)


def without_secrets(text: str) -> str:
    """A text for its own user: secrets are hidden, but paths below a home folder and addresses are not."""
    from ..core import redact

    for start, end, kind in reversed(redact.redact(text, rules(), b"").spans):
        if kind not in redact.PERSONAL:
            text = f"{text[:start]}[redacted:{kind}]{text[end:]}"
    return text


def clean_fields(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """`clean` for every text in a nested mapping, field by field, before anything is cut or joined."""
    counts: dict[str, int] = {}
    return {name: _clean_value(value, counts) for name, value in fields.items()}, counts


def _clean_value(value: Any, counts: dict[str, int]) -> Any:
    if isinstance(value, str):
        text, found = clean(value)
        for kind, count in found.items():
            counts[kind] = counts.get(kind, 0) + count
        return text
    if isinstance(value, Mapping):
        return {name: _clean_value(item, counts) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_clean_value(item, counts) for item in value)
    return value


def _readers() -> redact.Readers | None:
    # What runs processes takes longer to import than a short text takes to redact.
    from . import redaction_pool

    return redaction_pool.readers(rules)


def clean_entry(entry: Entry) -> tuple[Entry, dict[str, int], dict[str, tuple[str, ...]]]:
    """An entry without secrets and personal data, how many were taken out by kind, and what can't do without.

    The last are the parts that are of no use with a mark in them (what tells somebody what to do, what is a name, what
    is matched), each with the kinds that it held. Times and hashes are checked by their form.
    """
    counts: dict[str, int] = {}
    needed: dict[str, tuple[str, ...]] = {}

    def one(name: str, text: str) -> str:
        cleaned, found = clean(text)
        if found and name not in MASKED:
            needed[name] = tuple(sorted({*needed.get(name, ()), *found}))
        for kind, count in found.items():
            counts[kind] = counts.get(kind, 0) + count
        return cleaned

    def each(name: str, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(one(name, text) for text in texts)

    def all_of(name: str, parts: Iterable[Any], *fields: str) -> tuple[Any, ...]:
        return tuple(
            dataclasses.replace(part, **{
                field: one("quote" if field == "quote" else name, getattr(part, field)) for field in fields
            })
            for part in parts
        )

    extra, found = clean_fields(entry.extra)
    for kind, count in found.items():
        counts[kind] = counts.get(kind, 0) + count
    names = ("id", "title", "domain", "status_reason")
    whole: dict[str, Any] = {name: one(name, getattr(entry, name)) for name in names}
    lists: dict[str, Any] = {name: each(name, getattr(entry, name)) for name in ("aliases", "versions", "tags")}
    conditions = ("command", "error", "path", "words")
    cleaned = dataclasses.replace(
        entry, **whole, **lists, extra=extra,
        sections=tuple((name, one(name, text)) for name, text in entry.sections),
        applies_when=all_of("applies_when", entry.applies_when, *conditions),
        fails_when=all_of("fails_when", entry.fails_when, *conditions),
        cites=all_of("cites", entry.cites, "path"),
        sources=all_of("sources", entry.sources, "session", "quote"),
    )
    return cleaned, counts, needed


@functools.cache
def rules() -> redact.Rules:
    """The compiled rule file."""
    from ..core import redact

    return redact.Rules(ruleset.load("redaction"))


def key() -> bytes:
    """The key of this home's fingerprints, made at first use; it is left out of backups and exports."""
    return _key(str(current().root / KEY_NAME))


@functools.cache
def _key(name: str) -> bytes:
    path = current().root / KEY_NAME
    assert str(path) == name
    try:
        return _read_key()
    except FileNotFoundError:
        with files.locked(current().lock):
            try:
                return _read_key()
            except FileNotFoundError:
                files.write_whole(path, os.urandom(_KEY_BYTES).hex().encode("ascii") + b"\n")
        return _read_key()


def _read_key() -> bytes:
    path = current().root / KEY_NAME
    try:
        made = bytes.fromhex(files.read_text(path).strip())
    except ValueError:
        made = b""
    if len(made) != _KEY_BYTES:
        raise Refused(
            Text("errors_store.damaged", path=path), Text("errors_store.key_hint")
        )
    return made
