"""`experience-forge signals`: explain one session, signal by signal."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..core import layout, scoring
from ..errors import Text, Usage
from ..model import Score
from ..report import Output
from ..store import config, readers, session_signals
from ..store.session_signals import Explained

HELP = "explain one session: its signals, each with turn, quote, weight and detector"
EPILOG = """examples:
  experience-forge signals session.jsonl            a file: Claude Code JSONL or SpecStory Markdown
  experience-forge signals --session 3f2a...        a session that the client keeps
  experience-forge signals --current --json         the session that this call runs in

JSON: {"file", "session": {"id", "client", "cwd", "started", "turns"},
       "turns": [{"turn", "line", "speaker", "labels", "strength"}],
       "episodes": [{"turns", "rework_rounds", "solved", "paths", "errors"}],
       "signals": [{"kind", "weight", "turn", "quote", "detector"}],
       "score", "suggest", "stress", "damaged": [line, ...]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("file", nargs="?", type=Path, help="a transcript")
    parser.add_argument("--session", default="", metavar="ID", help="a session that the client keeps")
    parser.add_argument("--current", action="store_true", help="the session that this call runs in")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    path = _chosen(args)
    explained = session_signals.of_file(path)
    threshold = float(config.load()["suggest"]["threshold"])
    total = scoring.score(explained.signals, explained.weights, threshold)
    damaged = readers.damaged(path)
    out.data(document(path, explained, total, damaged))
    _tell(explained, total, out)
    if damaged:
        shown = ", ".join(map(str, damaged[:20])) + (" …" if len(damaged) > 20 else "")
        out.talk(out.text("signals.damaged", path=path, count=len(damaged), lines=shown))
    return 0


def document(path: Path, explained: Explained, total: Score, damaged: tuple[int, ...]) -> dict[str, Any]:
    """The JSON document of one session."""
    info = explained.info
    return {
        "file": str(path),
        "session": {
            "id": info.id,
            "client": info.client,
            "cwd": info.cwd,
            "started": info.started,
            "turns": info.turns,
        },
        "turns": [
            {
                "turn": turn.turn,
                "line": turn.line,
                "speaker": turn.speaker,
                "labels": turn.labels,
                **({"strength": turn.strength} if turn.strength else {}),
                "why": turn.why,
            }
            for turn in explained.turns
        ],
        "episodes": [
            {
                "turns": list(episode.turns),
                "lines": list(episode.lines),
                "rework_rounds": episode.rework_rounds,
                "solved": episode.solved,
                "paths": list(episode.paths),
                "errors": list(episode.errors),
            }
            for episode in explained.episodes
        ],
        "signals": [{**asdict(signal), "kind": signal.kind.value} for signal in explained.signals],
        "score": total.total,
        "suggest": total.suggest,
        "stress": total.stress,
        "damaged": list(damaged),
    }


def _chosen(args: argparse.Namespace) -> Path:
    given = sum((args.file is not None, bool(args.session), args.current))
    if given != 1:
        raise Usage(Text("errors.signals_one_of"), Text("errors.see", command="experience-forge signals --help"))
    if args.file is not None:
        return Path(args.file)
    session = args.session or os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not session:
        raise Usage(Text("errors.no_session_here"), Text("errors.current_file"))
    return session_signals.transcript(session)


def _tell(explained: Explained, total: Score, out: Output) -> None:
    info = explained.info
    out.say("signals.heading", id=info.id, client=info.client, turns=info.turns)
    if explained.signals:
        out.table(
            [out.text(f"signals.column_{name}") for name in ("turn", "kind", "weight", "detector", "quote")],
            [
                (s.turn, out.word("signal", s.kind.value), f"{s.weight:g}", s.detector, layout.quoted(s.quote, 100))
                for s in explained.signals
            ],
            prose=(4,),
        )
    else:
        out.say("signals.none")
    word = "stress" if total.stress else "suggest" if total.suggest else "low"
    out.say("signals.score", score=f"{total.total:g}", word=out.text(f"signals.{word}"))
