"""Guards over the documents: what they name exists, what exists is named, both languages say the same."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from experience_forge import cli
from experience_forge.store import ruleset

ROOT = Path(__file__).resolve().parent.parent


def text(name: str) -> str:
    """A document of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def headings(document: str) -> list[int]:
    """Levels of the headings outside code blocks, in order."""
    body = re.sub(r"^```.*?^```", "", document, flags=re.MULTILINE | re.DOTALL)
    return [len(match[0]) for match in re.findall(r"^((#+)) ", body, flags=re.MULTILINE)]


def commands_in(document: str) -> list[str]:
    """Command lines in fenced shell blocks, in order, comments dropped."""
    blocks = re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", document, flags=re.MULTILINE | re.DOTALL)
    lines = (line.partition("  #")[0].strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line]


def test_both_readmes_have_the_same_parts_and_commands():
    """README.md and README.zh-CN.md have headings of the same levels and the same command lines."""
    english, chinese = text("README.md"), text("README.zh-CN.md")
    assert headings(english) == headings(chinese)
    assert commands_in(english) == commands_in(chinese)


def test_every_command_is_in_the_generated_reference():
    """docs/cli.md and docs/cli.zh-CN.md are exactly what the help texts say."""
    run = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "make_cli_docs.py"), "--check"], capture_output=True, encoding="utf-8"
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("name", ["SKILL.md", "README.md", "README.zh-CN.md", "AGENTS.md", "CONTRIBUTING.md"])
def test_documents_name_only_commands_and_flags_that_exist(name):
    """Each `FORGE verb` or `experience-forge verb` in a document is a verb, and its flags are that verb's."""
    verbs = cli.verbs()
    for match in re.finditer(r"(?:FORGE|experience-forge) ([a-z][a-z-]*)((?: [^\n`|]*)?)", text(name)):
        verb, rest = match[1], match[2]
        if verb not in verbs:
            # Prose may go on after the product's name; a command stands in code.
            before = text(name)[max(0, match.start() - 1): match.start()]
            assert before != "`", f"{name}: there is no command {verb}"
            continue
        known = cli.parser_of(verb).format_help()
        for flag in re.findall(r"(?<!\S)--[a-z-]+", rest):
            assert flag in known, f"{name}: {verb} has no {flag}"


@pytest.mark.parametrize("verb", cli.verbs())
def test_every_command_has_help_with_examples(verb):
    """Each verb says in one line what it does, shows an example, and names its exit codes."""
    module = cli.command_module(verb)
    help_text = cli.parser_of(verb).format_help()
    assert module.HELP and len(module.HELP) <= 100
    assert "example" in help_text
    assert "exit codes:" in help_text


def test_the_skill_is_within_its_limits():
    """SKILL.md: at most 200 lines, portable fields only, description of at most 500 characters in both languages."""
    document = text("SKILL.md")
    fields = yaml.safe_load(document.split("---\n")[1])
    assert len(document.splitlines()) <= 200
    assert set(fields) <= {"name", "description", "license", "compatibility", "metadata"}
    assert len(fields["description"]) <= 500
    assert "总结经验" in fields["description"] and "summarize experience" in fields["description"]
    assert not set("<>") & set(fields["description"])


def test_every_message_has_both_languages_with_the_same_fields():
    """Each text exists in English and Chinese and fills in the same values."""
    english, chinese = ruleset.messages("en"), ruleset.messages("zh")
    assert set(english) == set(chinese)
    for name, message in english.items():
        fields = sorted(set(re.findall(r"\{(\w+)", message)))
        assert fields == sorted(set(re.findall(r"\{(\w+)", chinese[name]))), name


def test_the_changelog_names_the_version():
    """The version of the package is the newest one in CHANGELOG.md, plugin.json and SKILL.md."""
    from experience_forge import __version__

    assert f"## {__version__}" in text("CHANGELOG.md")
    assert f'"version": "{__version__}"' in text(".claude-plugin/plugin.json")
    assert f'version: "{__version__}"' in text("SKILL.md")
    assert f'version = "{__version__}"' in text("pyproject.toml")


def test_no_text_speaks_of_how_the_project_is_made():
    """No path of a machine and no registry host stands in a tracked file."""
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = [n for n in run.stdout.decode("utf-8").split("\0") if n]
    # Spelled in pieces, so that this file does not hold them.
    bad = re.compile("|".join(["/wo" + "rk/", "/ro" + "ot/", "pypi" + r"\.org", "npmjs" + r"\.(org|com)"]))
    guilty = []
    for name in names:
        path = ROOT / name
        # Samples in tests and rules may hold a home folder that looks like one: they are data.
        if path.is_file() and not name.startswith(("tests/test_", "tests/data/", "tests/fixtures/")):
            try:
                if bad.search(path.read_text(encoding="utf-8")):
                    guilty.append(name)
            except UnicodeDecodeError:
                continue
    assert guilty == []


@pytest.mark.parametrize("path", sorted((ROOT / "rules").rglob("*.yaml")), ids=lambda path: path.name)
def test_rule_files_mean_the_same_with_and_without_the_c_loader(path):
    """Where PyYAML has no C part a rule file reads, and says, exactly the same."""
    text = path.read_text(encoding="utf-8")
    plain = yaml.load(text, Loader=yaml.SafeLoader)
    assert plain == yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
