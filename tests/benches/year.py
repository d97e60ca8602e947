"""A year of a library: 300 sessions, 200 drafts, drifting projects, tidied once a month.

    python3 tests/run.py bench year [--months 12 --drafts 200 --sessions 300 --seed 2026]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path


def main(arguments=None):
    """Simulate in a home of its own, print a row a month, why things were tidied, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("months", 12), ("drafts", 200), ("sessions", 300), ("seed", 2026)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="forge-year-") as folder:
        for name in [n for n in os.environ if n.startswith(("CLAUDE", "EXPERIENCE_FORGE", "XDG_"))]:
            del os.environ[name]
        os.environ.update(HOME=folder, USERPROFILE=folder, EXPERIENCE_FORGE_HOME=str(Path(folder, "forge-home")))
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
        from year import simulate

        figures, rows, report = simulate(Path(folder, "work"), options.months, options.drafts, options.sessions,
                                         options.seed)
    print("".join(f"{name:>24}" for name in rows[0]))
    for row in rows:
        print("".join(f"{value:>24}" for value in row.values()))
    print(f"\nwhat was tidied: {dict(Counter(kind for _, kind, _, _ in report))}; some:")
    shown = [item for kind in dict.fromkeys(one[1] for one in report) for item in
             [one for one in report if one[1] == kind][-5:]]
    for month, kind, title, step in shown:
        print(f"  month {month + 1}: {kind}: {title} ({step})")
    print(f"\n{time.monotonic() - begun:.0f} s")
    print(json.dumps({**figures, "seed": options.seed}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
