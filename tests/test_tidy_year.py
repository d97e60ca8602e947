"""A library gets better with age: the short version of the simulated year."""

from __future__ import annotations

from experience_forge.store import entries, home
from year import simulate


def test_a_library_that_is_tidied_stays_small_and_within_its_budget(tmp_path):
    """Lessons told again are merged, the always-on text stays within 1,300 tokens, deliveries do not grow."""
    figures, rows, report = simulate(tmp_path, months=4, drafts=32, sessions=24)
    assert figures["drafts"] == 32 and figures["sessions"] == 24
    assert figures["always_tokens_worst"] <= 1300
    assert figures["merged"] > 0 and figures["journal_faults"] == 0
    assert figures["active_at_end"] < figures["drafts"]
    assert all(row["deliveries_per_session"] <= 3 for row in rows)
    assert all(title for _, _, title, _ in report)
    library = entries.load_all(home.current())
    for stored in library.entries:
        if stored.entry.status.value == "superseded":
            assert entries.heir(home.current(), stored.entry.id).entry.status.value != "superseded"
            assert stored.entry.status_reason
