"""Measures the detectors on labelled sessions and written probes.

    python3 tests/run.py eval signals --data DIR [--only NAME_LIST_FILE] [--misses]

DIR holds `labels.jsonl`, `episodes.jsonl`, `probe_turns.jsonl` and the sessions they name. The last
line is one JSON object. Turns picked by a cue word are left out of precision, as their sampling says.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

from experience_forge.core.phrases import Before
from experience_forge.core.scoring import score
from experience_forge.core.speakers import hear
from experience_forge.model import Speaker
from experience_forge.store import session_signals

AFTER_WORK = Before(after=True, work=True, own=True)


def main() -> None:
    """Read, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", type=Path, help="a file of session names (one a line) to measure alone")
    parser.add_argument("--without", type=Path, help="a file of session names (one a line) to leave out")
    parser.add_argument("--misses", action="store_true", help="print each wrong answer")
    arguments = parser.parse_args()
    keep = _chosen(arguments.only, arguments.without)
    labels = [label for label in _lines(arguments.data / "labels.jsonl") if keep(label["file"])]
    episodes = [episode for episode in _lines(arguments.data / "episodes.jsonl") if keep(episode["file"])]
    probes = _lines(arguments.data / "probe_turns.jsonl")
    names = sorted({item["file"] for item in (*labels, *episodes)})
    found = {name: session_signals.of_file(arguments.data / name) for name in names}
    figures = measure(labels, episodes, probes, found, arguments.misses)
    for name, value in figures.items():
        print(f"{name:24} {json.dumps(value)}")
    print(json.dumps(figures))


def measure(labels, episodes, probes, found, misses=False):
    """All figures of the issue by name."""
    rows = []
    for label in labels:
        turns = {turn.turn: turn for turn in found[label["file"]].turns}
        turn = turns.get(label["turn"])
        said = set(turn.labels) if turn else set()
        wanted = {label["label"], label.get("also") or ""} - {"neither", ""}
        rows.append((label, wanted, said))
        if misses and ("correction" in wanted) != ("correction" in said):
            kind = "MISS " if "correction" in wanted else "FALSE"
            which = next((s.detector for s in found[label["file"]].signals if s.turn == label["turn"]), "")
            print(
                kind,
                label["file"][-12:],
                label["turn"],
                label["sub"],
                label.get("strength"),
                which,
                "|",
                label["text"][:140].replace("\n", " "),
            )
    figures = {"strong_correction": _by_language(rows, strong=True), "correction": _by_language(rows, strong=False)}
    figures["preference_probe"], right = _probes(probes, misses)
    hard = [not said & {"correction", "preference"} for label, _, said in rows if label.get("sub") == "hard_negative"]
    figures["hard_negatives_passed"] = _share(sum(hard), len(hard))
    figures["probes_right"] = _share(right, len(probes))
    figures["rework2"] = _rework(episodes, labels, found, misses)
    whole = sorted({label["file"] for label in labels if label["sampling"] == "whole_session"})
    suggested = [name for name in whole if score(found[name].signals, found[name].weights).suggest]
    deserved = {label["file"] for label, wanted, _ in rows if wanted} | {
        e["file"] for e in episodes if e["rework_rounds"] >= 2
    }
    figures |= {
        "sessions": len(whole),
        "suggested": len(suggested),
        "suggested_right": sum(name in deserved for name in suggested),
    }
    figures["preference_turns"] = {
        "labelled": sum("preference" in wanted for _, wanted, _ in rows),
        "found": sum("preference" in wanted and "preference" in said for _, wanted, said in rows),
        "said": sum("preference" in said for _, _, said in rows),
    }
    return figures


def _by_language(rows, strong):
    languages = {"": rows}
    for language in ("en", "zh"):
        languages[language] = [row for row in rows if (language == "zh") == _is_chinese(row[0]["text"])]
    values = {name: _pair(part, strong) for name, part in languages.items()}
    return {**values[""], "en": values["en"], "zh": values["zh"]}


def _pair(rows, strong):
    """Precision over whole sessions; recall over all turns with the label (weak ones left out when `strong`)."""
    whole = [row for row in rows if row[0]["sampling"] == "whole_session"]
    said = [row for row in whole if "correction" in row[2]]
    right = [row for row in said if "correction" in row[1]]
    wanted = [row for row in rows if "correction" in row[1] and (not strong or row[0].get("strength") != "weak")]
    got = [row for row in wanted if "correction" in row[2]]
    return {
        "precision": _share(len(right), len(said)),
        "recall": _share(len(got), len(wanted)),
        "said": len(said),
        "wanted": len(wanted),
    }


def _probes(probes, misses):
    phrases = session_signals.detectors().phrases
    right = 0
    rows = []
    for probe in probes:
        heard = hear(probe["text"])
        hits = phrases.find(heard.words, AFTER_WORK) if heard.speaker is Speaker.PERSON else []
        said = {hit.kind for hit in hits}
        good = (not said) if probe["label"] == "neither" else probe["label"] in said
        right += good
        rows.append((probe, said))
        if misses and not good:
            print("PROBE", probe["label"], said, [hit.detector for hit in hits], "|", probe["text"])
    values = {}
    for language in ("", "en", "zh"):
        part = [row for row in rows if not language or (language == "zh") == _is_chinese(row[0]["text"])]
        said = [row for row in part if "preference" in row[1]]
        wanted = [row for row in part if row[0]["label"] == "preference"]
        values[language] = {
            "precision": _share(sum(row[0]["label"] == "preference" for row in said), len(said)),
            "recall": _share(sum("preference" in row[1] for row in wanted), len(wanted)),
        }
    return {**values[""], "en": values["en"], "zh": values["zh"]}, right


def _rework(episodes, labels, found, misses):
    """At least two rounds: a labelled episode is met by ours when their turns overlap.

    Precision counts our episodes with two rounds or more, in sessions whose every turn is labelled and
    that have tool records.
    """
    by_file = defaultdict(list)
    for episode in episodes:
        by_file[episode["file"]].append(episode)
    whole = {label["file"] for label in labels if label["sampling"] == "whole_session"}
    recorded = {name for name, value in found.items() if any(episode.paths for episode in value.episodes)}
    got = wanted = said = right = 0
    errors = []
    for name, truths in by_file.items():
        if name not in recorded:
            continue
        for truth in truths:
            ours = [e for e in found[name].episodes if _overlap(e.turns, truth["turns"])]
            best = max((e.rework_rounds for e in ours), default=0)
            errors.append(abs(best - truth["rework_rounds"]))
            if truth["rework_rounds"] >= 2:
                wanted += 1
                got += best >= 2
            if misses:
                print(
                    "REWORK",
                    name[-12:],
                    truth["turns"],
                    truth["rework_rounds"],
                    "ours",
                    [(e.turns, e.rework_rounds) for e in ours],
                )
    for name in sorted(whole & recorded):
        for episode in found[name].episodes:
            if episode.rework_rounds >= 2:
                said += 1
                good = any(t["rework_rounds"] >= 2 and _overlap(episode.turns, t["turns"]) for t in by_file[name])
                right += good
                if misses and not good:
                    print(
                        "REWORK FALSE",
                        name[-12:],
                        episode.turns,
                        episode.rework_rounds,
                        episode.paths[:3],
                        [e[:60] for e in episode.errors],
                    )
    return {
        "precision": _share(right, said),
        "recall": _share(got, wanted),
        "rounds_mae": round(sum(errors) / len(errors), 3) if errors else None,
        "said": said,
        "wanted": wanted,
    }


def _overlap(one, two):
    return one[0] <= two[1] and two[0] <= one[1]


def _share(part, whole):
    return round(part / whole, 3) if whole else None


def _is_chinese(text):
    return len(re.findall(r"[\u4e00-\u9fff]", text)) >= 2


def _lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _chosen(only, without):
    def names(path):
        return set(path.read_text(encoding="utf-8").split()) if path else None

    wanted, unwanted = names(only), names(without) or set()
    return lambda name: Path(name).stem not in unwanted and (wanted is None or Path(name).stem in wanted)


if __name__ == "__main__":
    main()
