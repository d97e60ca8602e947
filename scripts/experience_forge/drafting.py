"""From what was handed in to a draft in the inbox: route, redact, vet, score, look for near entries.

Used by `draft` and by the "modify" of `review`; stands between commands and stores like `shared`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import wording
from .clients import claude_code, client_memory
from .core import codec, composed, drafts, provenance, scoring, testable, tracks, vet
from .core.drafts import DraftInput
from .errors import Invalid, Refused, Text
from .model import Condition, Entry, Kind, Provenance, Score, SignalKind, Source, Track
from .store import (
    backtest,
    condition_rules,
    config,
    detected,
    entries,
    freshness,
    journal,
    nearness,
    projects,
    proposals,
    proposed_conditions,
    recall_index,
    redaction,
    ruleset,
    templates,
    tidying,
)
from .store.home import Home
from .store.proposals import Proposal


@dataclass(frozen=True)
class Options:
    """What the caller chose for all drafts of one input; empty means: by the rules."""

    track: str = ""
    domain: str = ""
    project: str = ""
    session: str = ""
    revise: str = ""
    replace: str = ""
    language: str = "en"
    imported: bool = False


@dataclass(frozen=True)
class Draft:
    """A draft that holds: its entry, the text to confirm, and what we computed about it."""

    entry: Entry
    text: str
    score: Score
    meta: Mapping[str, Any] = field(default_factory=dict)


def prepare(home: Home, given: DraftInput, options: Options) -> Draft:
    """Complete, route, redact, vet and score one draft; writes nothing.

    Raises:
        Invalid: with all faults, or when the poisoning gate blocks it.
        Refused: when it needs a secret, or revises an entry that is not there.
    """
    base = entries.get(home, options.revise) if options.revise else None
    # Who edits a draft, or revises an entry, says what is in it.
    left_out = ruleset.load("tuning")["leave_out"] if base is None and not options.replace else ()
    entry = _proposed(composed.entry(_complete(home, drafts.filled(given, left_out), options, base)))
    entry, unbound = _bound(entry)
    entry, dropped = drafts.without(entry, left_out)
    entry, removed = _redacted(entry)
    warnings = _vetted(entry, given.signals)
    entry, reason = _routed(home, entry, options, options.track or str(given.known.get("track") or ""))
    if base is None and not given.known.get("id"):
        # Only now all that a name may be made of is known: what was redacted is not in it.
        name = drafts.slug(entry.title, entry.aliases, entry.kind.value, drafts.hints(entry), entry.domain)
        entry = dataclasses.replace(entry, id=name)
    entry = _placed(home, entry, base, options)
    text = codec.render(entry)
    codec.parse(text)
    lowest = provenance.lowest(entry.sources)
    foreign = options.imported or lowest in (Provenance.TOOL, Provenance.DOCUMENT)
    signals = [dict(signal) for signal in given.signals] or ([] if foreign else _implied(entry))
    signals = detected.named(signals, _session(options, entry))
    score = scoring.of_kinds([str(signal["kind"]) for signal in signals], ruleset.load("scoring"))
    warnings += [wording.told(Text("errors_tidy.left_out", names=list(dropped)))] if dropped else []
    warnings += [wording.told(Text("errors_entry.unchecked", fault=_unbound(fault))) for fault in unbound]
    warnings += [
        wording.told(Text("errors_entry.taken_out", kind=kind, count=count)) for kind, count in sorted(removed.items())
    ]
    if foreign:
        places = [place for place in map(provenance.place, provenance.lowest_sources(entry.sources)) if place]
        source = Text(f"errors_entry.from_{lowest.value}")
        found = "; ".join(places) or Text("errors_entry.no_line")
        warnings.append(wording.told(Text("errors_entry.not_the_user", source=source, places=found)))
    if given.ignored:
        warnings.append(wording.told(Text("errors_entry.ignored", names=list(given.ignored))))
    warnings += _contradictions(home, entry)
    untestable = testable.label(entry, condition_rules.weights())
    if untestable is not None:
        warnings.append(wording.told(untestable))
    test = backtest.sentence(home, entry, options.language) if entry.applies_when else ""
    meta = {
        "session": options.session or os.environ.get("CLAUDE_CODE_SESSION_ID", ""),
        "score": score.total, "suggest": score.suggest, "stress": score.stress,
        "signals": signals, "score_lines": list(score.lines),
        "track": entry.track.value, "track_reason": reason, "warnings": warnings, "removed": removed,
        "provenance": lowest.value, "preselected": provenance.preselected(lowest) and not options.imported,
        "testable": untestable is None, "backtest": test,
        "near": [*nearness.near(home, entry, 3), *client_memory.near(entry, 3)],
        "base": base.sha256 if base else "",
    }
    return Draft(entry, text, score, meta)


def keep(home: Home, draft: Draft, options: Options) -> Proposal:
    """Put a draft into the inbox, in place of the one that it replaces when there is one.

    Raises:
        Refused: when the proposal to replace is not there, or the inbox can't be written.
    """
    if draft.entry.project:
        projects.record(home, projects.current(home))
        recall_index.rewrite_settings(home)
    if options.replace:
        return proposals.replace(home, options.replace, draft.text, draft.meta)
    return proposals.create(home, "import" if options.imported else "draft", draft.text, draft.meta, draft.entry.id)


def targets(home: Home, entry: Entry) -> list[dict[str, str]]:
    """The client files that an entry would change, each with its diff."""
    return [{"path": str(path), "diff": diff} for path, diff in claude_code.targets(home, entry)]


def short_form(entry: Entry) -> str:
    """Title, trigger, rule and target: what always-on files and hooks deliver."""
    return templates.short_form(entry)


def _complete(home: Home, given: DraftInput, options: Options, base: entries.StoredEntry | None) -> Entry:
    known = given.known
    text = "\n".join((str(known.get("title", "")), *(value for _, value in given.sections)))
    values = {
        "id": "a-draft",
        "language": drafts.language(text), "track": "personal",
        "created": journal.now()[:10], "updated": journal.now()[:10],
    }
    overrides: dict[str, Any] = {}
    if base is not None:
        overrides = {"id": base.entry.id, "created": base.entry.created, "updated": journal.now()[:10],
                     "revision": str(base.entry.revision + 1), "track": known.get("track") or base.entry.track.value,
                     "domain": known.get("domain") or base.entry.domain, "project": base.entry.project}
    chosen = {name: value for name, value in (("track", options.track), ("domain", options.domain)) if value}
    entry = drafts.complete(dataclasses.replace(given, known={**known, **overrides, **chosen}), values)
    return dataclasses.replace(entry, sources=_sources(entry, options, base))


def _sources(entry: Entry, options: Options, base: entries.StoredEntry | None) -> tuple[Source, ...]:
    """What the draft stands on: words that it quotes without a session are of the present one."""
    session, today = options.session or os.environ.get("CLAUDE_CODE_SESSION_ID", ""), journal.now()[:10]
    if not session or options.imported:
        return entry.sources
    before = base.entry.sources if base is not None else ()
    return tuple(
        source if source.session or source.at not in ("", today) or source in before
        else dataclasses.replace(source, session=session, at=today)
        for source in entry.sources or (Source(),)
    )


def _project_id(home: Home, asked: str) -> str:
    known = [project.id for project in projects.all(home) if asked in (*project.ids, project.name)]
    if asked and not known and asked != projects.current(home).id:
        raise Refused(Text("errors.no_project", project=asked), Text("errors.see", command="experience-forge projects"))
    return known[0] if known else asked


def _implied(entry: Entry) -> list[dict[str, Any]]:
    """The signal that a stated preference or decision is by itself, when the draft names none."""
    kinds = {Kind.PREFERENCE: SignalKind.PREFERENCE, Kind.DESIGN: SignalKind.DESIGN}
    if entry.origin != "stated" or entry.kind not in kinds:
        return []
    return [{"kind": kinds[entry.kind].value}]


def _session(options: Options, entry: Entry) -> str:
    """The session that a draft comes from; empty when none is known."""
    said = next((source.session for source in entry.sources if source.session), "")
    return options.session or os.environ.get("CLAUDE_CODE_SESSION_ID", "") or said


def _bound(entry: Entry) -> tuple[Entry, tuple[str, ...]]:
    """The entry with the hashes of what it cites, and what could not be read."""
    cites, faults = freshness.bind(entry.cites, Path(os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()))
    return dataclasses.replace(entry, cites=cites), faults


def _redacted(entry: Entry) -> tuple[Entry, dict[str, int]]:
    """The entry without secrets and personal data, and how many of each kind were taken out."""
    cleaned, counts, needed = redaction.clean_entry(entry)
    if needed:
        raise Refused(
            Text("errors_entry.needs_secret", title=cleaned.title[:60]),
            Text("errors_entry.needs_secret_hint"),
            [Text("errors_entry.field_holds", name=name, kinds=kinds) for name, kinds in needed.items()],
        )
    return cleaned, counts


def _proposed(entry: Entry) -> Entry:
    """The entry with the conditions of the episode that it quotes, but for those that only a secret could match."""
    full = proposed_conditions.fill(entry)

    def sound(name: str) -> tuple[Condition, ...]:
        given = getattr(entry, name)
        return tuple(c for c in getattr(full, name) if c in given or not redaction.clean_fields(c.parts())[1])

    return dataclasses.replace(full, applies_when=sound("applies_when"), fails_when=sound("fails_when"))


def _unbound(fault: str) -> Text:
    path, _, reason = fault.rpartition(": ")
    return Text("errors.field_reason", field=path, reason=Text(f"errors_entry.unbound_{reason}"))


def _vetted(entry: Entry, signals: Sequence[Any]) -> list[str]:
    rules, language = ruleset.load("poison"), wording.spoken()
    findings = (*vet.vet_entry(entry, rules, language), *vet.vet_values("signals", signals, rules, language))
    blocked = vet.blocked(findings)
    if blocked:
        what = Text("errors_entry.draft_blocked", title=entry.title[:60])
        raise Invalid(what, Text("errors.take_out"), blocked)
    return [f"{f.field}: {reason}" for f in findings if f.verdict == "warn" for reason in f.reasons]


def _contradictions(home: Home, entry: Entry) -> list[str]:
    """Entries that this one contradicts, and which of the two counts until the user decides."""
    found = tidying.expected(home, {entry.id: entry}).get(entry.id, [])
    which = {entry.id: "this", "-": "none"}
    return [wording.told(Text(f"errors_entry.contradicts_{which.get(wins, 'other')}", other=other))
            for other, wins in found]


def _routed(home: Home, entry: Entry, options: Options, asked: str) -> tuple[Entry, str]:
    """The entry on its track; `asked` is the track that the user or the draft names, or empty."""
    here = projects.current(home)
    chosen = Track(asked) if asked else None
    rules = tracks.rules_of(ruleset.load("tracks"), config.load().get("domains"))
    context = tracks.Context(rules, here.id, here.name, chosen, options.language)
    track, domain, reason = tracks.route(entry, context)
    return dataclasses.replace(entry, track=track, domain=domain), reason


def _placed(home: Home, entry: Entry, base: entries.StoredEntry | None, options: Options) -> Entry:
    project = ""
    if entry.track is Track.PROJECT:
        asked = _project_id(home, options.project)
        project = asked or (base.entry.project if base else "") or projects.current(home).id
    entry = dataclasses.replace(entry, project=project)
    if base is not None:
        return entry
    wanted, number = entry.id, 1
    while _taken(home, entry, options.replace):
        number += 1
        entry = dataclasses.replace(entry, id=f"{wanted[:63 - len(str(number))]}-{number}")
    return entry


def _taken(home: Home, entry: Entry, replace: str) -> bool:
    """Whether an entry has this id, or an open draft other than the one to replace that is not this very text."""
    if entries.find(home, entry.id) is not None:
        return True
    open_draft = proposals.draft_of(home, entry.id, replace)
    return open_draft is not None and open_draft.text != codec.render(entry)
