"""Entries that agree, or speak of other things, are not called contradicting."""

from __future__ import annotations

import pytest

from experience_forge.core import pairs
from experience_forge.model import Condition, Guard, Kind
from experience_forge.store import tidying
from helpers import entry

PUSH = (Condition(command="git push --force *"),)


def relation(one, other):
    return pairs.Judge([one, other], tidying.rules()).relation(0, 1)


def rule(entry_id, title, text, **fields):
    return entry(entry_id, title=title, aliases=(), sections=(("rule", text), ("why", "w"), ("how", "h")), **fields)


@pytest.mark.parametrize("strict", [Guard.DENY, Guard.ASK, Guard.HOLD])
def test_a_weaker_guard_on_the_same_rule_is_no_contradiction(strict):
    """Only an entry that says that something may be done contradicts one that denies it, not one without a guard."""
    one = rule("a", "Never force push", "Never force push a shared branch.", applies_when=PUSH, guard=strict)
    other = rule("b", "No force push", "Never force push a shared branch, use revert.", applies_when=PUSH)
    assert relation(one, other).contradiction is None
    may = rule("c", "Force push is fine", "Force push may be used without asking.", applies_when=PUSH)
    if strict is Guard.DENY:
        assert relation(one, may).contradiction.what == "guard"


def test_a_pitfall_that_names_a_tool_chooses_none():
    """A preference that rejects a tool and a pitfall that happens in it stand side by side."""
    pitfall = entry("jsx", title="React 17 needs the classic JSX transform", kind=Kind.PITFALL, aliases=(), sections=(
        ("scenario", "s"), ("symptom", "no jsx-runtime"), ("root_cause", "c"), ("right_action", "Set jsx."),
        ("rule", "Set jsx to react in tsconfig on React 17."),
    ), applies_when=(Condition(command="tsc *"),))
    other = rule("no-react", "New pages avoid React 17", "Avoid React 17 for new static pages.",
                 applies_when=(Condition(path="**/*.ts"),))
    found = relation(pitfall, other)
    assert found.contradiction is None and found.share >= 0.08


def test_a_word_that_holds_a_sign_of_forbidding_forbids_nothing():
    """别名 (alias) begins like 别 (don't)."""
    one = rule("a", "组件框架", "组件的别名统一用 react 导入。", language="zh")
    other = rule("b", "组件导入", "组件统一用 react 导入。", language="zh")
    assert relation(one, other).contradiction is None
