"""`experience-forge off`: recall stays silent in this session, or in this project."""

from __future__ import annotations

import argparse

from .. import shared
from ..report import Output
from ..store import home, recall_switch

HELP = "keep recall silent in this session or project; guards stay"
EPILOG = """examples:
  experience-forge off                 in the session that this runs in
  experience-forge off --project       in the project of this folder, until `on --project`

JSON: {"recall": "off", "scope": "session" | "project", "of": id}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--project", action="store_true", help="for the project of this folder")
    parser.add_argument("--session", default="", help="for the session with this id")
    parser.add_argument("--dry-run", action="store_true", help="say what would be switched")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    done = recall_switch.switched(where, args.session, args.project, on=False, dry_run=args.dry_run)
    out.data({"recall": "off", "scope": done.scope, "of": done.name, "dry_run": args.dry_run})
    out.say(f"recall.off_{done.scope}", of=done.shown)
    return 0
