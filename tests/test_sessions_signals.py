"""Detectors: what a person's words mean, clause by clause, in both languages."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import yaml

from experience_forge.core import scoring
from experience_forge.core.phrases import Before
from experience_forge.core.speakers import hear
from experience_forge.errors import Invalid
from experience_forge.model import Signal, SignalKind, Speaker
from experience_forge.store import ruleset, session_signals
from helpers_sessions import Transcript, rework

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("FORGE_DATA") or ROOT.parent / "shared" / "data")
AFTER_WORK = Before(after=True, work=True, own=True)


def labels(text, before=AFTER_WORK):
    """Kinds found in one prompt."""
    heard = hear(text)
    if heard.speaker is not Speaker.PERSON:
        return set()
    return {hit.kind for hit in session_signals.detectors().phrases.find(heard.words, before)}


def kinds(path):
    """Kinds of signals of one session."""
    return [signal.kind.value for signal in session_signals.of_file(path).signals]


OWN = [line.split("\t") for line in (ROOT / "tests/data/own_phrases.tsv").read_text(encoding="utf-8").splitlines()]


def test_our_own_phrases_come_out_right():
    """Of phrases written for this test, apart from the shared ones, at least 95 in 100 are judged right."""
    right = sum((not labels(text)) if wanted == "neither" else wanted in labels(text) for wanted, text in OWN)
    assert right / len(OWN) >= 0.95


@pytest.mark.parametrize(
    "text",
    [
        "why is it still broken? revert that",
        "looks good, but the total is still wrong",
        "好的，不过按钮还是没反应",
    ],
)
def test_one_clause_is_enough(text):
    """A question or praise in one clause does not hide the complaint in the next."""
    assert "correction" in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        'The comment says "this is wrong, revert it". What do you make of it?',
        "他说“不要这样改”，你觉得呢？",
        "```\nno, this is wrong\nrevert it\n```\nWhat does this log mean?",
    ],
)
def test_what_is_quoted_or_pasted_is_nobodys_word(text):
    """Cues inside quotation marks, code blocks and pastes do not count."""
    assert labels(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Implement the following plan:\n\nnever use npm",
        "<task-notification>it is wrong, revert</task-notification>",
        "Operation stopped by hook: no, wrong",
        "This session is being continued from a previous conversation. It is wrong.",
        "Medium Severity\n\nThe handler silently drops errors, which is wrong.",
    ],
)
def test_machines_and_reviewers_do_not_speak_for_the_person(text):
    """Plan hand-overs, notifications, hook text, summaries and pasted reviews are told apart."""
    assert hear(text).speaker is Speaker.MACHINE


def test_failures_need_something_to_have_been_done():
    """A bug report that opens a session corrects nobody."""
    assert labels("the login page doesn't work", Before()) == set()
    assert labels("the login page doesn't work") == {"correction"}


def test_a_no_that_answers_the_agents_question_is_no_correction():
    """What the agent asked may be answered with no."""
    assert labels("no, the second one", Before(after=True, own=True, asked=True)) == set()


def test_two_failing_checks_after_edits_are_two_rounds(tmp_path):
    """A round is an edit after the same check failed again; the first attempt is round 0."""
    explained = session_signals.of_file(rework().write(tmp_path / "s.jsonl"))
    assert [episode.rework_rounds for episode in explained.episodes] == [2]
    assert explained.episodes[0].solved == "yes"
    assert [signal.kind for signal in explained.signals] == [SignalKind.REWORK]


def test_failures_of_different_checks_are_ordinary_work(tmp_path):
    """A type error here and a lint warning there are no rework."""
    made = Transcript().prompt("add a field").edit().run("mypy src", "Exit code 1\n1 error", failed=True).edit()
    path = (
        made.run("ruff check", "Exit code 1\n1 error", failed=True).edit().run("ruff check").write(tmp_path / "s.jsonl")
    )
    assert kinds(path) == []


def test_a_failure_hidden_by_a_pipe_is_seen(tmp_path):
    """Output that reports failures counts though the exit code was lost; looking at files does not."""
    made = Transcript().prompt("fix it").edit()
    made.run("pytest | tail", "2 failed, 1 passed").edit().run("pytest | tail", "1 failed").edit()
    assert kinds(made.write(tmp_path / "a.jsonl")) == ["rework"]
    made = Transcript().prompt("fix it").edit()
    made.run("cat log", "2 failed, 1 passed").edit().run("cat log", "1 failed").edit()
    assert kinds(made.write(tmp_path / "b.jsonl")) == []


def test_a_new_wish_opens_a_new_episode(tmp_path):
    """Two corrections of two different things are not two rounds of one."""
    made = Transcript().prompt("sort the list").edit().answer("Done.").prompt("that's wrong, descending").edit()
    made.answer("Done.").prompt("now add a footer to the invoice page with the date").edit("/home/dev/shop/foot.py")
    path = (
        made.answer("Done.")
        .prompt("no, remove the date again")
        .edit("/home/dev/shop/foot.py")
        .write(tmp_path / "s.jsonl")
    )
    assert [e.rework_rounds for e in session_signals.of_file(path).episodes] == [1, 1]


def test_the_score_counts_each_kind_once_and_explains_itself():
    """The sum is over kinds, and a statement that is both correction and preference is one reason."""
    weights = scoring.Weights.of(ruleset.load("scoring"))

    def signal(kind, turn):
        return Signal(kind, weights.of_signal(kind), turn, turn + 1, "quote", "detector")

    total = scoring.score([signal(SignalKind.CORRECTION, 1), signal(SignalKind.CORRECTION, 2)], weights)
    assert (total.total, total.suggest, total.stress) == (3, True, False) and "counted once" in total.lines[0]
    total = scoring.score([signal(SignalKind.CORRECTION, 1), signal(SignalKind.PREFERENCE, 1)], weights)
    assert total.total == 3
    assert scoring.of_kinds(["rework", "root-cause", "typo"], ruleset.load("scoring")).stress


def test_faulty_weights_are_refused_with_all_faults():
    """A scoring file without numbers names each of them."""
    with pytest.raises(Invalid) as caught:
        scoring.Weights.of({"weights": {"rework": 3}, "thresholds": {}})
    assert len(caught.value.faults) == 6


def test_every_cue_holds_a_hint_of_its_own_pattern():
    """Each cue compiles, and its names are unique."""
    cues = session_signals.detectors().phrases.cues
    assert len({cue.name for cue in cues}) == len(cues)
    for cue in cues:
        cue.find.search("x")
        assert cue.hint and cue.kind in ("correction", "preference")


def test_no_labelled_sentence_stands_in_a_rule_file():
    """The rules are general: no sentence of the labelled sets was copied into them, word for word."""
    folder = DATA / "transcripts"
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}")
    rules = "\n".join(
        _plain(yaml.safe_dump(yaml.safe_load(path.read_text(encoding="utf-8")), allow_unicode=True, width=10**9))
        for path in (ROOT / "rules").glob("*.yaml")
    )
    names = ("labels.jsonl", "probe_turns.jsonl")
    texts = [
        json.loads(line)["text"] for name in names for line in (folder / name).read_text(encoding="utf-8").splitlines()
    ]
    copied = [text for text in texts if len(_plain(text)) >= 8 and _plain(text) in rules]
    assert copied == []


def _plain(text):
    return re.sub(r"[\W_]+", " ", text.lower()).strip()
