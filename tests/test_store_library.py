"""The store: what a confirmed change does to the files, and how it is taken back."""

from __future__ import annotations

import dataclasses
import json

import pytest

from experience_forge import cli
from experience_forge.core import changes, codec
from experience_forge.errors import Invalid, Refused
from experience_forge.model import Consent, Guard, Status
from experience_forge.store import entries, files, home, journal, library, proposals
from helpers import confirm, entry


def test_a_confirmed_draft_is_written_byte_for_byte_and_leaves_the_inbox():
    """The entry's file holds exactly the bytes that were confirmed, and the proposal is gone."""
    one = entry()
    applied = confirm(one)
    assert applied.paths[0].read_text(encoding="utf-8") == codec.render(one)
    assert proposals.all(home.current()) == []
    assert entries.get(home.current(), "use-pnpm").state == "confirmed"


def test_a_draft_that_changed_after_its_digest_is_refused():
    """One byte between confirming and writing makes the change invalid, and nothing is written."""
    draft = proposals.create(home.current(), "draft", codec.render(entry()), {}, "use-pnpm")
    changed = dataclasses.replace(draft, text=draft.text.replace("never", "Never"))
    with pytest.raises(Invalid):
        library.apply(home.current(), changed, Consent("terminal", "now", "terminal"))
    assert entries.load_all(home.current()).entries == ()


def test_a_pending_proof_is_stored_but_not_deliverable():
    """An entry whose proof is pending is on disk, and no client may be given it before it is settled."""
    applied = confirm(entry(), Consent("dialog", "now", "pending"))
    stored = entries.get(home.current(), "use-pnpm")
    assert (stored.state, stored.deliverable) == ("pending", False)
    library.settle_proof(home.current(), applied.record["seq"], "person")
    assert entries.get(home.current(), "use-pnpm").deliverable


def test_a_revoked_consent_puts_the_draft_back():
    """When the proof fails the entry is gone, its draft is open again, and the journal says why."""
    applied = confirm(entry(), Consent("dialog", "now", "pending"))
    library.revoke(home.current(), applied.record["seq"], "a program answered")
    assert entries.load_all(home.current()).entries == ()
    assert [p.text for p in proposals.all(home.current())] == [codec.render(entry())]
    assert journal.read(home.current())[-1]["reason"] == "a program answered"
    assert journal.pending(home.current()) == []


def test_an_edited_file_is_not_deliverable():
    """Bytes that are not those confirmed are seen as edited and not delivered."""
    confirm(entry())
    path = entries.get(home.current(), "use-pnpm").path
    path.write_text(path.read_text(encoding="utf-8").replace("never npm", "always npm"), encoding="utf-8")
    stored = entries.load_all(home.current()).entries[0]
    assert (stored.state, stored.deliverable) == ("edited", False)


def test_undo_is_a_change_and_can_be_undone():
    """Undo of a guard restores the earlier bytes; undo of that undo brings the guard back."""
    here = home.current()
    one = entry()
    confirm(one)
    stored = entries.get(here, "use-pnpm")
    guarded = dataclasses.replace(one, guard=Guard.DENY, revision=2)
    change = changes.Change(
        "guard",
        "guard deny: use-pnpm",
        summary="guard: remind -> deny",
        writes=(changes.Write(stored.key, stored.sha256, codec.render(guarded)),),
    )
    proposal = proposals.create(here, "guard", changes.render(change), {}, "guard-use-pnpm")
    record = library.apply(here, proposal, Consent("terminal", "now", "terminal")).record
    assert entries.get(here, "use-pnpm").entry.guard is Guard.DENY

    undo = library.undo_of(here, record["seq"])
    proposal = proposals.create(here, "undo", changes.render(undo), {}, "undo-1")
    record = library.apply(here, proposal, Consent("terminal", "now", "terminal")).record
    assert entries.get(here, "use-pnpm").entry == one

    again = library.undo_of(here, record["seq"])
    proposal = proposals.create(here, "undo", changes.render(again), {}, "undo-2")
    library.apply(here, proposal, Consent("terminal", "now", "terminal"))
    assert entries.get(here, "use-pnpm").entry.guard is Guard.DENY


def test_a_change_made_for_other_bytes_is_refused():
    """A proposal does not overwrite an entry that changed after it was proposed."""
    here = home.current()
    confirm(entry())
    change = changes.Change(
        "status",
        "outdated",
        writes=(
            changes.Write("personal/use-pnpm.md", "0" * 64, codec.render(entry(status=Status.OUTDATED, revision=2))),
        ),
    )
    proposal = proposals.create(here, "status", changes.render(change), {}, "status-use-pnpm")
    with pytest.raises(Refused) as caught:
        library.apply(here, proposal, Consent("terminal", "now", "terminal"))
    assert "has changed since" in caught.value.faults[0]
    assert [p.id for p in proposals.all(here)] == ["status-use-pnpm"]


def test_an_id_is_unique_across_tracks():
    """A second entry with the id of another one is refused, wherever it would lie."""
    from experience_forge.model import Track

    confirm(entry())
    with pytest.raises(Refused) as caught:
        confirm(entry(track=Track.PROFILE))
    assert "is taken by personal/use-pnpm.md" in caught.value.faults[0]


def test_the_chain_names_a_changed_line_and_the_rest_is_read():
    """A journal line that was edited is reported with file and line, and the others still count."""
    here = home.current()
    for name in ("one", "two", "three"):
        confirm(entry(name))
    assert journal.check(here) == []
    path = next(here.journal.glob("*.jsonl"))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"entries":["one"]', '"entries":["oNe"]'), encoding="utf-8")
    assert journal.check(here) == [
        f"{path.name} line 2: does not follow the record before it (it follows no line that is there)"
    ]
    assert len(journal.read(here)) == 3


def test_a_torn_journal_line_does_not_swallow_the_next():
    """After a torn last line the next record stands on a line of its own and follows the last good one."""
    here = home.current()
    confirm(entry("one"))
    path = next(here.journal.glob("*.jsonl"))
    with path.open("ab") as file:
        file.write(b'{"v":1,"seq":2,"wh')
    confirm(entry("two"))
    assert [r["seq"] for r in journal.read(here)] == [1, 2]
    assert journal.check(here) == [f"{path.name} line 2: can't be read (cut or damaged)"]


def dying_at(call, number):
    """System calls of which `call` dies, as a killed process would, from its `number`-th use on."""
    real = getattr(files.Calls, call)
    left = [number]

    def dies(*arguments, **keywords):
        left[0] -= 1
        if left[0] <= 0:
            raise KeyboardInterrupt
        return real(*arguments, **keywords)

    return type("Dying", (files.Calls,), {call: staticmethod(dies)})


@pytest.mark.parametrize("call", ["open", "write", "fsync", "close", "replace", "unlink"])
def test_a_kill_at_any_call_of_a_change_leaves_old_or_new(call):
    """Whatever call a crash hits, after recovery the entry is there, whole and confirmed, or its draft is open."""
    here = home.current()
    for number in range(1, 40):
        name = f"e-{call}-{number}"
        draft = proposals.create(here, "draft", codec.render(entry(name)), {}, name)

        before = files.set_calls(dying_at(call, number))
        try:
            library.apply(here, draft, Consent("terminal", "now", "terminal"))
            finished = True
        except KeyboardInterrupt:
            finished = False
        finally:
            files.set_calls(before)
        library.recover(here)
        stored = entries.find(here, name)
        inbox = [p.id for p in proposals.all(here)]
        assert (stored is not None and stored.state == "confirmed") != (name in inbox)
        if finished:
            return
    raise AssertionError("the change makes more than 40 such calls")


@pytest.mark.parametrize(
    "damage",
    [
        {"seq": None}, {"seq": "x"}, {"seq": True}, {"files": "abc"}, {"files": [1]}, {"files": [{}]}, {"entries": 5},
        {"at": None}, {"at": 7}, {"consent": [1]}, {"what": ["change"]}, {"what": "proof", "of": "zz"},
        {"what": "proof"},
    ],
    ids=str,
)
def test_a_journal_line_of_odd_shape_is_a_damaged_line_and_not_a_bug(damage, capsys):
    """JSON whose fields are missing or of another type is named by its place; every command still works."""
    for name in ("one", "two"):
        confirm(entry(name))
    here = home.current()
    path = next(here.journal.glob("*.jsonl"))
    lines = path.read_text(encoding="utf-8").splitlines()
    record = {name: value for name, value in {**json.loads(lines[0]), **damage}.items() if value is not None}
    lines[0] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert f"{path.name} line 1: can't be read (cut or damaged)" in journal.check(here)
    for arguments in (["list"], ["show", "two"], ["status"], ["outdate", "two"], ["undo"], ["worker"]):
        assert cli.main(arguments) in (0, 1), arguments
    assert entries.get(here, "two").state == "confirmed"
    assert "a bug" not in capsys.readouterr().err
    confirm(entry("three"))
    assert entries.get(here, "three").state == "confirmed"
