"""Reads `templates.md`, the one source of rendered texts, and the version of it that a user agreed to.

A data home keeps the templates that its projections were first made with (`<home>/templates.md`), so
that an update of the skill changes what a client loads only after one consent (`renewal`).
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ..core import body, changes, projection, rendering, rule_text, three_way
from ..core.rendering import Book
from ..errors import Invalid, Refused, Text
from ..model import Entry, Kind
from . import files, journal, ruleset
from .home import Home, skill_folder

_VERSION = re.compile(r"^Template version: (\d{1,4})$", re.MULTILINE)
_SECTION = re.compile(r"^## (?P<name>.+?)[ \t]*$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z-]*(?:\.(?:en|zh))?")
_BLOCK = re.compile(r"^```jinja\n(?P<text>.*?\n)```$", re.MULTILINE | re.DOTALL)
PLACEHOLDERS = ("id", "title", "rule", "signals", "score")
"""Fields that stay open in the texts for hooks, as `{id}`."""
RENEWED = "@tuning/templates-accepted.md"
"""Key of the base that a renewal put in place."""
OWN = "@tuning/templates.md"
"""Key of the user's own versions of some templates."""
OWN_BASE = "@tuning/templates-base.md"
"""Key of the same templates as they were shipped when the user changed them."""
FORM = "draft-form"
_FOR_HOOKS = ("delivery-head", "delivery-line", "suggestion", "suggestion-strong")


def parse(text: str) -> Book:
    """Templates from the text of a templates.md.

    Raises:
        Invalid: with all faults: names, sections without one block, templates that may not run.
    """
    text = text.replace("\r\n", "\n")
    version = _VERSION.search(text)
    faults = [] if version else [Text("errors_store.template_version")]
    heads = list(_SECTION.finditer(text))
    found: dict[str, str] = {}
    for head, following in zip(heads, [*heads[1:], None][: len(heads)], strict=True):
        name = head["name"]
        blocks = _BLOCK.findall(text[head.end(): following.start() if following else len(text)])
        if not _NAME.fullmatch(name):
            faults.append(Text("errors_store.template_name", name=name))
        elif name in found:
            faults.append(Text("errors_store.template_twice", name=name))
        elif len(blocks) != 1:
            faults.append(Text("errors_store.template_block", name=name, count=len(blocks)))
        else:
            found[name] = blocks[0]
            found_faults = rendering.faults_of(blocks[0])
            faults += [Text("errors.field_reason", field=name, reason=fault) for fault in found_faults]
    if faults:
        raise Invalid(Text("errors_store.templates_fault"), Text("errors_store.templates_hint"), faults)
    return Book(version[1] if version else "0", found, text)


@functools.cache
def shipped() -> Book:
    """The templates of this version of the skill.

    Raises:
        Invalid: when the file is missing or does not hold.
    """
    path = skill_folder() / "templates.md"
    try:
        return parse(files.read_text(path))
    except FileNotFoundError:
        raise Invalid(Text("errors.is_missing", path=path), Text("errors.skill_incomplete")) from None


def accepted(home: Home) -> Book:
    """The templates that the user agreed to, with the user's own over them.

    The base is the update that was confirmed last, else the copy kept when projections were first made,
    else the shipped text. What is not confirmed in the journal, or no longer holds, does not count.
    """
    return _with_own(home, _base(home))


def updated(home: Home) -> Book:
    """The shipped templates with the user's own over them: what `accepted` becomes by a renewal."""
    return _with_own(home, shipped())


def keep(home: Home, book: Book) -> None:
    """Keep these templates as the base; only for the very first projections, which the installer announced."""
    files.write_text(_kept(home), book.text)


def is_kept(home: Home) -> bool:
    """Whether this home has a base of its own."""
    return _kept(home).exists() or _confirmed(home, RENEWED) is not None


def renewal(home: Home, shown: str, language: str) -> changes.Change:
    """The change that makes the shipped templates the base, for the inbox.

    Args:
        shown: the difference in what a client loads.
    """
    before = _confirmed(home, RENEWED)
    title = ruleset.messages(language)["projection.renewal"].format(version=shipped().version)
    write = changes.Write(RENEWED, files.sha256(before.encode("utf-8")) if before is not None else "", shipped().text)
    return changes.Change("tuning", title, language=language, summary=shown, writes=(write,))


def form(home: Home, kind: Kind, language: str) -> str:
    """The form of a draft, as this user wants it."""
    return rendering.render(updated(home).get(FORM, language), {"kind": kind.value}, escape=False)


def own_forms(names: Collection[str]) -> tuple[str, str]:
    """The two tuning files (own, base) with which the form of a draft lacks these fields and sections."""
    book = shipped()
    texts = {full: text for full, text in sorted(book.templates.items()) if full.partition(".")[0] == FORM}
    own = {full: rule_text.without_fields(text, names) for full, text in texts.items()}
    changed = {full: text for full, text in own.items() if text != texts[full]}
    return _sections(changed), _sections({full: texts[full] for full in changed})


def own_conflicts(home: Home) -> list[str]:
    """Where an update and the user changed the same lines of a template: the user's hold there."""
    own, base = _confirmed(home, OWN), _confirmed(home, OWN_BASE)
    return _laid(shipped(), own, base)[1] if own is not None and base is not None else []


def _sections(texts: Mapping[str, str]) -> str:
    return "".join(f"## {full}\n\n```jinja\n{text}```\n\n" for full, text in texts.items())


def tuned(book: Book, tuning: str, base: str = "") -> Book:
    """The templates with a user's own versions of some of them over it.

    Args:
        tuning: sections in the form of templates.md; its version line may be missing.
        base: the same sections as they were shipped then: what an update changed since is taken over.

    Raises:
        Invalid: with all faults, those of rendering each on its example too.
    """
    over, _ = _laid(book, tuning, base)
    unknown = sorted(set(over) - set(book.templates) - set(shipped().templates))
    if unknown:
        raise Invalid(Text("errors_store.tuning_unknown"), Text("errors_store.see_templates"), unknown)
    text = book.text
    for name, own in over.items():
        old = re.search(rf"^## {re.escape(name)}[ \t]*\n.*?^```jinja\n(.*?\n)```$", text, re.MULTILINE | re.DOTALL)
        if old:
            text = text[: old.start(1)] + own + text[old.end(1):]
    result = _complete(parse(text))
    faults = check(result)
    if faults:
        raise Invalid(Text("errors_store.tuning_render"), Text("errors_store.tuning_render_hint"), faults)
    return result


def _laid(book: Book, tuning: str, base: str | None) -> tuple[dict[str, str], list[str]]:
    """The user's own templates with what an update changed since, and where both changed the same lines."""
    own, old = (parse(f"Template version: {book.version}\n" + _VERSION.sub("", text or "")).templates
                for text in (tuning, base))
    found, conflicts = {}, []
    for name, text in own.items():
        merged = three_way.merge(old.get(name, book.templates.get(name, text)), text, book.templates.get(name, text))
        found[name] = merged.text
        conflicts += [f"templates.{name}: {lines}" for lines in merged.conflicts]
    return found, conflicts


def examples() -> Mapping[str, Mapping[str, Any]]:
    """Example values by a template's name without its language."""
    return ruleset.load("template_examples")


def check(book: Book) -> list[Text]:
    """Renders every template on its example, and reads the bodies back; one line a fault."""
    faults = []
    given = examples()
    for full in book.templates:
        name, _, language = full.partition(".")
        try:
            if name.startswith("body-"):
                kind = Kind(name.removeprefix("body-"))
                body.render(kind, language, tuple(given[name].items()), book.templates[full])
            else:
                rendering.render(book.templates[full], given[name])
        except KeyError:
            faults.append(Text("errors_store.template_example", name=full))
        except Invalid as error:
            faults.append(Text("errors.field_reason", field=full, reason=error.text))
        except ValueError as error:
            faults.append(Text("errors.field_reason", field=full, reason=error))
    return faults


def short_form(entry: Entry, target: str = "") -> str:
    """Title, trigger, rule and target of an entry, in its language.

    Args:
        target: where it goes; its track when empty.
    """
    return projection.short_form(entry, target or "/".join(filter(None, (entry.track.value, entry.domain))), shipped())


def feedback(entry: Entry, path: str, *, hooks: bool) -> str:
    """What is said after a confirm: where it was written, and when it will act."""
    values = {"id": entry.id, "path": path, "track": entry.track.value, "domain": entry.domain, "hooks": hooks,
              "trigger": projection.trigger(entry, shipped())}  # fmt: skip
    return rendering.render(shipped().get("feedback", entry.language), values, escape=False).rstrip("\n")


def acts_when(entry: Entry, *, hooks: bool) -> str:
    """The second half of `feedback`: when the entry will act, one line."""
    return feedback(entry, "", hooks=hooks).split("\n", 1)[1].strip()


def for_hooks(book: Book, language: str) -> dict[str, str]:
    """What hooks say, each with its fields open as `{name}`: hooks have no jinja2, and fill them in."""
    values = {name: rendering.Safe("{" + name + "}") for name in PLACEHOLDERS}
    return {name: book.render(name, language, values).rstrip("\n") for name in _FOR_HOOKS}


def _base(home: Home) -> Book:
    for text in (_confirmed(home, RENEWED), _read(_kept(home))):
        try:
            if text is not None:
                return _complete(parse(text))
        except Invalid:
            continue
    return shipped()


def _complete(book: Book) -> Book:
    """An earlier version's templates, and those that it did not have yet: of them nobody was shown another text."""
    return dataclasses.replace(book, templates={**shipped().templates, **book.templates})


def _with_own(home: Home, base: Book) -> Book:
    own, before = _confirmed(home, OWN), _confirmed(home, OWN_BASE)
    # What a merge with an update made unreadable is taken as the user left it.
    for old in dict.fromkeys((before or "", "")):
        try:
            return tuned(base, own, old) if own else base
        except Invalid:
            continue
    return base


def _confirmed(home: Home, key: str) -> str | None:
    """Text of a tuning file when the journal says that a person confirmed these very bytes."""
    text = _read(home.root.joinpath(*key[1:].split("/")))
    if text is None:
        return None
    known = journal.confirmed(home).get(key)
    good = known is not None and known.proven and known.sha256 == files.sha256(text.encode("utf-8"))
    return text if good else None


def _read(path: Path) -> str | None:
    try:
        return files.read_text(path)
    except (OSError, Refused):
        return None


def _kept(home: Home) -> Path:
    return home.root / "templates.md"
