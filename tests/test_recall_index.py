"""The recall index: what it holds, how it is renewed, what readers see."""

from __future__ import annotations

import json

import pytest

from experience_forge.fast import batch, lookup, rank
from experience_forge.model import Condition, Status
from experience_forge.store import derived, entries, home, recall_index
from helpers import confirm, entry
from recall_home import fill, pitfall


def rows(where, sql="SELECT id FROM entries ORDER BY id"):
    """First column of a query on the present index."""
    with recall_index.connect(where) as connection:
        return [row[0] for row in connection.execute(sql)]


def test_one_change_is_brought_in_without_a_build():
    """After one confirm the index holds the entry, the old generation is gone, the rest is as a build makes it."""
    where = fill(entry())
    before = sorted(path.name for path in where.derived.glob("recall-*.sqlite"))
    applied = confirm(pitfall())
    derived.update(where, applied)
    after = sorted(path.name for path in where.derived.glob("recall-*.sqlite"))
    assert len(after) == 1 and after != before
    assert rows(where) == ["use-pnpm", "zephyr-lock"]
    kept = {name: rows(where, f"SELECT count(*) FROM {name}") for name in ("entries", "conditions", "segments", "keys")}
    recall_index.build(where, entries.load_all(where), anew=True)
    assert kept == {name: rows(where, f"SELECT count(*) FROM {name}") for name in kept}


def test_a_call_with_nothing_new_changes_nothing():
    """Building again over the same entries keeps what there is."""
    where = fill(entry(), pitfall())
    assert recall_index.build(where, entries.load_all(where))["entries"] == 2
    assert rows(where) == ["use-pnpm", "zephyr-lock"]


def test_only_what_a_person_confirmed_is_in_it():
    """An edited file and a superseded entry are left out, an outdated one stays findable on demand."""
    where = fill(entry("kept"), entry("edited"), entry("old", status=Status.OUTDATED),
                 entry("merged", status=Status.SUPERSEDED))
    path = where.entries / "personal" / "edited.md"
    path.write_bytes(path.read_bytes().replace(b"never npm", b"never yarn"))
    derived.rebuild(where)
    assert rows(where) == ["kept", "old"]


def test_what_is_gone_leaves_no_trace():
    """A removed entry takes its conditions, segments, keys and search words along."""
    where = fill(entry("kept"), pitfall())
    recall_index.update(where, [], ["zephyr-lock"])
    for table in ("entries", "conditions", "segments", "keys"):
        column = "n" if table != "entries" else "id"
        assert len(set(rows(where, f"SELECT {column} FROM {table}"))) <= 1
    assert rows(where, "SELECT doc FROM vocabulary WHERE term = 'zephyr'") == []
    assert b"zephyr" not in (where.derived / lookup.PREFILTER).read_bytes()


@pytest.mark.parametrize("damage", ["none", "another edition", "garbage"])
def test_an_unusable_index_is_told_and_built_anew(damage):
    """`update` says that there is nothing to update; `build` makes it from the entries."""
    where = fill(entry())
    database = next(where.derived.glob("recall-*.sqlite"))
    if damage == "none":
        (where.derived / lookup.PREFILTER).unlink()
    elif damage == "garbage":
        database.write_bytes(b"x" * 9000)
    else:
        import sqlite3

        with sqlite3.connect(database) as connection:
            connection.execute("UPDATE meta SET value = 'other' WHERE name = 'edition'")
    with pytest.raises(LookupError):
        recall_index.update(where, [], [])
    recall_index.build(where, entries.load_all(where))
    assert rows(where) == ["use-pnpm"]


def test_a_failed_build_leaves_the_index_before_in_use(monkeypatch):
    """When the build fails, readers still have the generation before, and no file is left over."""
    where = fill(entry())
    monkeypatch.setattr(recall_index, "_finish", lambda *_: (_ for _ in ()).throw(RuntimeError("disk")))
    with pytest.raises(RuntimeError):
        recall_index.build(where, entries.load_all(where), anew=True)
    assert rows(where) == ["use-pnpm"] and len(list(where.derived.glob("recall-*.sqlite"))) == 1


def test_a_generic_error_is_named():
    """A build says which entries only fit failures of every day."""
    where = fill(pitfall("generic", applies_when=(Condition(error="Permission denied"),)), pitfall())
    assert recall_index.build(where, entries.load_all(where))["generic"] == ["generic"]


def test_the_prefilter_knows_every_key_of_the_database():
    """Each key is found in the prefilter, and words that no entry has are not."""
    where = fill(entry(), pitfall(), entry("words", applies_when=(Condition(words="hermes 落后"),)),
                 entry("paths", applies_when=(Condition(path="db/**/*.sql"),)))
    with recall_index.connect(where) as connection:
        keys = list(connection.execute("SELECT kind, key FROM keys"))
    prefilter = lookup.Prefilter(lookup.path_of(str(where.root), lookup.PREFILTER))
    assert {kind for kind, _ in keys} == {"c", "p", "e", "w"}
    for kind, key in keys:
        assert prefilter.present(kind, [key]) == [key]
    assert prefilter.errors(["hello", "world"]) == [] and prefilter.present("c", ["npm", "git push"]) == []
    prefilter.close()


def test_the_projects_entry_goes_before_the_global_one_for_the_same_error():
    """Of two entries that know an error the project's is first."""
    from experience_forge.model import Track

    where = fill(pitfall("a-global"), pitfall("own", track=Track.PROJECT, project="0123456789ab"))
    text = "ZephyrLockError: registry 'canary' is locked"
    prefilter = lookup.Prefilter(lookup.path_of(str(where.root), lookup.PREFILTER))
    with recall_index.connect(where) as connection:
        found = rank.errors(connection, prefilter.errors(batch.anchor_words(text)), text, ("0123456789ab",))
        ids = dict(connection.execute("SELECT n, id FROM entries"))
    prefilter.close()
    assert [ids[n] for _, n, _ in found] == ["own", "a-global"]


def test_settings_reach_hooks_without_a_build():
    """Switches and texts are in a file of their own, rewritten alone."""
    where = fill(entry())
    recall_index.rewrite_settings(where)
    data = json.loads((where.derived / lookup.SETTINGS).read_text(encoding="utf-8"))
    assert data["on"] is True and data["start_characters"] == 2000 and data["frames"]["zh"]["head"]
    assert home.current().root == where.root
