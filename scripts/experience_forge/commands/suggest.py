"""`experience-forge suggest`: whether and when the one suggestion a session is made."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..core import scoring
from ..errors import Text, Usage
from ..fast import spool
from ..report import Output
from ..store import config, derived, home, known_sessions, launcher, projects, ruleset

HELP = "switch the one suggestion a session on or off: everywhere, in this project, or in one session"
EPILOG = """examples:
  experience-forge suggest                        show the present state
  experience-forge suggest --off                  never again
  experience-forge suggest --on                   again, from the shipped threshold; also undoes "declined twice"
  experience-forge suggest --off --project        not in this folder's project
  experience-forge suggest --off --current        not in the session that this call runs in
  experience-forge suggest --threshold 5

JSON: {"on", "threshold", "declined_in_a_row", "off_projects", "session"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    switch = parser.add_mutually_exclusive_group()
    switch.add_argument("--on", action="store_true", help="switch it on")
    switch.add_argument("--off", action="store_true", help="switch it off")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--project", action="store_true", help="in the project of this folder only")
    scope.add_argument("--session", default="", metavar="ID", help="in one session only")
    scope.add_argument("--current", action="store_true", help="in the session that this call runs in only")
    parser.add_argument("--threshold", type=float, default=None, metavar="N", help="score from which to suggest")
    parser.add_argument("--dry-run", action="store_true", help="say what would change, change nothing")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    session = args.session or (os.environ.get("CLAUDE_CODE_SESSION_ID", "") if args.current else "")
    if args.current and not session:
        raise Usage(Text("errors.no_session_here"), Text("errors.current_session"))
    if (args.project or session) and not (args.on or args.off):
        raise Usage(Text("errors.with_on_or_off"), Text("errors.see", command="experience-forge suggest --help"))
    if session:
        _in_session(where, known_sessions.resolve(where, session), args, out)
    else:
        change = _change(where, args)
        if change and not args.dry_run:
            config.change({"suggest": change})
            derived.compile_settings(where)
        _tell(where, args, change, out)
    return 0


def _change(where: home.Home, args: argparse.Namespace) -> dict[str, Any]:
    settings = config.load()["suggest"]
    change: dict[str, Any] = {}
    if args.threshold is not None:
        if not 0 < args.threshold <= 20:
            raise Usage(Text("errors.threshold", threshold=f"{args.threshold:g}"), Text("errors.threshold_hint"))
        change["threshold"] = args.threshold
    if args.project:
        project = projects.current(where).id
        off = [one for one in settings["off_projects"] if one != project]
        return {**change, "off_projects": [*off, project] if args.off else off}
    if args.on:
        shipped = scoring.Weights.of(ruleset.load("scoring")).suggest
        change = {"on": True, "declined_in_a_row": 0, "threshold": shipped, **change}
    if args.off:
        change["on"] = False
    return change


def _in_session(where: home.Home, session: str, args: argparse.Namespace, out: Output) -> None:
    state = "off" if args.off else "on"
    if not args.dry_run:
        spool.append(str(where.root), session, {"what": "state", "suggest": state})
    out.data({**config.load()["suggest"], "session": {"id": session, "suggest": state}, "dry_run": args.dry_run})
    out.say(f"suggest.session_{state}", session=session)


def _tell(where: home.Home, args: argparse.Namespace, change: dict[str, Any], out: Output) -> None:
    settings = {**config.load()["suggest"], **change}
    out.data({**settings, "session": None, "dry_run": args.dry_run})
    if args.project:
        name = projects.name_of(where, projects.current(where).id)
        out.say("suggest.project_off" if args.off else "suggest.project_on", project=name)
    out.say("suggest.is_on" if settings["on"] else "suggest.is_off", threshold=f"{float(settings['threshold']):g}")
    if settings["on"] and not launcher.hooks_wired():
        out.say("suggest.no_hooks")
    if int(settings["declined_in_a_row"]) >= 2:
        out.say("suggest.declined", threshold=f"{float(settings['threshold']):g}")
    if settings["off_projects"]:
        out.say(
            "suggest.off_projects", projects=", ".join(projects.name_of(where, one) for one in settings["off_projects"])
        )
