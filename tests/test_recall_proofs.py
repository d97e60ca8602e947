"""Receipts: what the client's record shows of a delivery, kept after the record is gone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from experience_forge.fast import home as fast_home
from experience_forge.fast import spool
from experience_forge.store import home, ledger, proofs
from helpers import entry
from recall_home import bash, batch, fill, pitfall, said

ERROR = "ZephyrLockError: registry 'canary' is locked"
SESSION = "3f2a91c0-0000-4000-8000-000000000000"


@pytest.fixture
def record():
    """The client's file of the session, and a function that appends records to it."""
    path = Path(fast_home.client_folder()) / "projects" / "-work" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)

    def add(*records):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        with path.open("a", encoding="utf-8") as file:
            for one in records:
                file.write(json.dumps({"timestamp": stamp, **one}) + "\n")
        return path

    add({"type": "mode"})
    return add


def context(text, event):
    """The client's record of a hook's words."""
    inner = {"type": "hook_additional_context", "content": [text], "hookName": event, "hookEvent": event}
    return {"type": "attachment", "uuid": "u1", "attachment": inner}


def quiet():
    """A time at which the session has been over for a day and more."""
    return time.time() + 2 * proofs.MISSING_SECONDS


def test_a_delivery_is_found_by_file_and_line(record):
    """A reminder and a known error are found where the client wrote them."""
    where = fill(entry(), pitfall())
    for answer, event in ((bash("npm install", session_id=SESSION), "PreToolUse"),
                          (batch(ERROR, session_id=SESSION), "PostToolBatch")):
        path = record({"type": "other"}, context(said(answer), event))
    assert proofs.catch_up(where)["delivered"] == 2
    lines = ledger.with_proofs(ledger.read(where, SESSION), SESSION)
    assert [one["proof"]["source"] for one in lines] == [f"{path}:3", f"{path}:5"]
    assert set(proofs.catch_up(where).values()) == {0}


def test_a_refusal_is_found_in_the_result(record):
    """The reason of a denied call counts as delivered where the model read it."""
    from experience_forge.model import Guard

    where = fill(entry(guard=Guard.DENY))
    text = said(bash("npm install", session_id=SESSION))
    content = "PreToolUse:Bash hook error: " + text
    block = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": content}
    record({"type": "user", "message": {"content": [block]}})
    assert proofs.catch_up(where)["delivered"] == 1


def test_what_the_record_does_not_show_waits_and_then_counts_as_not_delivered(record):
    """A running session is waited for; a quiet one that does not show it says no."""
    where = fill(entry())
    bash("npm install", session_id=SESSION)
    record({"type": "user", "message": {"content": "use-pnpm is mentioned by the user"}})
    assert proofs.catch_up(where)["waiting"] == 1
    assert proofs.catch_up(where, quiet())["not_delivered"] == 1


def test_without_a_record_it_stays_unknown():
    """A session whose record is gone says neither yes nor no."""
    where = fill(entry())
    bash("npm install", session_id=SESSION)
    assert proofs.catch_up(where)["waiting"] == 1
    assert proofs.catch_up(where, quiet())["unknown"] == 1


def test_the_proof_outlives_the_record(record, capsys):
    """`log` names file and line, and when the client has deleted the file, the kept excerpt."""
    from experience_forge import cli

    where = fill(entry())
    path = record(context(said(bash("npm install", session_id=SESSION)), "PreToolUse"))
    proofs.catch_up(where)
    assert cli.main(["log", "use-pnpm", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)["deliveries"][0]
    assert one["verdict"] == "delivered" and one["source"] == f"{path}:2" and one["source_exists"]
    path.unlink()
    proofs_dir = list(home.current().evidence.glob("deliveries-*.jsonl"))
    assert len(proofs_dir) == 1
    from experience_forge.store import receipt_lines

    receipt_lines._kept.cache_clear()
    assert cli.main(["log", "use-pnpm", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)["deliveries"][0]
    assert not one["source_exists"] and "Use pnpm" in one["excerpt"] and len(one["excerpt"]) <= 300


def test_what_the_model_fetched_itself_is_an_exposure_too(record):
    """Reading an entry's file, or our `show`, is noted with its proof, once."""
    where = fill(entry(), pitfall())
    bash("npm install", session_id=SESSION)
    path = str(where.entries / "personal" / "zephyr-lock.md")
    read = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": path}}
    command = "/h/bin/experience-forge show use-pnpm"
    show = {"type": "tool_use", "id": "c2", "name": "Bash", "input": {"command": command}}
    transcript = record({"type": "assistant", "message": {"content": [read, show]}})
    lines = ledger.path_of(where, SESSION)
    told = f'"event":"PreToolUse","transcript":"{transcript}"'
    text = lines.read_text(encoding="utf-8").replace('"event":"PreToolUse"', told)
    lines.write_text(text, encoding="utf-8")
    assert proofs.catch_up(where)["fetched"] == 2
    assert proofs.catch_up(where)["fetched"] == 0
    found = [(one["entry"], one["form"]) for one in ledger.exposures(where) if one["form"] == "fetched"]
    assert found == [("zephyr-lock", "fetched"), ("use-pnpm", "fetched")]


def test_a_torn_ledger_line_hides_no_other(record):
    """A line that a crash cut is passed over."""
    where = fill(entry())
    bash("npm install", session_id=SESSION)
    path = ledger.path_of(where, SESSION)
    path.write_bytes(path.read_bytes() + b'{"what":"expo')
    ledger.append(where, SESSION, {"what": "state", "recall": "off"})
    assert [one["what"] for one in ledger.read(where, SESSION)] == ["opportunity", "exposure", "state"]


def test_what_the_client_loaded_by_itself_is_a_receipt_too(record):
    """An entry in a loaded rule file, or in a skill that was called, is noted once with its place."""
    where = fill(entry(), pitfall())
    spool.append(str(where.root), SESSION, {"what": "state", "state": "ended"})
    text = "- [use-pnpm] Use pnpm\n- [gone] x"
    files = [
        {"path": "/h/.claude/rules/experience-forge/index.md", "type": "User", "content": text},
        {"path": "/h/.claude/rules/own.md", "type": "User", "content": "see [zephyr-lock]"},
    ]
    skill = "Base directory for this skill: /h/.claude/skills/tools-experience\n\n- [zephyr-lock] **A lock**"
    path = record(
        {"type": "attachment", "attachment": {"type": "instructions", "files": files}},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": [{"type": "text", "text": skill}]}},
    )
    assert proofs.catch_up(where)["loaded"] == 2
    assert proofs.catch_up(where)["loaded"] == 0
    lines = ledger.with_proofs(ledger.read(where, SESSION), SESSION)
    assert [(one["entry"], one["place"].rpartition("/")[2], one["proof"]["source"]) for one in lines] == [
        ("use-pnpm", "index.md", f"{path}:2"), ("zephyr-lock", "Skill tools-experience", f"{path}:3"),
    ]
