"""Recall with the real client: what a hook delivers, how often, and the receipt it leaves."""

from __future__ import annotations

import json

import pytest

from experience_forge.fast import spool
from experience_forge.model import Condition, Guard, Kind
from experience_forge.store import derived, home, proofs
from helpers import confirm, entry

from .lab import Lab
from .layout import lay_out
from .server import bash, calls, only_if, say
from .terminal import Terminal

KNOWN = entry(
    "zephyr-lock",
    title="The zephyr registry lock",
    kind=Kind.PITFALL,
    sections=(
        ("scenario", "Publishing twice"), ("symptom", "ZephyrLockError: registry 'canary' is locked"),
        ("root_cause", "A cancelled publish leaves its lease behind"),
        ("right_action", "Run zephyr unlock, then publish again"), ("rule", "Unlock the registry first."),
    ),
    aliases=(),
    applies_when=(Condition(error="ZephyrLockError: registry 'canary' is locked"),),
)  # fmt: skip
FAILING = "echo \"ZephyrLockError: registry 'canary' is locked\" >&2; exit 3"
ACTION = "Run zephyr unlock, then publish again"
ALLOWED = ("--allowedTools", "Bash")


@pytest.fixture
def installed(lab: Lab, monkeypatch):
    """The skill with its hooks in the lab, and one entry that knows an error."""
    laid = lay_out(lab)
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(laid.home))
    # The worker would take proofs in the background, beside what these tests look at.
    lab.environment["EXPERIENCE_FORGE_WORKER"] = "1"
    add(laid, KNOWN)
    return laid


def add(laid, one):
    """Confirm an entry in the lab's home and bring the index up to date."""
    confirm(one, into=home.Home(laid.home))
    derived.rebuild(home.Home(laid.home))


def ledger(laid, run, what="exposure"):
    """Lines of one kind of the run's session."""
    session = run.transcripts[-1].stem
    return [one for one in spool.read(str(laid.home), session) if one["what"] == what]


@pytest.mark.parametrize("command", [FAILING, f"({FAILING}) 2>&1 | tail -5"])
def test_a_failure_brings_the_entry_into_the_next_request_once(lab: Lab, installed, command):
    """A failing command, also behind a pipe, puts cause and right action before the model, and only once."""
    run = lab.headless("go", calls(bash(command)), calls(bash(command)), say("bye"), args=ALLOWED)
    assert ACTION not in run.steps[0].text
    assert run.steps[1].text.count(ACTION) == 1
    assert run.steps[2].text.count(ACTION) == 1
    assert [one["entry"] for one in ledger(installed, run)] == ["zephyr-lock"]


def test_a_deny_guard_holds_every_time(lab: Lab, installed):
    """With `deny` the command never runs, and the model reads the rule each time."""
    add(installed, entry(guard=Guard.DENY))
    command = "cd . && FOO=1 npm install left-pad; touch ran"
    run = lab.headless("go", calls(bash(command)), calls(bash(command)), say("bye"), args=ALLOWED)
    for step in run.steps[1:3]:
        assert step.results[-1].get("is_error") and "Use pnpm, never npm." in step.results[-1]["text"]
    assert not (lab.project / "ran").exists()


def test_a_hold_guard_stops_the_first_try_and_lets_the_second_pass(lab: Lab, installed):
    """With `hold` the first call is refused with the rule, the same call again runs."""
    add(installed, entry(guard=Guard.HOLD))
    command = "npm install --version >/dev/null 2>&1; echo ran"
    run = lab.headless("go", calls(bash(command)), calls(bash(command)), say("bye"), args=ALLOWED)
    assert "Use pnpm, never npm." in run.steps[1].results[-1]["text"]
    assert run.steps[2].results[-1]["text"].strip() == "ran"


def test_a_reminder_arrives_with_the_result(lab: Lab, installed):
    """With `remind` the command runs and the note is in the very next request."""
    add(installed, entry())
    command = "echo hi; npm install --version >/dev/null 2>&1; true"
    run = lab.headless("go", calls(bash(command)), say("bye"), args=ALLOWED)
    assert "Use pnpm, never npm." in run.steps[1].text and not run.steps[1].results[-1].get("is_error")


def test_what_matches_nothing_adds_nothing(lab: Lab, installed):
    """A prompt and a command that no entry is about leave the request without a word of ours, and no exposure."""
    run = lab.headless("Add a button to the page", calls(bash("echo fine")), say("bye"), args=ALLOWED)
    assert "[experience-forge" not in run.steps[-1].text and "zephyr-lock" not in run.steps[-1].text
    assert ledger(installed, run) == []


def test_every_delivery_has_a_receipt_with_the_line_of_the_transcript(lab: Lab, installed, monkeypatch):
    """The worker finds each exposure in the client's own record and keeps file, line and an excerpt."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(lab.home / ".claude"))
    add(installed, entry(guard=Guard.HOLD))
    run = lab.headless("go", calls(bash(FAILING)), calls(bash("npm install x")), say("bye"), args=ALLOWED)
    where = home.Home(installed.home)
    done = proofs.catch_up(where)
    assert done["delivered"] == 2 and done["not_delivered"] == 0
    for proof in ledger(installed, run, "proof"):
        path, _, line = proof["source"].rpartition(":")
        record = json.loads(run.transcripts[-1].read_text(encoding="utf-8").splitlines()[int(line) - 1])
        assert path == str(run.transcripts[-1]) and proof["entry"] in json.dumps(record)


def test_after_a_compaction_the_start_text_is_there_once(lab: Lab, installed, tmux):
    """SessionStart text is in the first request, and once in the first one after a compaction."""
    (lab.project / ".git" / "logs").mkdir(parents=True)
    (lab.project / ".git" / "HEAD").write_text("ref: refs/heads/zephyr-registry-lock\n", encoding="utf-8")
    line = "0 1 A <a@b> 1 +0000\tcommit: zephyr registry lock canary publish unlock lease\n"
    (lab.project / ".git" / "logs" / "HEAD").write_text(line, encoding="utf-8")
    mark = "- [zephyr-lock]"
    # The compaction takes turns of its own: the last one waits for its prompt.
    turns = (say("ONE-DONE"), only_if("second-question", say("TWO-DONE")))
    with Terminal(lab, *turns, args=("--permission-mode", "manual")) as terminal:
        terminal.ready()
        terminal.send("hello")
        terminal.wait("ONE-DONE", seconds=40)
        assert terminal.server.steps[0].text.count(mark) == 1
        terminal.send("/compact")
        terminal.wait("Compacted", seconds=60)
        terminal.send("second-question")
        terminal.wait("TWO-DONE", seconds=40)
        assert terminal.server.steps[-1].text.count(mark) == 1
