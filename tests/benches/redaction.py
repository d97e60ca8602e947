"""Measures the speed of redaction: 5 KB warm, 10 MB of several materials, growth over made-up texts.

    python3 tests/run.py bench redaction [--fuzz N] [--mb N]

The texts are made here from a fixed seed: a log dense with numbers and addresses, the same in Chinese, program
code, prose in both languages, a transcript in JSON, base64 in one line, and a page of 5 KB with a dozen secrets that
comes again and again. 5 KB: CPU time, the best of twenty. 10 MB: seconds by the clock, the better of two, as the
command reads it, which is in several processes where the machine has the cores; beside them the CPU time of one
process that reads it all, and how many times as long that is as a `bytes.translate` of the same bytes, so that a busy
or another machine can be compared. Last line: one JSON object with `kb5_ms` (the slowest of the materials), `mb10_s`
(the slowest), and `fuzz_worst_ratio` (work on 16,000 characters over work on 4,000 of the same text: 4 is in step).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time

from experience_forge.core import redact
from experience_forge.store import redaction, redaction_pool
from redaction_texts import PIECES, growth, materials, odd_materials


def main() -> int:
    """Print the table and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzz", type=int, default=10_000, metavar="N", help="made-up texts (10000)")
    parser.add_argument("--mb", type=float, default=10, metavar="N", help="size of the large text (10)")
    args = parser.parse_args()
    readers = redaction_pool.readers(redaction.rules)
    processes = readers.count if readers else 1
    rules = redaction.rules()
    rows: dict[str, dict[str, float]] = {}
    print(f"{'material':<12} {'5 KB ms':>8} {args.mb:>4.0f} MB s {'one CPU s':>10} {'translates':>11} {'found':>8}")
    for name, text in (*materials(int(args.mb * 1_000_000)), *odd_materials(int(args.mb * 1_000_000))):
        piece = text[: -(-5_000 * len(text) // len(text.encode("utf-8")))]
        redact.redact(piece, rules, b"k" * 32)
        large = [measured(text, rules, readers) for _ in range(2)]
        alone = min(measured(text, rules, None)[1] for _ in range(2))
        rows[name] = row = {
            "kb5_ms": min(measured(piece, rules, None)[1] for _ in range(20)) * 1000,
            "mb10_s": min(one[0] for one in large) * 10 / args.mb,
            "mb10_cpu_s": alone * 10 / args.mb,
            "translates": alone / translated(text),
        }
        print(
            f"{name:<12} {row['kb5_ms']:>8.2f} {min(one[0] for one in large):>9.2f} {alone:>10.2f} "
            f"{row['translates']:>11.0f} {large[0][2]:>8}",
            flush=True,
        )
    ratio, text = fuzzed(rules, args.fuzz)
    print(f"{processes} processes; worst growth of {args.fuzz} made-up texts: {ratio:.1f} ({text!r})")
    figures = {
        "kb5_ms": round(max(row["kb5_ms"] for row in rows.values()), 2),
        "mb10_s": round(max(row["mb10_s"] for row in rows.values()), 2),
        "fuzz_worst_ratio": round(ratio, 1),
        "fuzzed": args.fuzz,
        "processes": processes,
        "by_material": {name: {key: round(value, 2) for key, value in row.items()} for name, row in rows.items()},
    }
    print(json.dumps(figures))
    return 0


def measured(text: str, rules: redact.Rules, readers: redact.Readers | None) -> tuple[float, float, int]:
    """Seconds by the clock and of this process's CPU for one text, and the findings in it."""
    clock, begun = time.monotonic(), time.process_time()
    spans = redact.redact(text, rules, b"k" * 32, readers).spans
    return time.monotonic() - clock, time.process_time() - begun, len(spans)


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
