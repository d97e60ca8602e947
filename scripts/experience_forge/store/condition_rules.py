"""The word lists of conditions and the weights of error words, as the rule files hold them."""

from __future__ import annotations

from functools import cache

from ..core import conditions
from ..fast import signature
from . import ruleset


@cache
def lexicon() -> conditions.Lexicon:
    """The word lists of `rules/conditions.yaml`."""
    return conditions.lexicon(ruleset.load("conditions"), weights())


@cache
def weights() -> dict[str, float]:
    """Weights of the words of generic errors: those that the recall index uses."""
    lines = [str(line) for line in ruleset.load("calibration")["errors"]]
    return dict(signature.background(lines))
