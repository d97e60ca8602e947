"""Applies confirmed changes: the only code that changes entries.

A change of several files is one step: an intent file, then the journal record (the point of no
return), then the files. `recover` finishes or drops what a crash left between them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import wording
from ..core import changes, checks, codec
from ..core.changes import Change, Write
from ..errors import Invalid, Refused, Text, told
from ..model import Consent, Entry
from . import entries, files, journal, proposals
from .home import Home
from .proposals import Proposal

ROOTS = ("@tuning/", "@skills/", "@commands/", "@agents/")
"""Keys that lie below the home rather than below `entries/`."""


@dataclass(frozen=True)
class Applied:
    """What a confirmed change did."""

    record: Mapping[str, Any]
    change: Change
    paths: tuple[Path, ...]
    entries: tuple[Entry, ...]


def apply(home: Home, proposal: Proposal, consent: Consent) -> Applied:
    """Carry out a proposal whose digest a person confirmed, from the bytes in memory.

    Raises:
        Refused: when the files it was made for have changed since, or can't be written.
        Invalid: when its text does not hold.
    """
    if files.sha256(proposal.text.encode("utf-8")) != proposal.digest:
        raise Invalid(Text("errors_store.proposal_changed", id=proposal.id), Text("errors_store.confirm_anew"))
    with files.locked(home.lock):
        recover(home)
        change = changes.parse(proposal.change, proposal.text)
        found = _checked(home, change, proposal)
        plan = [_planned(home, write) for write in change.writes]
        record = {
            "what": "change", "change": change.change, "proposal": proposal.id, "digest": proposal.digest,
            "entries": [entry.id for entry in found],
            "files": [{"path": p["key"], "before": p["before"], "after": p["after"]} for p in plan],
            **proposals.counted(proposal),
            "consent": {
                "by": consent.by, "at": consent.at, "session": consent.session, "call": consent.call,
                "receipt": consent.receipt, "waited": consent.waited, "proof": consent.proof,
            },
        }
        written = _commit(home, record, plan, proposal.id)
    return Applied(written, change, tuple(path_of(home, w.key) for w in change.writes), tuple(found))


def check(home: Home, proposal: Proposal) -> None:
    """See that a proposal still fits the entries as they are, before a person is asked for it.

    Raises:
        Refused, Invalid: as `apply`.
    """
    _checked(home, changes.parse(proposal.change, proposal.text), proposal)


def revoke(home: Home, seq: int, reason: str) -> dict[str, Any]:
    """Take back a change whose proof failed: its files as before, its proposal open again.

    Raises:
        Refused: when the record is not there or its files have changed since.
    """
    with files.locked(home.lock):
        recover(home)
        record = _record(home, seq)
        plan = []
        before_state = journal.fold([r for r in journal.read(home) if int(r["seq"]) < seq])
        text = ""
        for item in record["files"]:
            key, after, before = str(item["path"]), item.get("after"), item.get("before")
            if _digest(home, key) != after:
                raise Refused(
                    Text("errors_store.changed_since_written", key=key),
                    Text("errors.see", command="experience-forge doctor"),
                )
            if after is not None:
                text = text or _kept(home, after)
            known = before_state.get(key)
            plan.append({
                "key": key, "before": after, "after": before, "text": _kept(home, before) if before else None,
                "proof": known.proof if known else "", "by": known.by if known else "",
            })
        revoked = {
            "what": "revoked", "of": seq, "proposal": record["proposal"], "reason": reason,
            "files": [{k: p[k] for k in ("key", "before", "after", "proof", "by")} | {"path": p["key"]} for p in plan],
        }
        confirmed_text = journal.kept_text(home, str(record["digest"])) or text
        if confirmed_text:
            proposals.create(home, str(record["change"]), confirmed_text, {"revoked": reason}, str(record["proposal"]))
        return _commit(home, revoked, plan, "")


def settle_proof(home: Home, seq: int, proof: str) -> dict[str, Any]:
    """Record the proof of a change that was pending (`person`)."""
    return journal.append(home, {"what": "proof", "of": seq, "proof": proof})


def undo_of(home: Home, seq: int) -> Change:
    """The change that takes back a journalled change.

    Raises:
        Refused: when there is none, or its files have changed since.
    """
    record = _record(home, seq)
    writes = []
    faults = []
    for item in record["files"]:
        key, before, after = str(item["path"]), item.get("before"), item.get("after")
        if _digest(home, key) != after:
            faults.append(Text("errors_store.undo_later", key=key))
        writes.append(Write(key, after or "", journal.kept_text(home, before) if before else None))
        if before and writes[-1].text is None:
            faults.append(Text("errors_store.undo_gone", key=key))
    if faults:
        raise Refused(
            Text("errors_store.no_undo", seq=seq),
            Text("errors.see", command="experience-forge list --changes"),
            faults,
        )
    names = "; ".join(dict.fromkeys(filter(None, (_title(home, item) for item in record["files"]))))
    names = names or ", ".join(str(item["path"]) for item in record["files"])
    kind = Text(f"errors.change_{record.get('change', record['what'])}")
    title = told(Text("errors_store.undo_title", change=kind, seq=seq, names=names))[: checks.MAX_TITLE]
    return Change("undo", title, language=wording.spoken(), data={"of": seq}, writes=tuple(writes))


def restoring(home: Home, entry_id: str) -> Change | None:
    """The change that puts the confirmed bytes of an entry back; None when its file has them, or none were confirmed.

    Raises:
        Refused: when the confirmed text is not kept any more.
    """
    for key, known in journal.confirmed(home).items():
        if key.rpartition("/")[2] != f"{entry_id}.md":
            continue
        present = _digest(home, key)
        if present == known.sha256:
            return None
        text = confirmed_text(home, key)
        if text is None:
            _kept(home, known.sha256)
        entry = codec.parse(text or "")
        title = told(Text("errors_store.restore_title", title=entry.title))[: checks.MAX_TITLE]
        return Change("undo", title, entry.rule, entry.track.value, wording.spoken(),
                      told(Text("errors_store.restore_summary")), {"of": known.seq}, (Write(key, present or "", text),))
    return None


def confirmed_text(home: Home, key: str) -> str | None:
    """The text that was confirmed for an entry file, from what is kept for undo; None when it is not kept any more."""
    known = journal.confirmed(home).get(key)
    if known is None:
        return None
    found = [journal.kept_text(home, known.sha256)]
    for record in (one for one in journal.read(home) if one["seq"] == known.seq and one["what"] == "change"):
        # What is no draft was confirmed as a document that holds the whole text of each file.
        document = journal.kept_text(home, str(record.get("digest")))
        try:
            writes = changes.parse(str(record.get("change")), document).writes if document else ()
        except Invalid:
            continue
        found += [write.text for write in writes if write.key == key]
    return next((text for text in found if text and files.sha256(text.encode("utf-8")) == known.sha256), None)


def path_of(home: Home, key: str) -> Path:
    """The file of a key, inside the home by construction.

    Raises:
        Refused: when it leads outside.
    """
    if not key.startswith(ROOTS):
        return entries.path_of(home, key)
    path = home.root.joinpath(*key[1:].split("/"))
    base = home.root / key[1:].split("/")[0]
    if not path.resolve().is_relative_to(base.resolve()) or ".." in key.split("/"):
        raise Refused(Text("errors_store.outside", key=key, base=base), Text("errors_store.other_name"))
    return path


def recover(home: Home) -> list[str]:
    """Finish or drop a change that a crash interrupted; returns what was done, one line each."""
    done = []
    for path in (path for path in files.listed(home.root, ".json") if path.name.startswith("intent-")):
        # One that can't be read now is kept: dropping it would lose a change that the journal says was made.
        intent = files.read_record(path)
        if intent is None or not _is_journalled(home, intent):
            files.remove(path)
            done.append(told(Text("errors_store.dropped_change", file=path.name)))
            continue
        _write_plan(home, intent["plan"])
        if intent["proposal"]:
            proposals.remove(home, intent["proposal"])
        files.remove(path)
        done.append(told(Text("errors_store.finished_change", mark=intent["mark"])))
    return done


def _checked(home: Home, change: Change, proposal: Proposal) -> list[Entry]:
    """Entries that a change writes, after checking texts, places and what they replace."""
    found: list[Entry] = []
    faults: list[Text] = []
    for write in change.writes:
        path_of(home, write.key)
        present = _digest(home, write.key)
        if change.change in ("draft", "import"):
            faults += _draft_faults(home, write, present)
        elif (present or "") != write.before:
            faults.append(Text("errors_store.changed_since_proposed", key=write.key))
        if write.text is not None and not write.key.startswith("@"):
            entry = codec.parse(write.text)
            if changes.key_of(entry) != write.key:
                faults.append(Text("errors_store.belongs_to", key=write.key, place=changes.key_of(entry)))
            found.append(entry)
    keys = [write.key for write in change.writes]
    if len(set(keys)) != len(keys):
        faults.append(Text("errors_store.written_twice"))
    if faults:
        raise Refused(Text("errors_store.proposal_stale", id=proposal.id), Text("errors.anew"), faults)
    return found


def _draft_faults(home: Home, write: Write, present: str | None) -> list[Text]:
    entry = codec.parse(write.text or "")
    other = entries.find(home, entry.id)
    if other is None:
        absent = Text("errors_store.revision_absent", revision=entry.revision, id=entry.id)
        return [] if entry.revision == 1 else [absent]
    if other.key != write.key:
        return [Text("errors_store.id_taken", id=entry.id, key=other.key)]
    if entry.revision != other.entry.revision + 1:
        return [Text("errors_store.revisions", id=entry.id, present=other.entry.revision, given=entry.revision)]
    return []


def _planned(home: Home, write: Write) -> dict[str, Any]:
    after = files.sha256(write.text.encode("utf-8")) if write.text is not None else None
    return {"key": write.key, "before": _digest(home, write.key), "after": after, "text": write.text}


def _commit(home: Home, record: Mapping[str, Any], plan: list[dict[str, Any]], proposal_id: str) -> dict[str, Any]:
    for item in plan:
        _keep(home, item["key"])
    mark = files.sha256(json.dumps([record, journal.now(), journal.state(home, brief=True).records]).encode())[:16]
    intent = home.root / f"intent-{mark}.json"
    if proposal_id:
        text = proposals.load(home, proposal_id).text
        files.write_text(journal.object_path(home, files.sha256(text.encode("utf-8"))), text)
    files.write_text(intent, json.dumps({"mark": mark, "plan": plan, "proposal": proposal_id}, ensure_ascii=False))
    written = journal.append(home, {**record, "mark": mark})
    _write_plan(home, plan)
    if proposal_id:
        proposals.remove(home, proposal_id)
    files.remove(intent)
    return written


def _write_plan(home: Home, plan: list[dict[str, Any]]) -> None:
    for item in plan:
        path = path_of(home, item["key"])
        if item["after"] is None:
            files.remove(path)
        elif _digest(home, item["key"]) != item["after"]:
            files.write_text(path, item["text"])


def _keep(home: Home, key: str) -> None:
    """Keep the present bytes of a file for undo."""
    path = path_of(home, key)
    if path.exists():
        data = files.read_bytes(path)
        kept = journal.object_path(home, files.sha256(data))
        if not kept.exists():
            files.write_whole(kept, data)


def _kept(home: Home, digest: str) -> str:
    text = journal.kept_text(home, digest)
    if text is None:
        raise Refused(Text("errors_store.text_gone", digest=digest[:12]), Text("errors_store.text_gone_hint"))
    return text


def _digest(home: Home, key: str) -> str | None:
    try:
        return files.sha256(files.read_bytes(path_of(home, key)))
    except FileNotFoundError:
        return None


def _record(home: Home, seq: int) -> dict[str, Any]:
    for record in journal.read(home):
        if record.get("seq") == seq and record.get("what") in ("change", "revoked"):
            return record
    found = next((r for r in journal.read(home) if r.get("seq") == seq), {})
    other = str(found.get("what", ""))
    if other == "discard":
        what = Text("errors_store.undo_discard", seq=seq, id=str(found.get("proposal", "")))
        raise Refused(what, Text("errors_store.undo_discard_hint"))
    if other:
        raise Refused(Text("errors_store.undo_kind", seq=seq, kind=other), Text("errors_store.choose_change"))
    raise Refused(
        Text("errors_store.no_change", seq=seq), Text("errors.see", command="experience-forge list --changes")
    )


def _is_journalled(home: Home, intent: Mapping[str, Any]) -> bool:
    return any(record.get("mark") == intent.get("mark") for record in journal.read(home))


def _title(home: Home, item: Mapping[str, Any]) -> str:
    """The title of the entry in one file of a record; empty for another file, or when its text was forgotten."""
    if str(item["path"]).startswith("@"):
        return ""
    for digest in (item.get("after"), item.get("before")):
        try:
            text = journal.kept_text(home, str(digest)) if digest else None
            if text:
                return codec.parse(text).title
        except Invalid:
            continue
    return ""
