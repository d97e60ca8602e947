"""`experience-forge show`: one entry or one proposal, whole."""

from __future__ import annotations

import argparse

from .. import shared
from ..errors import ForgeError
from ..model import Status
from ..report import Output
from ..store import entries, fresh_here, home, proposals
from ..store.launcher import confirm_command

HELP = "show one entry or one open proposal, whole"
EPILOG = """examples:
  experience-forge show use-pnpm            the entry with this id
  experience-forge show use-pnpm --json

JSON: {"entry": {...fields, "sections", "path", "sha256", "state",
                 "freshness": {"state", "reason", "detail", "delivery"}}} |
      {"proposal": {"id", "change", "digest", "text", "meta", "confirm_command"}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", help="id of an entry or of a proposal")
    parser.add_argument("--proposal", action="store_true", help="the proposal, when an entry has the same id")


def _entry(where: home.Home, entry_id: str) -> entries.StoredEntry | None:
    """The entry that an id stands for today; None when there is none, or its file does not hold."""
    try:
        found = entries.find(where, entry_id)
    except ForgeError:
        found = None
    return found if found and found.entry.status is not Status.SUPERSEDED else entries.heir(where, entry_id)


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    stored = None if args.proposal else _entry(where, args.id)
    if stored is None and (args.proposal or proposals.text_path(where, args.id).exists()):
        proposal = proposals.load(where, args.id)
        command = confirm_command(where, proposal.id, proposal.digest)
        out.data({"proposal": {"id": proposal.id, "change": proposal.change, "digest": proposal.digest,
                               "text": proposal.text, "meta": dict(proposal.meta), "confirm_command": command}})
        out.line(proposal.text.rstrip("\n"))
        out.explain(out.text("library.proposal_open", command=command))
        return 0
    stored = stored or entries.get(where, args.id)
    fresh = fresh_here.state(where, stored.entry.id, stored.entry.kind.value, stored.entry.project)
    out.data({"entry": {**entries.to_json(stored), "freshness": fresh}})
    out.line(stored.path.read_text(encoding="utf-8").rstrip("\n"))
    if stored.entry.id != args.id:
        out.talk(out.text("library.resolved", id=args.id, heir=stored.entry.id))
    if stored.state != "confirmed":
        out.talk(out.text(f"library.state_{stored.state}"))
    if stored.entry.status.value != "active":
        out.talk(out.text(f"library.status_{stored.entry.status.value}", reason=stored.entry.status_reason or "-"))
    name = fresh_here.told(fresh)
    if name:
        # Beside the text itself: who reads only the data must not take it for valid.
        reason = out.text(f"effect.reason_{fresh['reason']}")
        out.line("⚠️ " + out.text(name, reason=reason, detail=fresh["detail"]))
    return 0
