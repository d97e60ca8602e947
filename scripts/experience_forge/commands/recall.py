"""`experience-forge recall`: the entries that fit a question, or the output of a failed command."""

from __future__ import annotations

import argparse
import sys

from .. import shared, usage
from ..clients import meaning
from ..errors import Text, Usage
from ..report import Output
from ..store import fresh_here, handed, home, projects, recall_search

HELP = "find the entries that fit a question, or an error"
EPILOG = """examples:
  experience-forge recall "pip refuses to install on the new server"
  make 2>&1 | experience-forge recall --error -
  experience-forge recall --error build.log --json
  experience-forge recall "pnpm" --all                also outdated ones, marked

Searched are entries without a project and those of the present one (--scope all: of every project).

JSON: {"query", "entries": [{"id", "title", "rule", "track", "project", "status", "score", "share", "cosine",
                                "freshness": {"state", "reason", "detail", "delivery"}}],
       "meaning": off, used, or why it was not}"""

LIMIT = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("query", nargs="?", default="", help="a question, a complaint, a command, in any language")
    parser.add_argument("--error", metavar="FILE", help="output of a failed command; - reads standard input")
    parser.add_argument("--scope", choices=("here", "all", "global"), default="here",
                        help="here: this project and what has none (default); all: every project; global: no project")
    parser.add_argument("--all", action="store_true", help="also outdated entries, marked")
    parser.add_argument("--limit", type=usage.positive, default=5, help="at most so many entries (default 5)")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    text = _text(args)
    where = home.current()
    shared.begin(where)
    scope = _scope(where, args.scope)
    if recall_search.ensure(where):
        out.talk(out.text("recall.rebuilt"))
    cosines, state = meaning.cosines(where, text)
    found = recall_search.search(
        where, text, error=bool(args.error), projects=scope, outdated=args.all,
        limit=min(args.limit, 50), cosines=cosines,
    )
    fresh = {one.id: fresh_here.state(where, one.id, one.kind, one.project) for one in found}
    out.data({"query": text[:2000], "meaning": state, "entries": [
        {"id": one.id, "title": one.title, "rule": one.rule, "track": one.track, "project": one.project,
         "status": one.status, "score": one.score, "share": one.share, "cosine": one.cosine,
         "freshness": fresh[one.id]} for one in found
    ]})
    for one in found:
        mark = f" {out.text('recall.outdated')}" if one.outdated else ""
        stale = _stale(fresh[one.id], out)
        out.prose(f"{one.id}  ({one.score:.1f}){mark}\n  {one.title}\n  {one.rule}" + (f"\n  {stale}" if stale else ""))
    if not found:
        out.talk(out.text("recall.none"))
    if state not in ("off", "used"):
        out.talk(out.text("recall.meaning_away", reason=state))
    return 0


def _stale(found: dict[str, str], out: Output) -> str:
    name = fresh_here.told(found)
    reason = out.text(f"effect.reason_{found['reason']}") if name else ""
    return f"⚠️ {out.text(name, reason=reason, detail=found['detail'])}" if name else ""


def _text(args: argparse.Namespace) -> str:
    if bool(args.query) == bool(args.error):
        raise Usage(Text("errors.question_or_error"), Text("errors.see", command="experience-forge recall --help"))
    if not args.error:
        return str(args.query)
    if args.error == "-":
        return sys.stdin.read(LIMIT)
    return handed.data(args.error, "errors.no_log").decode("utf-8", "replace")


def _scope(where: home.Home, scope: str) -> tuple[str, ...]:
    if scope == "global":
        return ()
    if scope == "all":
        return tuple(one for project in projects.all(where) for one in project.ids)
    return projects.current(where).ids
