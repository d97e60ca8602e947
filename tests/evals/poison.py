"""Measures the poisoning gate on a corpus of attacks and suspicious but benign texts.

    python3 tests/run.py eval poison --data DIR [--show N]

DIR holds attacks.jsonl ({"id", "kind", "field", "expected": block|warn, "parts"}) and benign.jsonl.
Last line: one JSON object with blocked (share of the `block` attacks that are blocked), caught
(attacks not called clean), benign_blocked and benign_warned.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
from pathlib import Path

MARKERS = {
    "%%MARK_BEGIN%%": "<!-- experience-forge:begin x v1 -->",
    "%%MARK_END%%": "<!-- experience-forge:end -->",
}


def main() -> int:
    """Print the table and the figures; exit 1 when there is no data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument("--show", type=int, default=0, metavar="N", help="name up to N misses and N false alarms")
    args = parser.parse_args()
    if not (args.data / "attacks.jsonl").is_file():
        print(f"no data in {args.data}", file=sys.stderr)
        return 1
    print(json.dumps(measure(args.data, args.show)))
    return 0


def default_data() -> Path:
    """The folder of the shared data, by `FORGE_DATA` or beside the repository."""
    base = os.environ.get("FORGE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(base) / "poison"


def measure(folder: Path, show: int = 0) -> dict[str, object]:
    """The four shares, with counts behind them."""
    kinds: dict[str, list[bool]] = collections.defaultdict(list)
    blocked, caught, missed = [], [], []
    for item in rows(folder / "attacks.jsonl"):
        got = verdict(item)
        good = got == "block" or got == item["expected"]
        kinds[str(item["kind"])].append(good)
        caught.append(got != "clean")
        if item["expected"] == "block":
            blocked.append(got == "block")
        if not good:
            missed.append(f"missed {item['id']} {item['kind']} {item['field']}: {got}")
    benign = [(item, verdict(item)) for item in rows(folder / "benign.jsonl")]
    alarms = [f"alarm {item['id']} {item['kind']} {item['field']}: {got}" for item, got in benign if got != "clean"]
    for kind, results in sorted(kinds.items()):
        print(f"{kind:<24} {sum(results):>3} of {len(results)}")
    print("\n".join(missed[:show] + alarms[:show]))
    verdicts = [got for _, got in benign]
    return {
        "blocked": share(blocked),
        "caught": share(caught),
        "benign_blocked": share([got == "block" for got in verdicts]),
        "benign_warned": share([got == "warn" for got in verdicts]),
        "attacks": len(caught),
        "benign": len(benign),
    }


def verdict(item: dict[str, object]) -> str:
    """The gate's verdict for one line of the corpus."""
    from experience_forge.core import vet
    from experience_forge.store import ruleset

    text = "".join(item["parts"])
    for mark, ours in MARKERS.items():
        text = text.replace(mark, ours)
    return vet.vet(str(item["field"]), text, ruleset.load("poison")).verdict


def rows(path: Path) -> list[dict[str, object]]:
    """The JSON objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def share(results: list[bool]) -> float:
    """Part of `results` that is true; 0 for none."""
    return round(sum(results) / len(results), 4) if results else 0.0


if __name__ == "__main__":
    sys.exit(main())
