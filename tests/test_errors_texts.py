"""Errors speak Chinese and English: every sentence exists twice, none is left unused, none is a literal."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
import string
from pathlib import Path

import pytest
import yaml

from experience_forge import cli, wording
from experience_forge.core import codec
from experience_forge.errors import Invalid, Refused, Text
from experience_forge.store import config, entries, files, home

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
MESSAGES = ROOT / "rules" / "messages"
SENTENCES = {
    f"{path.stem}.{name}": versions
    for path in sorted(MESSAGES.glob("errors*.yaml"))
    for name, versions in wording.sentences(path.stem).items()
}
ERRORS = {"Refused", "Usage", "NeedsConsent", "Invalid"}
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def trees():
    """Every module with its syntax tree."""
    for path in sorted(SCRIPTS.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def named(node: ast.Call) -> str:
    """The name of what is called."""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def calls():
    """Every `Text(...)` in code: place, keys that it may name, names of its fields (None when given as `**`)."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or named(node) != "Text" or not node.args:
                continue
            place = f"{path.relative_to(SCRIPTS)}:{node.lineno}"
            fields = {keyword.arg for keyword in node.keywords}
            for key in keys_of(node.args[0]):
                yield place, key, None if None in fields else fields


def keys_of(node: ast.expr) -> list[str]:
    """Keys that an expression may be: a text, one of two, or all of a family `f"errors.status_{...}"`."""
    if isinstance(node, ast.IfExp):
        return [*keys_of(node.body), *keys_of(node.orelse)]
    if isinstance(node, ast.JoinedStr):
        start = node.values[0].value
        return [key for key in SENTENCES if key.startswith(start)] or [start]
    # Not a literal at all: another library's Text, which shows a text as it is.
    return [node.value] if isinstance(node, ast.Constant) else []


def fields_of(sentence: str) -> set[str]:
    """Names of a sentence's fields."""
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_every_sentence_that_code_names_exists_with_these_fields():
    """A key in code is a line of the messages, and brings exactly the fields of that line."""
    faults = []
    for place, key, fields in calls():
        if key not in SENTENCES:
            faults.append(f"{place}: there is no sentence {key}")
        elif fields is not None and fields != fields_of(SENTENCES[key]["en"]):
            faults.append(f"{place}: {key} takes {sorted(fields_of(SENTENCES[key]['en']))}, gets {sorted(fields)}")
    assert faults == []


def test_no_sentence_is_left_unused():
    """What the messages hold for errors is said somewhere."""
    used = {key for _, key, _ in calls()}
    # A key may also be chosen first and named by a variable.
    used |= {node.value for _, tree in trees() for node in ast.walk(tree)
             if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert sorted(set(SENTENCES) - used) == []


@pytest.mark.parametrize("key", sorted(SENTENCES))
def test_a_sentence_is_said_in_both_languages_with_the_same_fields(key):
    """Both wordings are there, not empty, with the same fields, and their fields can be filled in."""
    assert set(SENTENCES[key]) == {"en", "zh"}
    english, chinese = SENTENCES[key]["en"], SENTENCES[key]["zh"]
    assert english.strip() and chinese.strip()
    assert fields_of(english) == fields_of(chinese)
    assert not CHINESE.search(english)
    text = Text(key, **{name: f"<{name}>" for name in fields_of(english)})
    for language in ("en", "zh"):
        shown = wording.shown(text, language)
        assert key not in shown and all(f"<{name}>" in shown for name in fields_of(english))


def test_what_is_chinese_is_chinese():
    """The Chinese wording has Chinese words, but where it is made of fields and names alone."""
    bare = [key for key, one in SENTENCES.items() if not CHINESE.search(one["zh"])]
    made_of_names = {key for key in bare if SENTENCES[key]["zh"].replace("：", ": ") == SENTENCES[key]["en"]}
    assert set(bare) == made_of_names


@pytest.mark.parametrize("path", sorted(MESSAGES.glob("errors*.yaml")), ids=lambda path: path.stem)
def test_sentences_read_the_same_with_and_without_a_yaml_library(path):
    """The plain reader finds what YAML finds: no line is lost, no name stands twice."""
    assert wording.sentences(path.stem) == yaml.safe_load(path.read_text(encoding="utf-8"))
    names = [line.partition(":")[0] for line in path.read_text(encoding="utf-8").splitlines() if line[:1] not in "# "]
    assert len(names) == len(set(names))


def test_no_error_is_raised_with_a_literal_sentence():
    """Each error, its hint and its faults name sentences: no wording in one language stands in code."""
    guilty = []
    for path, tree in trees():
        for function in ast.walk(tree):
            if not isinstance(function, (ast.FunctionDef, ast.Module)):
                continue
            literal = {
                node.targets[0].id for node in ast.walk(function)
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and says(node.value)
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and named(node) in ERRORS:
                    given = [*node.args, *(keyword.value for keyword in node.keywords)]
                    if any(says(part) or getattr(part, "id", "") in literal for part in given):
                        guilty.append(f"{path.relative_to(SCRIPTS)}:{node.lineno}")
    assert sorted(set(guilty)) == []


def says(node: ast.expr) -> bool:
    """Whether an expression is wording: a literal that is not empty, or a list or choice with one."""
    if isinstance(node, ast.IfExp):
        return says(node.body) or says(node.orelse)
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(map(says, node.elts))
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and bool(node.value))


def test_an_error_is_english_in_logs_and_the_users_language_in_talk():
    """`str` of an error is the English sentence whoever the user is; its parts are what the user reads."""
    error = Invalid(Text("errors_store.no_entry", id="a"), Text("errors.mend_it"), [Text("errors.missing", name="id")])
    with wording.speaking(lambda: "zh"):
        assert str(error) == "there is no entry 'a'"
        assert (error.what, error.hint, error.faults) == ("没有经验“a”", "请修改后再试", ("id：缺少",))
    assert (error.what, error.faults) == ("there is no entry 'a'", ("id: is missing",))


def test_a_text_within_a_text_speaks_the_same_language():
    """Fields that are texts or lists are put into words too."""
    text = Text("errors.field_reason", field="a", reason=[Text("errors.status_outdated"), "x"])
    assert wording.shown(text, "en") == "a: outdated, x"
    assert wording.shown(text, "zh") == "a：已过时、x"


def test_a_text_can_not_be_changed():
    """A text is a value."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Text("errors.mend_it").key = "other"


@pytest.mark.parametrize("text", [
    Text("errors.no_such_sentence", a=1), Text("no_file.name", a=1), Text("errors.missing", a=1), Text("", a=1),
])
def test_a_sentence_that_can_not_be_found_is_shown_by_its_key_and_fields(text):
    """Telling an error never fails: at the worst its key and its fields are told."""
    assert wording.shown(text, "zh") == f"{text.key} a=1"


def test_a_damaged_translation_falls_back_to_english(monkeypatch):
    """A Chinese wording that can't be filled in does not hide the error."""
    damaged = {"missing": {"en": "{name}: is missing", "zh": "{nmae}：缺少"}}
    monkeypatch.setattr(wording, "sentences", lambda file: damaged)
    assert wording.shown(Text("errors.missing", name="id"), "zh") == "id: is missing"


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """One command's exit code, output and talk."""
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


WRONG = [
    ("show",), ("show", "no-such-entry"), ("list", "--no-such-flag"), ("no-such-command",),
    ("move", "a", "--to", "nowhere"), ("confirm", "UPPER", "--digest", "x"), ("undo", "9"), ("forget", "nobody"),
    ("guard", "nobody", "hold"), ("discard", "nobody"), ("restore", "no-such-file.zip"), ("scan", "--since", "soon"),
    ("signals", "no-such-file"), ("score",), ("suggest", "--threshold", "99"), ("draft", "no-such-file"),
    ("redact", "no-such-file"), ("vet", "no-such-file"), ("recall",), ("merge", "a", "b"), ("projects", "--rename"),
    ("why",), ("log", "nobody"), ("effect", "nobody"), ("outdate", "nobody", "--reason", "x"),
    ("tidy", "--apply", "no-such-step"), ("grow", "tooling", "--entries", "nobody"), ("off",),
]


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_a_chinese_user_is_told_in_chinese(capsys, monkeypatch, arguments):
    """What went wrong and what to do is Chinese for a Chinese user, and has no Chinese for an English one."""
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    code, _, chinese = run(capsys, *arguments)
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    again, _, english = run(capsys, *arguments)
    assert code == again and code not in (3,)
    if code:
        assert english and not CHINESE.search(english)
        lines = [line for line in chinese.splitlines() if not re.fullmatch(r"[ -~]*(Traceback|usage:)[ -~]*", line)]
        assert lines and all(CHINESE.search(line) for line in lines), chinese


def test_the_setting_decides_before_the_locale(capsys, monkeypatch):
    """`language: zh` in config.yaml speaks Chinese whatever the locale is."""
    config.change({"language": "zh"})
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    assert "没有经验“nobody”" in run(capsys, "show", "nobody")[2]


def test_json_errors_keep_their_shape_and_speak_the_language(capsys, monkeypatch):
    """With --json the error is one object of what, hint and faults."""
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    _, out, _ = run(capsys, "show", "nobody", "--json")
    assert json.loads(out)["error"] == {
        "what": "没有经验“nobody”", "hint": "请看 `experience-forge list`", "faults": [],
    }


def test_a_broken_config_is_told_in_the_language_of_the_locale(capsys, monkeypatch):
    """An error about the settings themselves does not need the settings."""
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    files.write_text(home.current().config, "language: [zh\n")
    code, _, err = run(capsys, "status")
    assert code == 5 and "不是有效的 YAML" in err and "提示：" in err


def test_an_entry_that_does_not_hold_is_explained_in_chinese():
    """All faults of an input come in the user's language, values and field names as they are."""
    text = "---\nid: UPPER\ntitle: 标题\nkind: nothing\ntrack: personal\ncreated: soon\n---\n**规则** x\n"
    with pytest.raises(Invalid) as caught, wording.speaking(lambda: "zh"):
        codec.parse(text)
    with wording.speaking(lambda: "zh"):
        faults = caught.value.faults
    assert len(faults) >= 3 and all(CHINESE.search(fault) for fault in faults)
    assert any("nothing" in fault and "pitfall" in fault for fault in faults)


def test_a_refusal_of_the_disk_is_told_in_chinese(own_home):
    """What the system refuses names the path and what to do."""
    folder = own_home / "in-the-way"
    folder.mkdir()
    with pytest.raises(Refused) as caught:
        files.read_bytes(folder)
    with wording.speaking(lambda: "zh"):
        assert (caught.value.what, caught.value.hint) == (f"{folder} 不是普通文件", "请把它移到别处再试")


def test_messages_are_read_only_when_an_error_is_shown():
    """Raising and catching an error reads no file of sentences."""
    wording.sentences.cache_clear()
    assert entries.find(home.current(), "nobody") is None
    with pytest.raises(Refused):
        entries.get(home.current(), "nobody")
    assert wording.sentences.cache_info().currsize == 0
    assert os.path.isdir(MESSAGES)
