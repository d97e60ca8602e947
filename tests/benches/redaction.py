"""Measures the speed of redaction: 5 KB warm, 10 MB of several materials, growth over made-up texts.

    python3 tests/run.py bench redaction [--fuzz N] [--mb N]

The texts are made here from a fixed seed: a log dense with numbers and addresses, the same in Chinese, program
code, prose in both languages, and a transcript in JSON. Times are CPU seconds of this process, each the better of
two; beside them how many times as long a `bytes.translate` of the same bytes takes, so that a busy or another
machine can be compared. Last line: one JSON object with `kb5_ms` (the slowest of the materials), `mb10_s` (the
slowest), and `fuzz_worst_ratio` (work on 16,000 characters over work on 4,000 of the same text: 4 is in step).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time

from experience_forge.core import redact
from experience_forge.store import ruleset
from redaction_texts import PIECES, growth, materials


def main() -> int:
    """Print the table and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzz", type=int, default=10_000, metavar="N", help="made-up texts (10000)")
    parser.add_argument("--mb", type=float, default=10, metavar="N", help="size of the large text (10)")
    args = parser.parse_args()
    rules = redact.Rules(ruleset.load("redaction"))
    small, large, times = {}, {}, {}
    print(f"{'material':<12} {'5 KB ms':>8} {args.mb:>4.0f} MB s {'translates':>11} {'found':>8}")
    for name, text in materials(int(args.mb * 1_000_000)):
        piece = text[: -(-5_000 * len(text) // len(text.encode("utf-8")))]
        redact.redact(piece, rules, b"k" * 32)
        small[name] = min(timed(piece, rules)[0] for _ in range(20)) * 1000
        large[name], found = min(timed(text, rules) for _ in range(2))
        times[name] = large[name] / translated(text)
        print(f"{name:<12} {small[name]:>8.2f} {large[name]:>9.2f} {times[name]:>11.0f} {found:>8}", flush=True)
    ratio, text = fuzzed(rules, args.fuzz)
    print(f"worst growth of {args.fuzz} made-up texts: {ratio:.1f} ({text!r})")
    figures = {
        "kb5_ms": round(max(small.values()), 2),
        "mb10_s": round(max(large.values()) * 10 / args.mb, 2),
        "fuzz_worst_ratio": round(ratio, 1),
        "fuzzed": args.fuzz,
        "mb10_by_material": {name: round(seconds * 10 / args.mb, 2) for name, seconds in large.items()},
        "mb10_translates": {name: round(times[name]) for name in times},
    }
    print(json.dumps(figures))
    return 0


def timed(text: str, rules: redact.Rules) -> tuple[float, int]:
    """CPU seconds for one text, and the findings in it."""
    begun = time.process_time()
    spans = redact.redact(text, rules, b"k" * 32).spans
    return time.process_time() - begun, len(spans)


def translated(text: str) -> float:
    """CPU seconds that `bytes.translate` takes for the bytes of a text, the best of five."""
    data, table = text.encode("utf-8"), bytes(range(256))
    best = float("inf")
    for _ in range(5):
        begun = time.process_time()
        data.translate(table)
        best = min(best, time.process_time() - begun)
    return best


def fuzzed(rules: redact.Rules, count: int) -> tuple[float, str]:
    """The worst growth of `count` made-up texts, and the unit that showed it."""
    chars = random.Random(5)
    worst = (0.0, "")
    for _ in range(count):
        head = "".join(chars.choice(PIECES) for _ in range(chars.randint(0, 3)))
        unit = "".join(chars.choice(PIECES) for _ in range(chars.randint(1, 6)))
        worst = max(worst, (growth(rules, head, unit), head + " | " + unit))
    return worst


if __name__ == "__main__":
    sys.exit(main())
