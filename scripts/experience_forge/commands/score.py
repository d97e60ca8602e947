"""`experience-forge score`: the score of a session or of an open draft, and how it adds up."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..core import scoring
from ..errors import Text, Usage
from ..model import Score
from ..report import Output
from ..store import config, home, proposals, ruleset, session_signals

HELP = "show a score and explain its sum: of a session, a draft, or kinds of signals"
EPILOG = """examples:
  experience-forge score session.jsonl
  experience-forge score --draft use-pnpm
  experience-forge score --signals rework,root-cause
  experience-forge score --current --json

JSON: {"of", "score", "suggest", "stress", "lines": [...], "thresholds": {"suggest", "stress"}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("file", nargs="?", type=Path, help="a transcript")
    parser.add_argument("--draft", default="", metavar="ID", help="an open draft")
    parser.add_argument(
        "--signals", default="", metavar="KIND,...", help="rework, preference, correction, root-cause, design"
    )
    parser.add_argument("--current", action="store_true", help="the session that this call runs in")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    given = sum((args.file is not None, bool(args.draft), bool(args.signals), args.current))
    if given != 1:
        raise Usage(
            Text("errors.score_one_of"), Text("errors.see", command="experience-forge score --help")
        )
    rules = ruleset.load("scoring")
    name, total = _scored(args, rules)
    weights = scoring.Weights.of(rules)
    out.data(
        {
            "of": name,
            "score": total.total,
            "suggest": total.suggest,
            "stress": total.stress,
            "lines": list(total.lines),
            "thresholds": {"suggest": weights.suggest, "stress": weights.stress},
        }
    )
    for line in total.lines:
        out.prose(f"  {out.score_line(line)}")
    word = "stress" if total.stress else "suggest" if total.suggest else "low"
    out.say("signals.score", score=f"{total.total:g}", word=out.text(f"signals.{word}"))
    return 0


def _scored(args: argparse.Namespace, rules: dict[str, object]) -> tuple[str, Score]:
    if args.draft:
        proposal = proposals.load(home.current(), args.draft)
        kinds = [str(signal.get("kind")) for signal in proposal.meta.get("signals", ()) if isinstance(signal, dict)]
        return args.draft, scoring.of_kinds(kinds, rules)
    if args.signals:
        kinds = [kind.strip() for kind in args.signals.split(",") if kind.strip()]
        known = set(scoring.Weights.of(rules).kinds)
        unknown = [kind for kind in kinds if kind not in known | set(map(str, _nothing(rules)))]
        if unknown:
            raise Usage(
                Text("errors.no_kind", kinds=", ".join(unknown)), Text("errors.kinds", kinds=", ".join(sorted(known)))
            )
        return args.signals, scoring.of_kinds(kinds, rules)
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not args.file and not session:
        raise Usage(Text("errors.no_session_here"), Text("errors.current_or_file"))
    path = args.file if args.file else session_signals.transcript(session)
    explained = session_signals.of_file(Path(path))
    return str(path), scoring.score(explained.signals, explained.weights, float(config.load()["suggest"]["threshold"]))


def _nothing(rules: dict[str, object]) -> list[object]:
    names = rules.get("nothing")
    return list(names) if isinstance(names, list) else []
