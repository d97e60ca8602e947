"""Tidying never takes a guard to a wider track unseen."""

from __future__ import annotations

import pytest

from experience_forge import tidy_steps
from experience_forge.core import merging
from experience_forge.model import Guard, Track
from experience_forge.store import home
from helpers import confirm, entry


def text(name, **values):
    """A message that shows its name and values."""
    return f"{name} {values}"


@pytest.mark.parametrize(
    ("wide", "narrow", "merged"),
    [(Guard.REMIND, Guard.DENY, Guard.REMIND), (Guard.ASK, Guard.DENY, Guard.ASK),
     (Guard.DENY, Guard.DENY, Guard.DENY), (Guard.DENY, Guard.REMIND, Guard.DENY)],
)  # fmt: skip
def test_a_guard_goes_to_a_wider_track_only_when_all_have_it(wide, narrow, merged):
    """A project's guard is lost in a wider entry unless that one has it; a guard of the wider track stays."""
    parents = [entry("one", track=Track.PROFILE, guard=wide),
               entry("two", track=Track.PROJECT, project="0123456789ab", guard=narrow)]
    made = merging.merged(parents, "new", "2026-11-30")
    assert made.track is Track.PROFILE and made.guard is merged


def test_the_proposal_says_what_becomes_of_the_guard_and_is_left_out_of_many():
    """The summary names the guard that is not taken along, and the merge asks for a look by itself."""
    confirm(entry("one", track=Track.PROFILE))
    confirm(entry("two", track=Track.PROJECT, project="0123456789ab", guard=Guard.DENY))
    confirm(entry("three", track=Track.PROFILE))
    where = home.current()
    change = tidy_steps.merge(where, ["one", "two"], text)
    assert "tidy.merge_guard_lost" in change.summary and tidy_steps.needs_a_look(where, change)
    assert not tidy_steps.needs_a_look(where, tidy_steps.merge(where, ["one", "three"], text))
