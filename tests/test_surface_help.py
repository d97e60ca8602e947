"""Help texts: examples and the shape of the JSON for every verb, in the width of the terminal, and true."""

from __future__ import annotations

import io
import json
import re

import pytest

from experience_forge import cli, helping
from experience_forge.core import layout
from experience_forge.store import home, proposals
from helpers import confirm, entry
from helpers_sessions import rework

WRITERS = (
    "backup", "confirm", "discard", "doctor", "draft", "forget", "grow", "guard", "measure", "merge", "move", "off",
    "on", "outdate", "projects", "restore", "scan", "suggest", "tidy", "tune", "undo",
)  # fmt: skip
"""Verbs that change a file of the home or propose to; `review` and `worker` are no single change."""
READERS = (
    ("digest",), ("doctor",), ("effect",), ("effect", "one"), ("grow",), ("list",), ("list", "--proposals"),
    ("list", "--changes"), ("log", "one"), ("measure",), ("projects",), ("recall", "pnpm"), ("redact",), ("review",),
    ("scan",), ("score", "--signals", "rework"), ("show", "one"), ("show", "open-one"), ("signals", "SESSION"),
    ("status",), ("suggest",), ("tidy",), ("tune",), ("vet", "--text", "hello"), ("why", "--session", "s1"),
)  # fmt: skip


@pytest.fixture
def library(own_home, tmp_path, monkeypatch):
    """A home with an entry, a proposal and a session; returns the session's file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("some text"))
    confirm(entry("one"))
    text = (home.current().entries / "personal" / "one.md").read_text(encoding="utf-8")
    proposals.create(home.current(), "draft", text.replace("id: one", "id: open-one"), {}, "open-one")
    folder = own_home / ".claude" / "projects" / "-home-dev-shop"
    folder.mkdir(parents=True)
    return rework("s1").write(folder / "s1.jsonl")


def shapes(help_text: str) -> list[set[str]]:
    """The top-level keys of each alternative that a help text promises."""
    found = []
    for block in re.findall(r"^JSON[\w ]*: (\{.*?)(?=\n\n|\nJSON|\Z)", help_text, re.MULTILINE | re.DOTALL):
        depth, keys = 0, set()
        for token in re.findall(r'"[\w ]+"(?=\s*:)|"[\w ]+"|[{}\[\]]', block):
            depth += (token in "{[") - (token in "}]")
            if token == "{" and depth == 1:
                keys = set()
            elif token == "}" and depth == 0:
                found.append(keys)
            elif depth == 1 and token[0] == '"':
                keys.add(token[1:-1])
    return found


@pytest.mark.parametrize("arguments", READERS, ids=" ".join)
def test_json_is_what_the_help_says(library, capsys, arguments):
    """Each reading command prints one JSON document with exactly the keys that its help names."""
    given = [str(library) if part == "SESSION" else part for part in arguments]
    code = cli.main([*given, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code in (0, 1) and document.pop("schema_version") == 1
    promised = shapes(cli.parser_of(arguments[0]).format_help())
    # Every writer may say that it only tried.
    document.pop("dry_run", None)
    assert set(document) in [keys - {"dry_run"} for keys in promised], (sorted(document), promised)


@pytest.mark.parametrize("verb", cli.verbs())
@pytest.mark.parametrize("columns", [80, 110, 250])
def test_help_fits_the_terminal(verb, columns, monkeypatch):
    """No line of a help text is wider than the terminal, nor than what can be read."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = cli.parser_of(verb).format_help().splitlines()
    assert max(map(layout.cells, lines)) <= min(columns, helping.WIDEST)
    assert max(map(layout.cells, cli.overview().splitlines())) <= min(columns, helping.WIDEST)


@pytest.mark.parametrize("verb", cli.verbs())
def test_help_has_examples_and_a_shape(verb):
    """Each verb shows examples of itself and the shape of its JSON; what writes has `--dry-run`."""
    text = cli.parser_of(verb).format_help()
    examples = text[text.index("examples:"):]
    assert re.search(rf"experience-forge {verb}\b", examples)
    assert shapes(text), "no JSON shape"
    assert ("--dry-run" in text) == (verb in WRITERS)


@pytest.mark.parametrize("verb", cli.verbs())
def test_examples_can_be_typed(verb):
    """Each example of a help text is understood by that verb's parser."""
    import shlex

    text = cli.parser_of(verb).format_help()
    for line in text[text.index("examples:"):].splitlines():
        found = re.match(rf"  (?:.*\| )?experience-forge {verb}(.*)", line)
        if found:
            words = shlex.split(re.split(r"\s{2,}|<", found[1].replace("…", ""))[0])
            cli.parser_of(verb).parse_args(words)


def test_every_verb_is_in_one_group_of_the_overview():
    """`--help` lists each verb once, but the one that only hooks start."""
    named = [verb for _, verbs in cli.GROUPS for verb in verbs]
    assert sorted(named) == [verb for verb in cli.verbs() if verb != "worker"]


@pytest.mark.parametrize("arguments", [("help", "list"), ("list", "--help"), ("list", "-h")])
def test_help_of_a_verb_is_found_in_each_way(arguments, capsys):
    """`help list` is `list --help`."""
    assert cli.main(list(arguments)) == 0
    assert "usage: experience-forge list" in capsys.readouterr().out
