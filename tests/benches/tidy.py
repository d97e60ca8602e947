"""Tidying: the plan for 10,000 and for 100 entries, and how pairs of entries are judged.

    python3 tests/run.py bench tidy [--pairs FILE] [--data DIR] [--small]

Pairs are read from tests/data/pairs.jsonl unless a file (or a folder that holds pairs.jsonl) is named:
one JSON object a line with `label` (same, sibling, contradiction, unrelated), `language` and the entries
`a` and `b`. Each pair is judged as a library of two. The plan is timed as a process of its own, from
the start of Python to the printed JSON, with its largest memory; `cold` is the first run of a home.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import _big_home

from experience_forge.core import drafts, pairs
from experience_forge.model import Condition, Entry, Guard, Kind, Track
from experience_forge.store import tidying
from experience_forge.store.home import Home

ROOT = Path(__file__).resolve().parent.parent.parent


def entry_of(item, name):
    """An entry from its form in the pairs."""
    text = "\n".join((item["title"], *item["sections"].values()))
    project = item["track"] == "project"
    return Entry(
        id=name, title=item["title"], kind=Kind(item["kind"]), track=Track(item["track"]),
        sections=tuple(item["sections"].items()), aliases=tuple(item.get("aliases", ())),
        domain=item.get("domain", ""), project=item.get("project", "p1") if project else "",
        language=drafts.language(text), guard=Guard(item.get("guard", "remind")),
        applies_when=tuple(Condition(**parts) for parts in item.get("applies_when", ())),
    )


def judged(items):
    """(label, language, what the pair is to us) of each pair."""
    for item in items:
        judge = pairs.Judge([entry_of(item["a"], "a"), entry_of(item["b"], "b")], tidying.rules())
        yield item["label"], item["language"], judge.relation(0, 1).what


def figures_of(items):
    """Precision and recall over labelled pairs; prints what became of each label."""
    found = Counter(judged(items))
    labels = sorted({key[:2] for key in found})
    whats = ("same", "contradiction", "sibling", "near", "other")
    print(f"{'label':<16}{'language':<10}" + "".join(f"{what:>15}" for what in whats))
    for label, language in labels:
        print(f"{label:<16}{language:<10}" + "".join(f"{found[label, language, what]:>15}" for what in whats))

    def count(label=None, what=None, languages=None):
        return sum(n for (own, language, is_), n in found.items()
                   if label in (None, own) and what in (None, is_) and (languages is None or language in languages))

    def share(part, whole):
        return round(part / whole, 3) if whole else None

    one = ("en", "zh")
    return {
        "pairs": len(items),
        "pairs_precision": share(count("same", "same"), count(what="same")),
        "pairs_recall": share(count("same", "same", one), count("same", languages=one)),
        "pairs_recall_mixed": share(count("same", "same", ("mixed",)), count("same", languages=("mixed",))),
        "siblings_merged": count("sibling", "same"),
        "contradictions_precision": share(count("contradiction", "contradiction"), count(what="contradiction")),
        "contradictions_recall": share(count("contradiction", "contradiction"), count("contradiction")),
    }


def planned(home):
    """Seconds, CPU seconds and MB of one `tidy --json`, and its steps."""
    environment = dict(os.environ, EXPERIENCE_FORGE_HOME=str(home))
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", RUN, str(ROOT / "scripts")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    steps = json.loads(done.stdout)["steps"]
    return time.monotonic() - begun, cpu, float(done.stderr.rsplit("peak ", 1)[1]), steps


RUN = """
import resource, sys
sys.path.insert(0, sys.argv.pop(1))
sys.argv[1:] = ["tidy", "--json"]
from experience_forge.cli import main
code = main()
scale = 1024 if sys.platform != "darwin" else 1024 * 1024
sys.stderr.write(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale:.1f}")
sys.exit(code)
"""


def plan_figures(count, copies, label):
    """Time and memory of the plan for a library of `count` entries of which `copies` are planted."""
    folder = Path(tempfile.mkdtemp(prefix="forge-tidy-"))
    try:
        found, planted = _big_home.entries(count, copies)
        _big_home.fill(Home(folder), found)
        cold = planned(folder)
        warm = planned(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    merges = [set(step["entries"]) for step in warm[3] if step["kind"] in ("merge", "widen")]
    hit = sum(any(set(pair) <= group for group in merges) for pair in planted)
    planted_sets = {frozenset(pair) for pair in planted}
    chance = sum(not any(pair <= group for pair in planted_sets) for group in merges)
    kinds = dict(Counter(step["kind"] for step in warm[3]))
    print(f"{count:>6} entries: cold {cold[0]:.2f} s (CPU {cold[1]:.2f}), then {warm[0]:.2f} s (CPU {warm[1]:.2f}), "
          f"{max(cold[2], warm[2]):.0f} MB; planted copies found {hit} of {len(planted)}; "
          f"groups without a planted pair {chance}; steps {kinds}")
    return {f"plan_{label}_s": round(warm[0], 2), f"plan_{label}_mb": round(max(cold[2], warm[2])),
            f"plan_{label}_cold_s": round(cold[0], 2), f"plan_{label}_cpu_s": round(warm[1], 2),
            f"planted_{label}": round(hit / len(planted), 3)}


def main(arguments=None):
    """Parse, measure, print the figures as the last line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", default="", help="a file of labelled pairs")
    parser.add_argument("--data", default="", help="a folder that holds pairs.jsonl")
    parser.add_argument("--small", action="store_true", help="pairs and the library of 100 only")
    options = parser.parse_args(arguments)
    path = Path(options.pairs or options.data or ROOT / "tests" / "data" / "pairs.jsonl")
    if path.is_dir():
        path = path / "pairs.jsonl"
    figures = {}
    if path.exists():
        items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        figures = figures_of(items)
    else:
        print(f"no pairs: {path} is not there")
    figures |= plan_figures(100, 10, "100")
    if not options.small:
        figures |= plan_figures(10_000, 1000, "10k")
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
