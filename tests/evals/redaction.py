"""Measures the redaction on a corpus of positives and negatives.

    python3 tests/run.py eval redaction --data DIR [--show N]

DIR holds positives.jsonl ({"id", "kind", "cls", "parts", "secrets": [[a, b], ...]}) and
negatives.jsonl. A secret is the text of parts[a:b]; it leaks when the result still holds a piece of
it longer than the larger of 6 characters and 35 % of it (up to 12 characters: 4 and 60 %).
Last line: one JSON object with secrets_found, personal_found, context_kept, false_positives.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import re
import sys
import tempfile
from pathlib import Path

WORDS = re.compile(r"[A-Za-z]{2,}|[\u4e00-\u9fff]")


def main() -> int:
    """Print the table and the figures; exit 1 when there is no data."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="name up to N misses and N false alarms"
    )
    args = parser.parse_args()
    if not (args.data / "positives.jsonl").is_file():
        print(f"no data in {args.data}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as home:
        os.environ["EXPERIENCE_FORGE_HOME"] = home
        figures = measure(args.data, args.show)
    print(json.dumps(figures))
    return 0


def default_data() -> Path:
    """The folder of the shared data, by `FORGE_DATA` or beside the repository."""
    base = os.environ.get("FORGE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(base) / "redaction"


def measure(folder: Path, show: int = 0) -> dict[str, object]:
    """The four shares, with counts behind them."""
    from experience_forge.store import redaction

    redaction.clean("warm up")
    hits: dict[str, list[bool]] = collections.defaultdict(list)
    kept: list[float] = []
    missed: list[str] = []
    for item in rows(folder / "positives.jsonl"):
        secrets = ["".join(item["parts"][first:last]) for first, last in item["secrets"]]
        result = redaction.clean("".join(item["parts"]))[0]
        good = not any(leaks(secret, result) for secret in secrets)
        hits[item["cls"]].append(good)
        hits[item["cls"] + " " + item["kind"].split("-")[0]].append(good)
        kept.append(context_kept("".join(item["parts"]), secrets, result))
        if not good:
            missed.append(f"missed {item['id']} {item['kind']}")
    alarms = []
    negatives = list(rows(folder / "negatives.jsonl"))
    for item in negatives:
        text = "".join(item["parts"])
        if redaction.clean(text)[0] != text:
            alarms.append(f"alarm {item['id']} {item['kind']}")
    for name, results in sorted(hits.items()):
        print(f"{name:<28} {sum(results):>4} of {len(results)}")
    print("\n".join(missed[:show] + alarms[:show]))
    return {
        "secrets_found": share(hits["secret"]),
        "personal_found": share(hits["pii"]),
        "context_kept": round(sum(kept) / len(kept), 4),
        "false_positives": round(len(alarms) / len(negatives), 4),
        "positives": len(kept),
        "negatives": len(negatives),
    }


def rows(path: Path) -> list[dict[str, object]]:
    """The JSON objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def share(results: list[bool]) -> float:
    """Part of `results` that is true; 0 for none."""
    return round(sum(results) / len(results), 4) if results else 0.0


def leaks(secret: str, result: str) -> bool:
    """Whether too long a piece of `secret` is still in `result`."""
    size = (
        max(6, math.ceil(len(secret) * 0.35))
        if len(secret) > 12
        else max(4, math.ceil(len(secret) * 0.6))
    )
    size = min(size, len(secret))
    return any(secret[place : place + size] in result for place in range(len(secret) - size + 1))


def context_kept(text: str, secrets: list[str], result: str) -> float:
    """Share of the words around the secrets that are still there."""
    for secret in secrets:
        text = text.replace(secret, " ")
    wanted = collections.Counter(WORDS.findall(text))
    if not wanted:
        return 1.0
    return sum((wanted & collections.Counter(WORDS.findall(result))).values()) / sum(wanted.values())


if __name__ == "__main__":
    sys.exit(main())
