"""Short forms of package managers' verbs."""

from __future__ import annotations

import pytest

from experience_forge.core import spellings
from experience_forge.model import Condition, Guard
from experience_forge.store import spelling_rules
from helpers import entry
from recall_home import bash, fill, said


def test_a_guard_on_the_long_form_stops_the_short_ones():
    """A denied `npm install *` does not pass as `npm i`, and `npm ci` is another thing."""
    fill(entry(guard=Guard.DENY, applies_when=(Condition(command="npm install *"),)),
         entry("no-pip", guard=Guard.DENY, title="Use uv", aliases=(),
               applies_when=(Condition(command="pip install *"),)))
    for command in ("npm install x", "npm i x", "npm i", "cd app && npm add x"):
        assert "Use pnpm" in said(bash(command)), command
    for command in ("pip3 install x", "python -m pip install x", "/usr/bin/python3 -m pip install x"):
        assert "no-pip" in said(bash(command)), command
    for command in ("npm ci", "npm init", "pip list", "python -m pipx install x", "pnpm i"):
        assert bash(command) is None, command


@pytest.mark.parametrize(("command", "wanted"), [
    ("npm install *", ["npm i *", "npm add *"]), ("npm install:*", ["npm i *", "npm add *"]),
    ("npm i *", []), ("npm inst*", []), ("npm *", []), ("yarn add *", []), ("", []),
    ("pip install -r *", ["pip3 install -r *", "python -m pip install -r *", "python3 -m pip install -r *"]),
])  # fmt: skip
def test_only_whole_words_of_the_list_have_other_forms(command, wanted):
    """Nothing is guessed: what does not begin with a form of the list stays as it is."""
    assert spellings.others(command, spelling_rules.forms()) == wanted


def test_conditions_keep_their_other_parts_and_come_once():
    """Error, path and words go along; a form that is written out already is not doubled."""
    both = (Condition(command="npm install *", error="E404 gone"), Condition(command="npm i *", error="E404 gone"))
    found = spelling_rules.spelled(both)
    assert [one.command for one in found] == ["npm install *", "npm i *", "npm add *"]
    assert {one.error for one in found} == {"E404 gone"}
