"""What the settings file holds and nothing reads is named; what needs hooks is not said to work without them."""

from __future__ import annotations

import json

import pytest

from experience_forge import cli
from experience_forge.store import files, home


def shown(capsys, *arguments):
    """What a command prints, in lower case on one line."""
    cli.main(list(arguments))
    return " ".join(capsys.readouterr().out.split())


def test_a_misspelt_setting_is_named_with_the_right_one(capsys):
    """`langauge:` and `language: zz` have no effect: doctor says which setting was meant, status points there."""
    files.write_text(home.current().config, "langauge: zh\nrecall:\n  onn: true\nproject_file: X.md\nzzzzqq: 1\n")
    said = shown(capsys, "doctor")
    assert "`langauge`; did you mean `language`?" in said and "`recall.onn`; did you mean `recall.on`?" in said
    assert "`project_file: X.md` is none of CLAUDE.md" in said and "nothing reads `zzzzqq`" in said
    assert "langauge" in shown(capsys, "status")


def test_an_unknown_language_is_named(capsys):
    """`language: zz` is answered with the languages that there are."""
    files.write_text(home.current().config, "language: zz\n")
    assert "`language: zz` is none of auto, en, zh" in shown(capsys, "doctor")


def test_settings_with_an_effect_are_not_named(capsys):
    """Every setting that something reads passes."""
    text = "language: en\nrecall: {on: true, embed: {url: x, model: y}}\nmerged_domains: {a: b}\n"
    files.write_text(home.current().config, text)
    assert not [one for one in json.loads(raw(capsys, "doctor", "--json"))["findings"] if "config" in one["finding"]]


def raw(capsys, *arguments):
    """What a command prints."""
    cli.main(list(arguments))
    return capsys.readouterr().out


@pytest.mark.parametrize("verb", ["status", "suggest"])
def test_without_hooks_nothing_is_said_to_happen_by_itself(verb, capsys):
    """Switched on is not the same as wired: without hooks that is said."""
    said = shown(capsys, verb)
    assert "no hooks are installed" in said and "nothing happens by itself" in said
