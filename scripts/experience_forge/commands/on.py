"""`experience-forge on`: recall speaks again in this session, or in this project."""

from __future__ import annotations

import argparse

from .. import shared
from ..report import Output
from ..store import home, recall_switch

HELP = "let recall speak again in this session or project"
EPILOG = """examples:
  experience-forge on                  in the session that this runs in
  experience-forge on --project        in the project of this folder

JSON: {"recall": "on", "scope": "session" | "project", "of": id}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--project", action="store_true", help="for the project of this folder")
    parser.add_argument("--session", default="", help="for the session with this id")
    parser.add_argument("--dry-run", action="store_true", help="say what would be switched")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    done = recall_switch.switched(where, args.session, args.project, on=True, dry_run=args.dry_run)
    out.data({"recall": "on", "scope": done.scope, "of": done.name, "dry_run": args.dry_run})
    out.say(f"recall.on_{done.scope}", of=done.shown)
    return 0
