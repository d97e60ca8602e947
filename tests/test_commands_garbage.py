"""What is no date, no count and no project is refused, and the states that list names are those it takes."""

from __future__ import annotations

import json

import pytest

from experience_forge import cli
from experience_forge.model import Status
from helpers import confirm, entry


@pytest.mark.parametrize(("words", "code", "said"), [
    ("list --delivered-since xx", 2, "2026-01-31"), ("list --not-delivered-since 2026-13-01", 2, "2026-01-31"),
    ("digest --days -3", 2, "from 1 on"), ("digest --days x", 2, "from 1 on"),
    ("log use-pnpm --limit 0", 2, "from 1 on"),
    ("status --project zz", 1, "experience-forge projects"), ("list --project zz", 1, "experience-forge projects"),
])  # fmt: skip
def test_garbage_is_refused_with_the_form_that_is_meant(capsys, words, code, said):
    """Wrong usage is 2, an unknown project 1; the message names what would be right."""
    confirm(entry())
    assert cli.main(words.split()) == code
    assert said in capsys.readouterr().err
    for right in ("list --delivered-since 2026-01-31", "digest --days 3", "log use-pnpm --limit 1"):
        assert cli.main(right.split()) == 0


def test_list_names_the_state_that_its_filter_takes(capsys):
    """An entry in order is `active` in the table, in JSON and for --state."""
    confirm(entry())
    confirm(entry("old-one", status=Status.OUTDATED, title="Another one"))
    assert cli.main(["list", "--all", "--json"]) == 0
    states = {one["id"]: one["state"] for one in json.loads(capsys.readouterr().out)["entries"]}
    assert states == {"use-pnpm": "active", "old-one": "outdated"}
    for name, state in states.items():
        assert cli.main(["list", "--state", state, "--json"]) == 0
        assert [one["id"] for one in json.loads(capsys.readouterr().out)["entries"]] == [name]
