"""Entries that contradict each other, or mean the same, in hooks."""

from __future__ import annotations

import json

from experience_forge.fast import git
from experience_forge.model import Condition, Track
from experience_forge.store import home
from helpers import entry
from recall_home import ask, bash, fill, given, pitfall, prompt, said

WHEN = (Condition(command="zephyr publish *"),)


def contradict(one, other, wins):
    pairs = {one: [{"with": other, "wins": wins}], other: [{"with": one, "wins": wins}]}
    (home.current().derived / "contradictions.json").write_text(json.dumps(pairs), encoding="utf-8")


def test_undecided_entries_of_equal_scope_are_given_and_say_that_it_is_undecided():
    """Neither is silenced: one an event, each names the other."""
    fill(pitfall("first", title="Tests first", applies_when=WHEN), pitfall("second", title="Code first",
         applies_when=WHEN))
    contradict("first", "second", "-")
    text = said(bash("zephyr publish now"))
    assert "experience-forge first]" in text and "Undecided" in text and "[second]" in text and "narrower" not in text
    assert "[first]" in said(bash("zephyr publish now"))
    assert given() == ["first", "second"]


def test_an_entry_of_another_project_silences_nothing(tmp_path):
    """The narrower scope counts where it holds, and nowhere else."""
    own = git.project(str(tmp_path)).id
    fill(pitfall("wide", title="Wide", applies_when=WHEN),
         pitfall("narrow", title="Narrow", applies_when=WHEN, track=Track.PROJECT, project=own))
    contradict("wide", "narrow", "narrow")
    text = said(bash("zephyr publish now"))
    assert "experience-forge wide]" in text and "Undecided" not in text
    here = said(bash("zephyr publish now", session_id="s2", cwd=str(tmp_path)))
    assert "experience-forge narrow]" in here and "[wide] says otherwise" in here
    assert bash("zephyr publish now", session_id="s2", cwd=str(tmp_path)) is None


def test_a_start_gives_no_entry_that_a_narrower_one_contradicts(tmp_path):
    """The start of a session goes by the same: the winner, with a word about the other."""
    own = git.project(str(tmp_path)).id
    fields = {"track": Track.PROJECT, "project": own}
    fill(entry("here-a", title="Alpha", **fields), entry("here-b", title="Bravo zephyr", sections=(
        ("rule", "Publish by zephyr."), ("why", "w"), ("how", "h")), **fields))
    contradict("here-a", "here-b", "here-a")
    text = said(ask("SessionStart", source="startup", cwd=str(tmp_path)))
    assert given() == ["here-a"] and "[here-b] says otherwise" in text


def test_a_resumed_session_is_not_told_again_and_a_compacted_one_is(tmp_path):
    """The start gives an entry once a session; only what drops the context, compacting or clearing, gives it again."""
    fill(entry("own", track=Track.PROJECT, project=git.project(str(tmp_path)).id))
    counts = []
    for source in ("startup", "resume", "compact", "resume", "compact", "clear"):
        ask("SessionStart", source=source, cwd=str(tmp_path))
        counts.append(len(given()))
    assert counts == [1, 1, 2, 2, 3, 4]
    ask("SessionStart", source="startup", session_id="s2", cwd=str(tmp_path))
    assert given("s2") == ["own"]


def test_of_two_entries_with_one_meaning_the_projects_is_given_and_the_other_never(tmp_path):
    """The global one of the same title is not given in that session by any hook, and is given elsewhere."""
    own = git.project(str(tmp_path)).id
    when = (Condition(command="deployit *"),)

    def script(entry_id, rule, **fields):
        return entry(entry_id, title="Deploy with the blue script", applies_when=when, aliases=("用蓝色脚本部署",),
                     sections=(("rule", rule), ("why", "w"), ("how", "h")), **fields)

    fill(script("general", "Deploy with blue.sh."),
         script("here", "Run the wrapper of this app, green first.", track=Track.PROJECT, project=own))
    for _ in range(3):
        bash("deployit now", cwd=str(tmp_path))
    prompt("用蓝色脚本部署", cwd=str(tmp_path))
    ask("SessionStart", source="startup", cwd=str(tmp_path))
    assert given() == ["here"]
    assert "blue.sh" in said(bash("deployit now", session_id="s2"))
