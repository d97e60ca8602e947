"""`vet`: judge a text as the gate before every draft, import and hand edit does."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..core import vet
from ..errors import Invalid, Text
from ..report import Output
from ..store import handed, ruleset

HELP = "judge a text for poison: block, warn or clean, with the reasons"
EPILOG = """examples:
  experience-forge vet notes.md                       a file, judged as the body of an entry
  experience-forge vet --field title --text "..."     one field
  experience-forge vet --jsonl < lines                a filter: {"id", "field", "text"} lines in,
                                                      {"id", "verdict", "reasons"} lines out

JSON: {"field": "...", "verdict": "block|warn|clean", "reasons": ["..."]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("file", nargs="?", help="a UTF-8 file; stdin when left out")
    parser.add_argument("--text", help="the text itself")
    parser.add_argument(
        "--field", default="lesson", choices=vet.FIELDS, metavar="FIELD",
        help=f"where it would land (default: lesson): {', '.join(vet.FIELDS)}",
    )
    parser.add_argument("--jsonl", action="store_true", help="lines of JSON from stdin to stdout")


def run(args: argparse.Namespace, out: Output) -> int:
    """Exit code 1 for a blocked text, so that scripts can ask; the filter always ends with 0."""
    rules = ruleset.load("poison")
    if args.jsonl:
        return _filter(out, rules)
    verdict = vet.vet(args.field, _text(args, out), rules, out.language)
    out.data({"field": args.field, "verdict": verdict.verdict, "reasons": list(verdict.reasons)})
    out.line(out.text(f"vet.{verdict.verdict}"))
    for reason in verdict.reasons:
        out.prose(f"  - {reason}")
    return 1 if verdict.verdict == vet.BLOCK else 0


def _text(args: argparse.Namespace, out: Output) -> str:
    if args.text is not None:
        return str(args.text)
    if args.file in (None, "-"):
        return out.stdin.read()
    return handed.text(args.file, "errors.utf8_file")


def _filter(out: Output, rules: dict[str, Any]) -> int:
    for number, line in enumerate(out.stdin, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("field", "text")):
            raise Invalid(Text("errors.line_field_text", number=number), Text("errors.json_lines"))
        verdict = vet.vet(row["field"], row["text"], rules, out.language)
        answer = {"id": row.get("id"), "verdict": verdict.verdict, "reasons": list(verdict.reasons)}
        out.stdout.write(json.dumps(answer) + "\n")
    return 0
