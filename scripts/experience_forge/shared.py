"""Steps that several verbs share: what comes before every command, and what follows a change.

    commands -> shared -> {store, clients}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import wording
from .clients import claude_code
from .core import changes, tracks, vet
from .errors import ForgeError, Invalid, Refused, Text, Usage, told
from .model import Consent
from .store import config, derived, entries, files, library, log, proposals, ruleset, settle, tidying
from .store.home import Home
from .store.library import Applied
from .store.proposals import Proposal


@dataclass(frozen=True)
class Done:
    """A change that was carried out, and the client files that follow from it."""

    applied: Applied
    targets: tuple[Path, ...]
    warnings: tuple[str, ...] = ()


def begin(home: Home) -> None:
    """What every command does first: finish what a crash cut, settle pending consents, see an edited config.yaml.

    A fault here is logged and never stops the command.
    """
    if not home.root.exists():
        return
    try:
        files.sweep_temps(home.root)
        done = library.recover(home)
        changed = bool(done)
        if settle.waiting(home):
            settled = settle.settle(home)
            changed = changed or bool(settled["proved"] or settled["revoked"])
        if changed:
            refresh(home)
        elif derived.settings_behind(home):
            # Edited by hand: hooks read no YAML, and what is loaded may hang on a setting too.
            derived.renew_settings(home)
            project(home)
    except ForgeError as error:
        log.fault("settle", str(error))


def gated(findings: Iterable[vet.Finding]) -> None:
    """Let through what the gate found, unless something of it blocks.

    Raises:
        Invalid: with every field that blocks, and why.
    """
    blocked = vet.blocked(findings)
    if blocked:
        raise Invalid(Text("errors_entry.text_blocked"), Text("errors.take_out"), blocked)


def gated_text(name: str, text: str) -> str:
    """A line that a person or a model gave with a command, when it may become part of what is kept.

    Raises:
        Invalid: when the gate blocks it.
    """
    found = vet.vet("title", text, ruleset.load("poison"), wording.spoken())
    gated([vet.Finding(name, found.verdict, found.reasons)])
    return text


def domains() -> list[str]:
    """The names of `rules/tracks.yaml` with the user's own."""
    return sorted(tracks.rules_of(ruleset.load("tracks"), config.load().get("domains")).domains)


def carry_out(home: Home, proposal: Proposal, consent: Consent) -> Done:
    """Apply a confirmed proposal, then bring the derived data and the clients' files up to date.

    Raises:
        Refused, Invalid: from the change itself; what follows from it only warns.
    """
    applied = library.apply(home, proposal, consent)
    warnings: list[str] = []
    try:
        derived.update(home, applied)
        tidying.keep_up(home, _touched(applied))
    except ForgeError as error:
        warnings.append(f"{error.what}; {error.hint}")
    targets: Sequence[Path] = ()
    if consent.proven:
        try:
            targets = [change.path for change in claude_code.project(home)]
        except ForgeError as error:
            warnings.append(f"{error.what}; {error.hint}")
    return Done(applied, tuple(targets), tuple(warnings))


def _touched(applied: Applied) -> list[str]:
    keys = [write.key for write in applied.change.writes if not write.key.startswith("@")]
    return [key.rpartition("/")[2].removesuffix(".md") for key in keys]


def refresh(home: Home) -> list[Path]:
    """Rebuild the derived data and the clients' files from the entries; returns the files that changed."""
    derived.rebuild(home)
    return [change.path for change in claude_code.project(home)]


def project(home: Home) -> list[Path]:
    """Bring the clients' files in line with what is derived now; returns the files that changed."""
    return [change.path for change in claude_code.project(home)]


def propose(home: Home, change: changes.Change, wanted_id: str, meta: dict[str, object]) -> Proposal:
    """Put a change that is no draft into the inbox."""
    return proposals.create(home, change.change, changes.render(change), meta, wanted_id)


def domain(asked: str, *, listed: bool = False) -> str:
    """The domain that a user means by a name or a word of it; one that is not listed as it was asked.

    Args:
        listed: refuse one that is not listed.

    Raises:
        Usage: naming the listed ones.
    """
    known = tracks.rules_of(ruleset.load("tracks"), config.load().get("domains")).domains
    found = tracks.named(asked, known)
    if listed and found and found not in known:
        raise Usage(Text("errors.no_domain", domain=asked), Text("errors.one_of_domains", names=", ".join(domains())))
    return found


def domains_meant(asked: str) -> tuple[str, str]:
    """Where entries are looked for: the domain of exactly this name, and the listed one that has the word."""
    return asked, domain(asked)


def domain_of(library: entries.Library, asked: str) -> str:
    """The domain that a user means where entries are looked for: one that entries have, else as `domain`."""
    return asked if any(stored.entry.domain == asked for stored in library.entries) else domain(asked)


def named(home: Home, entry_id: str, talk: Callable[[str], None]) -> entries.StoredEntry:
    """The entry that an id stands for today; that it is another one is said.

    Raises:
        Refused: when there is none, naming near ids.
    """
    stored = entries.resolved(home, entry_id)
    if stored.entry.id != entry_id:
        talk(told(Text("errors_tidy.resolved", id=entry_id, heir=stored.entry.id)))
    return stored


def active_entry(home: Home, entry_id: str, talk: Callable[[str], None]) -> entries.StoredEntry:
    """An entry whose bytes are confirmed, as a base for a further change.

    Raises:
        Refused: when there is none, or its bytes are not those that were confirmed.
    """
    stored = named(home, entry_id, talk)
    if stored.state in ("edited", "unconfirmed"):
        raise Refused(
            Text("errors.other_bytes", id=entry_id),
            Text("errors.other_bytes_hint"),
        )
    return stored
