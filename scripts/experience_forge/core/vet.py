"""The gate before every entry: block, warn or clean, with reasons a person can read.

Text filters are the last line, not the first: consent, provenance and escaping hold without them
(docs/safety.md). They say what is odd, so that a person sees it before confirming.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Text
from ..fast import visible
from ..model import Condition, Entry
from . import folding, vet_fields
from .vet_rules import Pattern, Rules

BLOCK, WARN, CLEAN = "block", "warn", "clean"
FIELDS = (
    "lesson",
    "title",
    "trigger",
    "evidence",
    "id",
    "domain",
    "project",
    "command",
    "frontmatter",
    "condition",
)
"""Where a text would land; `condition` is a pattern to match with, so commands in it are no orders."""

_ONE_LINE = frozenset(FIELDS) - {"lesson", "evidence", "frontmatter"}
_NAMES = frozenset(("id", "domain", "project"))
_CODE = re.compile(
    r"(`{1,3})(?!`)(?:(?!\1)[^\n]){1,400}\1(?!`)|^(?:```|~~~)[^\n]*\n[\s\S]{0,20000}?^(?:```|~~~)[ \t]*$", re.M
)
_CLAUSE_START = re.compile(r"[.;。；!！?？\n](?=\s|[^\x00-\x7f]|\Z)|[，,](?=\s*(?:then|and then|so|但|然后))")
_QUOTED = (('"', '"'), ("“", "”"), ("「", "」"), ("『", "』"), ("'", "'"), ("`", "`"))
_QUOTE = re.compile(
    r"\"[^\"\n]{3,300}\"|“[^”\n]{3,300}”|「[^」\n]{3,300}」|(?<!\w)'[^'\n]{3,300}'(?!\w)"
)
_SHOWN = 60
_PLAIN = re.compile(r"[0-9A-Za-z:.+-]*")
"""A date, an id or a hash: one word that gives no orders."""


@dataclass(frozen=True)
class Verdict:
    """`verdict` is block, warn or clean; `reasons` are sentences, the gravest first."""

    verdict: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A field of an entry that is not clean."""

    field: str
    verdict: str
    reasons: tuple[str, ...]


def vet(field: str, text: str, rules: Mapping[str, Any], language: str = "en") -> Verdict:
    """Judge one text for the field in which it would land.

    Args:
        field: one of FIELDS; an unknown one is judged as a lesson.
        rules: the rule file `poison.yaml`.
        language: of the reasons, `en` or `zh`.
    """
    compiled = Rules.of(rules)
    return _verdict(_found(field, text, compiled), compiled, language)


def _found(field: str, text: str, rules: Rules) -> list[tuple[str, str, str]]:
    return [*_characters(field, text), *_shape(field, text), *_worded(field, text, rules)]


def _verdict(found: Iterable[tuple[str, str, str]], rules: Rules, language: str) -> Verdict:
    found = list(found)
    reasons: dict[str, None] = {}
    for verdict in (BLOCK, WARN):
        for kind, grade, detail in found:
            if grade == verdict:
                reasons[rules.reason(kind, language, _shown(detail))] = None
    grades = {grade for _, grade, _ in found}
    return Verdict(BLOCK if BLOCK in grades else WARN if WARN in grades else CLEAN, tuple(reasons))


def vet_entry(entry: Entry, rules: Mapping[str, Any], language: str = "en") -> tuple[Finding, ...]:
    """Judge all fields of an entry; only the fields that are not clean come back."""
    compiled = Rules.of(rules)
    findings = []
    for name, field, text in _fields_of(entry):
        found = _found(field, text, compiled)
        verdict = _verdict((one for one in found if one[0] != "wide"), compiled, language)
        if verdict.verdict != CLEAN:
            findings.append(Finding(name, verdict.verdict, verdict.reasons))
    for name, conditions in (("applies_when", entry.applies_when), ("fails_when", entry.fails_when)):
        for condition in filter(_wide, conditions):
            shown = ", ".join(f"{part}: {text}" for part, text in condition.parts().items())
            findings.append(Finding(name, WARN, (compiled.reason("wide", language, _shown(shown)),)))
    return tuple(findings)


def vet_values(name: str, value: Any, rules: Mapping[str, Any], language: str = "en") -> tuple[Finding, ...]:
    """Judge all texts in a value that comes along with an entry, keys too."""
    verdicts = ((place, vet("lesson", text, rules, language)) for place, text in _texts(value, name))
    return tuple(Finding(place, one.verdict, one.reasons) for place, one in verdicts if one.verdict != CLEAN)


def blocked(findings: Iterable[Finding]) -> list[Text]:
    """What blocks, as the faults of an error: one for each field and reason."""
    return [
        Text("errors.field_reason", field=one.field, reason=reason)
        for one in findings if one.verdict == BLOCK for reason in one.reasons
    ]  # fmt: skip


def _wide(condition: Condition) -> bool:
    """Whether no part of a condition says anything: it would hold nearly everywhere."""
    return all(vet_fields.says_nothing(text, part) for part, text in condition.parts().items())


def _fields_of(entry: Entry) -> Iterator[tuple[str, str, str]]:
    """(name to show, field, text) of everything in an entry that came from outside."""
    yield from (("id", "id", entry.id), ("title", "title", entry.title))
    yield from (("alias", "title", alias) for alias in entry.aliases)
    yield from ((name, "lesson", text) for name, text in entry.sections)
    if entry.domain:
        yield "domain", "domain", entry.domain
    if entry.project:
        yield "project", "project", entry.project
    for name, conditions in (("applies_when", entry.applies_when), ("fails_when", entry.fails_when)):
        for condition in conditions:
            yield from ((f"{name}.{part}", "condition", text) for part, text in condition.parts().items())
    yield from (("tag", "title", tag) for tag in entry.tags)
    yield from (("version", "title", version) for version in entry.versions)
    for source in entry.sources:
        yield from (("source", "evidence", text) for text in (source.quote,) if text)
        yield from (("source", "title", text) for text in (source.session, source.at) if not _PLAIN.fullmatch(text))
    for cite in entry.cites:
        yield "cite", "condition", cite.path
        yield from (("cite", "title", text) for text in (cite.lines, cite.hash) if not _PLAIN.fullmatch(text))
    for name in ("status_reason", "language", "origin", "review", "created", "updated"):
        if not _PLAIN.fullmatch(getattr(entry, name)):
            yield name, "title", getattr(entry, name)
    yield from (("parent", "title", parent) for parent in entry.parents if not _PLAIN.fullmatch(parent))
    yield from ((f"unknown {name}", "lesson", text) for name, text in _texts(entry.extra))


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, bytes):
        yield name, value.decode("utf-8", "backslashreplace")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield name or str(key), str(key)
            yield from _texts(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, Iterable):
        for item in value:
            yield from _texts(item, name)
    elif value is not None:
        yield name, str(value)


def _shown(detail: str) -> str:
    text = visible.escape(detail.strip())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _characters(field: str, text: str) -> Iterator[tuple[str, str, str]]:
    hidden = folding.hidden(text)
    if hidden:
        yield "hidden", BLOCK, ", ".join(dict.fromkeys(hidden))
    controls = folding.controls(text)
    if controls:
        yield "control", BLOCK, ", ".join(dict.fromkeys(controls))
    mixed = folding.mixed_words(text)
    if mixed:
        yield "lookalike", BLOCK if field in _NAMES or field == "command" else WARN, mixed[0]
    styled = folding.styled(text)
    if styled:
        yield "styled", BLOCK if field in _NAMES else WARN, styled[0]
    if field in _ONE_LINE and ("\n" in text or "\r" in text):
        yield "one-line", BLOCK, ""


def _shape(field: str, text: str) -> Iterator[tuple[str, str, str]]:
    if field in _NAMES:
        yield from vet_fields.name(field, text)
    elif field == "command":
        yield from vet_fields.command(text)
    elif field == "frontmatter":
        yield from vet_fields.frontmatter(text)
    elif field != "condition":
        yield from vet_fields.body(text, one_line=field in _ONE_LINE)
    if field in ("condition", "trigger") and vet_fields.says_nothing(text):
        yield "wide", WARN, text


def _worded(field: str, text: str, rules: Rules) -> Iterator[tuple[str, str, str]]:
    """What the words say, in every reading of the text."""
    folded = rules.comments.sub(lambda match: " " * len(match.group()), folding.fold(text))
    plain = _CODE.sub(lambda match: " " * len(match.group()), folded)
    for pattern in rules.patterns:
        if field == "condition" and pattern.kind not in rules.in_conditions:
            continue
        if pattern.fields and field not in pattern.fields:
            continue
        hit = _hit(pattern, plain if pattern.skip_code else folded, folded, rules)
        if hit is not None:
            yield pattern.kind, pattern.verdict, hit
    if field not in ("condition", "command"):
        yield from rules.concepts.found(_without_quotes(folded, rules))
    orders = [pattern for pattern in rules.patterns if pattern.kind in rules.in_disguise]
    escaped = folding.unescaped(folded)
    if escaped != folded:
        for pattern in orders:
            hit = _hit(pattern, escaped, escaped, rules)
            if hit is not None and _hit(pattern, folded, folded, rules) is None:
                yield "disguised", BLOCK, hit
    readings = folding.disguises(folded)
    if len(folded) <= 4000:
        readings += folding.turned(folded)
    for reading in readings:
        for pattern in orders:
            hit = _hit(pattern, reading, reading, rules) if reading != folded else None
            if hit is not None and not _hit(pattern, folded, folded, rules):
                yield "disguised", WARN, hit
    if field != "condition":
        yield from vet_fields.blobs(text, lambda decoded: _orders(decoded, orders, rules))
        yield from (("typosquat", WARN, word) for word in rules.near_packages(text))


def _without_quotes(text: str, rules: Rules) -> str:
    """The text without what it quotes in lines that speak about attacks, tests or wordings."""
    lines = text.split("\n")
    return "\n".join(
        _QUOTE.sub(lambda match: " " * len(match.group()), line)
        if _QUOTE.search(line) and rules.about.search(_QUOTE.sub(" ", line)) else line
        for line in lines
    )  # fmt: skip


def _orders(text: str, patterns: Iterable[Pattern], rules: Rules) -> bool:
    folded = folding.fold(text)
    return any(_hit(pattern, folded, folded, rules) is not None for pattern in patterns)


def _hit(pattern: Pattern, text: str, whole: str, rules: Rules) -> str | None:
    """The first hit that is neither forbidden by its clause nor quoted in talk about attacks."""
    for expression in pattern.expressions:
        for match in expression.finditer(text):
            if pattern.negated and _negated(whole, match.start(), match.end(), rules):
                continue
            if pattern.quoted and _talked_about(whole, match.start(), match.end(), rules):
                continue
            return match.group()
    return None


def _clause(text: str, start: int, end: int) -> tuple[str, str]:
    before = text[max(0, start - 90) : start]
    for cut in _CLAUSE_START.finditer(before):
        before_cut = cut.end()
        rest = before[before_cut:]
        if not _CLAUSE_START.search(rest):
            before = rest
            break
    after = text[end : end + 90]
    cut_after = _CLAUSE_START.search(after)
    return before, after[: cut_after.start()] if cut_after else after


def _negated(text: str, start: int, end: int, rules: Rules) -> bool:
    before, after = _clause(text, start, end)
    if rules.not_negation.search(before):
        return False
    return rules.negation.search(before) is not None or rules.negation_after.search(after) is not None


def _talked_about(text: str, start: int, end: int, rules: Rules) -> bool:
    """Whether the hit stands in quotes, in a sentence that speaks about attacks, tests or wordings."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    rest = text[end:]
    rest = rest[: rest.find("\n")] if "\n" in rest else rest
    for opening, closing in _QUOTED:
        if opening == closing:
            inside = line.count(opening) % 2 == 1 and closing in rest
        else:
            inside = line.rfind(opening) > line.rfind(closing) and closing in rest
        if inside and rules.about.search(line):
            return True
    return False
