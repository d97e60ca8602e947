"""The quick way through a session finds exactly what the full way finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experience_forge.core import scoring
from experience_forge.store import scanning, session_signals

DATA = Path(os.environ.get("FORGE_DATA") or Path(__file__).resolve().parent.parent.parent / "shared" / "data")
SHARED = sorted(
    path for name in ("claude-code/*.jsonl", "specstory/*.md") for path in (DATA / "transcripts").glob(name)
)


def found(path, *, full):
    """Score, signals and rounds of one file."""
    explained = session_signals.of_file(path, full=full)
    rounds = [(episode.turns, episode.lines, episode.rework_rounds) for episode in explained.episodes]
    return scoring.score(explained.signals, explained.weights), explained.signals, rounds, explained.turns


@pytest.mark.skipif(not SHARED, reason=f"no shared transcripts below {DATA}")
@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.name)
def test_the_quick_way_finds_what_decoding_every_record_finds(path):
    """Score, signals, rounds of rework and turns of every shared session are the same, with no tolerance."""
    assert found(path, full=False) == found(path, full=True)


@pytest.mark.skipif(not SHARED, reason=f"no shared transcripts below {DATA}")
def test_the_scan_goes_the_same_way(tmp_path):
    """The score that a scan keeps is the one that `signals` explains, in one piece or resumed in the middle."""
    for path in SHARED[::6]:
        total = found(path, full=False)[0].total
        _, scanned, _ = scanning.read_one(str(path), "")
        assert scanned.score == total, path.name
        if path.suffix == ".jsonl":
            assert resumed(path, tmp_path).score == total, path.name


def resumed(path, folder):
    """The same file scanned in two halves, at the end of a line."""
    data = path.read_bytes()
    half = data.rfind(b"\n", 0, len(data) // 2) + 1
    copy = folder / path.name
    copy.write_bytes(data[:half])
    _, _, state = scanning.read_one(str(copy), "")
    copy.write_bytes(data)
    return scanning.read_one(str(copy), state)[1]


def test_a_hint_is_found_by_words_as_by_searching():
    """Looking hints up by the words of a prompt gives the cues that searching for each hint gives."""
    phrases = session_signals.detectors().phrases
    texts = [
        "no, that's not what i asked for. revert it and don't touch the config again",
        "从现在起都用中文回答，不要再改测试了，我说过多少次了",
        "why is it still broken? it doesn't work on the second page",
        "\u3000still\tbroken,no luck" + " and more" * 120 + " never do that again",
        "@src/app/a-long-path-with-names.ts " * 14 + "this is wrong, undo that" + " word" * 100,
        "",
        "?",
    ]
    from experience_forge.core.phrases import FEW, Before

    before = Before(True, True, True, False, True, True)
    fresh = type(phrases)(session_signals.ruleset.load("phrases"))
    slow = [fresh.find(text, before) for text in texts]
    assert len(texts) < FEW
    for _ in range(FEW):
        fresh.find("warm up, please", before)
    assert [fresh.find(text, before) for text in texts] == slow
    assert [fresh.find(text, before) for text in texts] == slow
