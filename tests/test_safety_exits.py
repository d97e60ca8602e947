"""A secret leaves by no field, reason, name, error or backup; what was said of an entry can be forgotten."""

from __future__ import annotations

import dataclasses
import json
import zipfile

import pytest

from experience_forge import cli, shared
from experience_forge.clients import ancestry
from experience_forge.core import codec
from experience_forge.model import Condition
from experience_forge.store import archive, entries, home, journal, proposals, proposed_conditions
from helpers import answering, confirm, entry, tree

TOKEN = "ghp_" + "Zq81LmT0pXw3Rk77VbNc52HyUe4oJd9SgAfK"
DRAFT = """---
title: Log in first
kind: preference
{field}
---
**Rule** Log in first.
**Why** The registry asks.
**How** npm login.
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ancestry, "client_above", lambda environ: "")


def drafted(tmp_path, field):
    path = tmp_path / "draft.md"
    path.write_text(DRAFT.format(field=field), encoding="utf-8")
    return cli.main(["draft", "--from", str(path)])


def holding(secret=TOKEN):
    """Files of the home that hold the secret, in archives too."""
    found = []
    for name, data in tree(home.current().root).items():
        if name.endswith(".zip"):
            continue
        if secret.encode() in data:
            found.append(name)
    return found


@pytest.mark.parametrize("field", [
    f'tags: ["{TOKEN}"]', f'versions: ["hermes>={TOKEN}"]', f"cites:\n- path: {TOKEN}", f'aliases: ["{TOKEN}"]',
    "id: glpat-zk4q8w1r7t2y5u9p3a6s", "domain: glpat-zk4q8w1r7t2y5u9p3a6s",
    f'sources:\n- session: "{TOKEN}"\n  quote: hi\n  from: person',
    f'sources:\n- at: "{TOKEN}"\n  quote: hi\n  from: person',
    *(f'applies_when:\n- {name}: "login {TOKEN}"' for name in ("command", "error", "path", "words")),
    f'fails_when:\n- error: "bad {TOKEN}"', f'title: "Use {TOKEN}"',
], ids=lambda field: field.partition(":")[0] + field[-12:-8])  # fmt: skip
def test_a_draft_with_a_secret_in_any_field_but_prose_is_refused(tmp_path, capsys, field):
    """A mark in a trigger, a name or a form is of no use: the draft is refused, and neither kept nor quoted."""
    assert drafted(tmp_path, field) != 0
    said = capsys.readouterr()
    assert proposals.all(home.current()) == [] and holding() == []
    assert TOKEN not in said.out + said.err and "glpat-zk" not in said.out + said.err


def test_a_quote_keeps_what_was_said_without_the_secret(tmp_path, capsys):
    """What a source says is prose: the draft is kept, the value is not, and its kind is told."""
    assert drafted(tmp_path, f'sources:\n- quote: "login with {TOKEN}"\n  from: person') == 0
    assert "github-token: 1 taken out" in capsys.readouterr().out
    assert holding() == [] and len(proposals.all(home.current())) == 1


def test_a_condition_that_only_a_secret_could_match_is_not_proposed(tmp_path, capsys, monkeypatch):
    """What we propose ourselves never makes a draft be refused: such a condition is left out."""

    def filled(one):
        made = (Condition(command=f"npm login {TOKEN}"), Condition(command="npm publish"))
        return dataclasses.replace(one, applies_when=made)

    monkeypatch.setattr(proposed_conditions, "fill", filled)
    assert drafted(tmp_path, "domain: javascript") == 0
    kept = codec.parse(proposals.all(home.current())[0].text)
    assert [one.command for one in kept.applies_when] == ["npm publish"]


def test_reasons_and_names_hold_no_secret(tmp_path, capsys):
    """A reason to discard or to outdate keeps its words without the value; a project's name with one is refused."""
    confirm(entry("use-pnpm"))
    assert drafted(tmp_path, "domain: javascript") == 0
    assert cli.main(["discard", "log-in-first", "--reason", f"never with {TOKEN} in it"]) == 0
    assert cli.main(["outdate", "use-pnpm", "--reason", f"the token {TOKEN} is gone"]) == 0
    assert cli.main(["projects", "--rename", "x", TOKEN]) != 0
    said = capsys.readouterr()
    assert holding() == [] and TOKEN not in said.out + said.err
    assert cli.main(["tune", "--json"]) == 0
    assert next(iter(json.loads(capsys.readouterr().out)["reasons"])).startswith("never with [redacted:github-token:")


@pytest.mark.parametrize("arguments", [["show", f"no-{TOKEN}"], ["draft", "--track", TOKEN], ["why", TOKEN]])
def test_an_error_quotes_no_secret(arguments, capsys):
    """What was handed in and is wrong is named without the secret in it, for a person and in JSON alike."""
    for more in ([], ["--json"]):
        assert cli.main([*arguments, *more]) != 0
        said = capsys.readouterr()
        assert TOKEN not in said.out + said.err


def test_an_error_names_the_path_of_its_user(tmp_path, capsys):
    """The name in a home folder is personal data, but to its own user a path must stay one that can be opened."""
    assert cli.main(["redact", "/home/marlene.k/notes-of-2026.txt"]) != 0
    assert "/home/marlene.k/notes-of-2026.txt" in capsys.readouterr().err


def test_a_redacted_backup_can_be_restored(tmp_path, monkeypatch):
    """Whatever field of an entry held a secret (a hand edit), the archive holds an entry that can be read."""
    confirm(entry("use-pnpm", tags=("a", "b")))
    stored = next(found.path for found in entries.load_all(home.current()).entries)
    text = stored.read_text(encoding="utf-8")
    assert "tags: [a, b]" in text
    stored.write_text(text.replace("tags: [a, b]", f'tags: [a, "{TOKEN}"]'), encoding="utf-8")
    archive.write(home.current(), tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as found:
        name = next(name for name in found.namelist() if name.startswith("entries/"))
        text = found.read(name).decode("utf-8")
    assert TOKEN not in text
    assert codec.parse(text).tags[1].startswith("[redacted:github-token:")


def test_forget_takes_the_reason_of_a_discarded_revision_and_what_was_moved_aside(tmp_path, capsys):
    """Words said of an entry when its revision was discarded, and copies that a repair moved aside, go with it."""
    word = "zebraquartz-7731"
    confirm(entry("use-pnpm", sections=(("rule", f"Use {word}."), ("why", "Mirror."), ("how", "Build."))))
    path = tmp_path / "draft.md"
    text = DRAFT.format(field="domain: javascript").replace("Log in first.", f"Use {word} now.")
    path.write_text(text, encoding="utf-8")
    assert cli.main(["draft", "--from", str(path), "--revise", "use-pnpm"]) == 0
    revision = proposals.all(home.current())[0].id
    assert cli.main(["discard", revision, "--reason", f"because {word}"]) == 0
    shared.refresh(home.current())
    for derived in list(home.current().derived.iterdir()):
        if derived.is_file() and word.encode() in derived.read_bytes():
            derived.write_bytes(derived.read_bytes()[:-3])
    assert cli.main(["doctor", "--repair"]) in (0, 1)
    with answering("use-pnpm"):
        assert cli.main(["forget", "use-pnpm"]) == 0
    assert holding(word) == []
    assert all(record["what"] != "discard" or record["said"] for record in journal.read(home.current()))
    assert cli.main(["tune"]) == 0
