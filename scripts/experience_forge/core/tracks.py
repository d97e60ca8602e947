"""Routes an entry to its track by the scope of its effect, and says why.

In order: bound to one project; a lasting preference; knowledge of a domain; else the user's own.
The lists and reasons are data (`rules/tracks.yaml`, and the user's `domains:` over it).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Invalid, Text
from ..model import Entry, Kind, Track

_STATED = 3
_PROMINENT = 2
_MENTIONED = 1
DOMAIN = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Domain:
    """One item of the closed list; `own` marks the user's machine and tools."""

    id: str
    names: Mapping[str, str]
    words: tuple[str, ...]
    own: bool = False
    near: tuple[str, ...] = ()

    def name(self, language: str) -> str:
        """Readable name in a language."""
        return self.names.get(language) or self.names.get("en") or self.id


@dataclass(frozen=True)
class Rules:
    """The routing rules as data."""

    domains: Mapping[str, Domain]
    project_words: tuple[str, ...]
    reasons: Mapping[str, Mapping[str, str]]
    threshold: int


@dataclass(frozen=True)
class Context:
    """What is known where an entry is drafted.

    `project` and `project_name` are empty outside a project; `chosen` is the track the user (or the
    draft on the user's words) asked for; `language` that of the reason.
    """

    rules: Rules
    project: str = ""
    project_name: str = ""
    chosen: Track | None = None
    language: str = "en"


def rules_of(data: Mapping[str, Any], added: Mapping[str, Any] | None = None) -> Rules:
    """Rules from `rules/tracks.yaml` with the user's own domains over it.

    Raises:
        Invalid: with all faults of the user's part.
    """
    faults: list[Text] = []
    domains = {name: _domain(name, item, None, faults) for name, item in data["domains"].items()}
    for name, item in (added or {}).items():
        if not isinstance(item, Mapping) or not DOMAIN.fullmatch(str(name)):
            faults.append(Text("errors_entry.domain_form", name=name))
            continue
        domains[str(name)] = _domain(str(name), item, domains.get(str(name)), faults)
    if faults:
        raise Invalid(Text("errors_entry.domains_fault"), Text("errors_entry.domains_hint"), faults)
    words = tuple(word for language in data["project_words"].values() for word in language)
    return Rules(domains, words, data["reasons"], int(data["domain_threshold"]))


def route(entry: Entry, context: Context) -> tuple[Track, str, str]:
    """Track, domain (may be empty) and the reason in the context's language."""
    domain = domain_of(entry, context.rules)
    track, reason = _by_rules(entry, context, domain)
    if context.chosen is None or context.chosen is track:
        return track, domain, reason
    if context.chosen is Track.PROJECT and not context.project:
        return Track.PERSONAL, domain, _reason(context, "no_project")
    if context.chosen is Track.DOMAIN and not domain:
        return Track.PERSONAL, domain, _reason(context, "no_domain")
    return context.chosen, domain, _reason(context, "chosen_other", track=track.value, reason=reason)


def domain_of(entry: Entry, rules: Rules) -> str:
    """The domain whose words weigh most, at the threshold at least; the stated one when it is listed."""
    stated = named(entry.domain, rules.domains) if entry.domain else ""
    if stated in rules.domains:
        return stated
    weights = {name: _weight(entry, domain) for name, domain in rules.domains.items()}
    best = max(weights, key=lambda name: weights[name], default="")
    return best if best and weights[best] >= rules.threshold else ""


def named(asked: str, domains: Mapping[str, Domain]) -> str:
    """The listed domain that a user means: by its name, or by one of its words (`docker`); else what was asked."""
    wanted = asked.strip().casefold()
    by_word = (name for name, domain in domains.items() if wanted in {word.casefold() for word in domain.words})
    return asked if asked in domains else next(by_word, asked)


def _by_rules(entry: Entry, context: Context, domain: str) -> tuple[Track, str]:
    bound = _project_reason(entry, context)
    if bound and context.project:
        return Track.PROJECT, bound
    if bound:
        return Track.PERSONAL, _reason(context, "no_project")
    if entry.kind is Kind.PREFERENCE:
        return Track.PROFILE, _reason(context, "profile")
    if domain:
        item = context.rules.domains[domain]
        track, name = (Track.PERSONAL, "own") if item.own else (Track.DOMAIN, "domain")
        return track, _reason(context, name, value=item.name(context.language))
    return Track.PERSONAL, _reason(context, "personal")


def _project_reason(entry: Entry, context: Context) -> str:
    if entry.cites:
        return _reason(context, "project_cites")
    for condition in entry.applies_when:
        if _names_a_place(condition.path):
            return _reason(context, "project_path", value=condition.path)
    said = _body(entry) + "\n" + entry.title
    names = (context.project_name,) if len(context.project_name) >= 4 else ()
    for word in (*context.rules.project_words, *names):
        if _holds(said, word):
            return _reason(context, "project_words", value=word)
    return ""


def _names_a_place(glob: str) -> bool:
    # `**/*.sql` holds in every project, `src/billing/**` in one; absolute and home paths are no project's.
    if not glob or glob.startswith(("/", "~")) or re.match(r"[A-Za-z]:", glob):
        return False
    folders = [part for part in glob.split("/")[:-1] if part not in ("", ".", "**", "*")]
    common = {"src", "test", "tests", "docs", "lib", "app", "scripts", ".github", "workflows", "migrations"}
    return any(not any(mark in part for mark in "*?[{") and part not in common for part in folders)


def _weight(entry: Entry, domain: Domain) -> int:
    tags = {tag.casefold() for tag in entry.tags}
    weight = _STATED if domain.id in tags or domain.id == entry.domain else 0
    conditions = (value for condition in entry.applies_when for value in condition.parts().values())
    prominent = "\n".join((entry.title, *entry.aliases, *conditions, *entry.versions, *entry.tags))
    body = _body(entry)
    for word in domain.words:
        weight += _PROMINENT * _holds(prominent, word) + _MENTIONED * _holds(body, word)
    return weight


def _body(entry: Entry) -> str:
    return "\n".join(text for _, text in entry.sections)


def _holds(text: str, word: str) -> bool:
    if not word.isascii():
        return word in text
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text, re.IGNORECASE) is not None


def _domain(name: str, item: Mapping[str, Any], base: Domain | None, faults: list[Text]) -> Domain:
    names = item.get("name", {})
    names = {"en": names, "zh": names} if isinstance(names, str) else dict(names or {})
    words: list[str] = list(base.words) if base else [name]
    given = item.get("words", {})
    groups = given.values() if isinstance(given, Mapping) else [given]
    for group in groups:
        if isinstance(group, list) and all(isinstance(word, str) for word in group):
            words += [word for word in group if word not in words]
        else:
            faults.append(Text("errors_entry.domain_words", name=name))
    near = tuple(str(other) for other in item.get("near", base.near if base else ()))
    own = bool(item.get("own", base.own if base else False))
    return Domain(name, names or (base.names if base else {}), tuple(words), own, near)


def _reason(context: Context, name: str, **values: str) -> str:
    texts = context.rules.reasons[name]
    return texts["zh" if context.language == "zh" else "en"].format(**values)
