"""Consent with the real client, in one session with a person: what a Yes saves, what everything else does not."""

from __future__ import annotations

import hashlib
import json
import time

import pytest

from experience_forge.store import journal, proposals
from helpers import entry

from .lab import Lab
from .layout import lay_out
from .server import bash, calls, for_agent, say, tool
from .talk import Talk, draft_text
from .terminal import DIALOG, Terminal


@pytest.fixture(scope="module")
def talk(client, tmux, tmp_path_factory):
    """One session in manual mode, shared by the tests below; each uses entries of its own."""
    lab = Lab(client, tmp_path_factory.mktemp("manual") / "lab")
    installed = lay_out(lab)
    with Terminal(lab, args=("--permission-mode", "manual"), size=(110, 50)) as terminal:
        terminal.ready()
        yield Talk(lab, installed, terminal)


def confirm_command(request):
    """The line that the draft command printed, as the model finds it in the result: the JSON and nothing else."""
    text = request.results[-1]["text"]
    return json.loads(text)["drafts"][0]["confirm_command"]


def test_the_skill_is_listed_and_loads(talk):
    """The first request lists the skill, and calling it puts SKILL.md before the model."""
    talk.start(calls(tool("Skill", skill="experience-forge")))
    talk.terminal.wait(talk.mark, seconds=40)
    first, last = talk.terminal.server.steps[0], talk.terminal.server.steps[-1]
    assert "- experience-forge:" in first.text
    body = (talk.installed.skill / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    lines = [line for line in body.splitlines() if line and "${" not in line]
    assert lines[0] in last.text and lines[-1] in last.text


def test_yes_saves_what_was_shown_and_the_record_proves_it(talk):
    """Drafted by the model's own call, confirmed in the dialog: exactly those bytes, journalled, then proven."""
    text = draft_text(entry("yes-one"))
    command = f"{talk.installed.launcher} draft --from - --json <<'ENTRY'\n{text}ENTRY"
    talk.start(
        calls(bash(command)),
        lambda request: calls(bash(confirm_command(request))),
    )
    shown = talk.answer("Enter")
    assert 'Save this entry? "Use pnpm in this repository (yes-one)"' in shown
    assert "**Why** The lock file" in shown and "2. No" in shown and "3." not in shown
    result = talk.end()[-1]
    assert not result.get("is_error"), result["text"]
    assert "receipt" not in result["text"]
    change = talk.changes("yes-one")[0]
    assert change["digest"][:16] in shown
    saved = talk.entry_path("yes-one").read_bytes()
    assert hashlib.sha256(saved).hexdigest() == change["digest"]
    assert change["consent"]["by"] == "dialog" and change["consent"]["waited"] >= 1.0
    talk.settle()
    assert journal.confirmed(talk.home)["personal/yes-one.md"].proof == "person"


def test_no_writes_nothing_and_keeps_the_proposal(talk):
    """No and Esc end the turn; nothing is written and the proposal stays open."""
    for number, keys in enumerate((("Down", "Enter"), ("Escape",))):
        entry_id = f"no-{number}"
        _, line = talk.propose(entry(entry_id))
        talk.run(line)
        talk.answer(*keys)
        talk.interrupted()
        assert talk.kept(entry_id)


def test_no_with_a_remark_reaches_the_model(talk):
    """The remark arrives at the model as the user's words, nothing is written, the receipt it leaves is void."""
    made, line = talk.propose(entry("no-remark"))
    talk.run(line)
    talk.remark("Down", text="shorten the title")
    assert "shorten the title" in talk.end()[-1]["text"]
    assert talk.kept("no-remark")
    receipt = talk.leaked_receipt(made)
    talk.run(talk.hidden(f"{line} --receipt {receipt}"))
    talk.answer("Enter")
    assert "void" in talk.end()[-1]["text"]
    assert talk.kept("no-remark")


def test_yes_with_a_remark_is_consent(talk):
    """A Yes with a remark saves, and is proven like a plain Yes."""
    _, line = talk.propose(entry("yes-remark"))
    talk.run(line)
    talk.remark(text="thank you")
    assert not talk.end()[-1].get("is_error")
    talk.settle()
    assert journal.confirmed(talk.home)["personal/yes-remark.md"].proof == "person"


def test_the_calls_other_fields_are_gone(talk):
    """A call in the background with a false description is shown with ours and runs in front."""
    _, line = talk.propose(entry("in-front"))
    talk.run(line, run_in_background=True, description="List files")
    shown = talk.answer("Enter")
    assert "experience-forge: save after your Yes" in shown and "List files" not in shown
    assert "Saved" in talk.end()[-1]["text"]


def test_other_shapes_of_the_line_are_denied_without_a_dialog(talk):
    """A command around the line, a second one beside it: denied, and the model is told the only line."""
    _, line = talk.propose(entry("shapes"))
    talk.run(f"cd . && {line}", f"{line}; touch side-effect", f"{line} --receipt {'0' * 32}")
    results = talk.end()[-3:]
    assert all("only this line" in result["text"] for result in results)
    assert talk.kept("shapes") and not (talk.lab.project / "side-effect").exists()


def test_a_stray_enter_does_not_save(talk):
    """A key held down as the dialog opens is no answer: what comes within a second is refused, and kept."""
    for number in range(5):
        entry_id = f"stray-{number}"
        _, line = talk.propose(entry(entry_id))
        talk.run(line)
        # The client takes no key in a dialog's first 0.2 s: keep pressing, as a held key does.
        while talk.mark not in talk.terminal.screen():
            talk.terminal.key("Enter", pause=0.05)
        if "within a second" in talk.end()[-1]["text"]:
            assert talk.kept(entry_id)
            return
        # A busy machine needed more than the second to open the dialog.
        assert talk.changes(entry_id)[0]["consent"]["waited"] >= 1.0
    pytest.fail("no early key came within the second, in five tries")


def test_a_proposal_that_changes_under_the_dialog_is_not_saved(talk):
    """Other bytes than shown: refused when changed before the call, and when changed while the dialog is open."""
    made, line = talk.propose(entry("changing"))
    path = proposals.text_path(talk.home, "changing")
    talk.run(line)
    talk.terminal.dialog()
    path.write_text(made.text.replace("never", "always"), encoding="utf-8")
    talk.terminal.key("Enter")
    assert "other bytes" in talk.end()[-1]["text"]
    talk.run(line)
    assert "changed since it was shown" in talk.end()[-1]["text"]
    assert talk.kept("changing")


def test_parallel_calls_are_asked_one_by_one_and_cost_one_dialog_each(talk):
    """Three entries in one message: exactly three dialogs, each for its own entry, all saved."""
    ids = ["three-a", "three-b", "three-c"]
    lines = [talk.propose(entry(entry_id))[1] for entry_id in ids]
    talk.run(*lines)
    for entry_id in ids:
        talk.terminal.wait(f"({entry_id})", DIALOG)
        time.sleep(1.1)
        talk.terminal.key("Enter")
    assert not any(result.get("is_error") for result in talk.end()[-3:])
    talk.settle()
    state = journal.confirmed(talk.home)
    assert [state[f"personal/{entry_id}.md"].proof for entry_id in ids] == ["person"] * 3


def test_the_users_own_command_has_no_receipt(talk):
    """The user's `!` command runs without hooks, so it carries no receipt and is refused."""
    _, line = talk.propose(entry("own-command"))
    talk.terminal.type("!")
    talk.terminal.send(line)
    talk.terminal.wait("nothing was saved")
    assert talk.kept("own-command")


def test_a_subagent_can_not_ask(talk):
    """A confirm line run by a subagent is denied, though a person sits at the session."""
    _, line = talk.propose(entry("by-agent"))
    agent = tool("Agent", description="save", prompt="AGENT-WORK", subagent_type="general-purpose")
    talk.start(calls(agent), for_agent("AGENT-WORK", calls(bash(line))), for_agent("AGENT-WORK", say("denied")))
    # Agents of an interactive session run beside it; the end of one starts a turn of its own.
    talk.until(lambda: any("subagent can't ask" in step.results[-1]["text"] for step in talk.steps() if step.results))
    talk.until(lambda: any("AGENT-WORK" not in step.opening and "denied" in step.text for step in talk.steps()))
    assert talk.kept("by-agent")


def test_the_next_session_gets_the_entry(talk):
    """Confirmed last and the session left: the next session's first request holds it, and nothing unconfirmed."""
    _, line = talk.propose(entry("last-one"))
    talk.run(line)
    talk.answer("Enter")
    talk.end()
    talk.terminal.finish()
    # No command of ours comes between: what runs at the end of a session settles the proof.
    index = talk.lab.home / ".claude" / "rules" / "experience-forge" / "index.md"
    talk.until(lambda: "last-one" in index.read_text(encoding="utf-8"))
    text = talk.lab.headless("hello", say("bye")).steps[0].text
    assert "last-one" in text and "yes-one" in text and "three-c" in text
    assert "no-remark" not in text and "by-agent" not in text
