"""The settings file of the client: our bytes come and go, every other byte stays."""

from __future__ import annotations

import json
import os
import time

import pytest

from experience_forge.clients import claude_settings as settings
from experience_forge.core import json_text
from experience_forge.errors import Invalid, Refused

WANTED = settings.Wanted(
    hooks=settings.hook_groups("/usr/bin/python3.11", "/home/张 三/.claude/skills/experience-forge/scripts"),
    rules=settings.allow_rules("/home/u/.local/share/experience-forge/bin/experience-forge"),
)
OTHER = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo hi"}]}'

GOOD = {
    "empty object": "{}",
    "empty object, newline": "{}\n",
    "blank inside": "{ }\n",
    "newline inside": "{\n}\n",
    "no final newline": '{\n  "model": "opus"\n}',
    "two spaces": '{\n  "model": "opus",\n  "env": {"A": "1"}\n}\n',
    "four spaces": '{\n    "model": "opus",\n    "env": {\n        "A": "1"\n    }\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t' + OTHER + "\n\t\t]\n\t}\n}\n",
    "no indentation": '{\n"model": "opus",\n"hooks": {\n"Stop": [\n' + OTHER + "\n]\n}\n}\n",
    "one line": '{"model":"opus"}',
    "one line, spaced": '{"model": "opus", "x": [1, 2]}\n',
    "one line with hooks": '{"hooks":{"Stop":[' + OTHER + "]}}",
    "windows ends": '{\r\n  "model": "opus",\r\n  "permissions": {\r\n    "allow": [\r\n'
    + '      "Bash(ls)"\r\n    ]\r\n  }\r\n}\r\n',
    "mixed ends": '{\r\n  "model": "opus",\n  "hooks": {\n    "Stop": []\r\n  }\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "byte order mark, windows ends": '\ufeff{\r\n    "hooks": {}\r\n}\r\n',
    "byte order mark, empty": "\ufeff{}",
    "leading blanks": '\n\n  {\n  "a": 1\n}\n\n\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty hooks with blanks": '{\n  "hooks": {\n\n  }\n}\n',
    "empty event": '{\n  "hooks": {\n    "Stop": [ ],\n    "PreToolUse": []\n  }\n}\n',
    "empty permissions": '{"permissions": {}}\n',
    "empty allow": '{\n  "permissions": {\n    "allow": [],\n    "deny": ["Bash(rm *)"]\n  }\n}\n',
    "other's hooks, same events": '{\n  "hooks": {\n    "SessionStart": [\n      ' + OTHER
    + '\n    ],\n    "PreToolUse": [\n      ' + OTHER + ",\n      " + OTHER + '\n    ]\n  },\n  "model": "x"\n}\n',
    "other's hooks, other events": '{\n  "hooks": {\n    "Notification": [' + OTHER + "]\n  }\n}\n",
    "hooks first, key order": '{\n  "hooks": {"Stop": [' + OTHER + ']},\n  "zeta": 1,\n  "alpha": 2\n}\n',
    "unknown keys": '{\n  "x-unknown": {"deep": [null, true, false, {"y": []}]},\n  "env": {}\n}\n',
    "big numbers": '{\n  "big": 123456789012345678901234567890,\n  "f": 1.000000000000000000001,\n  "e": 1E400\n}\n',
    "escapes": '{\n  "a": "\\u4e2d\\u6587 \\ud83d\\ude00 \\/ \\"quoted\\" \\\\",\n  "\\u0061b": "["\n}\n',
    "lone surrogate escape": '{\n  "a": "\\ud800"\n}\n',
    "brackets in strings": '{\n  "a": "]}{[",\n  "b": "\\"]}",\n  "permissions": {"allow": ["Bash(echo ]})"]}\n}\n',
    "chinese": '{\n  "语言": "中文",\n  "permissions": {\n    "allow": [\n      "Bash(git 提交:*)"\n    ]\n  }\n}\n',
    "key spelled with escapes": '{\n  "\\u0068ooks": {"Stop": [' + OTHER + "]}\n}\n",
    "allow on one line": '{\n  "permissions": {"allow": ["Bash(ls)", "Read"], "deny": []}\n}\n',
    "comma first": '{\n  "a": 1\n, "b": 2\n, "hooks": {\n    "Stop": [\n    ' + OTHER + "\n    ]\n  }\n}\n",
    "blanks before colons": '{\n  "a" : 1 ,\n  "hooks" : { "Stop" : [ ' + OTHER + " ] }\n}\n",
    "group without hooks": '{\n  "hooks": {\n    "Stop": [{"matcher": "*"}, 3, null]\n  }\n}\n',
    "hooks at the end, odd indentation": '{\n   "a": 1,\n     "hooks": {\n   "Stop": [\n' + OTHER + "]}}",
    "trailing blanks": '{\n  "model": "opus"  \n  }   \n',
    "all hooks disabled": '{\n  "disableAllHooks": true,\n  "hooks": {\n    "Stop": [' + OTHER + "]\n  }\n}\n",
    "deep": '{\n  "a": ' + "[" * 200 + "]" * 200 + "\n}\n",
    "status line and plugins": '{\n  "statusLine": {"type": "command", "command": "x"},\n'
    + '  "enabledPlugins": {"a@b": true}\n}\n',
}

BAD = {
    "empty file": "",
    "not json": "model: opus\n",
    "comment line": '{\n  // mine\n  "a": 1\n}\n',
    "comment block": '{\n  /* mine */ "a": 1\n}\n',
    "trailing comma": '{\n  "a": 1,\n}\n',
    "single quotes": "{'a': 1}",
    "cut": '{\n  "a": [1, 2',
    "two objects": "{}{}",
    "duplicate key": '{"a": 1, "a": 2}',
    "duplicate hooks": '{"hooks": {}, "model": "x", "hooks": {}}',
    "duplicate by escape": '{"hooks": {}, "\\u0068ooks": {}}',
    "top level list": "[]",
    "top level text": '"x"',
    "hooks a list": '{"hooks": []}',
    "hooks a text": '{"hooks": "x"}',
    "hooks null": '{"hooks": null}',
    "event an object": '{"hooks": {"Stop": {}}}',
    "permissions a list": '{"permissions": []}',
    "allow a text": '{"permissions": {"allow": "Bash"}}',
    "not a number": '{"a": NaN}',
    "control character": '{"a": "x\ty"}',
    "far too deep": '{"a": ' + "[" * 200000 + "]" * 200000 + "}",
}


@pytest.mark.parametrize("name", GOOD)
def test_install_and_uninstall_give_the_bytes_back(name):
    """After install and uninstall the text is what it was; between, only additions are in it."""
    before = GOOD[name]
    edited = settings.add(before, WANTED)
    data = json.loads(edited.text.lstrip("\ufeff"))
    for event, group in WANTED.hooks.items():
        assert data["hooks"][event][-1] == group
    assert data["permissions"]["allow"][-len(WANTED.rules) :] == list(WANTED.rules)
    assert is_subsequence(before, edited.text)
    again = settings.add(edited.text, WANTED, edited.trace)
    assert (again.text, again.trace) == (edited.text, edited.trace)
    assert settings.remove(edited.text, edited.trace).text == before


@pytest.mark.parametrize("name", GOOD)
def test_upgrade_in_between(name):
    """An upgrade with other paths and fewer events leaves one set of ours, and none after uninstall."""
    before = GOOD[name]
    first = settings.add(before, WANTED)
    groups = settings.hook_groups("/opt/python3.13", "/other/scripts")
    del groups["PostToolBatch"]
    rules = settings.allow_rules("/other/bin/experience-forge")
    second = settings.add(first.text, settings.Wanted(groups, rules), first.trace)
    assert second.text.count(settings.MARK) == len(groups)
    assert "/usr/bin/python3.11" not in second.text
    assert "/home/u/.local" not in second.text
    assert settings.remove(second.text, second.trace).text == before


@pytest.mark.parametrize("name", GOOD)
def test_without_hooks(name):
    """With rules only, and then with hooks as well, and then with rules only again: the same."""
    before = GOOD[name]
    rules = settings.Wanted(rules=WANTED.rules)
    first = settings.add(before, rules)
    assert settings.MARK not in first.text
    second = settings.add(first.text, WANTED, first.trace)
    third = settings.add(second.text, rules, second.trace)
    assert third.text == first.text
    assert settings.remove(third.text, third.trace).text == before


@pytest.mark.parametrize("name", BAD)
def test_f13_what_is_not_plain_is_refused(name):
    """A file that is no plain JSON object of the right shapes is never edited."""
    for change in (lambda text: settings.add(text, WANTED), lambda text: settings.remove(text, None)):
        with pytest.raises(Invalid):
            change(BAD[name])


def test_without_the_record_ours_go_as_well():
    """When the record is lost, hooks go by their mark, and containers that we empty go with them."""
    before = '{\n  "model": "opus",\n  "permissions": {\n    "deny": []\n  }\n}\n'
    assert settings.remove(settings.add(before, WANTED).text, None).text == before


def test_f14_a_handler_that_somebody_put_beside_ours_stays():
    """In a group that holds a foreign handler too, only ours is taken out."""
    data = json.loads(settings.add("{}", WANTED).text)
    data["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    left = json.loads(settings.remove(json.dumps(data, indent=2), None).text)
    assert left == {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}


def test_what_was_edited_is_told():
    """A group of ours with another timeout goes too, and is handed out to be kept."""
    text = settings.add("{}", WANTED).text.replace('"timeout": 20', '"timeout": 99')
    removed = settings.remove(text, None)
    assert [group["hooks"][0]["timeout"] for group in removed.changed_by_hand] == [99]


def test_f14_foreign_entries_added_after_ours_stay():
    """Hooks and rules that came after ours keep their place."""
    data = json.loads(settings.add('{"hooks": {"Stop": []}}', WANTED).text)
    data["hooks"]["Stop"].append(json.loads(OTHER))
    data["permissions"]["allow"].insert(0, "Bash(make *)")
    left = json.loads(settings.remove(json.dumps(data), None).text)
    assert left == {"hooks": {"Stop": [json.loads(OTHER)]}, "permissions": {"allow": ["Bash(make *)"]}}


def test_confirm_is_never_allowed():
    """No rule that we offer covers the verb that writes, or every verb."""
    assert not any("confirm" in rule or "experience-forge *" in rule for rule in WANTED.rules)


def test_f13_five_megabytes():
    """A file of five megabytes is edited in seconds, byte for byte."""
    filler = ",\n".join(f'    "key{n}": {{"a": [1, 2, "x{n}"], "b": "{"y" * 40}"}}' for n in range(75000))
    before = '{\n  "big": {\n' + filler + "\n  }\n}\n"
    assert len(before) > 5_000_000
    begun = time.monotonic()
    edited = settings.add(before, WANTED)
    assert settings.remove(edited.text, edited.trace).text == before
    assert time.monotonic() - begun < 60


def test_a_link_is_written_through(tmp_path):
    """A settings file that is a link into a dotfiles folder stays a link."""
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_bytes(b'{\r\n\t"model": "opus"\r\n}')
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    before = real.read_bytes()
    _, edited = settings.change_file(link, lambda text: settings.add(text, WANTED), lock=tmp_path / "lock")
    assert link.is_symlink() and settings.MARK.encode() in real.read_bytes()
    settings.change_file(link, lambda text: settings.remove(text, edited.trace), lock=tmp_path / "lock")
    assert link.is_symlink() and real.read_bytes() == before


@pytest.mark.parametrize("kind", ["dangling", "loop", "folder", "hard link", "read-only", "utf-16", "gbk"])
def test_odd_files_are_left_alone(tmp_path, kind):
    """Links to nowhere, folders, hard links, read-only files and other encodings: refused, untouched."""
    path = tmp_path / "settings.json"
    if kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes('{"语言": "中文"}'.encode({"utf-16": "utf-16", "gbk": "gbk"}.get(kind, "utf-8")))
    if kind == "hard link":
        os.link(path, tmp_path / "second")
    if kind == "read-only":
        if os.geteuid() == 0:
            pytest.skip("root may write everything")
        path.chmod(0o400)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises((Refused, Invalid)):
        settings.change_file(path, lambda text: settings.add(text or "{}", WANTED), lock=tmp_path / "lock")
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_change_between_read_and_write_is_not_lost(tmp_path):
    """When the client writes while we edit, its bytes are read again and kept."""
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}', encoding="utf-8")
    calls = []

    def edit(text):
        calls.append(text)
        if len(calls) == 1:
            path.write_text('{"a": 2}', encoding="utf-8")
        return settings.add(text, WANTED)

    settings.change_file(path, edit, lock=tmp_path / "lock")
    assert json.loads(path.read_text(encoding="utf-8"))["a"] == 2
    assert len(calls) == 2


def test_the_mode_of_the_file_stays(tmp_path):
    """An edit keeps the permissions of the settings file."""
    path = tmp_path / "settings.json"
    path.write_text("{}", encoding="utf-8")
    path.chmod(0o640)
    settings.change_file(path, lambda text: settings.add(text, WANTED), lock=tmp_path / "lock")
    assert path.stat().st_mode & 0o777 == 0o640


def test_parse_names_the_place():
    """The message of a broken file names line and column."""
    with pytest.raises(Invalid, match=r"line 2 column 3"):
        json_text.parse('{\n  x: 1}')


def is_subsequence(small, large):
    """Whether `large` is `small` with insertions only."""
    rest = iter(large)
    return all(char in rest for char in small if char not in " \n\r\t")
