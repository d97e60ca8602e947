"""Redaction with this home's key: what every writer of texts calls before it keeps one."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import Refused, Text
from . import files, ruleset
from .home import current

if TYPE_CHECKING:
    from ..core import redact

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
