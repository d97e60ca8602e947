"""The words of the design as data: enums and frozen dataclasses, no behaviour beyond small views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks load this module: the real one costs them four milliseconds
    from typing import Any


class Kind(str, Enum):
    """What an entry is about; decides its sections."""

    PITFALL = "pitfall"
    PREFERENCE = "preference"
    DESIGN = "design"
    WORKFLOW = "workflow"


class Track(str, Enum):
    """Scope of effect; decides how an entry is loaded."""

    PROFILE = "profile"
    PERSONAL = "personal"
    DOMAIN = "domain"
    PROJECT = "project"


class Status(str, Enum):
    """State of an entry; nothing is deleted by us."""

    ACTIVE = "active"
    OUTDATED = "outdated"
    SUPERSEDED = "superseded"


class Guard(str, Enum):
    """What the PreToolUse hook does when an entry's trigger matches an action."""

    REMIND = "remind"
    HOLD = "hold"
    ASK = "ask"
    DENY = "deny"


class Provenance(str, Enum):
    """Where the words of a source come from, best first; a draft has the lowest of its sources."""

    PERSON = "person"
    MODEL = "model"
    TOOL = "tool"
    DOCUMENT = "document"


class SignalKind(str, Enum):
    """A scored reason to keep something."""

    REWORK = "rework"
    PREFERENCE = "preference"
    CORRECTION = "correction"
    ROOT_CAUSE = "root-cause"
    DESIGN = "design"


SECTIONS: Mapping[Kind, tuple[str, ...]] = {
    Kind.PITFALL: ("scenario", "symptom", "root_cause", "right_action", "rule"),
    Kind.PREFERENCE: ("rule", "why", "how"),
    Kind.DESIGN: ("situation", "decision", "why", "alternatives_rejected", "rule"),
    Kind.WORKFLOW: ("when", "steps", "rule"),
}
"""Section names of a body, by kind, in the order in which they are written."""


@dataclass(frozen=True)
class Condition:
    """One machine-checkable condition; all non-empty parts must hold.

    `command` is a shell-word pattern (`npm install *`), `error` a text matched on the error
    signature of tool output, `path` a glob, `words` must all occur in a prompt of the user.
    """

    command: str = ""
    error: str = ""
    path: str = ""
    words: str = ""

    def parts(self) -> dict[str, str]:
        """The non-empty parts by name, in a fixed order."""
        pairs = (
            ("command", self.command), ("error", self.error), ("path", self.path), ("words", self.words)
        )
        return {name: value for name, value in pairs if value}


@dataclass(frozen=True)
class Source:
    """What an entry stands on: a session, when, and the quoted words."""

    session: str = ""
    at: str = ""
    quote: str = ""
    line: int = 0
    provenance: Provenance = Provenance.MODEL


@dataclass(frozen=True)
class Cite:
    """A cited span of a file: `lines` as `12-20` or empty, `hash` of the normalised text."""

    path: str
    lines: str = ""
    hash: str = ""


@dataclass(frozen=True)
class Entry:
    """One experience. Draft and confirmed entry have the same shape; consent is in the journal."""

    id: str
    title: str
    kind: Kind
    track: Track
    sections: tuple[tuple[str, str], ...]
    aliases: tuple[str, ...] = ()
    domain: str = ""
    project: str = ""
    status: Status = Status.ACTIVE
    status_reason: str = ""
    language: str = "en"
    applies_when: tuple[Condition, ...] = ()
    fails_when: tuple[Condition, ...] = ()
    versions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    cites: tuple[Cite, ...] = ()
    review: str = ""
    guard: Guard = Guard.REMIND
    pinned: bool = False
    origin: str = "stated"
    sources: tuple[Source, ...] = ()
    parents: tuple[str, ...] = ()
    revision: int = 1
    created: str = ""
    updated: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def section(self, name: str) -> str:
        """Text of one section, empty when the entry has none of that name."""
        return dict(self.sections).get(name, "")

    @property
    def rule(self) -> str:
        """The one-line rule that always-on files and hooks deliver."""
        return self.section("rule")

    @property
    def seen(self) -> tuple[int, int]:
        """How often, and in how many sessions, its sources saw it."""
        return len(self.sources), len({source.session for source in self.sources if source.session})


class EventKind(str, Enum):
    """One normalised step of a session."""

    PROMPT = "prompt"
    CALL = "call"
    RESULT = "result"
    ANSWER = "answer"
    MARKER = "marker"


class Speaker(str, Enum):
    """Who produced the text of an event."""

    PERSON = "person"
    MACHINE = "machine"
    MODEL = "model"
    TOOL = "tool"


@dataclass(frozen=True)
class Event:
    """One normalised step of a session.

    `line` counts from 1 in the transcript; `turn` is the number of the user turn it belongs to
    (from 0, -1 before the first). `at` is an ISO time or empty. For calls: `tool`, `call_id`,
    `command` (Bash) and `path` (files). For results: `call_id`, `failed`, `denied`.
    `marker` names what a marker event marks (`interrupt`, `compact`, `denied`, `mode` ...).
    """

    kind: EventKind
    line: int
    turn: int
    speaker: Speaker
    text: str = ""
    at: str = ""
    tool: str = ""
    call_id: str = ""
    command: str = ""
    path: str = ""
    failed: bool = False
    denied: bool = False
    marker: str = ""
    source: str = ""


@dataclass(frozen=True)
class SessionInfo:
    """What is known of a session as a whole."""

    id: str
    client: str
    cwd: str = ""
    started: str = ""
    turns: int = 0
    path: str = ""
    damaged: tuple[int, ...] = ()


@dataclass(frozen=True)
class Signal:
    """A scored reason to keep something, with the quoted turn and the detector that fired."""

    kind: SignalKind
    weight: float
    turn: int
    line: int
    quote: str
    detector: str
    strength: str = "strong"


@dataclass(frozen=True)
class Episode:
    """Consecutive events about one problem; `turns` and `lines` are first and last, inclusive."""

    turns: tuple[int, int]
    lines: tuple[int, int]
    rework_rounds: int
    solved: str
    paths: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """Sum of the signals' weights with what follows from it."""

    total: float
    suggest: bool
    stress: bool
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Consent:
    """The recorded fact that a person confirmed one digest.

    `by` is `dialog` (the client's permission dialog) or `terminal`; `proof` is `pending`,
    `person` or `terminal`; `receipt` is the hash of the receipt, never the receipt.
    """

    by: str
    at: str
    proof: str
    session: str = ""
    call: str = ""
    receipt: str = ""
    waited: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether what was confirmed may be projected and recalled."""
        return self.proof in ("person", "terminal")
