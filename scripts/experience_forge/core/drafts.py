"""Drafts as the model, a script or a person hands them in: Markdown in the stored form, or JSON.

A draft may leave out what we compute: id, language, track, dates, revision. What it brings of our
own fields (status, guard, confidence ...) is ignored and named; unknown keys are refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import Invalid, Text
from ..model import SECTIONS, Entry, Kind, SignalKind
from . import body, checks, codec

JSON_KEYS = ("id", "title", "aliases", "kind", "track", "domain", "project", "language", "applies_when",
             "fails_when", "versions", "tags", "cites", "review", "origin", "sources", "signals")
MAY_LACK = ("aliases", "fails_when", "versions", "tags", "cites", "review")
"""Fields without which an entry holds; a user who always takes one out can have drafts come without it."""
MAY_BE_DASH = ("scenario", "root_cause", "why", "how", "situation", "alternatives_rejected", "when")
"""Sections that may say nothing: what to do, and how to know the case, is never left out."""
DASH = "—"
IGNORED = (*codec.COMPUTED, "confidence", "score", "count", "confirmed", "consent", "verdict", "suggest", "stress")
"""Fields that we compute; named when a draft brings them, and ignored."""
_NEXT = re.compile(r"^---\n(?=(?:id|title|kind|track|aliases|language): )", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\s*(?:(?:TODO|TBD|FIXME)\s*[:：]?\s*(?:…|\.{2,})?|…+|\.{2,})\s*", re.IGNORECASE)
"""What stands where nobody wrote anything yet."""
_WORD = re.compile(r"[a-z0-9]+")
_CJK = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True)
class DraftInput:
    """One draft as it was handed in: fields, sections or a body, and the signals it claims."""

    known: Mapping[str, Any]
    sections: tuple[tuple[str, str], ...]
    kind: Kind | None
    signals: tuple[Mapping[str, Any], ...] = ()
    ignored: tuple[str, ...] = ()
    faults: tuple[Text, ...] = field(default=())


def read(text: str, *, as_json: bool) -> list[DraftInput]:
    """All drafts of one input, at least one.

    Raises:
        Invalid: when the input as a whole can't be read, or a draft has unknown keys.
    """
    if not text.strip():
        raise Invalid(Text("errors_entry.input_empty"), Text("errors_entry.input_empty_hint"))
    return _read_json(text) if as_json else [_from_markdown(part) for part in _documents(text)]


def complete(given: DraftInput, values: Mapping[str, str]) -> Entry:
    """The entry of a draft, with `values` for the fields that it may leave out (id, track, dates ...).

    Raises:
        Invalid: with all faults of the draft at once.
    """
    known = {**values, **{name: value for name, value in given.known.items() if value not in ("", None)}}
    return codec.finish(known, given.kind, given.sections, {}, list(given.faults))


def filled(given: DraftInput, names: Collection[str]) -> DraftInput:
    """The draft with a dash for each section among these that it lacks: this user does not want it."""
    have = {name for name, _ in given.sections}
    wanted = SECTIONS[given.kind] if given.kind is not None else ()
    more = tuple((name, DASH) for name in wanted if name in names and name in MAY_BE_DASH and name not in have)
    return dataclasses.replace(given, sections=(*given.sections, *more))


def without(entry: Entry, names: Collection[str]) -> tuple[Entry, tuple[str, ...]]:
    """The entry without fields and sections that this user always takes out, and those that it had."""
    empty: dict[str, Any] = {name: type(getattr(entry, name))() for name in MAY_LACK if name in names}
    dropped = [name for name in empty if getattr(entry, name)]
    dropped += [name for name, text in entry.sections if name in names and name in MAY_BE_DASH and text != DASH]
    sections = tuple((name, DASH if name in names and name in MAY_BE_DASH else text) for name, text in entry.sections)
    return dataclasses.replace(entry, sections=sections, **empty), tuple(dropped)


def as_input(entry: Entry, signals: Any) -> str:
    """A draft's entry as JSON that `read` takes again, after a person modified it."""
    fields: dict[str, Any] = {
        "id": entry.id, "title": entry.title, "aliases": list(entry.aliases), "kind": entry.kind.value,
        "track": entry.track.value, "domain": entry.domain, "language": entry.language,
        "applies_when": [c.parts() for c in entry.applies_when], "fails_when": [c.parts() for c in entry.fails_when],
        "versions": list(entry.versions), "tags": list(entry.tags), "review": entry.review, "origin": entry.origin,
        "cites": [{"path": c.path, "lines": c.lines, "hash": c.hash} for c in entry.cites],
        "sources": [{"session": s.session, "at": s.at, "line": s.line, "quote": s.quote, "from": s.provenance.value}
                    for s in entry.sources],
        "signals": list(signals), "sections": dict(entry.sections),
    }
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)


def edited(text: str, before: Entry, signals: Sequence[Any] = ()) -> DraftInput:
    """A draft's stored form after a person modified it, as `read` takes it; `before` is what it was.

    Args:
        signals: those that the draft had; a `signals:` in the text goes first.

    Raises:
        Invalid: with all faults at once, also for keys that nobody knows.
    """
    raw = codec.split(text)
    strange = [name for name in raw.unknown if name not in JSON_KEYS]
    faults = [_unknown(strange)] if strange else []
    try:
        entry = codec.build(raw)
    except Invalid as error:
        raise Invalid(error.text, error.hint, [*faults, *error.faults]) from error
    if faults:
        what = Text("errors_entry.entry_fault", title=entry.title or entry.id)
        raise Invalid(what, Text("errors.mend_these"), faults)
    given = read(as_input(entry, raw.unknown.get("signals") or signals), as_json=True)[0]
    return dataclasses.replace(
        given, ignored=tuple(name for name in codec.COMPUTED if getattr(entry, name) != getattr(before, name))
    )


def slug(title: str, aliases: Sequence[str], kind: str, hints: Sequence[str] = (), domain: str = "") -> str:
    """An id from the words of a title, or of an alias, in Latin letters; at most six words.

    A title in another script is named by the Latin words in it, else by those of the first hint (errors,
    commands, tags) that has two, else by its domain and kind with four hex digits of its sha256.
    """
    whole = (_name(text) for text in (title, *aliases) if not _CJK.search(text))
    # Of a title in another script one Latin word says too little: "utf-8" may be anything about it.
    parts = (_name(text, words=2) for text in (title, *hints))
    digits = hashlib.sha256(title.encode("utf-8", "surrogatepass")).hexdigest()
    last = f"{domain}-{kind}-{digits[:4]}" if domain else f"{kind}-{digits[:8]}"
    return next((name for name in (*whole, *parts) if name), last)


def _name(text: str, words: int = 1) -> str:
    """Up to six words of a text as an id; empty when it has less than two, or fewer than `words` without digits."""
    found = _WORD.findall(text.lower())[:6]
    while len("-".join(found)) > 48 and len(found) > 2:
        found.pop()
    telling = [word for word in found if not word.isdigit()]
    return "-".join(found)[:48].strip("-") if len(found) >= 2 and len(telling) >= words else ""


def hints(entry: Entry) -> tuple[str, ...]:
    """What an entry's id may be made of when its title has no Latin words: errors, commands, tags."""
    conditions = (*entry.applies_when, *entry.fails_when)
    return (
        *(condition.error for condition in conditions), *(condition.command for condition in conditions),
        " ".join(entry.tags),
    )  # fmt: skip


def language(text: str) -> str:
    """`zh` when at least one in ten letters is Chinese, else `en`."""
    letters = [c for c in text if c.isalpha()]
    chinese = sum(1 for c in letters if _CJK.match(c))
    return "zh" if letters and chinese * 10 >= len(letters) else "en"


def _documents(text: str) -> list[str]:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").lstrip("\n")
    starts = [match.start() for match in _NEXT.finditer(text)]
    if not starts or starts[0] != 0:
        return [text]
    # The closing `---` of a front matter is followed by a body, not by a field: only openings are found.
    ends = [*starts[1:], len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _from_markdown(text: str) -> DraftInput:
    raw = codec.split(text)
    fields = {**raw.known, **raw.unknown}
    faults: list[Text] = []
    kind = checks.choice(fields, "kind", Kind, faults, None)
    sections: tuple[tuple[str, str], ...] = ()
    if kind is not None:
        sections, body_faults = body.parse(kind, raw.body)
        faults += body_faults
    return _input(fields, sections, kind, faults)


def _read_json(text: str) -> list[DraftInput]:
    try:
        data = json.loads(text)
    except ValueError as error:
        what = Text("errors_entry.input_json", cause=error)
        raise Invalid(what, Text("errors_entry.input_json_hint")) from error
    except RecursionError as error:
        raise Invalid(Text("errors_entry.input_deep"), Text("errors_entry.input_deep_hint")) from error
    items = data.get("entries", data) if isinstance(data, dict) else data
    items = items if isinstance(items, list) else [items]
    if not items or not all(isinstance(item, dict) for item in items):
        raise Invalid(Text("errors_entry.input_objects"), Text("errors.see", command="experience-forge draft --help"))
    return [_from_json(item) for item in items]


def _from_json(item: Mapping[str, Any]) -> DraftInput:
    fields = {name: _texts(value) for name, value in item.items()}
    faults: list[Text] = []
    kind = checks.choice(fields, "kind", Kind, faults, None)
    names = SECTIONS[kind] if kind is not None else ()
    nested = fields.pop("sections", {})
    fields = {**fields, **nested} if isinstance(nested, Mapping) else fields
    sections = tuple((name, str(fields[name])) for name in names if name in fields)
    rest = {name: value for name, value in fields.items() if name not in names}
    return _input(rest, sections, kind, faults)


def _input(
    fields: Mapping[str, Any], sections: tuple[tuple[str, str], ...], kind: Kind | None, faults: list[Text]
) -> DraftInput:
    ignored = tuple(name for name in IGNORED if name in fields and name != "project")
    known = {name: value for name, value in fields.items() if name in JSON_KEYS and name != "signals"}
    unknown = [name for name in fields if name not in JSON_KEYS and name not in IGNORED]
    if unknown:
        faults.append(_unknown(unknown))
    written = (("title", known.get("title")), *sections)
    unfilled = [name for name, text in written if _PLACEHOLDER.fullmatch(str(text or ""))]
    faults += [Text("errors_entry.placeholder", name=name) for name in unfilled]
    return DraftInput(known, sections, kind, _signals(fields.get("signals"), faults), ignored, tuple(faults))


def _unknown(keys: Sequence[str]) -> Text:
    return Text("errors_entry.unknown_keys", keys=", ".join(map(checks.shown, keys)), known=", ".join(JSON_KEYS))


def _signals(value: Any, faults: list[Text]) -> tuple[Mapping[str, Any], ...]:
    items = value if isinstance(value, list) else [value] if value else []
    names = [kind.value for kind in SignalKind]
    found = []
    for item in items:
        signal = item if isinstance(item, Mapping) else {"kind": item}
        if str(signal.get("kind")) not in names:
            faults.append(
                Text("errors_entry.signal_kind", names=", ".join(names), value=checks.shown(signal.get("kind")))
            )
        else:
            found.append({str(key): entry for key, entry in signal.items()})
    return tuple(found)


def _texts(value: Any) -> Any:
    """JSON scalars as the text that YAML would hold, so that both forms meet the same checks."""
    if isinstance(value, Mapping):
        return {str(key): _texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value if isinstance(value, str) else str(value)
