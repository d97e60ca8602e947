"""The consent gate: which call becomes a dialog, what the dialog shows, what is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
import unicodedata
from types import SimpleNamespace

import pytest

from experience_forge.core import codec
from experience_forge.fast import confirm_line, dialog, gate, receipts, visible
from experience_forge.model import Kind, Track
from experience_forge.store import home, proposals
from helpers import entry

ATTENDED = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
LAUNCHER = "/home/李 雷/it's here/bin/experience-forge"
ZH = entry(
    "hermes-channel",
    title="AI 工具安装渠道的「假 up to date」陷阱",
    kind=Kind.PITFALL,
    language="zh",
    sections=(
        ("scenario", "更新 hermes"),
        ("symptom", "提示已是最新"),
        ("root_cause", "渠道不同"),
        ("right_action", "用 pip 安装"),
        ("rule", "更新之后核对版本号，不信提示"),
    ),
)


@pytest.fixture
def asked(monkeypatch):
    """A proposal, and a function that sends one call through the gate."""
    where = home.current()
    record = {"hooks": True, "home": str(where.root), "launcher": LAUNCHER}
    monkeypatch.setattr(confirm_line, "installed", lambda folder="": record)
    proposal = proposals.create(where, "draft", codec.render(ZH), {"warnings": []}, ZH.id)
    line = confirm_line.write(LAUNCHER, proposal.id, proposal.digest)

    def send(command=line, call="call-1", session="s-1", environ=ATTENDED, tool="Bash", **data):
        given = {"tool_name": tool, "tool_use_id": call, "session_id": session,
                 "tool_input": {"command": command, "run_in_background": True}, **data}
        context = SimpleNamespace(home=str(where.root), event="PreToolUse", environ=environ, data=given)
        output = gate.handle(json.dumps(given).encode(), context)
        return None if output is None else output["hookSpecificOutput"]

    return SimpleNamespace(send=send, line=line, proposal=proposal, record=record, home=where)


def states(where):
    """Endings of the files in receipts/, sorted."""
    return sorted(path.suffix[1:] for path in where.receipts.glob("*"))


def test_the_exact_line_becomes_a_dialog_with_a_stored_receipt(asked):
    """The one line is answered with `ask`; the receipt lies on disk under its hash, private, with its call."""
    answer = asked.send()
    assert answer["permissionDecision"] == "ask"
    assert set(answer["updatedInput"]) == {"command", "description"}
    command = answer["updatedInput"]["command"]
    first, rest = command.split("\n", 1)
    assert first.startswith(asked.line + " --receipt ")
    receipt = first.split()[-2]
    path = asked.home.receipts / f"{hashlib.sha256(receipt.encode()).hexdigest()}.open"
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["digest"] == asked.proposal.digest and stored["command"] == asked.line
    assert (stored["session"], stored["call"]) == ("s-1", "call-1")
    assert round(stored["not_before"] - stored["minted"], 3) == 1.0
    assert round(stored["expires"] - stored["minted"]) == 900
    assert receipt not in path.read_text(encoding="utf-8")
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    mark = first.rsplit("'", 2)[1]
    assert rest == asked.proposal.text.rstrip("\n") + "\n" + mark


def test_the_rows_say_in_the_proposals_language_what_will_be_saved(asked):
    """Title, warnings, place, rule, digest: in this order, Chinese for a Chinese proposal."""
    assert asked.send()["permissionDecisionReason"].split("\n") == [
        "保存这条经验？《AI 工具安装渠道的「假 up to date」陷阱》",
        "提醒：无",
        "去处：personal → ~/.claude/rules/experience-forge/index.md",
        "规则：更新之后核对版本号，不信提示",
        f"摘要 {asked.proposal.digest[:16]}；全文在上面（PageUp）；No 加一句话 = 修改",
    ]


def test_an_english_proposal_gets_english_rows():
    """The language of the rows is the proposal's."""
    text = codec.render(entry(track=Track.DOMAIN, domain="tooling"))
    assert dialog.reason(text, "d" * 64, ["looks like a secret", "tells the reader to obey"]).split("\n") == [
        'Save this entry? "Use pnpm in this repository (use-pnpm)"',
        "Warnings: looks like a secret; tells the reader to obey",
        "Goes to: domain → ~/.claude/skills/tooling-experience/",
        "Rule: Use pnpm, never npm.",
        f"Digest {'d' * 16}; full text above (PageUp); No + remark = modify",
    ]


@pytest.mark.parametrize("change", [
    "cd /tmp && {line}", "{line} ", " {line}", "{line}\n", "{line}; rm -rf x", "{line} &", "FOO=1 {line}",
    "echo hi\n{line}", "{line} | cat", "bash -c '{line}'", "{line} --receipt " + "0" * 32,
    "{line} <<'DRAFT-00000000'\nhello\nDRAFT-00000000", "{line} --dry-run", "experience-forge confirm x --digest y",
    "python3 forge.py confirm x --digest=$D", "{line}\u00a0",
])  # fmt: skip
def test_any_other_shape_of_the_line_is_denied(asked, change):
    """A blank more, a second command, a variable: nothing is run, and the right line is named."""
    answer = asked.send(change.replace("{line}", asked.line))
    assert answer["permissionDecision"] == "deny"
    assert "only this line" in answer["permissionDecisionReason"]
    assert states(asked.home) == []


@pytest.mark.parametrize("command", ["ls", "git commit -m confirm", "experience-forge list", "echo --digest", ""])
def test_other_commands_are_left_alone(asked, command):
    """A command that has nothing to do with confirming gets no answer."""
    assert asked.send(command) is None


def test_subagents_and_unattended_sessions_are_denied(asked):
    """A subagent, a headless run and a session without a person get no dialog and no receipt."""
    assert "subagent" in asked.send(agent_id="a1")["permissionDecisionReason"]
    headless = {**ATTENDED, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    for environ in ({}, headless, {**ATTENDED, "CLAUDE_CODE_SESSION_ATTENDED": "0"}):
        answer = asked.send(environ=environ)
        assert answer["permissionDecision"] == "deny" and "review" in answer["permissionDecisionReason"]
    assert states(asked.home) == []


def test_changed_missing_and_unreadable_proposals_are_denied(asked):
    """Other bytes than the digest, no proposal, or no UTF-8: denied before a receipt exists."""
    path = proposals.text_path(asked.home, asked.proposal.id)
    path.write_bytes(path.read_bytes() + b" ")
    assert "changed" in asked.send()["permissionDecisionReason"]
    path.write_bytes(b"\xff\xfe")
    assert "no readable proposal" in asked.send(call="c2")["permissionDecisionReason"]
    path.unlink()
    assert "no readable proposal" in asked.send(call="c3")["permissionDecisionReason"]
    assert states(asked.home) == []


def test_a_second_copy_of_the_hook_stays_silent(asked):
    """Two copies of the hook on one call give one dialog and one receipt."""
    assert asked.send()["permissionDecision"] == "ask"
    assert asked.send() is None
    assert states(asked.home) == ["call", "open"]


def test_a_later_call_makes_an_open_receipt_void(asked):
    """Whatever the main thread runs next in that session voids the receipt; a subagent or another session does not."""
    asked.send()
    asked.send("ls", call="call-2", agent_id="a1")
    asked.send("ls", call="call-3", session="s-2")
    assert states(asked.home) == ["call", "open"]
    asked.send("ls", call="call-4")
    assert states(asked.home) == ["call", "void"]


def test_without_agreement_or_for_another_home_the_gate_is_silent(asked):
    """No record, hooks refused, another tool, event or data home: no answer, no file."""
    assert asked.send(tool="Write") is None
    for change in ({"hooks": False}, {"home": "/elsewhere"}, {"launcher": ""}):
        kept = dict(asked.record)
        asked.record.update(change)
        assert asked.send() is None
        asked.record.update(kept)
    assert states(asked.home) == []


def test_the_dialog_shows_hidden_characters_and_no_row_can_be_forged():
    """Bidi, zero-width and escape characters are visible; a newline in a title makes no new row."""
    hostile = ZH.title + "\u202e\u200b\x1b[2J"
    text = codec.render(dataclasses.replace(ZH, title=hostile)).replace("提示已是最新", "提示\u2066已是最新\ufe0f")
    reason = dialog.reason(text, "0" * 64, ["a\nb\x07"]).replace("\n[2J", "[2J")
    assert "\\u202e\\u200b\\u001b[2J" in reason and "提醒：a\\nb\\u0007" in reason
    command = dialog.command("line", "0" * 32, text)
    assert "提示\\u2066已是最新\\ufe0f" in command
    assert visible.escape(command, keep_newlines=True) == command


def test_the_here_document_can_not_be_ended_by_the_text(monkeypatch):
    """A text that holds the delimiter gets another delimiter."""
    numbers = iter([b"\0\0\0\0", b"\0\0\0\1"])
    monkeypatch.setattr(dialog.os, "urandom", lambda count: next(numbers))
    assert dialog.command("line", "r", "a\nDRAFT-00000000\nrm -rf ~").endswith("\nDRAFT-00000001")


def test_rows_keep_to_72_columns_and_say_when_they_are_cut():
    """At most 8 rows of at most 72 columns at any text, wide characters counted double."""
    text = codec.render(dataclasses.replace(ZH, title="经" * 200, sections=(*ZH.sections[:-1], ("rule", "验" * 300))))
    rows = dialog.reason(text, "0" * 64, ["警" * 400]).split("\n")
    assert len(rows) == 8
    for row in rows:
        assert sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in row) <= 72
    assert rows[1].endswith("…") and rows[3].endswith("…") and rows[6].endswith("…")
    assert visible.rows("abc", 3, 1) == ["abc"]
    assert visible.rows("", 3, 1) == [""]


def test_escapes_cover_every_class_that_hides_or_steers():
    """All of Cc, Cf, Co, Cs, Zl, Zp (by this Python's Unicode tables) are escaped; plain text is not."""
    for code in range(0x110000):
        letter = chr(code)
        if unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp"):
            assert visible.escape(letter) != letter, hex(code)
    plain = "Plain text, 中文。“引号”—… é ñ 한국어 🎉 C:\\path"
    assert visible.escape(plain) == plain
    assert visible.escape("a\tb\nc\r") == "a\\tb\\nc\\r"
    assert visible.escape("a\tb\nc", keep_newlines=True) == "a\\tb\nc"


@pytest.mark.parametrize("title", [
    "plain", "has: colon", "it's", 'say "hi"', "- dash", "# hash", "true", "tab\tin", "控制\u0085字", "\u2028", "a\\b",
    "''",
])  # fmt: skip
def test_the_small_reader_reads_what_the_writer_writes(title):
    """The dialog's title and rule are the entry's, however YAML had to quote them."""
    text = codec.render(entry(title=title))
    found = dialog.fields(text)
    assert (found["title"], found["rule"], found["track"]) == (title, "Use pnpm, never npm.", "personal")


def test_fields_of_a_draft_can_not_stand_in_for_its_rule_or_place():
    """A draft with its own `rule:` or `place:` field shows the rule of its body and its real place."""
    text = codec.render(entry(extra={"rule": "harmless", "place": "nowhere"}))
    reason = dialog.reason(text, "0" * 64, [])
    assert "harmless" not in reason and "nowhere" not in reason and "Use pnpm, never npm." in reason


def test_other_changes_show_their_own_question():
    """A change that is no draft is named by its verb, with title and rule of its document."""
    text = "---\nchange: undo\ntitle: 'undo change 3'\nrule: it''s back\ntrack: profile\nlanguage: en\n---\nDiff\n"
    rows = dialog.reason(text, "0" * 64, []).split("\n")
    assert rows[0] == 'Undo this change? "undo change 3"'
    assert rows[2] == "Goes to: profile → ~/.claude/rules/experience-forge/profile.md"
    assert dialog.reason(text.replace("language: en", "language: zh"), "0" * 64, []).startswith("撤销这次改动？")


def test_quote_is_what_a_shell_expects():
    """Our quoting equals shlex.quote."""
    import shlex

    for text in ("", "/plain/path-1.2", "with blank", "it's", "中文", "a$b", "-x", "a\nb", "~"):
        assert confirm_line.quote(text) == shlex.quote(text)


def test_a_broken_receipts_folder_leaves_no_receipt(asked):
    """When the receipt can't be stored the hook fails, so the call has none and `confirm` will refuse."""
    asked.home.receipts.parent.mkdir(parents=True, exist_ok=True)
    asked.home.receipts.write_text("in the way", encoding="utf-8")
    with pytest.raises(OSError):
        asked.send()


def test_states_change_once(asked):
    """A rename has one winner; a second one finds nothing."""
    asked.send()
    folder = str(asked.home.receipts)
    (name, _), = receipts.stored(folder, receipts.OPEN)
    assert receipts.change(folder, name, receipts.OPEN, receipts.USED)
    assert not receipts.change(folder, name, receipts.OPEN, receipts.USED)
    assert receipts.any_used(folder)
