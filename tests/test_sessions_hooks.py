"""Stop, the reply to it, and the session's end, run as the client runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experience_forge.fast import spool
from experience_forge.store import config, derived, home
from helpers_sessions import Transcript, rework

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
BASE = getattr(sys, "_base_executable", None) or sys.executable
CODE = "import sys; sys.path.insert(0, sys.argv[1]); import hook; hook.main()"


@pytest.fixture
def hook(own_home):
    """Run one event on an input; what the client would get, parsed."""
    derived.compile_settings(home.current())

    def call(event, environ=None, **data):
        run = subprocess.run(
            [BASE, "-I", "-S", "-c", CODE, str(SCRIPTS), event],
            input=json.dumps(data).encode(),
            capture_output=True,
            env={**os.environ, **(environ or {})},
            timeout=30,
        )
        assert run.returncode == 0 and run.stderr == b""
        return json.loads(run.stdout) if run.stdout else None

    return call


def records(session):
    """The ledger of a session."""
    return spool.read(str(home.current().root), session)


def test_the_one_suggestion_goes_to_the_user_once(hook, tmp_path):
    """At the first turn that reaches 3 the user is told, with signals, score and words to type; never again."""
    made = rework()
    path = str(made.write(tmp_path / "s.jsonl"))
    said = hook("Stop", session_id="s", transcript_path=path, cwd="/tmp")
    assert set(said) == {"systemMessage"}
    assert all(part in said["systemMessage"] for part in ("2 rounds of rework", "score 3", "summarize experience"))
    made.prompt("no, that's wrong").edit().write(Path(path))
    assert hook("Stop", session_id="s", transcript_path=path, cwd="/tmp") is None
    assert [record["what"] for record in records("s")] == ["suggestion"]


def test_it_speaks_the_sessions_language(hook, tmp_path):
    """A Chinese session gets a Chinese sentence."""
    made = Transcript().prompt("给购物车加上合计").edit().answer("已完成。").prompt("不对，以后金额都用 Decimal")
    said = hook("Stop", session_id="s", transcript_path=str(made.write(tmp_path / "s.jsonl")), cwd="/tmp")
    assert "总结经验" in said["systemMessage"] and "偏好" in said["systemMessage"]


def test_turns_add_up_from_one_stop_to_the_next(hook, tmp_path):
    """The state is taken up where the last turn left it: a rework over three turns is one."""
    made, path = Transcript().prompt("sort the list").edit().answer("Done."), tmp_path / "s.jsonl"
    made.write(path)
    assert hook("Stop", session_id="s", transcript_path=str(path), cwd="/tmp") is None
    made.run(output="Exit code 1\nFAILED a", failed=True).edit().answer("Done.").write(path)
    assert hook("Stop", session_id="s", transcript_path=str(path), cwd="/tmp") is None
    made.run(output="Exit code 1\nFAILED a", failed=True).edit().answer("Done.").write(path)
    assert "2 rounds" in hook("Stop", session_id="s", transcript_path=str(path), cwd="/tmp")["systemMessage"]


@pytest.mark.parametrize(
    ("data", "environ"),
    [
        ({"agent_id": "a1"}, {}),
        ({}, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}),
        ({}, {"EXPERIENCE_FORGE_WORKER": "1"}),
    ],
)
def test_nobody_is_disturbed_where_nobody_sits(hook, tmp_path, data, environ):
    """Subagents, headless runs and our own worker get no suggestion."""
    path = str(rework().write(tmp_path / "s.jsonl"))
    assert hook("Stop", environ, session_id="s", transcript_path=path, cwd="/tmp", **data) is None


def test_switched_off_means_silent(hook, tmp_path):
    """Off for the session and off everywhere both silence it."""
    path = str(rework().write(tmp_path / "s.jsonl"))
    spool.append(str(home.current().root), "s", {"what": "state", "suggest": "off"})
    assert hook("Stop", session_id="s", transcript_path=path, cwd="/tmp") is None
    config.change({"suggest": {"on": False}})
    derived.compile_settings(home.current())
    assert hook("Stop", session_id="t", transcript_path=path, cwd="/tmp") is None


@pytest.mark.parametrize(
    "content", [b"", b"garbage\n", b'{"type":"user","message":{"content":[1,{"type":[]}]}}\n', b"\xff" * 99]
)
def test_a_damaged_transcript_never_breaks_a_turn(hook, tmp_path, content):
    """Whatever stands in the transcript, the hook ends well and says nothing."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    assert hook("Stop", session_id="s", transcript_path=str(path), cwd="/tmp") is None


def suggested(asked=False):
    """A suggestion that was just made."""
    spool.append(
        str(home.current().root),
        "s",
        {"what": "suggestion", "text": "LINE", "language": "en", "signals": "2 rounds of rework", "asked": asked},
    )


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Yes please!", "yes"),
        ("好的", "yes"),
        ("No thanks.", "no"),
        ("不用了", "no"),
        ("now add a footer", "unanswered"),
        ("summarize experience", "words"),
        ("总结经验", "words"),
    ],
)
def test_only_a_bare_answer_is_an_answer(hook, prompt, answer):
    """Yes and no are passed on to the model and recorded; anything else is unanswered, never a refusal."""
    suggested()
    said = hook("UserPromptSubmit", session_id="s", prompt=prompt, cwd="/tmp")
    assert records("s")[-1]["answer"] == answer
    assert (said is not None) == (answer in ("yes", "no"))
    if said:
        text = said["hookSpecificOutput"]["additionalContext"]
        assert "LINE" in text and f"answer is {answer}" in text


def test_a_yes_to_the_agents_own_question_is_not_ours(hook):
    """When the agent had asked something, a bare yes answers that."""
    suggested(asked=True)
    assert hook("UserPromptSubmit", session_id="s", prompt="yes", cwd="/tmp") is None
    assert records("s")[-1]["answer"] == "unanswered"


def test_only_the_next_prompt_answers(hook):
    """A yes two prompts later means something else."""
    suggested()
    hook("UserPromptSubmit", session_id="s", prompt="now add a footer", cwd="/tmp")
    assert hook("UserPromptSubmit", session_id="s", prompt="yes", cwd="/tmp") is None
    assert [record["what"] for record in records("s")] == ["suggestion", "answer"]


def test_the_end_of_a_session_is_noted_and_starts_the_worker(hook, tmp_path):
    """SessionEnd returns at once with nothing to say, and a process of its own runs the worker."""
    made = subprocess.run(["cp", "-r", str(SCRIPTS), str(tmp_path / "scripts")], check=False)
    if made.returncode:
        pytest.skip("no cp here")
    (tmp_path / "scripts" / "forge.py").write_text(
        "import os, sys; open(os.environ['EXPERIENCE_FORGE_HOME'] + '/ran', 'w', encoding='utf-8').write(sys.argv[1])",
        encoding="utf-8",
    )
    begun = time.monotonic()
    run = subprocess.run(
        [BASE, "-I", "-S", "-c", CODE, str(tmp_path / "scripts"), "SessionEnd"],
        capture_output=True,
        timeout=30,
        input=json.dumps({"session_id": "s", "reason": "other"}).encode(),
        env=dict(os.environ),
    )
    assert run.returncode == 0 and run.stdout == b"" and time.monotonic() - begun < 10
    assert records("s")[-1]["state"] == "ended"
    ran = home.current().root / "ran"
    for _ in range(100):
        if ran.exists() and ran.read_text(encoding="utf-8"):
            break
        time.sleep(0.1)
    assert ran.read_text(encoding="utf-8") == "worker"


def test_the_question_for_holdouts_is_asked_once_an_entry(hook, own_home):
    """When an entry met its fifth opportunity, a turn's end asks the user, once for this entry and not again."""
    folder = own_home / "forge-home" / "derived"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "measure-question.tsv").write_text("use-pnpm\tMay it be left out now and then?\n", encoding="utf-8")
    path = str(own_home / "none.jsonl")
    assert hook("Stop", session_id="s1", transcript_path=path) == {"systemMessage": "May it be left out now and then?"}
    assert hook("Stop", session_id="s2", transcript_path=path) is None
