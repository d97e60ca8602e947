"""The lab itself: the scripted model, the recorder, the trimmer, both ways to run the client."""

from __future__ import annotations

import json
import urllib.request

from .lab import Lab
from .server import OUT_OF_TURNS, Server, bash, calls, only_if, say
from .terminal import Terminal
from .trim import dashed, trimmed

STEP = {"model": "m", "tools": [{"name": "Bash"}], "messages": []}


def post(url, body):
    """One plain request to the scripted model; the text of its answer."""
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=5) as reply:
        return reply.read().decode("utf-8")


def test_turns_come_in_order_and_side_requests_take_none():
    """A side request takes no turn, a turn with a condition waits for its text, the rest come in order."""
    with Server(say("one"), only_if("BRANCH", say("branch")), lambda request: say(request.text)) as server:
        assert '"ok"' in post(server.url, {"model": "m", "messages": []})
        assert '"branch"' in post(server.url, {**STEP, "system": "BRANCH"})
        assert '"text_delta", "text": "one"' in post(server.url, {**STEP, "stream": True})
        assert '"echo"' in post(server.url, {**STEP, "system": "echo"})
        assert OUT_OF_TURNS in post(server.url, STEP)
        assert len(server.requests) == 5 and len(server.steps) == 4


def test_trimming_keeps_the_talk_and_drops_the_clients_own_texts():
    """Hook records stay whole; the client's lists lose their content."""
    hook = {"type": "attachment", "attachment": {"type": "hook_success", "content": "x"}}
    own = {"type": "attachment", "uuid": "u", "attachment": {"type": "skill_listing", "content": "long"}}
    assert trimmed(hook) == hook
    assert trimmed(own) == {**own, "attachment": {"type": "skill_listing"}, "trimmed": True}
    assert dashed("/a b/项目_1.x") == "-a-b----1-x"


def test_a_headless_run_shows_requests_hooks_and_transcript(lab: Lab):
    """One headless run gives requests, tool results, hook input and records, and hooks can answer."""
    lab.hook("SessionStart", reply={"stdout": "注入 injected"})
    lab.hook("PostToolUse", matcher="Bash")
    turns = (calls(bash("echo out-$((40+2))")), say("bye"))
    run = lab.headless("hello", *turns, args=["--allowedTools", "Bash"])
    assert run.code == 0 and run.stdout.strip() == "bye"
    assert "注入 injected" in run.steps[0].text
    assert run.steps[-1].results[0]["text"] == "out-42"
    assert run.hooks("PostToolUse")[0]["tool_input"]["command"].startswith("echo")
    assert any(record.get("type") == "assistant" for record in run.records)


def test_a_terminal_shows_the_dialog_and_takes_keys(lab: Lab, tmux: str):
    """An interactive session shows the permission dialog, and "No" keeps the command from running."""
    turns = (calls(bash("touch made-by-call")), say("the end"))
    with Terminal(lab, *turns, args=["--permission-mode", "manual"]) as terminal:
        terminal.ready()
        terminal.send("go")
        assert "touch made-by-call" in terminal.dialog()
        terminal.key("Escape")
        terminal.wait("Interrupted")
        run = terminal.finish()
    assert len(run.steps) == 1
    assert not (lab.project / "made-by-call").exists()
