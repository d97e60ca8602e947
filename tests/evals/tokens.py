"""Holds the token estimate against public tokenizers: `python3 tests/run.py eval tokens [--data DIR]`.

Installs their packages (tokenizers, bpe-openai, and one old release of anthropic for its vocabulary)
into a cache folder, so it needs a package index. Samples: the texts of this repository by paragraph,
projections of written entries, and with --data the entries and sessions of the evaluation sets.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from experience_forge.core import tokens_estimate

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = (("tokenizers", "bpe-openai"), ("--no-deps", "anthropic==0.34.2"))


def main(arguments=None):
    """Print one row a sample set and tokenizer; returns 1 when a text was estimated too low."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the evaluation sets")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "experience-forge-tokenizers")
    parser.add_argument("--count", type=Path, help="only fill in the counts of a file of samples (tests/data)")
    given = parser.parse_args(arguments)
    counters = tokenizers(given.cache)
    if given.count:
        return count(given.count, counters)
    sets = samples(given.data)
    figures = {}
    for name, counter in counters.items():
        for label, texts in sets.items():
            counts = [max(1, counter(text)) for text in texts]
            guesses = [tokens_estimate.estimate(text) for text in texts]
            ratios = [guess / count for guess, count in zip(guesses, counts, strict=True)]
            row = {"texts": len(texts), "tokens": sum(counts), "estimate": sum(guesses),
                   "lowest": round(min(ratios), 3), "median": round(statistics.median(ratios), 3),
                   "below": sum(ratio < 1 for ratio in ratios)}  # fmt: skip
            figures.setdefault(name, {})[label] = row
            print(f"{name:14} {label:22} " + "  ".join(f"{key} {value}" for key, value in row.items()))
    below = sum(row["below"] for rows in figures.values() for row in rows.values())
    print(json.dumps({"eval": "tokens", "below": below, "tokenizers": figures}))
    return 1 if below else 0


def count(path, counters):
    """Write the counts of all tokenizers into a file of `[{"name", "text", "counts"}]`."""
    found = json.loads(path.read_text(encoding="utf-8"))
    for sample in found:
        sample["counts"] = {name: counter(sample["text"]) for name, counter in counters.items()}
    path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


def tokenizers(cache):
    """Name -> function that counts tokens."""
    if not (cache / "anthropic" / "tokenizer.json").exists():
        for packages in PACKAGES:
            subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                                   "--target", str(cache), *packages])  # fmt: skip
    sys.path.insert(0, str(cache))
    import bpe_openai
    from tokenizers import Tokenizer

    claude = Tokenizer.from_file(str(cache / "anthropic" / "tokenizer.json"))
    named = {name: bpe_openai.get_encoding(name) for name in ("cl100k_base", "o200k_base")}
    counters = {name: (lambda text, used=used: len(used.encode(text))) for name, used in named.items()}
    return {**counters, "claude-2": lambda text: len(claude.encode(text).ids)}


def samples(data):
    """Label -> texts."""
    sets = {"this repository": paragraphs(sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")))}
    for name, texts in projections().items():
        sets[name] = texts
    if data is None:
        return sets
    entries = [json.loads(line) for line in (data / "recall" / "entries.jsonl").read_text("utf-8").splitlines()]
    for language in ("en", "zh"):
        mine = [entry for entry in entries if entry["lang"] == language]
        for part in ("title", "rule"):
            sets[f"{part}s {language}"] = [entry[part] for entry in mine]
        parts = ("title", "scenario", "symptom", "root_cause", "right_action", "rule")
        sets[f"entries {language}"] = ["\n\n".join(f"**{part}** {entry[part]}" for part in parts) for entry in mine]
    queries = (data / "recall" / "queries.jsonl").read_text("utf-8").splitlines()
    sets["queries"] = [json.loads(line)["text"] for line in queries]
    sets["sessions"] = paragraphs(sorted((data / "transcripts" / "specstory").glob("*.md"))[:12])[:3000]
    return sets


def projections():
    """Always-on files of 10 and 1,000 written entries, in both languages."""
    from helpers_projection import plans

    return {f"projections {language}": texts for language, texts in plans((10, 1000)).items()}


def paragraphs(paths):
    """Non-empty paragraphs of files."""
    texts = (part for path in paths for part in path.read_text("utf-8").split("\n\n"))
    return [text for text in texts if text.strip()]


if __name__ == "__main__":
    sys.exit(main())
