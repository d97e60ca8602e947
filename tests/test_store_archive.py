"""Backups: what goes in, what is refused, and that a restore gives back the confirmed library."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from experience_forge import cli
from experience_forge.errors import Invalid
from experience_forge.store import archive, entries, files, home, journal
from experience_forge.store.home import Home
from helpers import answering, confirm, entry, tree


def rewritten(path, change):
    """The archive at `path` with `change` applied to its members by name."""
    with zipfile.ZipFile(path) as old:
        members = {item.filename: old.read(item) for item in old.infolist()}
    change(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
    path.write_bytes(buffer.getvalue())


def test_a_backup_gives_back_the_confirmed_library(tmp_path):
    """Restored into an empty home, the entries are there byte for byte, still confirmed, and the chain holds."""
    confirm(entry("one"))
    confirm(entry("two"))
    archive.write(home.current(), tmp_path / "b.zip")
    other = Home(tmp_path / "other")
    archive.unpack(other, archive.read(tmp_path / "b.zip"))
    assert tree(other.entries) == tree(home.current().entries)
    assert [s.state for s in entries.load_all(other).entries] == ["confirmed", "confirmed"]
    assert journal.check(other) == []


def test_a_secret_does_not_reach_a_backup(tmp_path, capsys):
    """A token that a hand edit brought into an entry is redacted in the backup, and the manifest names the file."""
    confirm(entry())
    token = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    path = entries.get(home.current(), "use-pnpm").path
    path.write_text(path.read_text(encoding="utf-8").replace("pnpm run", token), encoding="utf-8")
    manifest = archive.write(home.current(), tmp_path / "b.zip")
    assert list(manifest["redacted"]) == ["entries/personal/use-pnpm.md"]
    backup = archive.read(tmp_path / "b.zip")
    assert all(token.encode() not in data for data in backup.contents.values())
    assert cli.main(["backup", str(tmp_path / "c.zip")]) == 0
    assert "redacted in the backup: entries/personal/use-pnpm.md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.update({"entries/personal/use-pnpm.md": b"other"}), "has other bytes"),
        (lambda m: m.pop("entries/personal/use-pnpm.md"), "is missing"),
        (lambda m: m.update({"../evil.md": b"x"}), "is no path of a data home"),
        (lambda m: m.update({"entries/../../evil.md": b"x"}), "is no path of a data home"),
        (lambda m: m.update({archive.MANIFEST: json.dumps({"v": 99, "files": {}}).encode()}), "its format is 99"),
    ],
)
def test_a_damaged_or_foreign_archive_is_refused(tmp_path, change, says):
    """Changed bytes, missing files, paths that lead out and newer formats are each named."""
    confirm(entry())
    archive.write(home.current(), tmp_path / "b.zip")
    rewritten(tmp_path / "b.zip", change)
    with pytest.raises(Invalid) as caught:
        archive.read(tmp_path / "b.zip")
    assert says in "\n".join(caught.value.faults)


def test_garbage_is_no_backup(tmp_path):
    """A file that is no archive is refused as invalid data."""
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(Invalid):
        archive.read(tmp_path / "b.zip")


def test_merge_proposes_what_is_missing_and_overwrites_nothing(tmp_path, monkeypatch, capsys):
    """With --merge a missing entry becomes a proposal, a present one stays as it is."""
    confirm(entry("one"))
    confirm(entry("two"))
    archive.write(home.current(), tmp_path / "b.zip")
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(tmp_path / "other"))
    confirm(entry("one", title="mine"))
    before = tree(home.current().entries)
    assert cli.main(["restore", str(tmp_path / "b.zip"), "--merge", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["proposals"], answer["present"]) == (["restore-two"], ["personal/one.md"])
    assert tree(home.current().entries) == before


def test_restore_over_a_library_is_refused(tmp_path, capsys):
    """A home that holds something is never overwritten by a restore."""
    confirm(entry())
    archive.write(home.current(), tmp_path / "b.zip")
    assert cli.main(["restore", str(tmp_path / "b.zip")]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_the_archive_itself_is_written_whole(tmp_path):
    """A full disk leaves the older backup as it was."""
    confirm(entry())
    target = tmp_path / "b.zip"
    archive.write(home.current(), target)
    old = target.read_bytes()

    class Full(files.Calls):
        @staticmethod
        def write(descriptor, data):
            raise OSError(28, "No space left on device")

    before = files.set_calls(Full)
    try:
        with pytest.raises(Exception, match="No space left"):
            archive.write(home.current(), target)
    finally:
        files.set_calls(before)
    assert target.read_bytes() == old


def test_a_forged_archive_needs_a_person(tmp_path, monkeypatch, capsys):
    """Without a person at a terminal a whole restore is refused with 4, and nothing is written or loaded."""
    confirm(entry())
    archive.write(home.current(), tmp_path / "b.zip")
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(tmp_path / "fresh"))
    assert cli.main(["restore", str(tmp_path / "b.zip")]) == 4
    assert "needs a person" in capsys.readouterr().err
    assert entries.load_all(home.current()).entries == ()
    with answering("y"):
        assert cli.main(["restore", str(tmp_path / "b.zip")]) == 0
    assert [stored.state for stored in entries.load_all(home.current()).entries] == ["confirmed"]


def test_the_worker_makes_lost_derived_data_anew():
    """After `derived/` was lost, the next run of the worker gives hooks their index and settings again."""
    confirm(entry())
    here = home.current()
    assert cli.main(["worker"]) == 0
    assert all((here.derived / name).exists() for name in ("recall.txt", "settings.json", "signals.json"))
