"""From a step of the tidy plan to proposals, for `tidy`, `merge` and `outdate`; stands beside `shared`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from . import shared, wording
from .clients import claude_code
from .core import codec, composed, merging, tidy, vet
from .core.changes import Change
from .core.tidy import Step
from .errors import ForgeError, Refused, Text, told
from .model import Entry, Kind, Status, Track
from .store import journal, proposals, redaction, ruleset, tidying
from .store.home import Home
from .store.proposals import Proposal

Say = Callable[..., str]
"""`report.Output.text`: a message by its name with its values."""


def changes_of(home: Home, step: Step, text: Say, keep: str = "") -> list[Change]:
    """The changes that a step proposes; none for a step that is taken up elsewhere (`grow`).

    Args:
        keep: of a contradiction, the id of the entry that stays.

    Raises:
        Refused: when an entry has changed, or a contradiction comes without its decision.
    """
    today = journal.now()[:10]
    first = step.entries[0]
    if step.kind == "merge" or (step.kind == "widen" and len(step.entries) > 1):
        return [merge(home, step.entries, text)]
    if step.kind == "contradiction":
        if keep not in step.entries:
            one, other = step.entries
            what = text("tidy.keep_other", keep=keep, id=step.id) if keep else text("tidy.keep_needed", id=step.id)
            raise Refused(what, text("tidy.keep_hint", one=one, other=other))
        other = next(entry_id for entry_id in step.entries if entry_id != keep)
        return [outdate(home, other, text("tidy.contradicted", id=keep), text)]
    if step.kind == "outdated":
        return [outdate(home, first, text(f"tidy.reason_{step.reason}", **step.values), text)]
    if step.kind == "review":
        return [_renewed(home, first, text, today)]
    if step.kind in ("widen", "narrow"):
        return [_moved(home, step, text, today)]
    return []


def merge(home: Home, ids: Sequence[str], text: Say, written: Entry | None = None) -> Change:
    """The change that makes one entry of several; errors as `tidying.merged`."""
    bases, entry = tidying.merged(home, ids, written)
    lines = [text("tidy.summary_merge", ids=", ".join(entry.parents), id=entry.id)]
    lines += [text("tidy.observed" if times != 1 else "tidy.observed_once", id=name, times=times, sessions=sessions)
              for name, times, sessions in tidy.counted([base.entry for base in bases])]
    lines += _guards(entry, [base.entry for base in bases], text)
    return merging.merge(bases, entry, "\n".join(lines), text("tidy.merged_into", id=entry.id))


def _guards(entry: Entry, parents: Sequence[Entry], text: Say) -> list[str]:
    """What becomes of guards that stood on another track than that of the merged entry."""
    track, kept = text(f"words.track_{entry.track.value}"), text(f"words.guard_{entry.guard.value}")
    return [
        text("tidy.merge_guard_wider" if one.guard is entry.guard else "tidy.merge_guard_lost",
             id=one.id, guard=text(f"words.guard_{one.guard.value}"), track=track, kept=kept)
        for one in merging.taken_wider(parents, entry)
    ]


def needs_a_look(home: Home, change: Change) -> bool:
    """Whether a merge touches a guard of another track: that is no part of a change of many.

    Raises:
        Refused: when a parent is not there any more.
    """
    if change.change != "merge" or not change.writes[0].text:
        return False
    parents = [tidying.base_of(home, str(parent)).entry for parent in change.data.get("parents", ())]
    return bool(merging.taken_wider(parents, codec.parse(change.writes[0].text)))


def doubts(home: Home, change: Change, text: Say) -> list[str]:
    """Of a merge: which of its parents we would not call the same, and how much they have in common.

    Raises:
        Refused: when the errors of two of them differ.
    """
    if change.change != "merge":
        return []
    parents = [tidying.base_of(home, str(parent)).entry for parent in change.data.get("parents", ())]
    found = []
    for one, other, relation in tidying.unlike(parents):
        apart = "; ".join(f"{why} {words}".strip() for why, words in relation.apart.items())
        found.append(text("tidy.merge_unlike", one=one, other=other, share=f"{relation.share:.2f}",
                          apart=apart or text("tidy.merge_little")))
    return found


def checked(written: Entry) -> Entry:
    """A text that somebody wrote for a merged entry, composed, when it may be proposed.

    Raises:
        Refused: when it holds a secret.
        Invalid: when the poisoning gate blocks it.
    """
    written = composed.entry(written)
    _, held, _ = redaction.clean_entry(written)
    if held:
        raise Refused(
            Text("errors_entry.holds_secret", kinds=sorted(held)), Text("errors_entry.not_the_value")
        )
    shared.gated(vet.vet_entry(written, ruleset.load("poison"), wording.spoken()))
    return written


def checked_text(name: str, description: str, text: str) -> None:
    """A grown skill's text goes through the same gates as a draft; errors as `checked`."""
    # The front matter was read strictly; the gate is for what a model reads.
    body = text.partition("\n---\n")[2]
    entry = Entry(
        id=name, title=description[:200], kind=Kind.WORKFLOW, track=Track.DOMAIN,
        sections=(("when", description), ("steps", body), ("rule", description[:300])),
    )
    checked(entry)


def outdate(home: Home, entry_id: str, reason: str, text: Say) -> Change:
    """The change that marks one entry as outdated.

    Raises:
        Refused: when it is not active.
    """
    base, reason = tidying.base_of(home, entry_id), proposals.reason(reason)
    if base.entry.status is not Status.ACTIVE:
        raise Refused(
            Text("errors_entry.status_already", id=entry_id, status=Text(f"errors.status_{base.entry.status.value}")),
            Text("errors.see", command="experience-forge show"),
        )
    before, after = told(Text("errors.status_active")), "⚠ " + told(Text("errors.status_outdated"))
    values = {"id": entry_id, "before": before, "after": after, "reason": reason}
    summary = text("tidy.summary_status", **values)
    return merging.status(base, Status.OUTDATED, reason, journal.now()[:10], summary)


def propose(home: Home, step_id: str, change: Change, warnings: Sequence[str] = ()) -> Proposal:
    """Put a change into the inbox."""
    meta: dict[str, object] = {"step": step_id, "warnings": list(warnings)}
    return shared.propose(home, change, f"{change.change}-{_name(change)}"[:64].rstrip("-"), meta)


def waiting(home: Home) -> dict[str, str]:
    """Steps that are proposed already, with the id of the open proposal."""
    return {step: one.id for one in proposals.all(home) for step in str(one.meta.get("step", "")).split()}


def targets(home: Home, change: Change) -> list[dict[str, str]]:
    """Every client file that the change would alter, each with its diff: also those that lose a line."""
    changed: dict[str, Entry | None] = {}
    for write in change.writes:
        if not write.key.startswith("@"):
            changed.setdefault(write.key.rpartition("/")[2].removesuffix(".md"), None)
        if write.text is not None and not write.key.startswith("@"):
            entry = codec.parse(write.text)
            changed[entry.id] = entry
    try:
        return [{"path": str(path), "diff": text} for path, text in claude_code.effects_of(home, changed)]
    except ForgeError:
        return []


def _name(change: Change) -> str:
    return str(change.data.get("entry", "")) or "entries"


def _renewed(home: Home, entry_id: str, text: Say, today: str) -> Change:
    base = tidying.base_of(home, entry_id)
    days = tidying.lifetimes().days
    kind = days.get(base.entry.kind.value, 365)
    span = min(kind, days["project"]) if base.entry.track is Track.PROJECT else kind
    date = (datetime.date.fromisoformat(today) + datetime.timedelta(days=span)).isoformat()
    return merging.renewed(base, date, today, text("tidy.summary_review", id=entry_id, date=date))


def _moved(home: Home, step: Step, text: Say, today: str) -> Change:
    base = tidying.base_of(home, step.entries[0])
    entry = base.entry
    if step.kind == "narrow":
        track, domain, project = Track.PROJECT, entry.domain, str(step.values["project"])
    else:
        preference = entry.kind.value == "preference"
        track, domain, project = (Track.PROFILE if preference else Track.PERSONAL), entry.domain, ""
    values = {"id": entry.id, "before": entry.track.value, "after": track.value}
    summary = text("tidy.summary_move", reason=text(f"tidy.reason_{step.reason}", **step.values), **values)
    return merging.moved(base, track, domain, project, today, summary)
