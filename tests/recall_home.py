"""A data home with confirmed entries and an index, and hooks run on it, for the tests of recall."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from experience_forge.fast import dispatch, spool
from experience_forge.model import Condition, Kind
from experience_forge.store import derived
from experience_forge.store import home as store_home
from helpers import confirm, entry

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
GUARD = (
    "import sys\nsys.path.insert(0,sys.argv[1])\n"
    "try:\n import hook; hook.main()\nexcept BaseException: pass\nsys.exit(0)"
)


def pitfall(entry_id="zephyr-lock", **fields):
    """An entry that knows an error."""
    values = {
        "title": "The zephyr registry lock", "kind": Kind.PITFALL,
        "sections": (
            ("scenario", "Publishing twice"), ("symptom", "ZephyrLockError: registry 'canary' is locked"),
            ("root_cause", "A cancelled publish leaves its lease"), ("right_action", "Run zephyr unlock first"),
            ("rule", "Unlock the registry first."),
        ),
        "aliases": ("发布两次之后注册表被锁住",),
        "applies_when": (Condition(error="ZephyrLockError: registry 'canary' is locked"),), "fails_when": (),
        **fields,
    }  # fmt: skip
    return entry(entry_id, **values)


def fill(*found):
    """Confirm entries in the test's home and build the index; returns the home."""
    where = store_home.current()
    for one in found:
        confirm(one)
    derived.rebuild(where)
    return where


def ask(event, data=None, environ=None, **fields):
    """What the event's hook answers, run in this process; None when it stays silent."""
    body = {"session_id": "s1", "cwd": str(Path.cwd()), **(data or {}), **fields}
    home = os.environ["EXPERIENCE_FORGE_HOME"]
    context = dispatch.Context(home, event, dict(environ or {}), json.dumps(body).encode("utf-8"))
    return dispatch.answer(context)


def bash(command, **fields):
    """PreToolUse of a Bash call."""
    return ask("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1"}, **fields)


def write(path, **fields):
    """PreToolUse of a Write call."""
    return ask("PreToolUse", {"tool_name": "Write", "tool_input": {"file_path": str(path), "content": "x"}}, **fields)


def batch(text, command="make", tool="Bash", **fields):
    """PostToolBatch with one result."""
    call = {"tool_name": tool, "tool_input": {"command": command}, "tool_use_id": "t2", "tool_response": text}
    return ask("PostToolBatch", {"tool_calls": [call]}, **fields)


def prompt(text, **fields):
    """UserPromptSubmit."""
    return ask("UserPromptSubmit", {"prompt": text}, **fields)


def said(answer):
    """The text that an answer puts before the model; empty for none."""
    output = (answer or {}).get("hookSpecificOutput", {})
    return output.get("additionalContext") or output.get("permissionDecisionReason") or ""


def given(session="s1"):
    """Ids of the entries that a session was given, in order."""
    home = os.environ["EXPERIENCE_FORGE_HOME"]
    return [one["entry"] for one in spool.read(home, session) if one["what"] == "exposure"]


def process(event, data: bytes, environ=None):
    """The whole hook as the client starts it; the finished process."""
    environment = {"EXPERIENCE_FORGE_HOME": os.environ["EXPERIENCE_FORGE_HOME"], "HOME": os.environ["HOME"],
                   "EXPERIENCE_FORGE_WORKER": "1", **(environ or {})}
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", GUARD, str(SCRIPTS), event],
        input=data, capture_output=True, env=environment, timeout=60, check=False,
    )


def faults():
    """The text of the hooks' log."""
    path = store_home.current().logs / "hooks.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""
