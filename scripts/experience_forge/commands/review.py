"""`experience-forge review`: go through the open proposals one by one, at a terminal."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

from .. import drafting, shared, tidy_steps
from ..clients import ancestry
from ..core import changes, codec, drafts
from ..errors import EXIT_DONE, EXIT_REFUSED, ForgeError, NeedsConsent, Refused, Text
from ..fast import visible
from ..model import Consent, Track
from ..report import Output
from ..store import candidates, edits, home, journal, proposals
from ..store.home import Home
from ..store.launcher import confirm_command
from ..store.proposals import Proposal

HELP = "go through the open proposals one by one: confirm, modify, move, discard, skip"
EPILOG = """examples:
  experience-forge review             all open proposals
  experience-forge review use-pnpm    this one
  experience-forge review --json      list them for a script; changes nothing

keys: c confirm, d discard with a reason, s skip, v view again, q quit; for a draft also m modify in $EDITOR and
t move to another track. An edit that does not hold is kept: it opens again with its faults on top.
Confirming needs a terminal of your own, never one below a client.
JSON: {"proposals": [{"id", "change", "digest", "text", "meta", "targets", "confirm_command"}]}"""


CANDIDATES_SHOWN = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", nargs="?", default="", help="only this proposal")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    chosen = [proposals.load(where, args.id)] if args.id else proposals.all(where)
    if out.as_json:
        out.data({"proposals": [_document(where, proposal) for proposal in chosen]})
        return 0
    waiting = candidates.offered(where)
    if not chosen:
        out.say("library.no_proposals")
        _tell_candidates(waiting, out)
        return 0
    client = ancestry.client_above(os.environ)
    if client or not out.can_ask:
        for proposal in chosen:
            _present(where, proposal, out)
        raise NeedsConsent(
            out.text("review.below_client", client=client) if client else out.text("review.no_terminal"),
            out.text("review.no_terminal_hint", count=len(chosen)),
        )
    counts = {"c": 0, "d": 0, "s": 0}
    last, failed = "", set[str]()
    for number, proposal in enumerate(chosen, 1):
        change = out.word("change", proposal.change)
        out.line(out.text("review.heading", number=number, count=len(chosen), id=_named(proposal), change=change))
        answer, last = _one(where, proposal, last, failed, out)
        if answer == "q":
            break
        counts[answer] += 1
    out.say("review.summary", confirmed=counts["c"], discarded=counts["d"], left=len(proposals.all(where)))
    _tell_candidates(candidates.offered(where), out)
    return EXIT_REFUSED if failed else EXIT_DONE


def _one(where: Home, proposal: Proposal, last: str, failed: set[str], out: Output) -> tuple[str, str]:
    """Present one proposal until it is decided; returns the key that decided it, and what was done in one line.

    Args:
        last: what was done before, to be said again above the keys when a long text has moved it away.
        failed: ids of proposals whose confirmation failed and was not made good; kept up to date here.
    """
    shown, early = "", False
    while True:
        if proposal.digest != shown:
            early = out.typed_ahead
            rows = _present(where, proposal, out)
            shown = proposal.digest
            if last and rows >= out.height - 2:
                out.talk(out.text("review.before", what=last))
        keys = _keys(proposal)
        key, ahead, early = _key(out.ask(_offered(keys, out)), keys, out), early, False
        if ahead and key in ("c", "d"):
            out.talk(out.text("review.typed_ahead"))
            continue
        if key == "c":
            last = _confirm(where, proposal, out)
            (failed.discard if last else failed.add)(proposal.id)
            if last:
                return "c", last
        if key == "d" and (last := _discarded(where, proposal, out)):
            return "d", last
        if key in ("s", "q"):
            return key, ""
        if key == "v":
            shown = ""
        elif key == "t":
            proposal, last = _guarded(lambda p=proposal: _moved(where, p, out), proposal, out)  # type: ignore[misc]
        elif key == "m":
            proposal, last = _guarded(lambda p=proposal: _modified(where, p, out), proposal, out)  # type: ignore[misc]
        elif not key:
            out.talk(out.text("review.unknown_key", keys=", ".join(keys)))


def _named(proposal: Proposal) -> str:
    """A draft by its id, another change by what it is about: its own id repeats its kind."""
    if proposal.change in ("draft", "import"):
        return proposal.id
    try:
        return visible.escape(changes.parse(proposal.change, proposal.text).title) or proposal.id
    except ForgeError:
        return proposal.id


def _keys(proposal: Proposal) -> str:
    """The keys that work for this proposal: only a draft has a text and a track to change."""
    return "cmtdsvq" if proposal.change in ("draft", "import") else "cdsvq"


def _offered(keys: str, out: Output) -> str:
    return "  ".join(out.text(f"review.key_{key}") for key in keys) + " > "


def _key(answer: str | None, keys: str, out: Output) -> str:
    """The key that was meant: the letter or its whole word; empty when it is none of them. No more input is `q`."""
    if answer is None:
        return "q"
    words = {re.sub(r"[\[\]\s]|^\[\w\] ", "", out.text(f"review.key_{key}")): key for key in keys}
    return answer.lower() if answer.lower() in [*keys] else words.get(answer.lower(), "")


def _guarded(step: Callable[[], tuple[Proposal, str]], proposal: Proposal, out: Output) -> tuple[Proposal, str]:
    """Run a step of modifying; a fault is shown, and the proposal stays as it was."""
    try:
        return step()
    except ForgeError as error:
        _tell_fault(error, out)
        return proposal, ""


def _tell_fault(error: ForgeError, out: Output) -> None:
    out.talk(visible.escape(f"experience-forge: {error.what}"))
    for fault in error.faults:
        out.talk(visible.escape(f"  - {fault}"))
    if error.hint:
        out.talk(visible.escape(error.hint))


def _confirm(where: Home, proposal: Proposal, out: Output) -> str:
    """What was done, in one line; empty when it was not."""
    # Read again: what is applied must be what was just shown, not what lies there by now.
    if proposals.load(where, proposal.id).digest != proposal.digest:
        out.talk(out.text("review.changed"))
        return ""
    try:
        done = shared.carry_out(where, proposal, Consent("terminal", journal.now(), "terminal"))
    except ForgeError as error:
        _tell_fault(error, out)
        return ""
    for path in done.applied.paths:
        out.say("review.written" if path.exists() else "review.removed", path=path)
    for path in done.targets:
        out.say("review.projected" if path.exists() else "review.removed", path=path)
    for warning in done.warnings:
        out.talk(warning)
    edits.drop(where, proposal.id)
    return out.text("review.confirmed", id=proposal.id)


def _discarded(where: Home, proposal: Proposal, out: Output) -> str:
    """What was done, in one line; empty when the question for the reason was left."""
    reason = out.ask(out.text("review.reason"))
    if reason is None:
        return ""
    proposals.discard(where, proposal.id, proposals.reason(reason))
    edits.drop(where, proposal.id)
    out.say("library.discarded", id=proposal.id)
    return out.text("library.discarded", id=proposal.id)


def _moved(where: Home, proposal: Proposal, out: Output) -> tuple[Proposal, str]:
    tracks = ", ".join(track.value for track in Track)
    answer = out.ask(out.text("review.which_track", tracks=tracks)) or ""
    if answer not in tracks.split(", "):
        raise Refused(out.text("review.no_such_track", track=answer), out.text("review.tracks", tracks=tracks))
    changed = _redrafted(where, proposal, proposal.text, answer, out)
    return changed, out.text("review.moved", id=changed.id, track=answer)


def _modified(where: Home, proposal: Proposal, out: Output) -> tuple[Proposal, str]:
    """The proposal with the text of the user's editor, as often as its faults need; the edit is never lost."""
    path, earlier = edits.begin(where, proposal)
    if earlier:
        out.talk(out.text("review.edit_goes_on", path=path))
    while True:
        try:
            _edit(path)
            text = edits.read(path) if path.exists() else proposal.text
            if text == proposal.text:
                edits.drop(where, proposal.id)
                out.talk(out.text("review.unchanged"))
                return proposal, ""
            changed = _redrafted(where, proposal, text, "", out)
            edits.drop(where, proposal.id)
            return changed, out.text("review.modified", id=changed.id)
        except ForgeError as error:
            _tell_fault(error, out)
            if path.exists() and edits.read(path) == proposal.text:
                edits.drop(where, proposal.id)
                return proposal, ""
            edits.mark(path, [line for fault in (error.what, *error.faults) for line in fault.splitlines()])
            if _edit_or_leave(out) != "e":
                out.talk(out.text("review.edit_kept", path=path))
                return proposal, ""


def _edit_or_leave(out: Output) -> str:
    """`e` or `g`; asked again for any other key. No more input leaves the edit where it is."""
    while True:
        answer = out.ask(_offered("eg", out))
        key = "g" if answer is None else _key(answer, "eg", out)
        if key:
            return key
        out.talk(out.text("review.unknown_key", keys="e, g"))


def _redrafted(where: Home, proposal: Proposal, text: str, track: str, out: Output) -> Proposal:
    options = drafting.Options(
        session=str(proposal.meta.get("session", "")), replace=proposal.id, language=out.language, track=track,
        imported=proposal.change == "import",
    )
    given = drafts.edited(text, codec.parse(proposal.text), proposal.meta.get("signals", ()))
    return drafting.keep(where, drafting.prepare(where, given, options), options)


def _edit(path: Path) -> None:
    """Open the user's editor on a file and wait for its end.

    Raises:
        Refused: when there is no editor, or it ended with a fault; what is in the file stays there.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    try:
        code = subprocess.call([*shlex.split(editor, posix=os.name != "nt"), str(path)])
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise Refused(Text("errors.no_editor", editor=editor, cause=cause), Text("errors.set_editor")) from error
    if code != 0:
        raise Refused(Text("errors.editor_failed", editor=editor, code=code), Text("errors.editor_failed_hint"))


def _present(where: Home, proposal: Proposal, out: Output) -> int:
    """Print a proposal with what was computed about it; returns how many rows of the terminal that took."""
    lines = [*visible.escape(proposal.text, keep_newlines=True).rstrip("\n").split("\n"), ""]
    for target in _targets(where, proposal):
        lines += visible.escape(target["diff"] or target["path"], keep_newlines=True).split("\n")
    lines += out.fitted(_computed(proposal, out))
    for line in lines:
        out.line(line)
    return sum(1 + visible.width(line) // max(1, out.width) for line in lines)


def _computed(proposal: Proposal, out: Output) -> list[str]:
    """What was computed about a proposal, what a person has to know most at the end, next to the keys."""
    meta, lines = proposal.meta, []
    if meta.get("score") is not None:
        lines.append(out.text("review.score", score=f"{float(meta['score']):g}"))
        lines += [f"  {out.score_line(line)}" for line in meta.get("score_lines", ())]
        lines += [f"  {out.word('signal', str(signal['kind']))}: {visible.escape(str(signal['quote']))}"
                  for signal in meta.get("signals", ()) if isinstance(signal, dict) and signal.get("quote")]
    if meta.get("track_reason"):
        track = out.word("track", meta.get("track", ""))
        lines.append(out.text("draft.track", track=track, reason=meta["track_reason"]))
    if meta.get("backtest"):
        lines.append(str(meta["backtest"]))
    lines += [out.text("draft.near", id=near.get("id", ""), title=visible.escape(str(near.get("title", ""))))
              for near in meta.get("near", ())]
    lines += [out.text("draft.warning", warning=visible.escape(str(warning))) for warning in meta.get("warnings", ())]
    return [*lines, out.text("review.digest", digest=proposal.digest[:16])]


def _targets(where: Home, proposal: Proposal) -> list[dict[str, str]]:
    try:
        return tidy_steps.targets(where, changes.parse(proposal.change, proposal.text))
    except ForgeError as error:
        return [{"path": error.what, "diff": ""}]


def _document(where: Home, proposal: Proposal) -> dict[str, object]:
    return {
        "id": proposal.id, "change": proposal.change, "digest": proposal.digest, "text": proposal.text,
        "meta": dict(proposal.meta), "targets": _targets(where, proposal),
        "confirm_command": confirm_command(where, proposal.id, proposal.digest),
    }


def _tell_candidates(waiting: list[dict[str, object]], out: Output) -> None:
    for one in waiting[:CANDIDATES_SHOWN]:
        out.say("review.candidate", session=one.get("session", ""), score=f"{float(str(one.get('score', 0))):g}",
                title=one.get("title", ""))
    if len(waiting) > CANDIDATES_SHOWN:
        out.say("review.candidates_more", count=len(waiting) - CANDIDATES_SHOWN)

