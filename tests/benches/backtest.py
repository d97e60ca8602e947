"""How long a backtest takes over one gigabyte of scanned sessions.

    python3 tests/run.py bench backtest --data DIR [--gigabytes 1]

Keeps the histories of the real transcripts in DIR/transcripts over and over under new session ids, until
their transcripts would add up to the size asked for, and times backtests of narrow and of wide triggers,
files in the page cache. The last line has `seconds_worst`, `seconds_median`, `sessions`, `history_share`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from experience_forge.core import history
from experience_forge.model import Condition
from experience_forge.store import backtest, condition_rules, readers
from experience_forge.store.home import Home

CASES = (
    (Condition(command="go test *"), Condition(error="undefined: ")),
    (Condition(path="**/*.go"), Condition(error="cannot use")),
    (Condition(error="matched no packages"), Condition(error="matched no packages")),
    (Condition(error="EACCES: permission denied"), Condition(error="EACCES: permission denied")),
    (Condition(words="rebase"), Condition(words="wrong")),
    (Condition(command="terraform apply *"), Condition(error="state lock")),
)


def fill(home, folder, size):
    """Keep histories until their transcripts add up to `size` bytes; returns (sessions, share kept)."""
    sessions = []
    for path in sorted(folder.glob("*.jsonl")):
        session = readers.open_session(path)
        lines = history.history_lines(list(session.events()), condition_rules.lexicon())
        sessions.append((session.info, lines, path.stat().st_size))
    done = kept = number = 0
    while done < size:
        info, lines, bytes_ = sessions[number % len(sessions)]
        path = backtest.write(home, replace(info, id=f"s{number:06}"), lines)
        kept, done, number = kept + path.stat().st_size, done + bytes_, number + 1
    return number, kept / done


def main(arguments=None):
    """Fill, time, print the table and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    options = parser.parse_args(arguments)
    base = options.data / "transcripts" if (options.data / "transcripts").is_dir() else options.data
    if not any((base / "claude-code").glob("*.jsonl")):
        parser.error(f"no transcripts in {base / 'claude-code'}")
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        sessions, share = fill(home, base / "claude-code", options.gigabytes * 1e9)
        seconds = []
        print(f"{'trigger':<52}{'fired':>8}{'seconds':>9}")
        for applies, fails in CASES:
            begun = time.perf_counter()
            report = backtest.run(home, [applies], [fails])
            seconds.append(time.perf_counter() - begun)
            print(f"{applies.parts()!s:<52}{len(report.fired):>8}{seconds[-1]:>9.2f}")
    print(json.dumps({
        "seconds_worst": round(max(seconds), 2), "seconds_median": round(statistics.median(seconds), 2),
        "sessions": sessions, "gigabytes": options.gigabytes, "history_share": round(share, 4),
    }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
