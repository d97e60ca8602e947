"""The token estimate: never below what public tokenizers count (their counts were taken once; see evals/tokens.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experience_forge.core import tokens_estimate

SAMPLES = json.loads((Path(__file__).parent / "data" / "token_samples.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["name"])
def test_the_estimate_is_never_below_a_public_tokenizer(sample):
    """On every sample, Chinese, code, listings, hashes and emoji among them, and not far above on running text."""
    guess = tokens_estimate.estimate(sample["text"])
    highest = max(sample["counts"].values())
    assert guess >= highest
    if sample["name"].startswith("prose"):
        assert guess <= 1.8 * highest


def test_nothing_costs_nothing():
    """An empty text has no tokens."""
    assert tokens_estimate.estimate("") == 0
