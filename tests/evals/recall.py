"""How well recall finds: queries of a set, through the code that the hooks run.

    python3 tests/run.py eval recall --data DIR [--run-out FILE] [--distractors FILE] [--seed N]

DIR holds entries.jsonl, queries.jsonl and perhaps aliases.jsonl. The last line is one JSON object;
keys ending in `_1k` and `_10k` are among that many entries, `_plain` without aliases.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _recall_data as data
import _recall_home as homes

SIZES = ((0, ""), (1000, "_1k"), (10000, "_10k"))
PROMPT_KINDS = ("prompt",)


@dataclass
class Tally:
    """Ranks of the right entry by group (0 = not among the first ten), and what the hooks said."""

    ranks: dict[str, list[int]] = field(default_factory=dict)
    said: dict[str, list[int]] = field(default_factory=dict)
    run: list[dict[str, Any]] = field(default_factory=list)


def main() -> int:
    """Run all sizes with and without aliases; print tables and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--run-out", type=Path, help="write {query_id, ranked, scores} a line, own size, with aliases")
    parser.add_argument("--distractors", type=Path, help="JSONL of other entries, in the form of entries.jsonl")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--sizes", default="0,1000,10000", help="entries in the store; 0 is the set's own size")
    options = parser.parse_args()
    folder = options.data if (options.data / "queries.jsonl").exists() else options.data / "recall"
    queries = data.lines(folder / "queries.jsonl")
    wanted = {int(size) for size in options.sizes.split(",")}
    figures: dict[str, float] = {}
    for with_aliases, mark in ((True, ""), (False, "_plain")):
        own = data.load(folder, with_aliases)
        others = _others(options, max(wanted) - len(own), with_aliases)
        for size, suffix in SIZES:
            if size not in wanted or (not with_aliases and size == 10000):
                continue
            tally, floor, seconds = evaluate(own, others[: max(0, size - len(own))], queries)
            found = _figures(tally)
            figures.update({f"{name}{suffix}{mark}": value for name, value in found.items()})
            _table(found, size or len(own), with_aliases, floor, seconds)
            if options.run_out and not size and with_aliases:
                text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in tally.run)
                options.run_out.write_text(text, encoding="utf-8")
    print(json.dumps(figures))
    return 0


def _others(options: argparse.Namespace, count: int, with_aliases: bool) -> list[Any]:
    if count <= 0:
        return []
    if options.distractors:
        made = [
            data.entry_of(record, list(record.get("aliases", ())) if with_aliases else [])
            for record in data.lines(options.distractors)
        ]
        return made if len(made) >= count else made + list(data.generated(count - len(made), options.seed))
    made = list(data.generated(count, options.seed))
    return made if with_aliases else data.without_aliases(made)


def evaluate(own: list[Any], others: list[Any], queries: list[dict[str, Any]]) -> tuple[Tally, float, float]:
    """One store: its tally, its prompt floor, and seconds of its build."""
    from experience_forge.fast import batch, lookup, rank
    from experience_forge.store import recall_index
    from experience_forge.store.entries import Library
    from experience_forge.store.home import Home

    with tempfile.TemporaryDirectory() as folder:
        os.environ["EXPERIENCE_FORGE_HOME"] = folder
        home = Home(Path(folder))
        taken = {entry.id for entry in own}
        stored = homes.confirm(home, own) + homes.unwritten(one for one in others if one.id not in taken)
        begun = time.perf_counter()
        recall_index.build(home, Library(tuple(stored)))
        seconds = time.perf_counter() - begun
        connection = recall_index.connect(home)
        prefilter = lookup.Prefilter(lookup.path_of(str(home.root), lookup.PREFILTER))
        settings = lookup.settings(str(home.root))
        ids = dict(connection.execute("SELECT n, id FROM entries"))
        tally = Tally()
        for query in queries:
            text = str(query["text"])
            if query["kind"] in PROMPT_KINDS:
                ranked = [(score, ids[n]) for score, n in rank.search(connection, text, (), 10)]
                given = rank.words(connection, prefilter.present("w", rank.prompt_words(text)), text)
                best = given[0] if given else rank.prompt(connection, text, (), settings["complaints"])
            else:
                present = prefilter.errors(batch.anchor_words(text))
                ranked = [(score, ids[n]) for score, n, _ in rank.combined(connection, text, present, (), 10)]
                hits = rank.errors(connection, present, text)
                best = hits[0] if hits else None
            _count(tally, query, ranked, ids[best[1]] if best else "")
        (floor,) = connection.execute("SELECT value FROM meta WHERE name = 'prompt_floor'").fetchone()
        connection.close()
        prefilter.close()
    return tally, float(floor), seconds


def _count(tally: Tally, query: dict[str, Any], ranked: list[tuple[float, str]], given: str) -> None:
    expected = query["expected"]
    kind = "prompt" if query["kind"] in PROMPT_KINDS else "terminal"
    tally.run.append({"query_id": query["query_id"], "ranked": [name for _, name in ranked],
                      "scores": [round(score, 3) for score, _ in ranked]})
    if not expected:
        tally.said.setdefault(f"{kind} false", []).append(int(bool(given)))
        if query.get("near"):
            tally.said.setdefault(f"{kind} false near", []).append(int(bool(given)))
        return
    rank = next((at for at, (_, name) in enumerate(ranked, 1) if name in expected), 0)
    across = "cross" if query["lang"] != query["entry_lang"] else "same"
    for group in ("all", kind, *((f"{across} {kind}",) if kind == "prompt" else ())):
        tally.ranks.setdefault(group, []).append(rank)
    tally.said.setdefault(f"{kind} hits", []).append(int(given in expected))
    tally.said.setdefault(f"{kind} wrong", []).append(int(bool(given) and given not in expected))


def _figures(tally: Tally) -> dict[str, float]:
    def at(group: str, first: int) -> float:
        ranks = tally.ranks.get(group, [])
        return round(sum(1 for rank in ranks if 1 <= rank <= first) / max(1, len(ranks)), 4)

    def share(name: str) -> float:
        values = tally.said.get(name, [])
        return round(sum(values) / max(1, len(values)), 4)

    every = tally.ranks.get("all", [])
    return {
        "terminal_r1": at("terminal", 1), "terminal_r3": at("terminal", 3), "terminal_r5": at("terminal", 5),
        "same_lang_r1": at("same prompt", 1), "same_lang_r3": at("same prompt", 3),
        "same_lang_r5": at("same prompt", 5),
        "cross_lang_r1": at("cross prompt", 1), "cross_lang_r3": at("cross prompt", 3),
        "cross_lang_r5": at("cross prompt", 5),
        "mrr": round(sum(1 / rank for rank in every if rank) / max(1, len(every)), 4),
        "failure_hook_hits": share("terminal hits"), "failure_hook_wrong": share("terminal wrong"),
        "failure_hook_false_near": share("terminal false near"), "failure_hook_false_all": share("terminal false"),
        "prompt_hook_hits": share("prompt hits"), "prompt_hook_wrong": share("prompt wrong"),
        "prompt_hook_false": share("prompt false"),
    }


def _table(found: dict[str, float], size: int, with_aliases: bool, floor: float, seconds: float) -> None:
    print(f"\n{size} entries, {'with' if with_aliases else 'without'} aliases "
          f"(built in {seconds:.1f} s, prompt floor {floor:.1f})")
    for name, value in found.items():
        print(f"  {name:<26} {value:.3f}")


if __name__ == "__main__":
    sys.exit(main())
