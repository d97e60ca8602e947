"""An entry that was edited by hand: shown with its difference, and two ways on that work."""

from __future__ import annotations

import json

import pytest

from experience_forge import cli, shared
from experience_forge.model import Consent
from experience_forge.store import derived, doctor, entries, proposals
from helpers import entry
from recall_home import ask, bash, fill, said

YES = Consent("terminal", "2026-11-30T00:00:00Z", proof="terminal")


def edited(where):
    """Change a word of the entry by hand; the path and the confirmed bytes."""
    path = entries.find(where, "use-pnpm").path
    before = path.read_bytes()
    path.write_bytes(before.replace(b"Use pnpm, never npm", b"Use \xe2\x80\xaeyarn, never npm"))
    return path, before


def test_doctor_shows_the_difference_and_both_ways(capsys):
    """Of a hand edit `doctor` and its JSON show a short, escaped diff, and name a command for each way."""
    where = fill(entry())
    path, _ = edited(where)
    assert cli.main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "-**Rule** Use pnpm, never npm." in told and "+**Rule** Use \\u202eyarn, never npm." in told
    assert "experience-forge undo use-pnpm" in " ".join(told.split())
    cli.main(["doctor", "--json"])
    found = [one for one in json.loads(capsys.readouterr().out)["findings"] if one["finding"] == "entry_edited"]
    assert "\\u202eyarn" in found[0]["difference"]
    assert path.exists()


@pytest.mark.parametrize("rebuilt", [False, True])
def test_the_next_session_says_so_in_one_notice(rebuilt):
    """After a hand edit the next session tells the user once; later ones do not, until other bytes stand there."""
    where = fill(entry())
    assert "systemMessage" not in (ask("SessionStart", source="startup") or {})
    path, before = edited(where)
    if rebuilt:
        derived.rebuild(where)
    told = ask("SessionStart", source="startup", session_id="s2")["systemMessage"]
    assert "[use-pnpm]" in told and "doctor" in told
    assert ask("SessionStart", source="startup", session_id="s3") is None
    path.write_bytes(before + b"more\n")
    assert "[use-pnpm]" in ask("SessionStart", source="startup", session_id="s4")["systemMessage"]


@pytest.mark.parametrize("how", ["edited", "gone", "unreadable"])
def test_undo_puts_the_confirmed_bytes_back(how, capsys):
    """`undo` of a hand edit is one more proposal; confirmed, the entry has its bytes again and is delivered."""
    where = fill(entry())
    path, before = edited(where)
    if how == "gone":
        path.unlink()
    elif how == "unreadable":
        path.write_bytes(b"\x00 no entry")
    assert cli.main(["undo", "use-pnpm"]) == 0
    capsys.readouterr()
    shared.carry_out(where, proposals.all(where)[0], YES)
    assert path.read_bytes() == before
    assert not [one for one in doctor.examine(where) if one.level in ("warn", "fault")]
    assert "Use pnpm" in said(bash("npm install x"))


def test_the_new_bytes_are_confirmed_by_the_command_that_doctor_names(capsys):
    """`draft --revise ID --from PATH` takes the hand edit up as a draft."""
    where = fill(entry())
    path = entries.find(where, "use-pnpm").path
    path.write_bytes(path.read_bytes().replace(b"Use pnpm, never npm", b"Use yarn, never npm"))
    assert cli.main(["draft", "--revise", "use-pnpm", "--from", str(path)]) == 0
    capsys.readouterr()
    shared.carry_out(where, proposals.all(where)[0], YES)
    assert "Use yarn, never npm." in said(bash("npm install x"))
    assert not [one for one in doctor.examine(where) if one.level in ("warn", "fault")]
