"""What the settings file holds and nothing reads is named; what needs hooks is not said to work without them."""

from __future__ import annotations

import json

import pytest

from experience_forge import cli
from experience_forge.store import config, files, home
from helpers import confirm, entry


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


def test_a_number_beyond_its_bounds_is_named_and_the_nearer_bound_counts(capsys):
    """A negative count is not read as "without limit"; doctor names the setting and its bounds."""
    files.write_text(
        home.current().config, "recall:\n  start_count: -4\n  start_characters: 999999\nsuggest:\n  threshold: 0\n"
    )
    settings = config.load()
    assert (settings["recall"]["start_count"], settings["recall"]["start_characters"]) == (0, 2000)
    assert settings["suggest"]["threshold"] > 0
    out = raw(capsys, "doctor")
    assert "`recall.start_count: -4` is not between 0 and 50" in out and "`suggest.threshold: 0`" in out


def test_a_config_that_does_not_hold_is_told_once(capsys):
    """One fault in config.yaml is one finding, with the setting and its form."""
    confirm(entry())
    files.write_text(home.current().config, "recall:\n  on: maybe\n")
    findings = json.loads(raw(capsys, "doctor", "--json"))["findings"]
    told = [one for one in findings if one["level"] == "warn"]
    assert len(told) == 1 and "recall.on: must be true or false" in told[0]["reason"]
