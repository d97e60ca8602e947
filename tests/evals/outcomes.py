"""Agreement of the outcome judge with a person's labels of opportunities in real transcripts.

    python3 tests/run.py eval outcomes --data DIR [--labels tests/data/outcomes.jsonl]

DIR holds `transcripts/`. The labels (file, line of the trigger, conditions, label) were made by
someone who had not seen the judge, and committed before it was run on them. Prints the disagreements
and, as the last line, `agreement`, `agreement_scored` (without those that the person called unknown),
`labelled`, and the counts by label and outcome.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from experience_forge.core import conditions, judge
from experience_forge.core.steps import steps_of
from experience_forge.model import Condition
from experience_forge.store import condition_rules, readers

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def session(path):
    """Steps, last line and damaged lines of one transcript."""
    opened = readers.open_session(path, full=True)
    events = list(opened.events())
    last = max((event.line for event in events), default=0)
    return steps_of(events), last, opened.info.damaged


def outcome(folder, label):
    """What the judge says of one labelled opportunity."""
    steps, last, damaged = session(folder / label["file"])
    given = label["fails_when"]
    made = conditions.matchers(
        [Condition(**one) for one in (given if isinstance(given, list) else [given])], condition_rules.weights()
    )
    return judge.judge(steps, made, label["line"], last_line=last, damaged=damaged)


def main(arguments=None):
    """Print disagreements, the table and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--labels", type=Path, default=ROOT / "tests" / "data" / "outcomes.jsonl")
    options = parser.parse_args(arguments)
    folder = options.data / "transcripts" if (options.data / "transcripts").is_dir() else options.data
    table, agreed = Counter(), 0
    labels = [json.loads(line) for line in options.labels.read_text(encoding="utf-8").splitlines() if line.strip()]
    for label in labels:
        found = outcome(folder, label)
        table[label["label"], found.outcome] += 1
        agreed += found.outcome == label["label"]
        if found.outcome != label["label"]:
            print(
                f"{label['file']}:{label['line']}  person: {label['label']}, judge: {found.outcome} "
                f"({found.reason}, line {found.line})  {json.dumps(label['fails_when'], ensure_ascii=False)}"
            )
    print(f"\n{'person':<10}" + "".join(f"{name:>10}" for name in ("bad", "good", "unknown")) + "   (judge)")
    for person in ("bad", "good", "unknown"):
        print(f"{person:<10}" + "".join(f"{table[person, name]:>10}" for name in ("bad", "good", "unknown")))
    scored = [(pair, count) for pair, count in table.items() if pair[0] != "unknown"]
    total = sum(count for _, count in scored)
    print(json.dumps({
        "agreement": round(agreed / len(labels), 4), "labelled": len(labels),
        "agreement_scored": round(sum(count for (a, b), count in scored if a == b) / total, 4),
        "by": {f"{person}/{found}": count for (person, found), count in sorted(table.items())},
    }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
