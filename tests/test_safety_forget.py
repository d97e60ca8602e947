"""`forget` leaves no trace of a secret, wherever its words went."""

from __future__ import annotations

import json
import os
import zipfile

import pytest

from experience_forge import cli, shared
from experience_forge.clients import ancestry
from experience_forge.errors import Refused
from experience_forge.store import entries, home, journal, proposals
from experience_forge.store.forgetting import plan
from helpers import answering, confirm, entry, tree
from test_safety_faults import carried_out

SECRET = "zebra-quartz-7731"


@pytest.fixture
def family(monkeypatch):
    """`one` and `two` were merged, and what came of it with `three`; the secret came in by `one`."""
    monkeypatch.setattr(ancestry, "client_above", lambda environ: "")
    words = (("rule", f"Use {SECRET} here."), ("why", "It is the mirror."), ("how", "In the build."))
    confirm(entry("one", sections=words))
    for name in ("two", "three"):
        confirm(entry(name))
    merged("one", "two")
    merged(merged_name("one", "two"), "three")
    assert len(holding()) > 1


def merged(first, second):
    where = home.current()
    assert cli.main(["merge", first, second]) == 0
    found = next(p for p in proposals.all(where) if p.change == "merge")
    assert carried_out(found.id)()[0] == 0
    shared.refresh(where)


def holding():
    return [name for name, data in tree(home.current().root.parent).items() if SECRET.encode() in data]


def merged_name(*parents):
    """The id of what the parents were merged into."""
    return next(s.entry.id for s in entries.load_all(home.current()).entries if set(s.entry.parents) >= set(parents))


def test_the_one_answer_takes_all_that_hold_the_words(family, capsys, tmp_path):
    """What an entry was merged into is named before the question, and its ids in the answer erase it, too."""
    middle = merged_name("one", "two")
    last = merged_name(middle, "three")
    kin = plan(home.current(), "one").kin
    assert set(kin) == {middle, last}
    with answering(" ".join(("one", *kin))):
        assert cli.main(["forget", "one"]) == 0
    shown = capsys.readouterr()
    assert middle in shown.err and last in shown.err
    assert holding() == []
    assert journal.check(home.current()) == []
    assert {s.entry.id for s in entries.load_all(home.current()).entries} == {"two", "three"}
    archive = tmp_path / "later.zip"
    assert cli.main(["backup", str(archive)]) == 0
    with zipfile.ZipFile(archive) as opened:
        assert all(SECRET.encode() not in opened.read(name) for name in opened.namelist())


def test_alone_it_names_who_still_holds_the_words(family, capsys):
    """With its own id alone only the entry goes, and who may still hold its words is said, in JSON too."""
    with answering("one"):
        assert cli.main(["forget", "one", "--json"]) == 0
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert told["also"] == [] and len(told["kin"]) == 2
    assert all(name in shown.err for name in told["kin"])
    assert holding() != []


def test_from_the_merged_one_its_parents_are_offered(family):
    """The other way round: the entries that a merged one was made of are its kin, at whatever remove."""
    middle = merged_name("one", "two")
    last = merged_name(middle, "three")
    assert set(plan(home.current(), last).kin) == {middle, "three", "one", "two"}
    with answering(f"{last} {middle} one"):
        assert cli.main(["forget", last]) == 0
    assert holding() == []


def test_no_other_entry_goes_by_that_answer(family):
    """An id that is no kin of it, or another first id, is a refusal, and nothing is erased."""
    confirm(entry("other"))
    before = tree(home.current().entries)
    for answer in ("one other", "both one", "", "all"):
        with answering(answer):
            assert cli.main(["forget", "one"]) == Refused.exit_code
    assert tree(home.current().entries) == before
    assert os.path.isdir(home.current().entries)
