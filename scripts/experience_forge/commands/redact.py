"""`redact`: show a text without its secrets and personal data."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..errors import Invalid, Text
from ..report import Output
from ..store import handed, redaction

HELP = "show a text without secrets and personal data, as every draft and entry is kept"
EPILOG = """examples:
  experience-forge redact notes.md            the text on stdout, what was taken out on stderr
  git log -1 | experience-forge redact
  experience-forge redact --jsonl < lines     a filter: {"id", "text"} lines in and out

JSON: {"text": "...", "counts": {"<kind>": number}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("file", nargs="?", help="a UTF-8 file; stdin when left out, or for -")
    parser.add_argument(
        "--jsonl", action="store_true", help='lines of {"id", "text"} from stdin to stdout'
    )


def run(args: argparse.Namespace, out: Output) -> int:
    """Writes no file besides the key of the fingerprints, at first use."""
    if args.jsonl:
        return _filter(out)
    text = handed.text(args.file, "errors.utf8_file") if args.file not in (None, "", "-") else out.stdin.read()
    cleaned, counts = redaction.clean(text)
    out.data({"text": cleaned, "counts": counts})
    if not out.as_json:
        out.stdout.write(cleaned)
        out.talk(summary(out, counts))
    return 0


def summary(out: Output, counts: dict[str, int]) -> str:
    """One line that says what was taken out, by kind."""
    if not counts:
        return out.text("redact.nothing")
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))
    return out.text("redact.removed", count=sum(counts.values()), kinds=kinds)


def _filter(out: Output) -> int:
    for number, line in enumerate(out.stdin, 1):
        if line.strip():
            row = _row(line, number)
            row["text"] = redaction.clean(row["text"])[0]
            out.stdout.write(
                json.dumps({"id": row.get("id"), "text": row["text"]}, ensure_ascii=True) + "\n"
            )
    sys.stdout.flush()
    return 0


def _row(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise Invalid(
            Text("errors.line_text", number=number),
            Text("errors.json_lines_text"),
        )
    return row
