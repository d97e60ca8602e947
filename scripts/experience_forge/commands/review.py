"""`experience-forge review`: go through the open proposals one by one, at a terminal."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import subprocess
from collections.abc import Callable

from .. import drafting, shared
from ..clients import ancestry
from ..core import codec, drafts
from ..errors import ForgeError, NeedsConsent, Refused
from ..fast import visible
from ..model import Consent, Track
from ..report import Output
from ..store import candidates, home, journal, proposals, scratch
from ..store.home import Home
from ..store.launcher import confirm_command
from ..store.proposals import Proposal

HELP = "go through the open proposals one by one: confirm, modify, move, discard, skip"
EPILOG = """examples:
  experience-forge review             all open proposals
  experience-forge review use-pnpm    this one
  experience-forge review --json      list them for a script; changes nothing

keys: c confirm, m modify in $EDITOR, t move to another track, d discard with a reason, s skip, q quit.
Confirming needs a terminal of your own, never one below a client.
JSON: {"proposals": [{"id", "change", "digest", "text", "meta", "targets", "confirm_command"}]}"""


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
    waiting = candidates.waiting(where)
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
    for number, proposal in enumerate(chosen, 1):
        out.line(out.text("review.heading", number=number, count=len(chosen), id=proposal.id, change=proposal.change))
        answer = _one(where, proposal, out)
        if answer == "q":
            break
        counts[answer] += 1
    out.say("review.summary", confirmed=counts["c"], discarded=counts["d"], left=len(proposals.all(where)))
    _tell_candidates(waiting, out)
    return 0


def _one(where: Home, proposal: Proposal, out: Output) -> str:
    """Present one proposal until it is decided; returns the key that decided it."""
    while True:
        _present(where, proposal, out)
        key = (out.ask(out.text("review.keys")) or "q").lower()[:1]
        if key == "c":
            if _confirm(where, proposal, out):
                return "c"
        elif key == "d":
            reason = out.ask(out.text("review.reason")) or ""
            proposals.discard(where, proposal.id, reason[:300])
            out.say("library.discarded", id=proposal.id)
            return "d"
        elif key in ("m", "t"):
            proposal = _guarded(lambda p=proposal, k=key: _changed(where, p, k, out), proposal, out)  # type: ignore[misc]
        elif key in ("s", "q"):
            return key
        else:
            out.talk(out.text("review.unknown_key"))


def _guarded(step: Callable[[], Proposal], proposal: Proposal, out: Output) -> Proposal:
    """Run a step of modifying; a fault is shown, and the proposal stays as it was."""
    try:
        return step()
    except ForgeError as error:
        out.talk(f"experience-forge: {error.what}")
        for fault in error.faults:
            out.talk(f"  - {fault}")
        if error.hint:
            out.talk(f"hint: {error.hint}")
        return proposal


def _confirm(where: Home, proposal: Proposal, out: Output) -> bool:
    # Read again: what is applied must be what was just shown, not what lies there by now.
    if proposals.load(where, proposal.id).digest != proposal.digest:
        out.talk(out.text("review.changed"))
        return False
    try:
        done = shared.carry_out(where, proposal, Consent("terminal", journal.now(), "terminal"))
    except ForgeError as error:
        out.talk(f"experience-forge: {error.what}")
        for fault in error.faults:
            out.talk(f"  - {fault}")
        return False
    for path in done.applied.paths:
        out.say("review.written" if path.exists() else "review.removed", path=path)
    for path in done.targets:
        out.say("review.projected" if path.exists() else "review.removed", path=path)
    for warning in done.warnings:
        out.talk(warning)
    return True


def _changed(where: Home, proposal: Proposal, key: str, out: Output) -> Proposal:
    if proposal.change not in ("draft", "import"):
        raise Refused(out.text("review.only_drafts"), out.text("review.only_drafts_hint"))
    options = drafting.Options(
        session=str(proposal.meta.get("session", "")), replace=proposal.id, language=out.language,
        imported=proposal.change == "import",
    )
    text = proposal.text
    if key == "t":
        answer = out.ask(out.text("review.which_track", tracks=", ".join(track.value for track in Track)))
        if answer not in [track.value for track in Track]:
            raise Refused(out.text("review.no_such_track", track=answer or ""))
        options = dataclasses.replace(options, track=answer)
    else:
        text = _edited(where, text)
    entry = codec.parse(text)
    given = drafts.read(drafts.as_input(entry, proposal.meta.get("signals", ())), as_json=True)[0]
    draft = drafting.prepare(where, given, options)
    return drafting.keep(where, draft, options)


def _edited(where: Home, text: str) -> str:
    """The text after the user's editor.

    Raises:
        Refused: when there is no editor, or it ended with a fault.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    with scratch.file(where, "draft.md", text) as path:
        try:
            code = subprocess.call([*shlex.split(editor, posix=os.name != "nt"), str(path)])
        except OSError as error:
            what = f"can't start the editor '{editor}': {error.strerror}"
            raise Refused(what, "set EDITOR to your editor") from error
        if code != 0:
            raise Refused(f"the editor ended with {code}; the draft stays as it was", "set EDITOR to your editor")
        return scratch.read(path)


def _present(where: Home, proposal: Proposal, out: Output) -> None:
    meta = proposal.meta
    out.line(visible.escape(proposal.text, keep_newlines=True).rstrip("\n"))
    out.line()
    if meta.get("score") is not None:
        out.say("review.score", score=f"{float(meta['score']):g}")
        for line in meta.get("score_lines", ()):
            out.line(f"  {line}")
        for signal in meta.get("signals", ()):
            if isinstance(signal, dict) and signal.get("quote"):
                out.line(f"  {signal['kind']}: {visible.escape(str(signal['quote']))}")
    if meta.get("track_reason"):
        out.say("draft.track", track=meta.get("track", ""), reason=meta["track_reason"])
    for warning in meta.get("warnings", ()):
        out.say("draft.warning", warning=visible.escape(str(warning)))
    for near in meta.get("near", ()):
        out.say("draft.near", id=near.get("id", ""), title=visible.escape(str(near.get("title", ""))))
    if meta.get("backtest"):
        out.line(str(meta["backtest"]))
    for target in _targets(where, proposal):
        out.line(target["diff"] or target["path"])
    out.say("review.digest", digest=proposal.digest[:16])


def _targets(where: Home, proposal: Proposal) -> list[dict[str, str]]:
    if proposal.change not in ("draft", "import"):
        return []
    try:
        return drafting.targets(where, codec.parse(proposal.text))
    except ForgeError as error:
        return [{"path": error.what, "diff": ""}]


def _document(where: Home, proposal: Proposal) -> dict[str, object]:
    return {
        "id": proposal.id, "change": proposal.change, "digest": proposal.digest, "text": proposal.text,
        "meta": dict(proposal.meta), "targets": _targets(where, proposal),
        "confirm_command": confirm_command(where, proposal.id, proposal.digest),
    }


def _tell_candidates(waiting: list[dict[str, object]], out: Output) -> None:
    for one in waiting:
        out.say("review.candidate", session=one.get("session", ""), score=one.get("score", ""),
                title=one.get("title", ""))

