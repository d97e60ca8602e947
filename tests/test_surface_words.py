"""What commands say: hints that are true, ids that exist, numbers and places that can be read."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from experience_forge import cli
from experience_forge.core import codec
from experience_forge.fast import spool
from experience_forge.store import home, ledger, proposals
from helpers import confirm, entry

DOCUMENT = """---
title: Pin the base image
kind: preference
sources:
  - {quote: "pin it", from: document}
---
**Rule** Pin the base image.
**Why** It changes.
**How** By digest.
"""


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Runs the command line in a folder of its own; returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", __import__("io").StringIO(stdin))
        code = cli.main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def sessions(own_home):
    """Two sessions that the client keeps, and one that only has a ledger."""
    folder = own_home / ".claude" / "projects" / "-home-dev-shop"
    folder.mkdir(parents=True)
    for name in ("3f2a91c0-aaaa", "3f2a91c0-bbbb"):
        (folder / f"{name}.jsonl").write_text("{}\n", encoding="utf-8")
    spool.append(str(home.current().root), "an odd id: 1", {"what": "state"})
    return folder


def test_off_names_the_command_that_undoes_it(run, sessions):
    """What `off --session` says undoes it does so, when it is typed as it stands."""
    code, out, _ = run("off", "--session", "3f2a91c0-aaaa")
    assert code == 0 and "`experience-forge on --session 3f2a91c0-aaaa`" in out
    assert run("on", "--session", "3f2a91c0-aaaa")[0] == 0
    states = [one["recall"] for one in ledger.read(home.current(), "3f2a91c0-aaaa")]
    assert states == ["off", "on"]


@pytest.mark.parametrize(
    "arguments", [("off", "--session"), ("on", "--session"), ("suggest", "--off", "--session"), ("why", "--session")]
)
def test_a_session_that_nobody_knows_is_refused(run, sessions, arguments):
    """A mistyped session id is refused with the last ones named, and nothing is written for it."""
    code, _, err = run(*arguments, "3f2a91c0-cccc")
    assert code == 1 and "there is no session '3f2a91c0-cccc'" in err and "3f2a91c0-aaaa" in err
    assert ledger.read(home.current(), "3f2a91c0-cccc") == []
    code, _, err = run(*arguments, "3f2a91c0")
    assert code == 1 and "2 sessions begin with" in err
    assert run(*arguments, "an odd id: 1")[0] == 0


def test_the_beginning_of_a_session_id_is_enough(run, sessions):
    """A beginning that fits one session, such as `scan` prints it, means that session; three letters are too few."""
    _, out, _ = run("off", "--session", "3f2a91c0-a", "--json")
    assert json.loads(out)["of"] == "3f2a91c0-aaaa"
    assert run("signals", "--session", "3f2a91c0-zz")[0] == 1
    assert run("off", "--session", "3f2")[0] == 1


def test_undo_of_a_number_that_is_none_names_the_last(run):
    """`undo 2024` says that there is no such change, which the last is, and where they are listed."""
    code, _, err = run("undo", "2024")
    assert code == 1 and "nothing was changed yet" in err
    confirm(entry("one"))
    code, _, err = run("undo", "2024")
    assert code == 1 and "no change 2024" in err and "taken back is 1" in err and "list --changes" in err
    code, _, err = run("undo", "nothing")
    assert code == 1 and "'nothing'" in err and "taken back is 1" in err


def test_undo_of_an_entry_whose_id_is_a_number(run):
    """An entry may be called 2024: its newest change is undone when no change has that number."""
    confirm(entry("2024"))
    code, out, _ = run("undo", "2024", "--json")
    assert code == 0 and json.loads(out)["proposal"]["id"] == "undo-1"


def test_a_backup_into_a_folder_is_named_by_the_day(run, tmp_path):
    """`backup .` writes one file with a name of its own into the folder, and never over one that is there."""
    confirm(entry("one"))
    code, out, _ = run("backup", ".")
    made = [path.name for path in tmp_path.iterdir()]
    assert code == 0 and len(made) == 1 and made[0].startswith("experience-forge-") and made[0].endswith(".zip")
    assert made[0] in out
    code, _, err = run("backup", ".")
    assert code == 1 and "exists already" in err and "--force" in err


def test_the_note_of_a_documents_words_has_no_gaps(run):
    """Where a source names no session and no line, its note says only what there is."""
    _, out, _ = run("draft", "--from", "-", "--json", stdin=DOCUMENT)
    warnings = json.loads(out)["drafts"][0]["warnings"]
    assert "source is a document, not the user: pin it" in warnings
    assert all("  " not in warning and "line 0" not in warning for warning in warnings)


def test_a_chinese_title_gets_an_id_that_can_be_read(run):
    """A draft in Chinese without an English alias is named by its error, its tags or its domain, not by a hash."""
    text = DOCUMENT.replace("Pin the base image\n", "所有的提交信息都用中文写\n", 1)
    text = text.replace("from: document", "from: person")
    _, out, _ = run("draft", "--from", "-", "--json", stdin=text.replace("By digest.", "git commit 时写中文。"))
    found = json.loads(out)["drafts"][0]["id"]
    assert found.startswith("git-preference-")
    error = text.replace("kind: preference", 'kind: preference\napplies_when:\n- error: "lock file is broken"')
    _, out, _ = run("draft", "--from", "-", "--json", stdin=error)
    assert json.loads(out)["drafts"][0]["id"] == "lock-file-is-broken"


def test_every_dry_run_says_that_nothing_was_written(run):
    """A dry run says so in words and in its JSON, and the home stays as it was."""
    confirm(entry("one"))
    for arguments in (
        ("undo",), ("guard", "one", "deny"), ("move", "one", "--to", "profile"), ("outdate", "one", "--reason", "r"),
        ("backup", "x.zip"), ("off", "--project"), ("on", "--project"), ("suggest", "--off"),
        ("measure", "off"), ("forget", "one"),
    ):  # fmt: skip
        code, out, err = run(*arguments, "--dry-run", "--json")
        assert code == 0 and json.loads(out)["dry_run"] is True, (arguments, err)
        assert "Dry run: nothing was written." in err, arguments
    assert proposals.all(home.current()) == []


def test_a_project_is_renamed_to_what_can_be_read(run):
    """`projects --rename` takes the project of this folder too, and refuses a name with control characters."""
    _, out, _ = run("projects", "--json")
    here = json.loads(out)["projects"][0]["id"]
    _, out, _ = run("projects", "--rename", here, "billing", "--dry-run", "--json")
    assert json.loads(out)["projects"][0]["name"] == "billing"
    assert json.loads(run("projects", "--json")[1])["projects"][0]["name"] != "billing"
    assert run("projects", "--rename", here, "a\x1b[31mb")[0] == 5
    assert run("projects", "--rename", here, "billing")[0] == 0
    assert json.loads(run("projects", "--json")[1])["projects"][0]["name"] == "billing"


def test_the_example_of_the_skill_is_a_draft_as_it_stands(run, monkeypatch):
    """What SKILL.md shows passes `draft --from -` without a warning, and has a condition of each kind."""
    text = (Path(__file__).resolve().parent.parent / "SKILL.md").read_text(encoding="utf-8")
    found = re.findall(r"^ *FORGE draft --from - --json <<'ENTRY'\n(.*?)^ *ENTRY$", text, re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    code, out, err = run("draft", "--from", "-", "--json", stdin=textwrap.dedent(found[0]))
    assert code == 0, err
    made = json.loads(out)["drafts"]
    assert [draft["warnings"] for draft in made] == [[], []] and all(draft["testable"] for draft in made)
    entries = [codec.parse(draft["rendered"]) for draft in made]
    kinds = {name for one in entries for condition in one.applies_when for name in condition.parts()}
    assert kinds == {"command", "error", "path", "words"}
