"""A month of sessions through the real hooks, the real worker parts, and the real report."""

from __future__ import annotations

import pytest


@pytest.fixture
def figures(tmp_path):
    pytest.importorskip("experience_forge.store.proofs", reason="the proofs of delivery are not here")
    import month

    return month.simulate(tmp_path / "projects")


def test_every_exposure_of_a_month_is_proved_and_every_coin_accounted_for(figures):
    """60 sessions, half of their transcripts gone after a day, all after the month: nothing is lost."""
    assert figures["sessions"] == 60 and figures["exposures"] > 60 and figures["coins"] > 60
    assert figures["proved"] == figures["exposures"]
    assert figures["coins_accounted"] == figures["coins"]
    assert 0 < figures["withheld"] < figures["coins"]
    assert figures["same_after_deletion"] and figures["faults"] == 0
