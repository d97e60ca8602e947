"""What the recall index holds of one entry: search words, trigger keys, error segments, texts to deliver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..fast import globs, shellwords, signature, stored, tokens
from ..model import Condition, Entry, Kind, Track
from . import spelling_rules

ERROR_CONDITIONS = 40


@dataclass(frozen=True)
class Segment:
    """One compiled error segment: words with weights, and the share of them that has to be seen."""

    words: Mapping[str, float]
    share: float


@dataclass(frozen=True)
class ConditionRow:
    """One condition as the hooks read it; `keys` are (kind, key) pairs of the prefilter."""

    command: str
    path: str
    words: str
    error: bool
    keys: tuple[tuple[str, str], ...]
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Rows:
    """All rows of one entry."""

    search: tuple[str, str, str, str, str]
    conditions: tuple[ConditionRow, ...]


def rows_of(entry: Entry, weights: Mapping[str, float]) -> Rows:
    """The index rows of an entry; `weights` are those of `signature.background`."""
    errors = [condition.error for condition in entry.applies_when if condition.error]
    symptom = entry.section("symptom")
    used = {"title", "symptom", "rule"}
    body = "\n".join(text for name, text in entry.sections if name not in used)
    fields = (
        entry.title,
        "\n".join(entry.aliases),
        "\n".join([symptom, *(error for error in errors if error not in symptom)]),
        "\n".join([entry.rule, " ".join(entry.tags), entry.domain, *(_words(c) for c in entry.applies_when)]),
        body,
    )
    conditions = [_condition(condition, weights) for condition in spelling_rules.spelled(entry.applies_when)]
    if not errors and symptom and entry.kind is Kind.PITFALL:
        # A pitfall without an error condition is known by the error lines that its symptom quotes.
        conditions.append(_condition(Condition(error=symptom), weights))
    conditions += [_alias(alias) for alias in entry.aliases if len(set(tokens.terms(alias))) > 2]
    search = tuple(" ".join(tokens.terms(text, 16000)) for text in fields)
    return Rows(search, tuple(row for row in conditions if row))  # type: ignore[arg-type]


def columns(entry: Entry) -> tuple[Any, ...]:
    """The columns of table `entries` after its path, in the order of the schema."""
    said = stored.texts(entry.title, dict(entry.sections))
    # A project entry without its project belongs nowhere: it is kept out of every scope.
    project = (entry.project or "?") if entry.track is Track.PROJECT else ""
    return (
        entry.track.value, project, entry.status.value,
        entry.guard.value, entry.language, entry.kind.value, int(entry.pinned), entry.updated,
        said["title"], said["rule"], said["reason"], said["action"],
    )


def _words(condition: Condition) -> str:
    return " ".join(text for text in (condition.words, condition.command.replace("*", " ")) if text)


def _condition(condition: Condition, weights: Mapping[str, float]) -> ConditionRow:
    segments = tuple(_segments(condition.error, weights)) if condition.error else ()
    keys: list[tuple[str, str]] = []
    if not condition.error:
        if condition.command:
            keys.append(("c", shellwords.key_of(condition.command)))
        elif condition.path:
            keys.append(("p", globs.key_of(condition.path)))
        elif condition.words:
            keys.append(("w", _rarest(condition.words)))
    return ConditionRow(
        condition.command, condition.path, condition.words, bool(condition.error), tuple(keys), segments
    )


def _alias(alias: str) -> ConditionRow:
    return ConditionRow("", "", alias, False, (("w", _rarest(alias)),), ())


def _rarest(text: str) -> str:
    # The longest word is a fair stand-in for the rarest one, and needs no counts.
    found = tokens.terms(text)
    return max(found, key=lambda word: (len(word) if word.isascii() else 2 * len(word), word)) if found else ""


def _segments(text: str, weights: Mapping[str, float]) -> list[Segment]:
    found = []
    parts = signature.segments(text)[:ERROR_CONDITIONS]
    for part in parts:
        compiled = signature.compiled(part, weights)
        if compiled is None:
            continue
        words, share = compiled
        # One of several sentences must be telling by itself; the only one may be as short as it is.
        if len(parts) > 1 and sum(words.values()) < signature.FULL:
            continue
        found.append(Segment(words, share))
    return found

