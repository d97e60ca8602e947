"""Help speaks Chinese and English: every text has a translation, none is left over, both stand in columns."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from experience_forge import cli, helping, wording
from experience_forge.core import layout
from experience_forge.installer import main as installer
from experience_forge.store import config

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "rules" / "help-zh.yaml"
CHINESE = re.compile(r"[\u4e00-\u9fff]")
KEPT = re.compile(r'"[^"]*"|`[^`]*`|(?<![\w-])--?[a-z][a-z-]*|%\(\w+\)s|<[a-z]+>|\b[A-Z][A-Z_]+\b|(?<!\w)\d[\dhd-]*')
"""What a translation takes over as it is: quoted keys, commands, flags, fields, variables, numbers."""
OWN = {'"declined twice"', "`experience-forge <command> --help`", "<command>", "ID", "N"}
"""Words between the same signs that are translated all the same, or that English has in place of none."""


@pytest.fixture
def chinese(monkeypatch):
    """A user whose locale is Chinese."""
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")


@functools.cache
def asked() -> dict[str, str]:
    """Every text that help puts into the user's language, with where it was asked for first."""
    found: dict[str, str] = {}
    for where, shown in PAGES.items():
        shown(lambda text, where=where: found.setdefault(text, where) and text)
    return found


def page_of(verb: str, say: layout.Say | None) -> str:
    """The help of one verb, put into other words by `say`."""
    return helping.page(cli.parser_of(verb), say)


PAGES = {
    "the overview": cli.overview,
    **{verb: functools.partial(page_of, verb) for verb in cli.verbs()},
    "install.py": lambda say: helping.page(installer.parser(), say),
}


def translated() -> dict[str, str]:
    """The catalogue."""
    return wording.phrases("help-zh")


def in_chinese(name: str) -> str:
    """One page as a Chinese user reads it."""
    return PAGES[name](lambda text: translated().get(text, text))


def test_every_text_of_help_has_a_translation_and_each_is_used():
    """No text of any parser is left English, and no line of the catalogue is shown nowhere."""
    missing = [f"{where}: {text}" for text, where in asked().items() if text not in translated()]
    assert missing == []
    assert sorted(set(translated()) - set(asked())) == []


def test_the_catalogue_names_each_text_once():
    """A text stands on one line only, so that a change of it is seen."""
    lines = [line for line in CATALOGUE.read_text(encoding="utf-8").splitlines() if line.startswith('"')]
    keys = [next(iter(json.loads("{" + line + "}"))) for line in lines]
    assert len(keys) == len(set(keys)) == len(translated())


def faults_of(text: str, told: str) -> list[str]:
    """What is wrong with one translation."""
    faults = [f"lacks {part}" for part in sorted(set(KEPT.findall(text)) - OWN) if part not in told]
    if not CHINESE.search(told):
        return faults if told.replace("、", ", ").replace("：", ": ") == text else [*faults, "not Chinese"]
    plain = KEPT.sub("", told)
    faults += [f"has '{word}' of its own" for word in re.findall(r"(?<![\w./-])[a-z_]{2,}(?![\w./-])", plain)
               if word not in re.findall(r"\w+", text)]
    for form, fault in (
        (r"[a-z]+ [a-z]+ [a-z]+", "English"),
        (r"[\u4e00-\u9fff][,;:?!()]|[,;:?!()][\u4e00-\u9fff]", "a half-width sign"),
        (r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", "no blank"),
        (r"条条目", "clumsy"),
    ):
        faults += [f"{fault}: {found[0]}" for found in [re.search(form, plain)] if found]
    return faults


def test_a_translation_is_chinese_and_keeps_what_is_typed():
    """None has English words left, and each the same keys, commands, flags and numbers as the English."""
    faults = {text: found for text, told in translated().items() if (found := faults_of(text, told))}
    assert faults == {}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("columns", [60, 80, 110])
def test_chinese_help_stands_in_columns(name, columns, monkeypatch):
    """Counted in cells, all meanings begin in one column, and only what is to be typed is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", str(columns))
    page = in_chinese(name)
    for line in page.splitlines():
        assert layout.cells(line) <= columns - 2 or not CHINESE.search(line), line
        assert line == line.rstrip() and not line.lstrip().startswith(tuple("，、；：。）】”’！？")), line
    sections = re.split(r"\n\n", page)
    begins: set[int] = set()
    for section in sections:
        head, _, body = section.partition("\n")
        if head in ("参数：", "选项：") or (name == "the overview" and body.startswith("  ")):
            for line in body.splitlines():
                found = re.match(r"  \S.*?\s{2,}(?=\S)|\s{3,}(?=\S)", line)
                begins |= {layout.cells(found[0])} if found else set()
    assert len(begins) == 1, begins


@pytest.mark.parametrize("name", PAGES)
def test_chinese_help_has_the_same_arguments_examples_and_keys(name, monkeypatch):
    """Usage, names of arguments, commands and the keys of JSON are those of the English page, in the same order."""
    monkeypatch.setenv("COLUMNS", "2000")
    monkeypatch.setattr(helping, "WIDEST", 2000)
    english, chinese = PAGES[name](None), in_chinese(name)
    for typed in (r"^  (?:.*\| )?(?:experience-forge|python3) \S.*?(?=\s{2,}|$)", r"^  ([-\w]\S+)", r"--[a-z-]+",
                  r'"[a-z_]+"(?=[:,}\]])', r"\[-h\].*"):  # fmt: skip
        assert re.findall(typed, chinese, re.MULTILINE) == re.findall(typed, english, re.MULTILINE), typed


@pytest.mark.parametrize("arguments", [
    ("--help",), ("help",), (), ("list", "--help"), ("list", "-h"), ("help", "list"),
], ids=" ".join)  # fmt: skip
def test_help_speaks_the_locale(arguments, capsys, monkeypatch):
    """Each way to ask for help answers in Chinese to a Chinese user, and has no Chinese for an English one."""
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    cli.main(arguments)
    chinese = capsys.readouterr().out
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    cli.main(arguments)
    english = capsys.readouterr().out
    assert chinese.startswith("用法：experience-forge ") and "退出码：0 完成" in chinese and "usage" not in chinese
    assert english.startswith("usage: experience-forge ") and not CHINESE.search(english)


def test_the_setting_decides_before_the_locale(capsys, monkeypatch):
    """`language` of config.yaml is asked before the locale, as for errors."""
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    config.change({"language": "zh"})
    cli.main(["show", "--help"])
    assert "完整显示一个条目" in capsys.readouterr().out
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    config.change({"language": "en"})
    cli.main(["show", "--help"])
    assert "show one entry" in capsys.readouterr().out


def test_install_speaks_the_locale_without_any_library(chinese):
    """`install.py --help` is Chinese for a Chinese user, before there are libraries."""
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", str(ROOT / "install.py"), "--help"],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("用法：install.py [-h]") and "--uninstall" in run.stdout and "接上钩子" in run.stdout


@pytest.mark.parametrize("damage", [OSError("gone"), ValueError("cut off")])
def test_help_is_english_where_the_catalogue_can_not_be_read(damage, chinese, capsys, monkeypatch):
    """A file that is missing or damaged costs the translation, not the help."""
    def broken(file: str) -> dict[str, str]:
        raise damage

    monkeypatch.setattr(wording, "phrases", broken)
    assert cli.main(["list", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: experience-forge list")


def test_a_text_without_translation_stays_english(chinese, capsys, monkeypatch):
    """A new text is shown in English among the Chinese ones until it is translated."""
    fewer = {text: told for text, told in translated().items() if text != "only this track"}
    monkeypatch.setattr(wording, "phrases", lambda file: fewer)
    cli.main(["list", "--help"])
    out = capsys.readouterr().out
    assert re.search(r"^ +only this track$", out, re.MULTILINE) and "只看这个领域" in out


def test_a_command_reads_no_help(chinese, own_home):
    """A command that runs loads neither the pages of help nor their translations."""
    code = (
        "import sys; from experience_forge import cli, wording; code = cli.main(['list'])\n"
        "assert 'experience_forge.helping' not in sys.modules and not wording.phrases.cache_info().currsize\n"
        "sys.exit(code)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "scripts", capture_output=True, encoding="utf-8", check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(("text", "width", "rows"), [
    ("用法有误，3 程序出错", 12, ["用法有误，", "3 程序出错"]),
    ("计划该合并、决定、标为过时、复查、移动", 36, ["计划该合并、决定、标为过时、复查、", "移动"]),
    ("按信号显示建议和草稿的去向", 24, ["按信号显示建议和草稿的", "去向"]),
    ("输出一个带 schema_version 的 JSON 文档", 37, ["输出一个带 schema_version 的 JSON", "文档"]),
    ("被拒绝或意料之中的失败，2 用法有误，3 程序出错", 38, ["被拒绝或意料之中的失败，2 用法有误，", "3 程序出错"]),
], ids=range(5))  # fmt: skip
def test_a_line_of_chinese_ends_at_a_clause_where_it_can(text, width, rows):
    """A clause that begins near the end of a line goes to the next one, and no letter is left alone at the end."""
    assert layout.wrapped(text, width) == rows
