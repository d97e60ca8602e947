"""`experience-forge off`: recall stays silent in this session, or in this project."""

from __future__ import annotations

import argparse

from .. import shared
from ..report import Output

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
    shared.switch_recall(args.session, args.project, args.dry_run, out, on=False)
    return 0
