"""Proposals: changes of loaded bytes that await consent, in `proposals/`, which nothing loads.

`<id>.md` holds exactly the bytes that a person confirms (their sha256 is the digest); `<id>.json`
beside it holds what we computed about them and binds nothing.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core import body
from ..errors import Invalid, Refused, Text
from ..model import Kind
from . import files, journal, redaction
from .home import Home

ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
CHANGES = ("draft", "move", "merge", "guard", "status", "undo", "tuning", "restore", "import", "grow")
MAX_BYTES = 256 * 1024
COMPUTED = ("id", "revision", "created", "updated", "status", "sources", "language")
NOTHING = frozenset(("", "none", "n/a", "无", "没有", "略"))
"""What a section says that has nothing to say: it has to be there all the same."""
_ITEMS: dict[str, type] = {
    "signals": dict, "near": dict, "warnings": str, "score_lines": str, "emptied": str, "changed": str,
}  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "change": (str,), "created": (str,), "score": (int, float), "edited": (int,), "removed": (dict,),
}  # fmt: skip


@dataclass(frozen=True)
class Proposal:
    """One change of loaded bytes awaiting consent.

    `text` is what a person confirms; `meta` what we computed (score, signals, warnings, near,
    track_reason, provenance, created, session).
    """

    id: str
    change: str
    text: str
    digest: str
    meta: Mapping[str, Any] = field(default_factory=dict)


def create(home: Home, change: str, text: str, meta: Mapping[str, Any], wanted_id: str) -> Proposal:
    """Put a proposal into the inbox; the id gets a number when another proposal has it.

    The same change with the same text again is the same proposal.

    Raises:
        Invalid: for an id or a change that is none, or a text that is too long.
        Refused: when it can't be written.
    """
    data = text.encode("utf-8")
    faults = []
    if not ID.fullmatch(wanted_id):
        faults.append(Text("errors_store.proposal_id_form", id=wanted_id))
    if change not in CHANGES:
        faults.append(Text("errors_store.unknown_change", change=change, known=", ".join(CHANGES)))
    if len(data) > MAX_BYTES:
        faults.append(Text("errors_store.proposal_size", size=len(data), limit=MAX_BYTES))
    if faults:
        raise Invalid(Text("errors_store.proposal_fault"), Text("errors.mend_it"), faults)
    digest = files.sha256(data)
    with files.locked(home.lock):
        chosen = _free_id(home, wanted_id, digest)
        full = {"change": change, "created": journal.now(), **meta}
        # The text comes last: a proposal without its computed part would show no warnings.
        files.write_text(_meta_path(home, chosen), json.dumps(full, ensure_ascii=False, indent=1) + "\n")
        files.write_text(text_path(home, chosen), text)
    return Proposal(chosen, change, text, digest, full)


def load(home: Home, proposal_id: str, *, damaged: bool = False) -> Proposal:
    """One proposal.

    Args:
        damaged: take a text that is not UTF-8 too, its bad bytes as escapes (to discard it).

    Raises:
        Refused: when there is none, naming the ones that are there.
    """
    if not ID.fullmatch(proposal_id):
        raise Refused(
            Text("errors_store.no_proposal_id", id=proposal_id),
            Text("errors.see", command="experience-forge list --proposals"),
        )
    try:
        data = files.read_bytes(text_path(home, proposal_id))
        text = data.decode("utf-8", "backslashreplace" if damaged else "strict")
    except FileNotFoundError:
        there = ", ".join(p.stem for p in sorted(home.proposals.glob("*.md"))[:8])
        raise Refused(
            Text("errors_store.no_proposal", id=proposal_id),
            Text("errors_store.open_proposals", ids=there or Text("errors_store.none_open")),
        ) from None
    except UnicodeDecodeError as error:
        raise Refused(Text("errors_store.proposal_utf8", id=proposal_id), Text("errors_store.draft_again")) from error
    meta = _read_meta(home, proposal_id)
    return Proposal(proposal_id, str(meta.get("change", "draft")), text, files.sha256(data), meta)


def all(home: Home) -> list[Proposal]:
    """All open proposals that can be read, oldest first; drafts that cannot be tested rank behind."""
    def rank(proposal: Proposal) -> tuple[bool, str, str]:
        return proposal.meta.get("testable") is False, str(proposal.meta.get("created", "")), proposal.id

    return sorted(_read_all(home)[0], key=rank)


def unreadable(home: Home) -> list[str]:
    """Why proposals can't be read, one sentence each."""
    return _read_all(home)[1]


def _read_all(home: Home) -> tuple[list[Proposal], list[str]]:
    found: list[Proposal] = []
    faults: list[str] = []
    for path in files.listed(home.proposals, ".md"):
        if not ID.fullmatch(path.stem):
            continue
        try:
            found.append(load(home, path.stem))
        except Refused as error:
            # One that was decided by another run since we looked is none.
            faults += [error.what] if path.exists() or path.is_symlink() else []
    return found, faults


def replace(home: Home, proposal_id: str, text: str, meta: Mapping[str, Any]) -> Proposal:
    """Give a proposal another text (the user modified it); its digest changes with it."""
    with files.locked(home.lock):
        old = load(home, proposal_id)
        edited = {"edited": int(old.meta.get("edited") or 0) + 1, **_edits(old, text)}
        full = {**old.meta, **meta, **edited}
        files.write_text(_meta_path(home, proposal_id), json.dumps(full, ensure_ascii=False, indent=1) + "\n")
        files.write_text(text_path(home, proposal_id), text)
    return load(home, proposal_id)


def reason(said: str) -> str:
    """A reason in the user's words, as it may be kept: without secrets, on one line, not longer than 300 characters."""
    return redaction.clean(" ".join(said.split()))[0][:300] if said.strip() else ""


def discard(home: Home, proposal_id: str, why: str) -> None:
    """Take a proposal out of the inbox because the user said so.

    The journal, which nothing can be taken out of, holds the digest of the reason; its words can be forgotten.

    Args:
        why: a `reason`.

    Raises:
        Refused: when there is none.
    """
    with files.locked(home.lock):
        proposal = load(home, proposal_id, damaged=True)
        said = files.sha256(why.encode("utf-8")) if why else ""
        if why:
            files.write_text(journal.object_path(home, said), why)
        journal.append(home, {
            "what": "discard", "proposal": proposal_id, "digest": proposal.digest,
            "change": proposal.change, "entries": entries_in(proposal.text), "said": said,
            **counted(proposal),
        })
        remove(home, proposal_id)


def with_reasons(home: Home, records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Journal records, those of discards with the `reason` that was given; empty when it was forgotten."""
    return [
        {**record, "reason": (journal.kept_text(home, str(record["said"])) or "") if record["said"] else ""}
        if "said" in record else dict(record)
        for record in records
    ]


def entries_in(text: str) -> list[str]:
    """Ids of the entries that a proposal is about."""
    # YAML puts quotes round an id that reads as a number, a date or a truth value.
    field, write = r"(?:id|entry): ['\"]?([a-z0-9-]+)['\"]?", r">>> (?:\S*/)?([^/\s]+)\.md from .*"
    return sorted({one or other for one, other in re.findall(rf"^(?:{field}|{write})$", text, re.MULTILINE)})


def draft_of(home: Home, entry_id: str, but: str = "") -> Proposal | None:
    """The open draft of an entry with this id, whatever its own id in the inbox is.

    Args:
        but: id of a proposal that does not count.
    """
    for proposal in all(home):
        head = proposal.text.partition("\n---\n")[0]
        if proposal.change in ("draft", "import") and proposal.id != but and f"\nid: {entry_id}\n" in f"{head}\n":
            return proposal
    return None


def counted(proposal: Proposal) -> dict[str, Any]:
    """What `tune` counts of a decision: kinds of signals, detectors, and whether the draft was edited before."""
    signals = [s for s in proposal.meta.get("signals", ()) if isinstance(s, dict)]
    found = {
        "signals": [str(s.get("kind")) for s in signals],
        "detectors": sorted({str(s["detector"]) for s in signals if s.get("detector")}),
        "edited": int(proposal.meta.get("edited") or 0),
        "emptied": list(proposal.meta.get("emptied") or ()),
        "changed": list(proposal.meta.get("changed") or ()),
        "fields": sorted(_parts(proposal.text)) if proposal.change == "draft" else [],
    }
    return {name: value for name, value in found.items() if value or name == "signals"}


def remove(home: Home, proposal_id: str) -> None:
    """Take both files of a proposal away (after it was applied or discarded)."""
    files.remove(text_path(home, proposal_id))
    files.remove(_meta_path(home, proposal_id))


def drop_near(home: Home, entry_id: str) -> None:
    """Take an entry, with its title, out of what open proposals say is near to them."""
    with files.locked(home.lock):
        for proposal in all(home):
            near = list(proposal.meta.get("near", ()))
            left = [one for one in near if one.get("id") != entry_id]
            if left != near:
                full = {**proposal.meta, "near": left}
                files.write_text(_meta_path(home, proposal.id), json.dumps(full, ensure_ascii=False, indent=1) + "\n")


def text_path(home: Home, proposal_id: str) -> Path:
    """Where the bytes to confirm lie."""
    return home.proposals / f"{proposal_id}.md"


def _meta_path(home: Home, proposal_id: str) -> Path:
    return home.proposals / f"{proposal_id}.json"


def _read_meta(home: Home, proposal_id: str) -> dict[str, Any]:
    try:
        data = json.loads(files.read_text(_meta_path(home, proposal_id)))
    except (FileNotFoundError, ValueError, Refused, RecursionError):
        return {}
    return {name: value for name, value in data.items() if _is_sound(name, value)} if isinstance(data, dict) else {}


def _is_sound(name: str, value: Any) -> bool:
    """Whether a computed field has its type: the file may have been edited, and binds nothing."""
    if name in _ITEMS:
        return isinstance(value, list) and builtins.all(isinstance(item, _ITEMS[name]) for item in value) and (
            name != "signals" or builtins.all("kind" in item for item in value)
        )
    return name not in _TYPES or (isinstance(value, _TYPES[name]) and not isinstance(value, bool))


def _free_id(home: Home, wanted: str, digest: str) -> str:
    for number in range(1, 1000):
        chosen = wanted if number == 1 else f"{wanted[: 63 - len(str(number))]}-{number}"
        path = text_path(home, chosen)
        if not path.exists() or files.sha256(files.read_bytes(path)) == digest:
            return chosen
    raise Refused(Text("errors_store.proposals_full", id=wanted), Text("errors_store.proposals_full_hint"))


def _edits(old: Proposal, text: str) -> dict[str, list[str]]:
    """Fields that all edits up to this one took out, and those that they changed."""
    before, after = _parts(old.text), _parts(text)
    emptied = {*_named(old, "emptied"), *(before.keys() - after.keys())} - after.keys()
    changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    return {"emptied": sorted(emptied), "changed": sorted({*_named(old, "changed"), *changed} - emptied)}


def _named(proposal: Proposal, name: str) -> list[str]:
    return [str(item) for item in proposal.meta.get(name) or ()]


def _parts(text: str) -> dict[str, str]:
    """The fields of a draft's front matter and the sections of its body, each with its text."""
    head, _, content = text.removeprefix("---\n").partition("\n---\n")
    found = dict(re.findall(r"^([a-z_]+):((?:.*\n?)(?:^- .*\n?)*)", head, re.MULTILINE))
    for name in COMPUTED:
        found.pop(name, None)
    kind = found.get("kind", "").strip()
    try:
        sections = body.parse(Kind(kind), content)[0]
    except ValueError:
        sections = ()
    return {**found, **{name: value for name, value in sections if value.strip(" -—.。\n").lower() not in NOTHING}}
