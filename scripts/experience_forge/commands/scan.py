"""`experience-forge scan`: go through all sessions on the machine and list what was worth learning."""

from __future__ import annotations

import argparse
import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import usage
from ..core import body, findings, layout
from ..core.findings import Finding
from ..errors import ForgeError, Refused, Text, Usage
from ..model import SECTIONS, Condition, Kind
from ..report import Output
from ..store import backtest, candidates, config, home, proposed_conditions, scanning, session_signals
from ..store.launcher import launcher
from ..store.scanning import Scanned

HELP = "look through the sessions on this machine for what was worth learning; writes nothing to memory"
EPILOG = """examples:
  experience-forge scan                         all sessions; a second run reads only what is new
  experience-forge scan --since 30d --project shop --limit 5
  experience-forge scan --draft 1               go on with the first: its evidence, and a draft to fill in
  experience-forge scan --session 3f2a...       one session only
  experience-forge scan path/to/sessions        a folder of transcripts, Claude Code or SpecStory

JSON: {"sessions", "changed", "read_bytes", "candidates": [{"number", "score", "rank", "kinds", "quote", "times",
       "sessions": [{"id", "path", "line", "turn", "started", "cwd"}], "errors", "paths", "detector"}],
       "damaged": [{"path", "lines", "fault"}], "draft"}"""

HISTORY_SECONDS = 20.0
"""So long a scan goes on to keep sessions for backtests; the rest waits for the next scan, or the worker."""
STEPS = ("look_back", "score", "draft", "confirm", "write", "feed_back")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("folder", nargs="?", type=Path, help="a folder of transcripts in place of the client's")
    parser.add_argument("--since", default="", metavar="WHEN", help="sessions changed since then: 7d, 24h, 2026-01-31")
    parser.add_argument("--project", default="", metavar="NAME", help="sessions whose folder or project holds this")
    parser.add_argument("--session", default="", metavar="ID", help="one session")
    parser.add_argument("--limit", type=usage.positive, default=10, metavar="N", help="show at most N (default 10)")
    parser.add_argument("--draft", type=usage.positive, default=0, metavar="N",
                        help="go on with candidate N of this list")
    parser.add_argument("--dry-run", action="store_true", help="remember nothing: no positions, no evidence")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    paths = _paths(args)
    with out.progress(out.text("scan.progress"), len(paths)) as advance:
        result = scanning.scan(where, paths, advance, keep=not args.dry_run)
    chosen = [session for session in result.sessions if _in_project(session, args.project)]
    groups = scanning.grouped(scanning.Scan(tuple(chosen), 0, 0), float(config.load()["suggest"]["threshold"]))
    shown = groups[: max(args.limit, args.draft)]
    if not args.dry_run:
        scanning.keep_evidence(where, shown)
    picked = _picked(where, shown, args, out) if args.draft else None
    faults = [item for item in chosen if item.damaged or item.fault]
    out.data(
        {
            "sessions": len(chosen),
            "changed": result.changed,
            "read_bytes": result.read_bytes,
            "candidates": [_document(number, group) for number, group in enumerate(shown, 1)],
            "damaged": [{"path": item.path, "lines": list(item.damaged), "fault": item.fault} for item in faults],
            "draft": picked,
        }
    )
    if picked is None:
        _list(shown, len(groups), len(chosen), out)
    for item in faults[:10]:
        lines = ", ".join(map(str, item.damaged[:10]))
        out.talk(out.text("scan.fault", path=item.path, fault=item.fault or out.text("scan.lines", lines=lines)))
    if not args.dry_run:
        _keep_histories(where, paths, out)
    return 0


def _keep_histories(where: home.Home, paths: Sequence[Path], out: Output) -> None:
    """Keep what drafts are tested on, the newest sessions first, once the list is there to be read."""
    out.stdout.flush()
    newest = sorted(filter(Path.exists, paths), key=lambda path: -path.stat().st_mtime)
    with out.progress(out.text("scan.keeping"), len(newest)) as advance:
        counts = backtest.refresh(where, newest, seconds=HISTORY_SECONDS, advance=advance)
    if counts["kept"]:
        out.talk(out.text("scan.kept", count=counts["kept"]))
    if counts["left"]:
        out.talk(out.text("scan.left", count=counts["left"]))


def _paths(args: argparse.Namespace) -> list[Path]:
    since = _since(args.since) if args.since else 0.0
    if args.session:
        return [session_signals.transcript(args.session)]
    if args.folder is not None:
        if not args.folder.is_dir():
            raise Refused(Text("errors.no_folder", folder=args.folder), Text("errors.transcripts_folder"))
        paths = sorted(path for path in args.folder.rglob("*") if path.suffix in (".jsonl", ".md") and path.is_file())
    else:
        paths = session_signals.transcripts()
    return [path for path in paths if path.stat().st_mtime >= since]


def _since(text: str) -> float:
    now = datetime.datetime.now(datetime.timezone.utc)
    ago = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if ago:
        hours = int(ago[1]) * {"h": 1, "d": 24, "w": 168}[ago[2]]
        return (now - datetime.timedelta(hours=hours)).timestamp()
    try:
        day = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise Usage(Text("errors.no_time", text=text), Text("errors.no_time_hint")) from None
    return (day if day.tzinfo else day.astimezone()).timestamp()


def _in_project(session: Scanned, name: str) -> bool:
    return not name or name.lower() in f"{session.cwd} {Path(session.path).parent.name}".lower()


def _document(number: int, group: list[tuple[Scanned, Finding]]) -> dict[str, Any]:
    best = max((finding for _, finding in group), key=lambda finding: finding.score)
    return {
        "number": number,
        "score": best.score,
        "rank": findings.rank([(s.path, f) for s, f in group]),
        "kinds": list(best.kinds),
        "quote": best.quote,
        "times": len({session.path for session, _ in group}),
        "sessions": [
            {
                "id": session.id,
                "path": session.path,
                "line": finding.line,
                "turn": finding.turn,
                "started": session.started,
                "cwd": session.cwd,
            }
            for session, finding in group[:20]
        ],
        "errors": list(best.errors),
        "paths": list(best.paths),
        "detector": best.detector,
    }


def _list(shown: list[list[tuple[Scanned, Finding]]], found: int, sessions: int, out: Output) -> None:
    if not shown:
        out.say("scan.nothing", sessions=sessions)
        return
    rows = []
    for number, group in enumerate(shown, 1):
        item = _document(number, group)
        place = item["sessions"][0]
        rows.append(
            (
                number,
                f"{item['score']:g}",
                "+".join(out.word("signal", kind) for kind in item["kinds"]),
                item["times"],
                layout.quoted(item["quote"], 90),
                f"{place['id'][:8]}:{place['line']}",
            )
        )
    out.table(
        [out.text(f"scan.column_{name}") for name in ("number", "score", "kinds", "times", "quote", "place")], rows,
        prose=(4,),
    )
    out.say("scan.more", shown=len(shown), found=found, sessions=sessions)
    out.talk(out.text("scan.next"))


def _picked(
    where: home.Home, shown: list[list[tuple[Scanned, Finding]]], args: argparse.Namespace, out: Output
) -> dict[str, Any]:
    if args.draft > len(shown):
        raise Refused(
            Text("errors.no_candidate", count=len(shown), number=args.draft), Text("errors.scan_list")
        )
    group = shown[args.draft - 1]
    item = _document(args.draft, group)
    skeleton = _skeleton(item, out.language)
    if not args.dry_run:
        candidates.take(where, item["sessions"][0]["id"])
    command = f"{launcher(where)} draft --from - --json"
    kinds = out.listed(out.word("signal", kind) for kind in item["kinds"])
    for name in STEPS:
        out.say(f"scan.step_{name}", score=f"{item['score']:g}", kinds=kinds, command=command)
        if name == "look_back":
            for session, finding in group[:5]:
                out.line(f"  {session.path}:{finding.line}  {' '.join(finding.quote.split())[:200]}")
        if name == "draft":
            out.line(skeleton)
    return {"candidate": item, "skeleton": skeleton, "command": command}


def _skeleton(item: dict[str, Any], language: str) -> str:
    """A draft in the stored Markdown form with what is known filled in; the judgement is left to whoever fills it."""
    preference = item["kinds"] == ["preference"]
    place = item["sessions"][0]
    applies, fails = _conditions(Path(place["path"]), place["line"])
    lines = [
        "---",
        "title: …",
        f"kind: {'preference' if preference else 'pitfall'}",
        *(["track: profile"] if preference else []),
        *_block("applies_when", applies),
        *_block("fails_when", fails),
        f"signals: [{', '.join(item['kinds'])}]",
        "sources:",
        f"  - session: {_scalar(place['id'])}",
        f"    line: {place['line']}",
        f"    quote: {_scalar(' '.join(str(item['quote']).split())[:160])}",
        "---",
    ]
    sections = SECTIONS[Kind.PREFERENCE if preference else Kind.PITFALL]
    return "\n".join([*lines, *(f"**{body.label(name, language)}** …" for name in sections)])


def _conditions(path: Path, line: int) -> proposed_conditions.Pair:
    """What a draft that brings no conditions would be given, to be seen and mended before it is handed in."""
    try:
        return proposed_conditions.propose(path, line)
    except ForgeError:
        return (), ()


def _block(name: str, conditions: tuple[Condition, ...]) -> list[str]:
    """Conditions one part a line: a client asks about a here-document with braces in it."""
    lines = []
    for condition in conditions:
        parts = [f"{part}: {_scalar(text)}" for part, text in condition.parts().items()]
        lines += [("  - " if part is parts[0] else "    ") + part for part in parts]
    return [f"{name}:", *lines] if lines else []


def _scalar(text: str) -> str:
    """A text as YAML reads it again letter for letter, in the quotes that leave most of it as it is."""
    return f'"{text}"' if not set('"\\') & set(text) else "'" + text.replace("'", "''") + "'"
