"""From confirmed entries to the texts that a client loads, within fixed shares of tokens (DESIGN 6).

Pure, and free of any client: texts have logical names (`reminder`, `profile`, `index`,
`domain/<domain>`, `domain/<domain>/<id>`), and blocks belong to a project. Where they lie is the
client module's to know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..fast import visible
from ..model import Entry, Track
from . import body, managed_block
from .rendering import Book, Safe, one_line
from .tokens_estimate import estimate
from .tracks import Domain

REMINDER_TOKENS = 100
PROFILE_TOKENS = 500
INDEX_TOKENS = 700
PROJECT_TOKENS = 600
SKILL_TOKENS = 1500
"""Of a domain's SKILL.md, which is read on demand; our own measure, well below the client's 5,000."""
MAX_DOMAINS = 8
MAX_PATHS = 20
_DESCRIPTION = 500
_TOPICS = 260
_GIVE_UP_AFTER = 30
"""So many lines in a row that did not fit end the search: with 10,000 entries not all are tried."""
_BLOCKS_TRIED = 60
"""A block costs 45 tokens at least, so that never more than these fit."""


@dataclass(frozen=True)
class Settings:
    """What a projection depends on besides the entries.

    `command` is the full path of the command; `merged` names the domain in whose skill another one's
    entries stand; `usefulness` orders entries (more is better, missing is 0); `withheld` are ids under
    test, which leave the index; `salt` tells our line about further entries from a teammate's; `conflicts`
    gives for an entry those that it contradicts, each with which of the two counts until decided (or `-`).
    """

    language: str
    command: str
    hooks: bool
    domains: Mapping[str, Domain]
    merged: Mapping[str, str] = field(default_factory=dict)
    usefulness: Mapping[str, float] = field(default_factory=dict)
    withheld: frozenset[str] = frozenset()
    salt: str = "000000"
    conflicts: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Projection:
    """Texts by logical name, without our mark; `left` counts the entries that each has no room for.

    `merge` names two domains whose skills should become one, because there are more than the client's
    list of skills has room for: until then the entries of the least useful ones stand in the index.
    """

    files: Mapping[str, str]
    left: Mapping[str, int]
    merge: tuple[str, str] | None = None


def project(entries: Iterable[Entry], settings: Settings, book: Book) -> Projection:
    """All files of one user: what goes into a project is `blocks`."""
    ordered = order(entries, settings.usefulness)
    settings = _standing(settings, ordered)
    shown, hidden = _domains(ordered, settings)
    personal = [e for e in ordered if e.track is Track.PERSONAL and e.id not in settings.withheld]
    personal += [e for name in hidden for e in hidden[name] if e.id not in settings.withheld]
    profile = [e for e in ordered if e.track is Track.PROFILE]
    files = {"reminder": book.render(f"reminder-{'hooks' if settings.hooks else 'plain'}", settings.language, {})}
    left: dict[str, int] = {}
    for name, mine, share in (("profile", profile, PROFILE_TOKENS), ("index", personal, INDEX_TOKENS)):
        if mine:
            files[name], picked = _list(name, mine, share, settings, book)
            left[name] = len(mine) - len(picked)
    for domain, mine in shown.items():
        skill = _skill(domain, mine, settings, book)
        files.update(skill.files)
        left.update(skill.left)
    return Projection(files, left, _merge(shown, hidden, settings))


def blocks(entries: Iterable[Entry], settings: Settings, book: Book) -> dict[str, str]:
    """The blocks of one project by their id, most useful first, within the share, markers included."""
    mine = order((e for e in entries if e.track is Track.PROJECT), settings.usefulness)
    # A team reads these: of what contradicts them only another block of the same file is named.
    settings = _standing(settings, mine)
    texts = {entry.id: block(entry, book, settings) for entry in mine[:_BLOCKS_TRIED]}
    costs = {name: _cost_of_block(name, text, book) for name, text in texts.items()}
    if sum(costs.values()) <= PROJECT_TOKENS and len(costs) == len(mine):
        return texts
    more = f"_more-{settings.salt}"
    found: dict[str, str] = {}
    free = PROJECT_TOKENS - _cost_of_block(more, _more(9999, settings, book), book)
    for name, cost in costs.items():
        if cost <= free:
            found[name] = texts[name]
            free -= cost
    return {**found, more: _more(len(mine) - len(found), settings, book)}


def _more(left: int, settings: Settings, book: Book) -> str:
    return book.render("project-more", settings.language, {"left": left}).strip("\n")


def block(entry: Entry, book: Book, settings: Settings | None = None) -> str:
    """The text of one entry's block in a project's file."""
    values = _values(entry, book, settings)
    values = {**values, "title": _clipped(values["title"], 80), "trigger": _clipped(values["trigger"], 100)}
    return book.render("project-block", entry.language, values).strip("\n")


def order(entries: Iterable[Entry], usefulness: Mapping[str, float]) -> list[Entry]:
    """Most useful first: pinned, then by usefulness, then the last changed, then by id."""
    found = sorted(entries, key=lambda entry: entry.id)
    found.sort(key=lambda entry: entry.updated or entry.created, reverse=True)
    return sorted(found, key=lambda entry: (not entry.pinned, -usefulness.get(entry.id, 0)))


def trigger(entry: Entry, book: Book) -> str:
    """When an entry applies, in its language; empty without conditions. Escaped."""
    if not entry.applies_when:
        return Safe("")
    parts = ("command", "error", "path", "words")
    conditions = [{part: one_line(getattr(c, part)) for part in parts} for c in entry.applies_when]
    return Safe(one_line(book.render("trigger", entry.language, {"conditions": conditions})))


def short_form(entry: Entry, target: str, book: Book) -> str:
    """Title, trigger, rule and target of an entry, as a draft shows them."""
    values = {**_values(entry, book), "target": target, "track": entry.track.value}
    return book.render("short", entry.language, values).rstrip("\n")


def _values(entry: Entry, book: Book, settings: Settings | None = None) -> dict[str, str]:
    title, rule = one_line(entry.title), one_line(entry.rule)
    if settings and entry.track is Track.PROFILE and entry.origin == "observed" and not _tested(entry, settings):
        times, sessions = entry.seen
        mark = book.render("observed-mark", entry.language, {"times": times, "sessions": sessions})
        rule = f"{rule} {mark.strip()}"
    conflict = ""
    for other, wins in (settings.conflicts.get(entry.id, ()) if settings else ())[:1]:
        # Side by side and unmarked, two rules that can't both hold would make the model choose by chance.
        conflict = book.render("conflict-mark", entry.language, {"id": entry.id, "other": other, "wins": wins}).strip()
        rule = f"{rule} {conflict}"
    return {"id": entry.id, "title": title, "rule": rule, "trigger": trigger(entry, book), "conflict": conflict}


def _standing(settings: Settings, entries: Iterable[Entry]) -> Settings:
    """Only conflicts between these entries, since what was found last may be decided; first what counts before one."""
    here = {entry.id for entry in entries}
    found = {}
    for name, pairs in settings.conflicts.items():
        there = sorted((pair for pair in pairs if pair[0] in here), key=lambda pair: pair[1] != pair[0])
        if name in here and there:
            found[name] = there
    return replace(settings, conflicts=found)


def _tested(entry: Entry, settings: Settings) -> bool:
    """Whether measuring has come to a claim about an entry: only that gives it more than a match's worth."""
    return abs(settings.usefulness.get(entry.id, 0.0)) > 1.0


def _list(name: str, mine: Sequence[Entry], share: int, settings: Settings, book: Book) -> tuple[str, list[Entry]]:
    def line(entry: Entry) -> str:
        values = _values(entry, book, settings)
        limit = 60 if name == "profile" else 80
        values = {**values, "title": _clipped(values["title"], 100), "trigger": _clipped(values["trigger"], limit)}
        return book.render(f"{name}-line", settings.language, values).rstrip("\n")

    def whole(lines: Sequence[str], left: int) -> str:
        values = {"lines": Safe("\n".join(lines)), "left": left, "command": settings.command}
        return book.render(name, settings.language, values)

    return _fitted(mine, line, whole, share, book)


def _fitted(
    mine: Sequence[Entry],
    line: Callable[[Entry], str],
    whole: Callable[[Sequence[str], int], str],
    share: int,
    book: Book,
) -> tuple[str, list[Entry]]:
    """The text with as many lines as fit, most useful first, and the entries in it."""
    picked: list[tuple[Entry, str]] = []
    missed = 0
    result = whole([], len(mine))
    for entry in mine:
        text = line(entry)
        tried = whole([*(kept for _, kept in picked), text], len(mine) - len(picked) - 1)
        if _tokens(tried, book) <= share:
            picked.append((entry, text))
            result, missed = tried, 0
            continue
        missed += 1
        if missed >= _GIVE_UP_AFTER:
            break
    return result, [entry for entry, _ in picked]


def _tokens(text: str, book: Book) -> int:
    return estimate(managed_block.stamp(text, book.version).decode("utf-8"))


def _cost_of_block(name: str, text: str, book: Book) -> int:
    data = managed_block.update(None, {name: text}, (), book.version).data or b""
    return estimate(data.decode("utf-8"))


def _domains(ordered: Sequence[Entry], settings: Settings) -> tuple[dict[str, list[Entry]], dict[str, list[Entry]]]:
    """Entries by domain: those that get a skill (the fullest), and those that do not."""
    found: dict[str, list[Entry]] = {}
    for entry in ordered:
        if entry.track is Track.DOMAIN:
            name = skill_domain(settings.merged.get(entry.domain, entry.domain))
            found.setdefault(name, []).append(entry)
    ranked = sorted(found, key=lambda name: (-len(found[name]), name))
    return {n: found[n] for n in sorted(ranked[:MAX_DOMAINS])}, {n: found[n] for n in ranked[MAX_DOMAINS:]}


def skill_domain(domain: str) -> str:
    """A domain as the name of a skill allows it: a-z, 0-9, single hyphens, at most 50 characters."""
    return re.sub(r"[^a-z0-9]+", "-", domain.lower()).strip("-")[:50].rstrip("-") or "general"


def _merge(
    shown: Mapping[str, Sequence[Entry]], hidden: Mapping[str, Sequence[Entry]], settings: Settings
) -> tuple[str, str] | None:
    if not hidden:
        return None
    first = next(iter(hidden))
    near = settings.domains[first].near if first in settings.domains else ()
    small = sorted(shown, key=lambda name: (len(shown[name]), name))
    related = [name for name in near if name in shown]
    related += [name for name in small if name in settings.domains and first in settings.domains[name].near]
    return first, (related or small)[0]


def _skill(domain: str, mine: Sequence[Entry], settings: Settings, book: Book) -> Projection:
    known = settings.domains.get(domain)
    name = known.name(settings.language) if known else domain
    other = known.name("en" if settings.language == "zh" else "zh") if known else domain

    def line(entry: Entry) -> str:
        return book.render("domain-line", settings.language, _values(entry, book, settings)).rstrip("\n")

    head = _front_matter(domain, name, other, mine, settings, book)

    def whole(lines: Sequence[str], left: int) -> str:
        values = {"lines": Safe("\n".join(lines)), "left": left, "command": settings.command}
        return head + book.render("domain-skill", settings.language, {**values, "name": name, "domain": domain})

    text, picked = _fitted(mine, line, whole, SKILL_TOKENS, book)
    files = {f"domain/{domain}": text}
    files.update({f"domain/{domain}/{entry.id}": _reference(entry, book) for entry in picked})
    return Projection(files, {f"domain/{domain}": len(mine) - len(picked)})


def _front_matter(
    domain: str, name: str, other: str, mine: Sequence[Entry], settings: Settings, book: Book
) -> str:
    values = {"name": name, "name_other": other, "topics": _topics(mine)}
    description = one_line(book.render("domain-description", settings.language, values))[:_DESCRIPTION]
    # JSON's quoting is YAML's too, and stays on one line; angle brackets are refused by some hosts.
    description = json.dumps(description.replace("&lt;", " ").replace("<", " ").replace(">", " "), ensure_ascii=False)
    lines = ["---", f"name: {domain}-experience", f"description: {description}"]
    paths = _paths(mine)
    if paths:
        lines += ["paths:", *(f"  - {json.dumps(path, ensure_ascii=False)}" for path in paths)]
    return "\n".join([*lines, "---", "", ""])


def _paths(mine: Sequence[Entry]) -> list[str]:
    """Globs after which the client offers the skill; none when an entry without one would be hidden by them."""
    globs: list[str] = []
    for entry in mine:
        own = [condition.path for condition in entry.applies_when if condition.path]
        if not own:
            return []
        globs += [visible.escape(path) for path in own if path not in globs]
    return globs if len(globs) <= MAX_PATHS else []


def _topics(mine: Sequence[Entry]) -> str:
    words: list[str] = []
    titles = (_clipped(one_line(entry.title), 70) for entry in mine[:_BLOCKS_TRIED])
    for text in (*titles, *(tag for entry in mine[:_BLOCKS_TRIED] for tag in entry.tags)):
        if text not in words and len(", ".join([*words, text])) <= _TOPICS:
            words.append(text)
    return ", ".join(words)


def _reference(entry: Entry, book: Book) -> str:
    values = {
        **_values(entry, book), "updated": entry.updated or entry.created or "?", "versions": ", ".join(entry.versions),
        "body": body.render(entry.kind, entry.language, entry.sections),
    }  # fmt: skip
    return book.render("domain-reference", entry.language, values).rstrip("\n") + "\n"


def _clipped(text: str, columns: int) -> str:
    """Text of at most so many columns, wide characters counting two; a cut one ends with `…`."""
    if visible.width(text) <= columns:
        return text
    kept, used = "", 2
    for letter in text:
        used += visible.width(letter)
        if used > columns:
            break
        kept += letter
    return type(text)(kept.rstrip() + "…")
