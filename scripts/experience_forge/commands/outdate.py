"""`experience-forge outdate`: propose to mark an entry as outdated."""

from __future__ import annotations

import argparse

from .. import shared, tidy_steps
from ..core import changes, composed
from ..report import Output
from ..store import afterwards, home
from ..store.launcher import confirm_command

HELP = "propose to mark an entry as outdated; its text stays, for audit"
EPILOG = """examples:
  experience-forge outdate pip-in-debian --reason "Debian 13 has its own way"
  experience-forge outdate pip-in-debian --dry-run

JSON: {"proposal": {"id", "change", "digest", "text", "confirm_command"}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("id", help="id of the entry")
    parser.add_argument("--reason", default="", help="why; it is shown with the entry from then on")
    parser.add_argument("--dry-run", action="store_true", help="print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    reason = shared.gated_text("--reason", composed.line(" ".join(args.reason.split())))
    change = tidy_steps.outdate(where, args.id, reason or out.text("tidy.user_said"), out.text)
    change = afterwards.explained(where, change)
    text = changes.render(change)
    if args.dry_run:
        out.data({"proposal": {"id": "", "change": "status", "text": text}})
        out.line(text.rstrip("\n"))
        return 0
    proposal = tidy_steps.propose(where, "", change)
    command = confirm_command(where, proposal.id, proposal.digest)
    out.data({"proposal": {"id": proposal.id, "change": "status", "digest": proposal.digest,
                           "text": proposal.text, "confirm_command": command}})
    out.line(proposal.text.rstrip("\n"))
    out.explain(out.text("library.proposal_open", command=command))
    return 0
