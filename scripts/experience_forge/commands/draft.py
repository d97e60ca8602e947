"""`experience-forge draft`: turn what was handed in into drafts that await consent."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .. import drafting, shared
from ..core import drafts
from ..errors import Text, Usage
from ..model import Kind, Track
from ..report import Output
from ..store import files, handed, home, templates
from ..store.launcher import confirm_command

HELP = "draft one or more entries; nothing is written to memory"
EPILOG = """examples:
  experience-forge draft --from lesson.md
  experience-forge draft --from - --json <<'ENTRY'      one or more entries in the stored Markdown form
  experience-forge draft --from lessons.json            the same fields as JSON, one object or a list
  experience-forge draft --from - --revise use-pnpm     a new revision of an entry
  experience-forge draft --form pitfall                 the form of one, with the fields that this user wants

fields: id, title, aliases, kind, track, domain, language, applies_when, fails_when, versions, tags, cites,
review, origin, sources, signals, and the sections of the kind (scenario, symptom, root_cause, right_action, rule |
rule, why, how | situation, decision, why, alternatives_rejected, rule | when, steps, rule)

JSON: {"drafts": [{"id", "digest", "score", "suggest", "stress", "track", "track_reason", "rendered", "short",
       "targets": [{"path", "diff"}], "warnings": [...], "near": [...], "confirm_command", "backtest",
       "preselected", "testable"}]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--from", dest="source", metavar="FILE", help="file to read, - for stdin")
    kinds = [kind.value for kind in Kind]
    what.add_argument("--form", choices=kinds, metavar="KIND", help=f"print the form of a draft: {', '.join(kinds)}")
    tracks = [track.value for track in Track]
    parser.add_argument("--track", default="", choices=tracks, help="as the user chose")
    parser.add_argument("--domain", default="", help="as the user chose")
    parser.add_argument("--project", default="", help="project id; the present folder's otherwise")
    parser.add_argument("--session", default="", help="session that it was learnt in; the present one otherwise")
    parser.add_argument("--revise", default="", metavar="ID", help="make it a new revision of this entry")
    parser.add_argument("--replace-draft", default="", metavar="ID", help="put it in place of this open draft")
    parser.add_argument("--import", dest="imported", action="store_true", help="entries of others: never preselected")
    parser.add_argument("--dry-run", action="store_true", help="check and show, keep nothing")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    if args.form:
        text = templates.form(where, Kind(args.form), out.language)
        out.data({"form": text})
        out.line(text.rstrip("\n"))
        return 0
    given = drafts.read(_text(args.source), as_json=args.source.endswith(".json"))
    if len(given) > 1 and (args.revise or args.replace_draft):
        raise Usage(Text("errors.one_entry_only"), Text("errors.one_entry_only_hint"))
    options = drafting.Options(
        track=args.track, domain=shared.domain(args.domain, listed=True), project=args.project, session=args.session,
        revise=args.revise, replace=args.replace_draft, language=out.language, imported=args.imported,
    )
    # All are checked before the first is kept: a fault in the third leaves no half of the input behind.
    prepared = [drafting.prepare(where, one, options) for one in given]
    documents = [_kept(where, draft, options, args.dry_run) for draft in prepared]
    out.data({"drafts": documents, "dry_run": args.dry_run})
    for document in documents:
        _tell(document, out)
    return 0


def _text(source: str) -> str:
    if source == "-":
        return sys.stdin.read(files_limit())
    return handed.text(source)


def files_limit() -> int:
    """Characters read from stdin at the most."""
    return 4 * 1024 * 1024


def _kept(where: home.Home, draft: drafting.Draft, options: drafting.Options, dry: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": draft.entry.id, "digest": files.sha256(draft.text.encode("utf-8")),
        "score": draft.score.total, "suggest": draft.score.suggest, "stress": draft.score.stress,
        "track": draft.entry.track.value, "track_reason": draft.meta["track_reason"],
        "rendered": draft.text, "short": drafting.short_form(draft.entry),
        "targets": drafting.targets(where, draft.entry),
        "warnings": draft.meta["warnings"], "near": draft.meta["near"],
        **{name: draft.meta[name] for name in ("backtest", "preselected", "testable")},
    }
    if not dry:
        proposal = drafting.keep(where, draft, options)
        document["id"] = proposal.id
        document["confirm_command"] = confirm_command(where, proposal.id, proposal.digest)
    return document


def _tell(document: dict[str, Any], out: Output) -> None:
    out.line(document["rendered"].rstrip("\n"))
    out.line()
    out.say("draft.score", score=f"{document['score']:g}", word=out.text(
        "draft.stress" if document["stress"] else "draft.suggest" if document["suggest"]
        else "draft.low" if document["score"] else "draft.unscored"))
    out.say("draft.track", track=out.word("track", document["track"]), reason=document["track_reason"])
    for target in document["targets"]:
        out.say("draft.target", path=target["path"])
    for warning in document["warnings"]:
        out.say("draft.warning", warning=warning)
    for near in document["near"]:
        out.say("draft.near", id=near["id"], title=near["title"])
    if document["backtest"]:
        out.prose(document["backtest"])
    if "confirm_command" in document:
        out.explain(out.text("draft.kept", id=document["id"], command=document["confirm_command"]))
