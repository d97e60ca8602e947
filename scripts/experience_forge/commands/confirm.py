"""Applies one proposal that a person confirmed, in the client's dialog or at a terminal."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import time
from pathlib import Path

from .. import shared, tidy_steps
from ..clients import ancestry, claude_code
from ..core import changes, consent
from ..errors import ForgeError, Invalid, NeedsConsent, Usage
from ..fast import confirm_line, visible
from ..model import Consent
from ..report import Output
from ..store import client_record, files, journal, library, proposals, receipts
from ..store.home import Home, current
from ..store.launcher import confirm_command
from ..store.proposals import Proposal

HELP = "save one proposal that you confirmed"
EPILOG = """\
The only command that changes what a client loads. In Claude Code the model runs exactly
`<launcher> confirm ID --digest D` and a dialog asks you; --receipt is filled in there. At a terminal of your own it
shows the text and asks.

examples:
  experience-forge confirm use-pnpm --digest 3f…
  experience-forge confirm use-pnpm --digest 3f… --dry-run

JSON: {"entry", "path", "targets": [path], "consent": {"by", "at"}, "acts_when"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID, --digest, --receipt, --dry-run."""
    parser.add_argument("id", help="id of the proposal")
    parser.add_argument("--digest", required=True, metavar="HEX", help="sha256 of exactly the text that was shown")
    parser.add_argument("--receipt", metavar="HEX", help="filled in by the consent dialog")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")


def run(args: argparse.Namespace, out: Output) -> int:
    """Check consent, apply, tell what was written; 0, or an error of `errors`."""
    _grammar(args, out)
    home = current()
    shared.begin(home)
    if args.dry_run:
        return _dry_run(home, args, out)
    proposal, given = _by_terminal(home, args, out) if args.receipt is None else _by_dialog(home, args, out)
    try:
        done = shared.carry_out(home, proposal, given)
    except BaseException:
        # What was journalled before a fault still has to be settled.
        if all(record["consent"].get("receipt") != given.receipt for record in journal.pending(home)):
            receipts.settled(home, given.receipt)
        raise
    _tell(home, done, out)
    return 0


def _grammar(args: argparse.Namespace, out: Output) -> None:
    faults = [
        out.text(f"confirm.grammar_{name}", value=value)
        for name, value, pattern in (
            ("id", args.id, confirm_line.ID),
            ("digest", args.digest, confirm_line.DIGEST),
            ("receipt", args.receipt, confirm_line.RECEIPT),
        )
        if value is not None and not re.fullmatch(pattern, value)
    ]
    if faults:
        raise Usage(faults[0], _command_of(args.id), faults[1:])


def _command_of(asked: str) -> str:
    """The command that confirms a proposal; its form when there is no such proposal."""
    try:
        proposal = proposals.load(current(), asked)
        return confirm_command(current(), proposal.id, proposal.digest)
    except ForgeError:
        return EPILOG.splitlines()[1].strip()


def _by_dialog(home: Home, args: argparse.Namespace, out: Output) -> tuple[Proposal, Consent]:
    """Checks 3 to 8 of the protocol; the receipt is burnt whatever they say."""
    name, record = receipts.take(home, args.receipt)
    if record is None:
        raise _refusal(home, args, out, f"receipt_{name or 'unknown'}")
    try:
        return _checked(home, args, out, name, consent.receipt_of(record))
    except BaseException:
        receipts.settled(home, name)
        raise


def _checked(
    home: Home, args: argparse.Namespace, out: Output, name: str, receipt: consent.Receipt | None
) -> tuple[Proposal, Consent]:
    now = time.time()
    answered = now - ancestry.age_of_this_process()
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    attended = os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1"
    fault = consent.receipt_fault(receipt, consent.Asked(args.id, args.digest, session, attended, now, answered))
    if not fault and receipt is not None:
        fault = consent.call_fault(receipt, client_record.find(session, receipt.call))
    if fault or receipt is None:
        raise _refusal(home, args, out, fault)
    proposal = _proposal(home, args, out)
    waited = round(answered - receipt.minted, 1)
    return proposal, Consent("dialog", journal.now(), "pending", session, receipt.call, name, waited)


def _by_terminal(home: Home, args: argparse.Namespace, out: Output) -> tuple[Proposal, Consent]:
    """The proposal and its consent, after a person at a terminal of their own said yes to its text."""
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if session and receipts.is_open(home, session, args.id):
        raise _refusal(home, args, out, "rewritten", "rewritten_hint")
    proposal = _proposal(home, args, out)
    above = ancestry.client_above(os.environ)
    if above and out.can_ask:
        raise _refusal(home, args, out, "below_client", "below_client_hint", client=above)
    if above or not out.can_ask:
        raise _refusal(home, args, out, "no_consent", "no_consent_hint")
    out.show(visible.escape(proposal.text, keep_newlines=True))
    for target in _would_change(home, proposal):
        out.talk(out.text("draft.target", path=target["path"]))
        out.talk(visible.escape(target["diff"].rstrip("\n"), keep_newlines=True))
    for warning in _warnings(proposal):
        out.talk(out.text("draft.warning", warning=visible.escape(warning)))
    out.talk(out.text("review.digest", digest=proposal.digest[:16]))
    if (out.ask_for_consent(out.text("confirm.question")) or "").lower() not in ("y", "yes", "是"):
        raise NeedsConsent(out.text("confirm.declined", id=args.id))
    return proposal, Consent("terminal", journal.now(), "terminal")


def _proposal(home: Home, args: argparse.Namespace, out: Output) -> Proposal:
    """Check 8: the bytes, read once, are the ones of the digest and mean what the dialog shows."""
    proposal = proposals.load(home, args.id)
    if proposal.digest != args.digest:
        what = out.text("confirm.changed", id=args.id)
        raise Invalid(what, out.text("confirm.changed_hint", id=args.id))
    faults = consent.shown_faults(proposal.text, changes.parse(proposal.change, proposal.text))
    if faults:
        what = out.text("confirm.not_as_shown", id=args.id)
        raise Invalid(what, out.text("confirm.not_as_shown_hint"), faults)
    library.check(home, proposal)
    return proposal


def _refusal(
    home: Home, args: argparse.Namespace, out: Output, name: str, hint: str = "again_hint", **values: str
) -> NeedsConsent:
    command = confirm_command(home, args.id, args.digest)
    return NeedsConsent(
        out.text(f"confirm.{name}", **values), out.text(f"confirm.{hint}", id=args.id, command=command)
    )


def _would_change(home: Home, proposal: Proposal) -> list[dict[str, str]]:
    """Every client file that the change would alter, each with its diff."""
    try:
        return tidy_steps.targets(home, changes.parse(proposal.change, proposal.text))
    except ForgeError:
        return []


def _warnings(proposal: Proposal) -> list[str]:
    found = proposal.meta.get("warnings") or []
    return [str(each) for each in found] if isinstance(found, list) else [str(found)]


def _dry_run(home: Home, args: argparse.Namespace, out: Output) -> int:
    proposal = _proposal(home, args, out)
    change = changes.parse(proposal.change, proposal.text)
    written = []
    for write in change.writes:
        path = library.path_of(home, write.key)
        before = files.read_text(path).splitlines() if path.exists() else []
        after = (write.text or "").splitlines()
        diff = list(difflib.unified_diff(before, after, str(path), str(path), lineterm=""))
        written.append({"path": str(path), "diff": "\n".join(diff)})
        out.say("confirm.would_save", path=path, change=out.word("change", proposal.change))
        for line in diff:
            out.line(visible.escape(line))
    targets = _would_change(home, proposal)
    for target in targets:
        out.say("draft.target", path=target["path"])
        out.line(visible.escape(target["diff"].rstrip("\n"), keep_newlines=True))
    for warning in _warnings(proposal):
        out.talk(out.text("draft.warning", warning=visible.escape(warning)))
    out.data({"dry_run": True, "id": proposal.id, "change": proposal.change, "writes": written, "targets": targets,
              "warnings": _warnings(proposal)})
    return 0


def _tell(home: Home, done: shared.Done, out: Output) -> None:
    applied = done.applied
    track = applied.change.track
    when = out.text(f"confirm.acts_{track if track in ('profile', 'personal', 'domain', 'project') else 'other'}")
    if applied.change.change == "grow":
        when = out.text(f"confirm.acts_grown_{applied.change.data.get('form', 'skill')}", name=applied.change.title)
    path = str(applied.paths[0]) if applied.paths else ""
    targets = [str(target) for target in done.targets or _targets(home, applied)]
    given = applied.record["consent"]
    out.data({
        "entry": applied.entries[0].id if applied.entries else "",
        "path": path,
        "targets": targets,
        "consent": {"by": given["by"], "at": given["at"]},
        "acts_when": when,
    })
    out.say("confirm.saved", path=path)
    for target in targets:
        out.say("confirm.saved_target", path=target)
    out.say("confirm.acts", when=when)
    for warning in done.warnings:
        out.talk(warning)
    for undone in receipts.untold(home):
        out.talk(out.text("confirm.undone", id=undone))


def _targets(home: Home, applied: library.Applied) -> list[Path]:
    """Where it will be once its proof is settled."""
    try:
        return sorted({path for entry in applied.entries for path, _ in claude_code.targets(home, entry)})
    except ForgeError:
        return []
