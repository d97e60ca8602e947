"""Tables at a terminal and without one: ids stay whole, prose uses the width that is there."""

from __future__ import annotations

import os
import re

import pytest

from experience_forge.core import layout
from helpers import confirm, entry
from terminal import Terminal

LONG = "pip-in-a-debian-image-refuses-to-install-anything"
ROWS = [
    (LONG, "domain/python", "pip in a Debian image refuses to install, see https://example.org/a/b?c=d", "active"),
    ("commit-messages-zh", "profile", "提交信息一律用中文写，标题一行，正文说明原因；合并除外。🎉🎉", "⚠ outdated"),
    ("x", "personal", "", "active"),
]
COLUMNS = ("id", "track", "title", "state")
posix = pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal needs POSIX")


@pytest.mark.parametrize("width", [1, 10, 30, 49, 60, 72, 80, 100, 140, 400])
def test_ids_are_whole_and_prose_fits(width):
    """At every width ids, tracks and states stand whole, no word is lost, and only what can't be parted sticks out."""
    head, body = layout.table(COLUMNS, ROWS, (2,), width)
    text = "\n".join([*head, *body])
    for row in ROWS:
        for at in (0, 1, 3):
            assert row[at] in text
    assert "".join(text.split()).count("提") == 1
    for word in " ".join(row[2] for row in ROWS).split():
        if word.isascii():
            assert word in text
    assert all(layout.cells(line) <= width or max(map(layout.cells, line.split())) > width - 9 for line in body)
    assert not any(line.lstrip().startswith(("，", "；", "。")) for line in body)
    assert all(line == line.rstrip() for line in [*head, *body])


def test_a_wide_terminal_is_used():
    """Where everything fits, each row is one line and its columns stand below their heads."""
    head, body = layout.table(COLUMNS, ROWS, (2,), 200)
    assert len(head) == 1 and len(body) == len(ROWS)
    assert {layout.cells(line[: line.index(row[1])]) for line, row in zip(body, ROWS, strict=True)} == {len(LONG) + 2}


@posix
@pytest.mark.parametrize("columns", [50, 80, 140])
def test_list_uses_the_width_of_the_terminal(columns):
    """`list` at a terminal keeps ids whole and follows its width; `COLUMNS` decides where it is set."""
    confirm(entry(LONG, title="pip in a Debian image refuses to install anything because the interpreter is managed"))
    terminal = Terminal(["list"], columns=columns)
    assert terminal.end() == 0
    lines = re.sub(r"\x1b\[\d*m|\r", "", terminal.seen).split("\n")
    assert any(LONG in line for line in lines)
    assert max(map(len, lines)) <= max(columns, len(LONG) + 8)
    wide = Terminal(["list"], columns=columns, COLUMNS="300")
    assert wide.end() == 0
    assert any(LONG in line and line.rstrip().endswith("active") for line in wide.seen.split("\n"))


def test_without_a_terminal_nothing_is_wrapped(capsys):
    """A pipe gets one row a line with tabs between, however long; what hides in a title starts no row."""
    from experience_forge import cli

    confirm(entry("one", title="word " * 38 + "end"))
    assert cli.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [len(line.split("\t")) for line in lines] == [4, 4] and "word end" in lines[1]
