"""Settings that a person wrote into config.yaml reach the hooks."""

from __future__ import annotations

import json

import pytest

from experience_forge import cli, shared
from experience_forge.store import doctor, files, home
from helpers import confirm, entry


def compiled():
    """What hooks read."""
    where = home.current()
    return [json.loads(files.read_text(where.derived / name)) for name in ("recall.json", "settings.json")]


@pytest.mark.parametrize(("text", "name", "value"), [
    ("recall:\n  on: false\n", "on", False), ("recall:\n  start_count: 0\n", "start_count", 0),
    ("recall:\n  start_characters: 100\n", "start_characters", 100),
])
def test_an_edited_config_reaches_the_hooks_with_the_next_command(capsys, text, name, value):
    """Doctor names the edit until a command ran; the next one compiles it, once."""
    where = home.current()
    confirm(entry())
    shared.refresh(where)
    files.write_text(where.config, text)
    assert [one.text for one in doctor.examine(where)].count("settings_behind") == 1
    assert cli.main(["list"]) == 0
    recall, settings = compiled()
    assert recall[name] == value and settings["recall"][name] == value
    assert "settings_behind" not in [one.text for one in doctor.examine(where)]
    stamps = [path.stat().st_mtime_ns for path in sorted(where.derived.iterdir())]
    assert cli.main(["list"]) == 0
    assert [path.stat().st_mtime_ns for path in sorted(where.derived.iterdir())] == stamps
    where.config.unlink()
    assert cli.main(["worker"]) == 0
    assert compiled()[0][name] != value


def test_a_config_that_does_not_hold_is_named_and_stops_no_command(capsys):
    """A broken config.yaml leaves the hooks with what they have; doctor says what is wrong."""
    where = home.current()
    confirm(entry())
    shared.refresh(where)
    before = compiled()
    files.write_text(where.config, "recall: [\n")
    assert "config_unread" in [one.text for one in doctor.examine(where)]
    cli.main(["list"])
    assert compiled() == before
