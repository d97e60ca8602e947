"""Sentences by name, in English and Chinese: what errors hold instead of a text.

A `Text` names a sentence of `rules/messages/errors*.yaml` and brings its fields; the file is read when a
sentence is shown, by the standard library alone, so that the installer and a broken environment can speak too.
Each line of those files is `name: {"en": "...", "zh": "..."}`, which is YAML and, behind the colon, JSON.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

ENGLISH = "en"
COMMAS = {"en": ", ", "zh": "、"}


def filled(text: str, fields: Mapping[str, object]) -> str:
    """A text with its `{name}` fields filled in; `{count:file|files}` is `1 file`, and `2 files`."""
    return _COUNTED.vformat(text, (), fields)


class _Counted(string.Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        one, counts, many = format_spec.partition("|")
        if counts:
            return f"{value} {one if str(value) == '1' else many}"
        return str(super().format_field(value, format_spec))


_COUNTED = _Counted()


@dataclass(frozen=True, init=False)
class Text:
    """One sentence.

    Args:
        key: `<file>.<name>`.
        fields: values of the sentence's `{name}` fields; another text, or a list, is put into words too.
    """

    key: str
    fields: Mapping[str, object]

    def __init__(self, key: str, /, **fields: object) -> None:
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "fields", fields)

    def __str__(self) -> str:
        """The English sentence."""
        return shown(self, ENGLISH)


def shown(value: object, language: str) -> str:
    """A text in one language: in English where that fails, as its key and fields where all fails. Never raises.

    Lists are joined by the commas of the language; other values are shown as they are.
    """
    if isinstance(value, (list, tuple)):
        return COMMAS.get(language, ", ").join(shown(item, language) for item in value)
    if not isinstance(value, Text):
        return str(value)
    file, _, name = value.key.partition(".")
    for chosen in (language, ENGLISH):
        try:
            fields = {field: shown(item, chosen) for field, item in value.fields.items()}
            return filled(sentences(file)[name][chosen], fields)
        except Exception:
            # An error must be told even when the file that words it is damaged.
            continue
    return " ".join([value.key, *(f"{field}={shown(item, ENGLISH)}" for field, item in value.fields.items())])


@functools.cache
def sentences(file: str) -> dict[str, dict[str, str]]:
    """All sentences of `rules/messages/<file>.yaml` by name, each by language.

    Raises:
        OSError, ValueError: when the file is not there, or a line of it is damaged.
    """
    import json

    found = {}
    for line in _lines(f"messages/{file}"):
        name, colon, value = line.partition(": ")
        if colon and value.startswith("{"):
            found[name.strip('"')] = json.loads(value)
    return found


@functools.cache
def phrases(file: str) -> dict[str, str]:
    """All of `rules/<file>.yaml`, whose lines are `"English": "other"`; errors as `sentences`."""
    import json

    return dict(json.loads("{" + ",".join(line for line in _lines(file) if line.startswith('"')) + "}"))


def _lines(file: str) -> list[str]:
    from pathlib import Path

    package = Path(__file__).resolve().parent
    source = package.parent.parent
    rules = (source if (source / "rules").is_dir() else package / "_data") / "rules"
    return (rules / f"{file}.yaml").read_text(encoding="utf-8").splitlines()


_asked: list[Callable[[], str]] = []


@contextmanager
def speaking(language: Callable[[], str]) -> Iterator[None]:
    """While this holds, `spoken` is what `language` says; asked anew each time, since settings may change."""
    _asked.append(language)
    try:
        yield
    finally:
        _asked.pop()


def told(text: Text) -> str:
    """A text in the language of the user whose command runs."""
    return shown(text, spoken())


def spoken() -> str:
    """The language of the user whose command runs; English where nobody set one, or asking fails."""
    try:
        return _asked[-1]()
    except Exception:
        return ENGLISH
