"""`confirm` against receipts and the client's record, without a client: every check, in its order."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experience_forge import cli, report, shared
from experience_forge.clients import ancestry
from experience_forge.core import codec, consent
from experience_forge.errors import Refused
from experience_forge.fast import receipts as files_of
from experience_forge.store import client_record, derived, entries, home, journal, proposals, receipts, ruleset, settle
from helpers import entry, tree

SESSION = "5a1e0000-0000-4000-8000-000000000001"
PERSON = {**consent.PERSON}


class Client:
    """What the real client leaves behind: its environment and its record of the session."""

    def __init__(self, own_home: Path, monkeypatch):
        monkeypatch.setenv("CLAUDECODE", "1")
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "1")
        self.record = own_home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
        self.record.parent.mkdir(parents=True)
        self.command = "launcher confirm use-pnpm --digest x"
        self.call = "toolu_1"

    def write(self, **record):
        """Append one record."""
        with self.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def calls(self, command=None, call=None):
        """The record of a call, as it stands before the dialog."""
        given = {"command": command or self.command}
        block = {"type": "tool_use", "id": call or self.call, "name": "Bash", "input": given}
        message = {"role": "assistant", "content": [block]}
        self.write(type="assistant", message=message, isSidechain=False, entrypoint="cli")

    def answers(self, **fields):
        """The record of a call's result."""
        block = {"type": "tool_result", "tool_use_id": self.call, "content": "done"}
        record = {"type": "user", "isSidechain": False, "entrypoint": "cli", "permissionDecision": PERSON, **fields}
        self.write(message={"role": "user", "content": [block]}, **{k: v for k, v in record.items() if v is not None})

    def receipt(self, made, /, age=5.0, **changes):
        """An open receipt as the gate stores it, minted `age` seconds ago."""
        where = home.current()
        where.receipts.mkdir(parents=True, exist_ok=True)
        given = {"proposal": made.id, "digest": made.digest, "session": SESSION, "call": self.call,
                 "command": self.command, **changes}
        return files_of.mint(str(where.receipts), now=time.time() - age, **given)


@pytest.fixture
def client(own_home, monkeypatch):
    """An attended session of the client."""
    monkeypatch.setattr(shared, "refresh", lambda where: [])
    monkeypatch.setattr(ancestry, "age_of_this_process", lambda: 0.0)
    return Client(own_home, monkeypatch)


@pytest.fixture
def draft(own_home):
    """An open draft."""
    return proposals.create(home.current(), "draft", codec.render(entry()), {"warnings": []}, "use-pnpm")


def confirm(proposal, *more, digest=""):
    """Run the command; its exit code."""
    return cli.main(["confirm", proposal.id, "--digest", digest or proposal.digest, *more])


def nothing_written():
    """No entry, no journalled change, the draft still open."""
    where = home.current()
    return not list(where.entries.rglob("*.md")) and not journal.read(where) and bool(proposals.all(where))


def test_a_good_receipt_saves_with_its_proof_pending(client, draft, capsys):
    """All checks passed: the bytes are stored, the journal names session, call and receipt hash, never the receipt."""
    client.calls()
    receipt = client.receipt(draft)
    assert confirm(draft, "--receipt", receipt, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"schema_version", "entry", "path", "targets", "consent", "acts_when"}
    assert told["entry"] == "use-pnpm" and told["consent"]["by"] == "dialog"
    assert Path(told["path"]).read_text(encoding="utf-8") == draft.text
    (record,) = journal.read(home.current())
    given = record["consent"]
    assert (given["by"], given["proof"], given["session"], given["call"]) == ("dialog", "pending", SESSION, "toolu_1")
    assert given["receipt"] == files_of.hash_of(receipt) and 4 < given["waited"] < 10
    everything = b"".join(tree(home.current().root).values()) + json.dumps(told).encode()
    assert receipt.encode() not in everything
    assert not entries.get(home.current(), "use-pnpm").deliverable


@pytest.mark.parametrize(("changes", "words"), [
    ({"proposal": "another"}, "another proposal"), ({"digest": "0" * 64}, "another proposal"),
    ({"session": "5a1e0000-0000-4000-8000-000000000002"}, "another session"), ({"age": 1000}, "15 minutes"),
    ({"age": -30}, "15 minutes"), ({"age": 0.2}, "within a second"), ({"command": "other"}, "another command"),
    ({"call": "toolu_9"}, "does not hold the call"),
])  # fmt: skip
def test_a_receipt_for_something_else_is_refused_and_burnt(client, draft, capsys, changes, words):
    """Another proposal, session, time, command or call: exit 4, nothing written, and no second try with it."""
    client.calls()
    receipt = client.receipt(draft, **changes)
    assert confirm(draft, "--receipt", receipt) == 4
    said = capsys.readouterr().err
    assert words in said and f"confirm {draft.id} --digest {draft.digest}" in said
    assert confirm(draft, "--receipt", receipt) == 4
    assert "used already" in capsys.readouterr().err
    assert nothing_written()


def test_the_start_of_the_process_counts_not_its_checks(client, draft, capsys, monkeypatch):
    """A key at 0.9 s is too early, though Python was not ready to look before 1.4 s."""
    client.calls()
    monkeypatch.setattr(ancestry, "age_of_this_process", lambda: 0.5)
    assert confirm(draft, "--receipt", client.receipt(draft, age=1.4)) == 4
    assert "within a second" in capsys.readouterr().err and nothing_written()


def test_an_unattended_session_is_refused(client, draft, capsys, monkeypatch):
    """A session that says nobody sits there gets nothing, with a good receipt too."""
    client.calls()
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ATTENDED")
    assert confirm(draft, "--receipt", client.receipt(draft)) == 4
    assert "nobody sits" in capsys.readouterr().err and nothing_written()


def test_a_call_that_has_its_result_is_refused(client, draft, capsys):
    """A receipt is good only while its call runs: once the record holds a result, it is too late."""
    client.calls()
    client.answers()
    assert confirm(draft, "--receipt", client.receipt(draft)) == 4
    assert "had its answer" in capsys.readouterr().err and nothing_written()


def test_unknown_void_and_missing_receipts_are_refused(client, draft, capsys):
    """Each is told apart, so that the model can tell the user what happened."""
    client.calls()
    assert confirm(draft, "--receipt", "0" * 32) == 4
    assert "never issued" in capsys.readouterr().err
    receipt = client.receipt(draft)
    files_of.void_others(str(home.current().receipts), SESSION, "a later call")
    assert confirm(draft, "--receipt", receipt) == 4
    assert "void" in capsys.readouterr().err
    assert confirm(draft) == 4
    assert "no person has confirmed" in capsys.readouterr().err
    client.receipt(draft)
    assert confirm(draft) == 4
    assert "another hook rewrote" in capsys.readouterr().err
    assert nothing_written()


def test_a_changed_draft_is_invalid_data(client, draft, capsys):
    """Other bytes under the same id than were shown: exit 5, the draft is kept as it is now."""
    client.calls()
    receipt = client.receipt(draft)
    path = proposals.text_path(home.current(), draft.id)
    path.write_text(draft.text.replace("never", "Never"), encoding="utf-8")
    assert confirm(draft, "--receipt", receipt) == 5
    assert "other bytes" in capsys.readouterr().err and nothing_written()


@pytest.mark.parametrize("twist", [
    ("title: Use", "\"title\": Other\ntags: [x]\nextra_title: Use"), ("title: Use", "title: >-\n  Use"),
    ("kind: preference", "change: undo\nkind: preference"), ("track: personal", "'track': profile"),
])  # fmt: skip
def test_a_text_that_means_something_else_than_its_dialog_is_refused(client, own_home, capsys, twist):
    """YAML that our small reader reads differently, or a draft that calls itself an undo: exit 5."""
    text = codec.render(entry()).replace(*twist)
    made = proposals.create(home.current(), "draft", text, {"warnings": []}, "use-pnpm")
    client.calls()
    assert confirm(made, "--receipt", client.receipt(made)) == 5
    assert nothing_written()


@pytest.mark.parametrize("arguments", [
    ["confirm"], ["confirm", "x"], ["confirm", "UPPER", "--digest", "0" * 64], ["confirm", "x", "--digest", "0" * 63],
    ["confirm", "x", "--dig", "0" * 64], ["confirm", "x", "--digest", "0" * 64, "--receipt", "short"],
    ["confirm", "../x", "--digest", "0" * 64], ["confirm", "x", "--digest", "0" * 64, "more"],
])  # fmt: skip
def test_arguments_are_exact(client, arguments, capsys):
    """Anything but the grammar is exit 2, abbreviations included."""
    assert cli.main(arguments) == 2


def test_one_receipt_has_one_winner(client, draft):
    """Of two that take the same receipt, one gets its record."""
    receipt = client.receipt(draft)
    assert receipts.take(home.current(), receipt)[1] is not None
    assert receipts.take(home.current(), receipt) == ("used", None)


def saved(client, draft):
    """A change whose proof is pending."""
    client.calls()
    assert confirm(draft, "--receipt", client.receipt(draft)) == 0
    assert settle.waiting(home.current())


def test_a_fault_after_the_journal_leaves_the_change_to_be_settled(client, draft, monkeypatch):
    """When something breaks after the change was journalled, it is still settled; before it, the receipt is done."""
    monkeypatch.setattr(derived, "update", lambda where, applied: 1 // 0)
    client.calls()
    assert confirm(draft, "--receipt", client.receipt(draft)) == 3
    assert settle.waiting(home.current())
    client.answers()
    assert settle.settle(home.current())["proved"] == ["use-pnpm"]


def test_a_fault_before_the_journal_leaves_nothing_to_settle(client, draft, monkeypatch):
    """When the journal can't be written nothing was saved, and the receipt is done with."""
    def full(where, record):
        raise Refused("no space left")

    monkeypatch.setattr(journal, "append", full)
    client.calls()
    assert confirm(draft, "--receipt", client.receipt(draft)) == 1
    assert not settle.waiting(home.current()) and nothing_written()


def test_the_clients_record_proves_a_person(client, draft):
    """Once the record holds a person's Yes, the entry may be delivered; settling again changes nothing."""
    saved(client, draft)
    assert settle.settle(home.current())["waiting"] == ["use-pnpm"]
    client.answers()
    assert settle.settle(home.current())["proved"] == ["use-pnpm"]
    assert entries.get(home.current(), "use-pnpm").deliverable
    assert settle.settle(home.current()) == {"proved": [], "revoked": [], "waiting": [], "stuck": []}
    assert not settle.waiting(home.current())


def test_copies_of_a_request_in_the_record_are_no_answer(client, draft):
    """The client also writes down its requests with the result in them: they neither answer nor hide an answer."""
    client.calls()
    client.answers(type="api-request-blob", permissionDecision=None, isSidechain=None, entrypoint=None)
    assert confirm(draft, "--receipt", client.receipt(draft)) == 0
    client.answers()
    client.answers(type="api-request-blob", permissionDecision=None, isSidechain=None, entrypoint=None)
    assert settle.settle(home.current())["proved"] == ["use-pnpm"]


@pytest.mark.parametrize("fields", [
    {"permissionDecision": {**PERSON, "source": "hook"}}, {"permissionDecision": {**PERSON, "source": "config"}},
    {"permissionDecision": {**PERSON, "grantScope": "session"}}, {"permissionDecision": {"decision": "reject"}},
    {"permissionDecision": {**PERSON, "reasonCode": "mode"}}, {"isSidechain": True}, {"entrypoint": "sdk-cli"},
    {"toolDenialKind": "user-rejected"}, {"isSidechain": None},
])  # fmt: skip
def test_any_other_answer_undoes_the_change_and_is_told_once(client, draft, fields):
    """A hook, mode, rule, subagent or rejection in the record: the draft is open again, and the user hears it."""
    saved(client, draft)
    client.answers(**fields)
    where = home.current()
    assert settle.settle(where)["revoked"] == ["use-pnpm"]
    assert not list(where.entries.rglob("*.md"))
    assert [p.text for p in proposals.all(where)] == [draft.text]
    assert journal.read(where)[-1]["what"] == "revoked"
    assert receipts.untold(where) == ["use-pnpm"]
    assert receipts.untold(where) == []


@pytest.mark.parametrize("gap", ["no-record", "no-field", "torn"])
def test_a_silent_record_leaves_the_proof_pending(client, draft, gap):
    """Record gone, field missing or line torn: nothing is projected, nothing is undone."""
    saved(client, draft)
    if gap == "no-record":
        client.record.unlink()
    elif gap == "no-field":
        client.answers(permissionDecision=None)
    else:
        with client.record.open("a", encoding="utf-8") as file:
            file.write('{"type":"user","message":{"content":[{"tool_use_id":"toolu_1"')
    assert settle.settle(home.current())["waiting"] == ["use-pnpm"]
    assert not entries.get(home.current(), "use-pnpm").deliverable


def test_what_was_edited_since_is_not_undone_silently(client, draft):
    """When the saved file has other bytes by now, undoing reports it and leaves the file alone."""
    saved(client, draft)
    path = next(home.current().entries.rglob("*.md"))
    path.write_text(path.read_text(encoding="utf-8") + "mine\n", encoding="utf-8")
    client.answers(permissionDecision={**PERSON, "source": "hook"})
    assert settle.settle(home.current())["stuck"]
    assert path.read_text(encoding="utf-8").endswith("mine\n")


def test_a_crash_after_taking_the_receipt_changes_nothing(client, draft, monkeypatch):
    """A receipt taken and never journalled is settled after it expired; sweeping removes it a day later."""
    where = home.current()
    receipts.take(where, client.receipt(draft))
    settle.settle(where)
    assert settle.waiting(where)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + files_of.EXPIRES_SECONDS + 60)
    settle.settle(where)
    assert not settle.waiting(where) and len(list(where.receipts.iterdir())) == 1
    assert receipts.sweep(where, now + 2 * 24 * 3600) == 1
    assert list(where.receipts.iterdir()) == []


def test_only_the_end_of_a_long_record_is_searched_while_the_call_runs(client):
    """A call further back than 4 MB is not found for `confirm`, and is found for settling."""
    client.calls()
    with client.record.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "user", "message": {"content": "x" * (client_record.TAIL_BYTES + 10)}}) + "\n")
    assert client_record.find(SESSION, "toolu_1") is None
    assert client_record.find(SESSION, "toolu_1", tail=None) == consent.Call(client.command)


def test_a_session_id_can_not_name_other_files(client):
    """Only letters, digits and dashes name a record."""
    client.calls()
    for name in ("*", "../x", "", SESSION[:-1] + "?"):
        assert client_record.find(name, "toolu_1") is None


def test_dry_run_shows_and_writes_nothing(client, draft, capsys):
    """`--dry-run` prints the target and the text and leaves every byte alone."""
    before = tree(home.current().root)
    assert confirm(draft, "--dry-run") == 0
    assert "use-pnpm.md" in capsys.readouterr().out
    assert tree(home.current().root) == before


def test_chinese_users_get_chinese_words(client, draft, capsys, monkeypatch):
    """Refusals come in the user's language."""
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert confirm(draft) == 4
    assert "还没有人确认过" in capsys.readouterr().err


@pytest.fixture
def person(own_home, monkeypatch):
    """A terminal with a person at it, who gives the answers of a list; the list."""
    answers = []
    monkeypatch.setattr(ancestry, "client_above", lambda environ, pid=None: "")
    monkeypatch.setattr(report.Output, "can_ask", True)
    monkeypatch.setattr(report.Output, "ask", lambda self, question: answers.pop(0))
    monkeypatch.setattr(shared, "refresh", lambda where: [])
    return answers


def test_a_person_at_a_terminal_sees_the_text_and_saves(person, draft, capsys):
    """At a terminal of one's own the whole text and its digest are shown; a yes is the weaker, terminal proof."""
    person += ["y"]
    assert confirm(draft) == 0
    said = capsys.readouterr().err
    assert "**Why** The lock file" in said and draft.digest[:16] in said
    (record,) = journal.read(home.current())
    assert (record["consent"]["by"], record["consent"]["proof"]) == ("terminal", "terminal")
    assert entries.get(home.current(), "use-pnpm").deliverable


@pytest.mark.parametrize("answer", ["", "n", "no", "yes please", None])
def test_anything_but_yes_at_a_terminal_keeps_the_draft(person, draft, capsys, answer):
    """Enter alone, no, other words and the end of input save nothing."""
    person += [answer]
    assert confirm(draft) == 4
    assert "stays open" in capsys.readouterr().err and nothing_written()


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
@pytest.mark.parametrize("how", ["variable", "ancestor"])
def test_a_terminal_below_a_client_is_refused(draft, own_home, tmp_path, how):
    """A client's variable, or a client among the ancestors with a clean environment: a terminal proves nothing."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "EXPERIENCE_FORGE_HOME")}
    script = Path(__file__).resolve().parents[1] / "scripts" / "forge.py"
    command = [sys.executable, str(script), "confirm", draft.id, "--digest", draft.digest]
    if how == "variable":
        environment["CLAUDECODE"] = "1"
    else:
        parent = tmp_path / "claude"
        parent.write_text(f"#!/bin/sh\n{shlex.join(command)}\nexit $?\n", encoding="utf-8")
        parent.chmod(0o700)
        command = [str(parent)]
    code, shown = in_terminal(command, environment, "y")
    assert code == 4 and "below a coding agent" in shown
    assert nothing_written()


def in_terminal(command, environment, answer):
    """Run a command in a pseudo terminal and type one line; `(exit code, what it showed)`."""
    import pty

    master, slave = pty.openpty()
    streams = {"stdin": slave, "stdout": slave, "stderr": slave}
    process = subprocess.Popen(command, **streams, env=environment, start_new_session=True)
    os.close(slave)
    os.write(master, f"{answer}\n".encode())
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:
        pass  # Linux ends a pseudo terminal with EIO
    return process.wait(), shown.decode("utf-8", "replace")


@pytest.mark.parametrize(("words", "found"), [
    (["/usr/bin/claude"], "claude"), (["claude", "--resume"], "claude"), (["C:\\x\\Claude.EXE"], "claude"),
    (["node", "/x/node_modules/@anthropic-ai/claude-code/cli.js"], "@anthropic-ai/claude-code"),
    (["/bin/sh", "/opt/claude"], "claude"), (["bash"], ""), (["vim", "notes-about-claude.md"], ""),
    (["python", "-m", "claude"], ""), (["/home/claude/bin/zsh"], ""), ([], ""),
])  # fmt: skip
def test_clients_are_known_by_their_program(words, found):
    """A client is its program or the script it runs, not a word somewhere in a command line."""
    known = ruleset.load("clients")
    assert ancestry.client_in(words, known["names"], known["paths"]) == found


def test_the_age_of_a_process_is_known_from_its_start():
    """A process that slept knows that it is older than its CPU time."""
    code = "import time; time.sleep(0.5); from experience_forge.clients import ancestry; print({})"
    code = code.format("ancestry.age_of_this_process()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert float(done.stdout) >= (0.4 if sys.platform == "linux" else 0.0)


def test_ancestors_go_up_from_this_process():
    """The first ancestor is our parent's command line."""
    assert next(ancestry.ancestors(os.getpid()))
