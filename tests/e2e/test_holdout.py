"""Holdouts with the real client: a withheld entry reaches no request, and its outcome is judged from the record."""

from __future__ import annotations

import json

from experience_forge.fast import coin, spool
from experience_forge.model import Condition
from experience_forge.store import config, effects, entries, files, home, measure_rules, outcomes

from .lab import Lab
from .server import bash, calls, say
from .test_recall import ACTION, ALLOWED, FAILING, KNOWN, add, installed

__all__ = ["installed"]
TESTED = {"fails_when": (Condition(error="ZephyrLockError: registry 'canary' is locked"),)}


def test_a_withheld_entry_reaches_no_request_and_is_judged(lab: Lab, installed, monkeypatch):
    """The coin is logged, no request holds a word of the entry, and the failure that came back counts as bad."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(lab.home / ".claude"))
    where = home.Home(installed.home)
    add(installed, type(KNOWN)(**{**KNOWN.__dict__, **TESTED, "id": "zephyr-tested"}))
    config.change({"measure": {"holdouts": True, "answered": True}})
    measure_rules.build(where)
    stored = entries.get(where, "zephyr-tested")
    assert "zephyr-tested" in files.read_text(where.root / coin.RULES)
    # As good as always withheld: the draw of a real coin would make the test one of chance.
    files.write_text(where.root / coin.RULES, f"zephyr-tested\t{stored.sha256}\t0.999999\n")
    files.remove(entries.get(where, "zephyr-lock").path)
    run = lab.headless("go", calls(bash(FAILING)), calls(bash(FAILING)), say("bye"), args=ALLOWED)
    assert all(ACTION not in step.text for step in run.steps)
    (one,) = [r for r in spool.read(str(where.root), run.transcripts[-1].stem) if r["what"] == "opportunity"
              and r["coin"] == "new"]
    assert one["arm"] == "withheld" and one["draw"] < one["holdout_p"]
    outcomes.catch_up(where)
    tally = effects.tallies(where)["zephyr-tested", stored.sha256]
    assert (tally.coins, tally.count("withheld", "bad"), tally.exposures) == (1, 1, 0), json.dumps(one)
