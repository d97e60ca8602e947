"""Consent under attack, with the real client: nobody presses Yes, and nothing stays written."""

from __future__ import annotations

import pytest

from experience_forge.fast import dialog
from experience_forge.model import Track
from experience_forge.store import journal, proposals
from helpers import entry

from .lab import Lab
from .layout import lay_out
from .server import bash, calls, say
from .talk import Talk
from .terminal import DIALOG, Terminal

BYPASS = ("--dangerously-skip-permissions",)
APPROVE = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


@pytest.fixture(scope="module")
def talk(client, tmux, tmp_path_factory):
    """One session in bypassPermissions, where the client itself asks nothing."""
    lab = Lab(client, tmp_path_factory.mktemp("bypass") / "lab")
    installed = lay_out(lab)
    with Terminal(lab, args=BYPASS, size=(110, 50)) as terminal:
        terminal.ready()
        yield Talk(lab, installed, terminal)


def test_bypass_mode_asks_all_the_same(talk):
    """In bypassPermissions the dialog comes too, and Esc keeps everything as it was."""
    _, line = talk.propose(entry("bypass"))
    talk.run(line)
    talk.answer("Escape")
    talk.interrupted()
    assert talk.kept("bypass")


def test_the_smallest_terminal_shows_reason_and_choices(talk):
    """At 80x24 the longest Chinese proposal shows all its rows, unbroken, and both choices."""
    wide = entry(
        "long", title="经验" * 100, language="zh", track=Track.PERSONAL,
        sections=(("rule", "规则" * 150), ("why", "原因\n" * 40), ("how", "隐藏\u202e的\u200b字")),
    )  # fmt: skip
    made, line = talk.propose(wide)
    expected = dialog.reason(made.text, made.digest, []).split("\n")
    talk.terminal.resize(80, 24)
    try:
        talk.run(line)
        shown = [row.strip(" │") for row in talk.answer("Escape").splitlines()]
        talk.interrupted()
    finally:
        talk.terminal.resize(110, 50)
    first = shown.index(expected[0])
    assert [row.removesuffix(" [settings]") for row in shown[first:first + len(expected)]] == expected
    assert len(expected) == 7 and expected[-1].startswith("摘要 ")
    assert "❯ 1. Yes" in shown and "2. No" in shown
    assert talk.kept("long")


def test_hidden_calls_have_no_receipt(talk):
    """A confirm that no hook could see, with none or an invented receipt, is refused with exit 4."""
    _, line = talk.propose(entry("hidden"))
    talk.run(talk.hidden(line), talk.hidden(f"{line} --receipt {'ab' * 16}"))
    none, invented = talk.end()[-2:]
    assert "Exit code 4" in none["text"] and "no person has confirmed" in none["text"]
    assert "Exit code 4" in invented["text"] and "never issued" in invented["text"]
    assert talk.kept("hidden")


def test_a_terminal_made_by_the_model_proves_nothing(talk):
    """`script` gives the model a terminal; below a client it is refused, with a cleaned environment too."""
    _, line = talk.propose(entry("own-terminal"))
    clean = f"env -i PATH=$PATH HOME=$HOME {line}"
    talk.run(*(talk.hidden(f"echo y | script -qec '{each}' /dev/null") for each in (line, clean)))
    for result in talk.end()[-2:]:
        assert "below a coding agent" in result["text"]
    assert talk.kept("own-terminal")


def test_a_receipt_left_by_a_no_is_void(talk):
    """After a No with a remark the receipt stands in the record; a model that replays it gets nothing."""
    made, line = talk.propose(entry("leftover"))
    talk.run(line)
    talk.remark("Down", text="not yet")
    talk.end()
    replay = f"{line} --receipt {talk.leaked_receipt(made)}"
    talk.run(replay, talk.hidden(replay))
    denied, refused = talk.end()[-2:]
    assert "only this line" in denied["text"]
    assert "Exit code 4" in refused["text"] and "void" in refused["text"]
    assert talk.kept("leftover")


def test_a_used_receipt_does_not_work_again(talk):
    """A receipt that saved one entry saves nothing more, neither the same nor another."""
    made, line = talk.propose(entry("twice"))
    talk.run(line)
    talk.answer("Enter")
    talk.end()
    _, other = talk.propose(entry("twice-other"))
    receipt = talk.leaked_receipt(made)
    talk.run(talk.hidden(f"{line} --receipt {receipt}"), talk.hidden(f"{other} --receipt {receipt}"))
    for result in talk.end()[-2:]:
        assert "Exit code 4" in result["text"] and "used already" in result["text"]
    assert talk.kept("twice-other") and len([c for c in talk.changes("twice") if c["what"] == "change"]) == 1


def test_a_receipt_taken_while_the_dialog_is_open_belongs_to_its_call(talk):
    """An open receipt that leaks while its dialog waits is useless outside that call's session."""
    _, line = talk.propose(entry("while-open"))
    talk.run(line)
    talk.terminal.dialog()
    receipt = next(word for word in talk.terminal.screen(200).split() if len(word) == 32 and word.isalnum())
    assert "Exit" not in receipt
    done = talk.outside(f"{line} --receipt {receipt}")
    assert done.returncode == 4 and "another session" in done.stderr
    talk.terminal.key("Enter")
    assert "used already" in talk.end()[-1]["text"]
    assert talk.kept("while-open")


@pytest.fixture(scope="module")
def laid_out(client, tmp_path_factory):
    """One lab for the tests that start a client of their own."""
    lab = Lab(client, tmp_path_factory.mktemp("own") / "lab")
    return lab, lay_out(lab)


@pytest.fixture
def own(laid_out):
    """That lab, without a session; settings and hook are as installed before and after each test."""
    lab, installed = laid_out
    hook = installed.skill / "scripts" / "hook.py"
    before = {path: path.read_bytes() for path in (lab.settings_file, hook)}
    yield Talk(lab, installed, None)
    for path, data in before.items():
        path.write_bytes(data)


def test_an_approval_by_another_plugin_is_undone(own, tmux):
    """A PermissionRequest hook that allows our call: saved, never projected, undone when settled."""
    own.lab.hook("PermissionRequest", matcher="Bash", reply={"stdout": APPROVE, "sleep": 1.2})
    with Terminal(own.lab, args=("--permission-mode", "manual"), size=(110, 50)) as terminal:
        terminal.ready()
        talk = Talk(own.lab, own.installed, terminal)
        _, line = talk.propose(entry("by-plugin"))
        talk.run(line)
        assert not talk.end()[-1].get("is_error")
        assert DIALOG not in terminal.screen(200)
        assert talk.entry_path("by-plugin").exists()
        assert journal.confirmed(talk.home)["personal/by-plugin.md"].proof == "pending"
        talk.settle()
        assert [c["what"] for c in talk.changes("by-plugin")] == ["change", "revoked"]
        assert not talk.entry_path("by-plugin").exists()
        assert proposals.text_path(talk.home, "by-plugin").exists()
        assert "personal/by-plugin.md" not in journal.confirmed(talk.home)


def test_a_hook_that_rewrites_the_command_leaves_no_receipt(own, tmux):
    """Another hook that puts the plain command back: even a Yes saves nothing, and says why."""
    _, line = own.propose(entry("rewritten"))
    reply = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": line}}}
    own.lab.hook("PreToolUse", matcher="Bash", reply={"stdout": reply, "sleep": 1.0})
    with Terminal(own.lab, args=("--permission-mode", "manual"), size=(110, 50)) as terminal:
        terminal.ready()
        talk = Talk(own.lab, own.installed, terminal)
        talk.run(line)
        talk.answer("Enter")
        assert "another hook rewrote" in talk.end()[-1]["text"]
        assert talk.kept("rewritten")


@pytest.mark.parametrize("args", [(), ("--allowedTools", "Bash"), BYPASS])
def test_headless_runs_save_nothing(own, args):
    """Under -p nobody can answer: the gate denies, in every mode, and names the way that works."""
    entry_id = f"headless-{len(args)}-{len(''.join(args))}"
    _, line = own.propose(entry(entry_id))
    run = own.lab.headless("go", calls(bash(line)), say("bye"), args=args)
    assert "review" in run.steps[-1].results[0]["text"]
    assert own.kept(entry_id)


@pytest.mark.parametrize("broken", ["raises", "missing", "no-hooks"])
def test_without_a_working_hook_nothing_is_saved(own, broken):
    """A hook that crashes, is gone or is not installed blocks no call of the user, and `confirm` refuses."""
    hook = own.installed.skill / "scripts" / "hook.py"
    if broken == "raises":
        hook.write_text("raise SystemExit(2)\n", encoding="utf-8")
    elif broken == "missing":
        hook.unlink()
    else:
        own.lab.settings(lambda data: data.pop("hooks"))
    _, line = own.propose(entry(f"crash-{broken}"))
    run = own.lab.headless("go", calls(bash("echo still-$((40+2))"), bash(line)), say("bye"), args=BYPASS)
    echoed, refused = run.steps[-1].results
    assert echoed["text"] == "still-42"
    assert "Exit code 4" in refused["text"]
    assert own.kept(f"crash-{broken}")
