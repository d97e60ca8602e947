"""Bad input, closed streams and hostile texts: one line of what, where and what to do, the right exit code, no loss."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from experience_forge import cli
from experience_forge.core import codec
from experience_forge.store import config, entries, home, proposals
from helpers import confirm, entry
from terminal import FORGE, Terminal, hear_signals

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX streams")


def shell(line, **environment):
    """What a shell line with FORGE in it gives: exit code of the command, output, talk."""
    command = " ".join(f"'{part}'" for part in FORGE)
    done = subprocess.run(
        ["sh", "-c", line.replace("FORGE", command)], capture_output=True, encoding="utf-8",
        env={**os.environ, **environment}, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@posix
@pytest.mark.parametrize("line", [
    "FORGE --help | head -1", "FORGE list --help | head -1", "FORGE list | true", "FORGE list --json | head -c 1",
    "FORGE status 2>&1 | head -1", "FORGE list >&-", "FORGE status 2>&-", "FORGE list <&- >&- 2>&-",
])  # fmt: skip
def test_a_reader_that_leaves_is_no_fault(line):
    """Output that nobody takes, or a stream that is closed, makes no noise."""
    for number in range(30):
        confirm(entry(f"entry-{number}", title="a title " * 20))
    code, _, err = shell(line)
    assert code == 0 and "Traceback" not in err and "Exception ignored" not in err


@posix
def test_a_closed_stdin_is_an_empty_one():
    """`draft --from -` without a stdin says that the input is empty."""
    code, _, err = shell("FORGE draft --from - <&-")
    assert code == 5 and "the input is empty" in err and "hint:" in err


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("line", ["FORGE list >/dev/full", "FORGE --help >/dev/full", "FORGE list --help >/dev/full"])
def test_output_that_can_not_be_written_is_a_failure(line):
    """A full disk behind `>` ends with 1 and one line."""
    confirm(entry("one"))
    code, _, err = shell(line)
    assert code == 1 and "No space left" in err and "Exception ignored" not in err


@posix
@pytest.mark.parametrize("environment", [
    {"LANG": "C", "LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"TERM": "dumb", "NO_COLOR": "1"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
])  # fmt: skip
def test_data_is_utf8_whatever_the_locale_is(environment):
    """Titles in Chinese and with emoji come out whole in every locale, without escapes for colour in a pipe."""
    confirm(entry("one", title="提交信息 🎉 Ünï"))
    code, out, err = shell("FORGE list", **environment)
    assert code == 0 and "提交信息 🎉 Ünï" in out and "\x1b" not in out + err


@posix
def test_an_interrupt_ends_with_130_and_loses_nothing():
    """Ctrl-C while `draft` waits for its input: exit 130, one line, nothing in the inbox."""
    process = subprocess.Popen(
        [*FORGE, "draft", "--from", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=hear_signals,
    )  # fmt: skip
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and b"interrupted" in err and b"Traceback" not in err
    assert proposals.all(home.current()) == []


@posix
def test_nothing_in_an_entry_steers_the_terminal():
    """What `show` prints of an entry that was edited by hand is tamed at a terminal, and whole in a pipe."""
    confirm(entry("one"))
    path = entries.get(home.current(), "one").path
    path.write_text(path.read_text(encoding="utf-8") + "\n\x1b]0;title\x07\u202eevil\n", encoding="utf-8")
    terminal = Terminal(["show", "one"])
    terminal.end()
    assert "\x1b" not in terminal.seen and "\u202e" not in terminal.seen and "\\u001b]0;title" in terminal.seen


@pytest.mark.parametrize("title", ["a" * 201, "bell \x07 title", "rtl \u202e title", "nul \0 title"])
def test_a_title_that_can_not_be_shown_is_refused(title, capsys, tmp_path):
    """A title that is too long or hides something is refused with its field, and what is told is visible."""
    path = tmp_path / "draft.md"
    text = "---\ntitle: TITLE\nkind: preference\n---\n**Rule** a\n**Why** b\n**How** c\n"
    path.write_text(text.replace("TITLE", title), encoding="utf-8")
    code = cli.main(["draft", "--from", str(path)])
    captured = capsys.readouterr()
    assert code in (1, 5) and proposals.all(home.current()) == []
    assert not set("\x07\u202e\0") & set(captured.out + captured.err) and "Traceback" not in captured.err


@pytest.mark.parametrize("arguments", [
    ("draft", "--from"), ("signals",), ("redact",), ("vet",), ("restore",), ("recall", "--error"), ("score",),
])  # fmt: skip
def test_a_folder_where_a_file_is_due(arguments, tmp_path, capsys):
    """A folder given for a file is named, with what to do, in one line and a hint."""
    found = cli.main([*arguments, str(tmp_path)])
    err = capsys.readouterr().err
    assert found in (1, 5) and str(tmp_path) in err and "hint:" in err and len(err.splitlines()) == 2


@pytest.mark.parametrize("text", [
    "a: [", "- a\n", "suggest: 3\n", "suggest: {threshold: abc}\n", "recall: {off_projects: 7}\n", "domains: 3\n",
    "measure: {holdouts: [yes]}\n", "language: 7\n",
])  # fmt: skip
@pytest.mark.parametrize("verb", ["status", "suggest", "recall", "tidy", "doctor"])
def test_settings_that_do_not_hold_are_named(text, verb, capsys):
    """A damaged config.yaml is named with the setting and what it must be; no command takes it for a bug."""
    confirm(entry("one"))
    home.current().config.write_text(text, encoding="utf-8")
    code = cli.main([verb, *(["pnpm"] if verb == "recall" else [])])
    err = capsys.readouterr().err
    assert code in ((0, 1, 5) if verb in ("doctor", "tidy") else (5,)) and "a bug" not in err
    if code == 5:
        assert "config.yaml" in err and "hint:" in err


def test_on_in_the_settings_is_a_name():
    """`suggest: {on: false}`, typed by hand, switches suggestions off though YAML reads `on` as a truth value."""
    home.current().root.mkdir(parents=True)
    home.current().config.write_text("suggest: {on: false}\nrecall:\n", encoding="utf-8")
    assert config.load()["suggest"]["on"] is False and config.load()["recall"]["on"] is True


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")
@pytest.mark.parametrize("verb", ["list", "status", "draft", "recall", "doctor", "undo", "review"])
def test_a_home_that_may_not_be_read_is_said(verb, tmp_path):
    """Without permission each command names the place and what to do, and ends with 1."""
    import shutil

    confirm(entry("one"))
    where = home.current()
    draft = tmp_path / "d.md"
    draft.write_text("---\ntitle: a b c\nkind: preference\n---\n**Rule** a\n**Why** b\n**How** c\n", encoding="utf-8")
    folders = (where.entries, where.proposals, where.journal, where.derived)
    before = []
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root may read everything, and there is no setpriv")
        before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
    more = {"draft": ["--from", str(draft)], "recall": ["pnpm"]}.get(verb, [])
    for folder in folders:
        folder.mkdir(exist_ok=True)
        folder.chmod(0)
    try:
        done = subprocess.run([*before, *FORGE, verb, *more], capture_output=True, encoding="utf-8", check=False,
                              stdin=subprocess.DEVNULL)  # fmt: skip
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and "a bug" not in done.stderr
    assert "Permission denied" in done.stderr + done.stdout or "permission" in (done.stderr + done.stdout).lower()




@posix
@pytest.mark.parametrize(
    "line", ["INSTALL --dry-run 2>&1 | head -1", "INSTALL --help | head -1", "INSTALL --dry-run >&-"]
)
def test_the_installer_makes_no_noise_either(line, own_home):
    """`install.py` whose reader left, or whose output is closed, says nothing about that."""
    install = f"'{FORGE[0]}' '{Path(FORGE[1]).parent.parent / 'install.py'}'"
    code, out, err = shell(line.replace("INSTALL", install))
    assert code == 0 and "Traceback" not in out + err and "Exception ignored" not in out + err


def test_a_very_long_word_is_told_by_its_ends(capsys):
    """An id of 5,000 characters does not fill the screen."""
    assert cli.main(["show", "1" * 5000]) in (1, 2, 5)
    err = capsys.readouterr().err
    assert len(err) < 600 and "…" in err


@pytest.mark.parametrize("line", [
    "recall x --limit 0", "recall x --limit -1", "log x --limit 0", "scan --limit 0", "scan --draft 0",
    "digest --days 0", "tune --sessions -1",
])  # fmt: skip
def test_a_number_below_one_is_no_number(line, capsys):
    """Where a command counts, nothing below 1 is taken for an answer."""
    assert cli.main(line.split()) == 2
    assert "no whole number from 1 on" in capsys.readouterr().err


def test_a_week_longer_than_the_calendar(capsys):
    """A number of days that reaches before the first year means everything, and is no bug."""
    assert cli.main(["digest", "--days", "99999999"]) == 0


HANDED = ["draft --from", "recall --error", "redact", "vet", "restore"]


@pytest.mark.parametrize("line", HANDED)
def test_a_folder_in_place_of_a_file(line, tmp_path, capsys):
    """A folder handed in as a file is named, with what to give instead; nothing of the user's is to be moved."""
    assert cli.main([*line.split(), str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert f"{tmp_path} is not a file" in told and "hint: " in told and "aside" not in told


@pytest.mark.parametrize("line", ["draft --from", "redact", "vet"])
def test_bytes_that_are_no_text(line, tmp_path, capsys):
    """What is handed in and is no text is invalid data, exit 5, with the place."""
    path = tmp_path / "given"
    for given, told in ((b"ab\xff", "is not UTF-8 (byte 2)"), (b"a\0b", "holds NUL bytes")):
        path.write_bytes(given)
        assert cli.main([*line.split(), str(path)]) == 5
        assert told in capsys.readouterr().err


@posix
def test_a_pipe_that_the_shell_names(tmp_path, monkeypatch):
    """What a shell hands over as `<(...)` is read like a file."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = shell("mkfifo pipe && (echo hello >pipe &) && FORGE redact pipe")
    assert (code, out) == (0, "hello\n")


def test_a_domain_that_is_not_listed(tmp_path, capsys):
    """A domain that a person names is refused with those that there are, by `draft` as by `move`; nothing is kept."""
    path = tmp_path / "draft.md"
    path.write_text("---\ntitle: Use pnpm\nkind: preference\n---\n**Rule** a\n**Why** b\n**How** c\n", encoding="utf-8")
    assert cli.main(["draft", "--from", str(path), "--track", "domain", "--domain", "pyhton"]) == 2
    told = capsys.readouterr().err
    assert "there is no domain 'pyhton'" in told and "python" in told
    assert not proposals.all(home.current())


def test_a_domain_that_is_not_listed_is_refused_and_not_exchanged(tmp_path, capsys):
    """`draft --domain nonsense` names the listed ones; `--domain docker` is the one that has the word."""
    path = tmp_path / "draft.md"
    path.write_text(codec.render(entry("tag", title="Tag by git commit")), encoding="utf-8")
    common = ["draft", "--from", str(path), "--track", "domain"]
    assert cli.main([*common, "--domain", "nonsense"]) == 2
    assert "containers" in capsys.readouterr().err and not proposals.all(home.current())
    assert cli.main([*common, "--domain", "docker"]) == 0
    assert "domain: containers" in proposals.all(home.current())[0].text
