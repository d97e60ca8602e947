"""What a Chinese user reads is Chinese: lists, states, times, deliveries, sums of scores, refusals of the gate."""

from __future__ import annotations

import datetime
import json
import re
import string
from pathlib import Path

import pytest

from experience_forge import cli, report
from experience_forge.core import scoring
from experience_forge.fast import dialog
from experience_forge.model import Guard, Kind, SignalKind, Status, Track
from experience_forge.store import config, files, home, journal, ledger, proposals, receipt_lines, ruleset
from helpers import confirm, entry

CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture
def chinese(monkeypatch):
    """A user whose locale is Chinese."""
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")


def run(capsys, *arguments: str) -> str:
    """What one command prints, talk included."""
    cli.main(arguments)
    out, err = capsys.readouterr()
    return out + err


def output(language: str) -> report.Output:
    """An output in one language."""
    return report.Output(language=language, texts=ruleset.messages(language))


def test_columns_states_and_changes_are_in_the_readers_words(capsys, chinese):
    """list, its proposals and its changes have no English word of ours; JSON keeps the codes."""
    confirm(entry("one", title="用 pnpm", guard=Guard.HOLD))
    confirm(entry("two", title="旧的", status=Status.OUTDATED, track=Track.PROFILE))
    proposals.create(home.current(), "guard", "---\nchange: guard\ntitle: '护栏: 一条'\n---\n", {}, "guard-one")
    listed = run(capsys, "list", "--all")
    assert "one\t个人\t用 pnpm\t护栏：首次拦下" in listed and "two\t画像\t旧的\t⚠ 已过时" in listed
    assert re.search(r"guard-one\t护栏\t护栏: 一条\t\d{4}-\d\d-\d\d \d\d:\d\d\n", run(capsys, "list", "--proposals"))
    assert re.search(r"1\t\d{4}-\d\d-\d\d \d\d:\d\d\t草稿\tone\t终端", run(capsys, "list", "--changes"))
    document = json.loads(run(capsys, "list", "--all", "--json"))
    assert {item["track"] for item in document["entries"]} == {"personal", "profile"}


def test_words_of_ours_are_the_codes_in_english():
    """An English reader sees the words that JSON and the command line have."""
    out = output("en")
    for kind, members in (("status", Status), ("track", Track), ("guard", Guard), ("signal", SignalKind)):
        assert [out.word(kind, member.value) for member in members] == [member.value for member in members]
    assert [out.word("change", change) for change in proposals.CHANGES] == list(proposals.CHANGES)


def test_every_word_of_ours_has_a_chinese_one():
    """No status, track, guard, signal or change is left in English; a word that is not ours stays."""
    out = output("zh")
    for kind, members in (("status", Status), ("track", Track), ("guard", Guard), ("signal", SignalKind)):
        assert all(CHINESE.search(out.word(kind, member.value)) for member in members)
    assert all(CHINESE.search(out.word("change", change)) for change in proposals.CHANGES)
    assert out.word("change", "something-new") == "something-new"


def test_a_time_is_shown_by_the_readers_own_clock():
    """An ISO time of the journal becomes local time to the minute; what is none stays."""
    out = output("en")
    at = "2026-08-28T09:30:15Z"
    here = datetime.datetime(2026, 8, 28, 9, 30, tzinfo=datetime.timezone.utc).astimezone()
    assert out.moment(at) == here.strftime("%Y-%m-%d %H:%M")
    assert [out.moment(text) for text in ("", "-", "2026-08-28", "soon")] == ["", "-", "2026-08-28", "soon"]


@pytest.mark.parametrize(("line", "told"), [
    ("3 preference", "3 偏好"),
    ("3 rework: rework-3, turn 5: 又错了", "3 返工：rework-3，第 5 轮：又错了"),
    ("2 correction: said-no, turn 7: no: not that (+2 more, counted once)",
     "2 纠正：said-no，第 7 轮：no: not that（另有 2 个，只计一次）"),
    ("something else", "something else"),
])
def test_the_sum_of_a_score_is_told_in_chinese(line, told):
    """Each line of a sum is put into words; an unknown one is shown as it is. English shows it as it is."""
    assert output("zh").score_line(line) == told
    assert output("en").score_line(line) == line


def test_the_lines_of_a_score_have_the_form_that_is_told():
    """What core writes is what the outer side puts into words."""
    total = scoring.of_kinds(["rework", "preference"], ruleset.load("scoring"))
    assert all(CHINESE.search(output("zh").score_line(line)) for line in total.lines)


@pytest.mark.parametrize("why", [
    "error signature, 100 % seen", "project, branch and commits, score 3.2", "an entry of this project",
    "the model asked for it", "always loaded, or with its skill", "words", "search, score 12.5",
])
def test_why_an_entry_was_given_is_told_in_chinese(why):
    """Hooks write their reasons in English; a Chinese user reads Chinese, with the same numbers."""
    out = output("zh")
    where = home.current()
    ledger.append(where, "s", {
        "what": "exposure", "entry": "one", "place": "SessionStart:startup", "form": "start", "characters": 9,
        "why": why,
    })
    line = receipt_lines.of(where, {**next(iter(ledger.read(where, "s"))), "session": "s"})
    told = line.text(out.text, out.word, out.moment)
    assert why not in told and "会话开始，9 字" in told and "尚未核对" in told
    assert all(number in told for number in re.findall(r"[\d.]+", why))
    english = output("en")
    assert why in line.text(english.text, english.word, english.moment)


def test_reasons_in_the_source_of_hooks_are_known():
    """Every fixed reason that code writes into the ledger has its words."""
    package = Path(__file__).resolve().parent.parent / "scripts" / "experience_forge"
    source = "".join(path.read_text(encoding="utf-8") for path in sorted((package / "fast").glob("*.py")))
    fixed = r'"(error signature, [^"]*|project, branch [^"]*|an entry of [^"]*|search, score [^"]*)"'
    written = re.findall(fixed, source)
    assert len(written) == 4
    for text in written:
        sample = text.replace("%d %%", "5 %").replace("%.1f", "1.5")
        assert any(form.fullmatch(sample) for _, form in receipt_lines._WHY), text


def test_the_gate_refuses_in_the_users_language(own_home):
    """Refusals exist in both languages with the same fields; the setting decides, then the locale."""
    english, zh = dialog.REFUSALS["en"], dialog.REFUSALS["zh"]
    assert set(english) == set(zh)
    for name, text in english.items():
        fields = [{field for _, field, _, _ in string.Formatter().parse(one) if field} for one in (text, zh[name])]
        assert fields[0] == fields[1] and CHINESE.search(zh[name]) and not CHINESE.search(text)
    where = home.current()
    assert dialog.user_language(str(where.root), {"LANG": "zh_CN.UTF-8"}) == "zh"
    assert dialog.user_language(str(where.root), {}) == "en"
    config.change({"language": "zh"})
    assert dialog.user_language(str(where.root), {"LANG": "en_US.UTF-8"}) == "zh"
    files.write_text(where.config, "language: auto\n")
    assert dialog.user_language(str(where.root), {"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN"}) == "en"


def test_status_doctor_and_undo_speak_chinese(capsys, chinese):
    """No line of status and doctor is left half translated; an undo is titled in the user's words."""
    confirm(entry("one", title="用 pnpm"))
    for line in run(capsys, "status").splitlines():
        assert CHINESE.search(line), line
    told = run(capsys, "doctor")
    assert re.search(r"^  (正常|注意|警告)  ", told, re.MULTILINE)
    assert not re.search(r"\b(ok|note|WARN|True|False)\b", told)
    assert "撤销第 1 次变更（草稿）：用 pnpm" in run(capsys, "undo", "1")
    assert "one 的护栏：提醒 -> 首次拦下" in run(capsys, "guard", "one", "hold")
    assert journal.check(home.current()) == []


def test_a_broken_journal_is_told_in_chinese(capsys, chinese):
    """Faults of the chain name the file and line, in the user's language."""
    confirm(entry("one"))
    path = next(home.current().journal.glob("*.jsonl"))
    files.append_line(path, "{cut")
    assert f"{path.name} 第 2 行：无法读取（被截断或损坏）" in run(capsys, "status")


def test_kinds_of_entries_that_lack_sections_are_named():
    """The labels that a kind needs are named in both languages, so that either may be written."""
    from experience_forge.core import checks
    from experience_forge.errors import Text

    faults: list[Text] = []
    checks.sections(Kind.PREFERENCE, (("rule", "x"),), faults)
    assert "Why/原因" in str(faults[0]) and "How/做法" in str(faults[0])
