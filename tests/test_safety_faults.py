"""Every writing command, at every system call, in every way a disk fails: old or new, and a true message."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from unittest import mock

import pytest

from experience_forge import cli, report, shared
from experience_forge.clients import ancestry, claude_code
from experience_forge.errors import ForgeError
from experience_forge.model import Consent, Track
from experience_forge.store import entries, files, home, journal, library, proposals, redaction
from fault_shim import Killed, faulty, pairs
from helpers import answering, confirm, entry, tree
from test_tidy_grow import PROMPTS, SKILL, five

FULL = os.environ.get("FORGE_FAULTS") == "all"
DRAFT = """---
title: A new preference
kind: preference
---
**Rule** Use the local mirror.
**Why** password=Harbor{}9921xQ was in the log.
**How** In the build.
""".replace("{}", "!")


class World:
    """A home with entries, an open draft, an installed client and a project, that can be put back."""

    def __init__(self, base: Path) -> None:
        self.base, self.kept, self.first = base / "world", base / "kept", base / "first"
        self.home, self.client, self.project = (self.base / name for name in ("forge-home", ".claude", "shop"))

    def make(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)
        skill = self.client / "skills" / "experience-forge"
        skill.mkdir(parents=True)
        (skill / ".installed.json").write_text(
            f'{{"home": "{self.home.as_posix()}", "hooks": true, "version": "0.1.0"}}', encoding="utf-8"
        )
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (self.project / "CLAUDE.md").write_text("# Mine\r\n", encoding="utf-8", newline="")
        confirm(entry("one", track=Track.PROFILE))
        confirm(entry("two"))
        redaction.key()
        text = entry("three", title="Third")
        from experience_forge.core import codec

        proposals.create(home.current(), "draft", codec.render(text), {}, "three")
        shared.refresh(home.current())
        shutil.copytree(self.base, self.first)
        shutil.copytree(self.base, self.kept)

    def begin_anew(self) -> None:
        """As it was before any test changed what is put back."""
        shutil.rmtree(self.kept)
        shutil.copytree(self.first, self.kept)
        self.put_back()

    def put_back(self) -> None:
        shutil.rmtree(self.base)
        shutil.copytree(self.kept, self.base)
        redaction._key.cache_clear()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tmp_path_factory.mktemp("faults")


@pytest.fixture
def world(base, monkeypatch):
    made = World(base)
    monkeypatch.setenv("HOME", str(made.base))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(made.client))
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(made.home))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "here")
    if made.first.exists():
        made.begin_anew()
    else:
        made.make()
    monkeypatch.chdir(made.kept.parent)
    return made


def call(*arguments, stdin=""):
    """One command in this process: its exit code and what it said on stderr."""
    old = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(stdin), io.StringIO(), io.StringIO()
    try:
        return cli.main(list(arguments)), sys.stderr.getvalue()
    finally:
        sys.stdin, sys.stdout, sys.stderr = old


def carried_out(proposal_id):
    """What a confirmed proposal does, as `confirm` runs it."""

    def action():
        here = home.current()
        try:
            shared.begin(here)
            shared.carry_out(here, proposals.load(here, proposal_id), Consent("terminal", journal.now(), "terminal"))
        except ForgeError as error:
            return error.exit_code, f"{error.what} {error.hint}"
        return 0, ""

    return action


def answered(answer, *arguments, then=None):
    """`call`, with a person who gives this answer at a terminal of theirs, not below a client."""
    with answering(answer, then), mock.patch.object(ancestry, "client_above", lambda environ: ""):
        return call(*arguments)


def reviewed():
    """`review` of one draft by a person at a terminal of theirs, who confirms it, and quits when that fails."""
    with mock.patch.object(report.Output, "can_ask", True):
        return answered("c", "review", "three", then="q")


def restored(world):
    archive = Path(os.environ["HOME"]) / "b.zip"
    if world is not None:
        call("backup", str(archive))
        for name in ("entries", "journal", "proposals", "derived"):
            shutil.rmtree(world.home / name, ignore_errors=True)
    return lambda: answered("y", "restore", str(archive))


def projected(world):
    def action():
        try:
            claude_code.project(home.current())
        except ForgeError as error:
            return error.exit_code, error.what
        return 0, ""

    if world is not None:
        (world.client / "rules" / "experience-forge" / "profile.md").unlink(missing_ok=True)
    return action


def confirming(*arguments, change):
    """Makes a proposal by a command, and carries out the confirmed one."""

    def prepared(world):
        if world is not None:
            assert call(*arguments)[0] == 0
        return carried_out(next(p.id for p in proposals.all(home.current()) if p.change == change))

    return prepared


def known_project(world):
    """The id of the world's project, made known."""
    from experience_forge.store import projects

    if world is not None:
        projects.record(home.current(), projects.current(home.current(), str(world.project)))
    return projects.all(home.current())[0].id


def renamed(world):
    named = known_project(world)
    return lambda: call("projects", "--rename", named, "billing")


def damaged(world):
    """A home for `doctor --repair`: a torn ledger line, a left-over, no index."""
    if world is not None:
        (world.home / "ledger").mkdir(exist_ok=True)
        (world.home / "ledger" / "s.jsonl").write_bytes(b'{"v": 1, "what": "exposure", "entry": "two"}\n{"torn')
        shutil.rmtree(world.home / "derived")
    return lambda: (max(0, call("doctor", "--repair")[0] - 1), "")


def scanned(world):
    """A session in which something was learnt, and none of it read yet."""
    if world is not None:
        folder = world.client / "projects" / "-shop"
        folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(line) + "\n" for line in session(world))
        (folder / "5e55.jsonl").write_text(lines, encoding="utf-8")
    return lambda: call("scan")


def session(world):
    """Lines of a transcript: a wish of the user, and a failure that was mended."""
    common = {"sessionId": "5e55", "cwd": str(world.project), "version": "2.1.200"}
    common["timestamp"] = "2026-08-01T10:00:00Z"
    wishes = ("Always use pnpm, never npm, in this repository.", "No, that is wrong: I said pnpm.")
    for number, text in enumerate(wishes):
        yield {**common, "type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": text}}
        said = {"role": "assistant", "content": [{"type": "text", "text": "You are right, I will use pnpm."}]}
        yield {**common, "type": "assistant", "uuid": f"a{number}", "message": said}


def finished(world):
    """A change that was cut behind its line in the journal: the next command of any kind finishes it."""
    if world is not None:
        with mock.patch.object(library, "_write_plan", side_effect=Killed("cut")), pytest.raises(Killed):
            carried_out("three")()
    return lambda: call("list")


def revoked(world):
    """A change that no person confirmed after all is taken back."""
    if world is not None:
        assert carried_out("three")()[0] == 0
    seq = next(record["seq"] for record in reversed(journal.read(home.current())) if record["what"] == "change")

    def action():
        here = home.current()
        try:
            library.revoke(here, seq, "no person answered the dialog")
            shared.refresh(here)
        except ForgeError as error:
            return error.exit_code, f"{error.what} {error.hint}"
        return 0, ""

    return action


def grown(world):
    """Five entries that acted together, of which a skill is proposed."""
    if world is not None:
        five()
        shared.refresh(home.current())
    return lambda: call("grow", "docker", "--from", "-", *PROMPTS, stdin=SKILL)


def grown_one(world):
    """The confirmed proposal of that skill."""
    if world is not None:
        assert grown(world)()[0] == 0
    return carried_out(next(p.id for p in proposals.all(home.current()) if p.id != "three"))


COMMANDS = {
    "draft": lambda world: lambda: call("draft", "--from", "-", stdin=DRAFT),
    "discard": lambda world: lambda: call("discard", "three"),
    "confirm": lambda world: carried_out("three"),
    "move": confirming("move", "two", "--to", "profile", change="move"),
    "undo": confirming("undo", "two", change="undo"),
    "guard": lambda world: lambda: call("guard", "two", "ask"),
    "off": lambda world: lambda: call("off", "--session", "here"),
    "forget": lambda world: lambda: answered("two", "forget", "two"),
    "backup": lambda world: lambda: call("backup", str(Path(os.environ["HOME"]) / "out.zip")),
    "restore": restored,
    "projections": projected,
    "worker": lambda world: lambda: call("worker"),
    "on": lambda world: lambda: (call("off", "--session", "here"), call("on", "--session", "here"))[1],
    "suggest": lambda world: lambda: call("suggest", "--threshold", "5"),
    "measure": lambda world: lambda: call("measure", "on"),
    "projects": renamed,
    "scan": scanned,
    "review": lambda world: reviewed,
    "merge": lambda world: lambda: call("merge", "two", "one"),
    "merged": confirming("merge", "two", "one", change="merge"),
    "tune": lambda world: lambda: call("tune", "--set", "scoring.weights.design=1"),
    "tuned": confirming("tune", "--set", "scoring.weights.design=1", change="tuning"),
    "outdate": lambda world: lambda: call("outdate", "two", "--reason", "gone"),
    "outdated": confirming("outdate", "two", "--reason", "gone", change="status"),
    "guarded": confirming("guard", "two", "ask", change="guard"),
    "repair": damaged,
    "moving": lambda world: lambda: call("move", "two", "--to", "profile"),
    "undoing": lambda world: lambda: call("undo", "two"),
    "tidy": lambda world: lambda: call("tidy"),
    "tidied": lambda world: lambda: call("tidy", "--apply", "--kind", "merge"),
    "grow": grown,
    "grown": grown_one,
    "finished": finished,
    "revoked": revoked,
}


def chosen(names):
    """The pairs of a run: all with FORGE_FAULTS=all (the bench), else per call one fault of each nature, in turn."""
    every = list(pairs(len(names)))
    if FULL:
        return every
    natures = (("EIO", False), ("ENOSPC", True), ("kill", False))
    return [(at, *natures[at % 3]) for at in range(1, len(names) + 1)]


@pytest.mark.parametrize("name", COMMANDS)
def test_f1_f2_f3_commands_leave_old_or_new(name, world, capsys):
    """F1, F2, F3: after a fault at any call the library is whole, the next command works, the word was true."""
    action = COMMANDS[name](world)
    before = library_state()
    shutil.rmtree(world.kept)
    shutil.copytree(world.base, world.kept)
    with faulty() as shim:
        assert action()[0] == 0
    after = library_state()
    checked = 0
    for at, fault, lasting in chosen(shim.names):
        world.put_back()
        where = (name, at, fault, lasting, shim.names[at - 1])
        with faulty(at, fault, lasting):
            try:
                code, said = action()
            except Killed:
                code, said = None, ""
        assert code != 3, (where, said)
        if code not in (0, None):
            assert said.strip(), where
        whole(where, before, after, code)
        checked += 1
    print(f"{name}: {checked} pairs over {len(shim.names)} calls")


def library_state():
    """What the library holds, by meaning: entries with their bytes, and open proposals."""
    here = home.current()
    found = {one.key: (one.sha256, one.state) for one in entries.load_all(here).entries}
    return found, {proposal.id: proposal.digest for proposal in proposals.all(here)}


def whole(where, before, after, code):
    """The library is the old or the new one once the next command has run, and its chain holds."""
    here = home.current()
    call("list")
    assert library.recover(here) == [], where
    assert list(here.root.glob("intent-*.json")) == [], where
    faults = journal.check(here)
    # A kill may cut the line that was being written; every other fault takes its line back.
    assert faults == [] or (where[2] in ("kill", "ENOSPC") and all("cut" in fault for fault in faults)), (where, faults)
    loaded = entries.load_all(here)
    assert loaded.unreadable == (), where
    found = library_state()
    if where[0] in ("forget", "restore"):
        # Steps of many files: each file is old or new, and the command can be run again.
        assert set(found[0]) <= set(before[0]) | set(after[0]), where
    else:
        assert found[0] in (before[0], after[0]), (where, found[0])
    if code == 0:
        assert found[0] == after[0], (where, "said done")
        said_done(where, here)


def said_done(where, here):
    """What a command did that said so, where the library does not show it."""
    if where[0] == "forget":
        assert [name for name, data in tree(here.root).items() if b"(two)" in data] == [], where
    if where[0] == "backup":
        with zipfile.ZipFile(Path(os.environ["HOME"]) / "out.zip") as archive:
            held = set(archive.namelist())
        kept = {name for name in tree(here.root) if name.startswith(("entries/", "journal/", "proposals/"))}
        assert kept <= held, (where, kept - held)


def test_a_refused_draft_is_printed_or_kept(world):
    """F2: with a full disk `draft` says why, and the text is still the user's: nothing of it is lost silently."""
    with faulty(1, "ENOSPC", True):
        code, said = call("draft", "--from", "-", stdin=DRAFT)
    assert code == 1 and "No space left" in said and "free some space" in said


def test_the_projection_of_a_project_keeps_the_users_bytes_at_every_fault(world, monkeypatch):
    """F1, F2, F12: a project's CLAUDE.md is byte for byte the user's, with or without our whole block."""
    monkeypatch.chdir(world.project)
    from experience_forge.store import projects

    confirm(entry("four", track=Track.PROJECT, project=projects.current(home.current()).id))
    shutil.rmtree(world.kept)
    shutil.copytree(world.base, world.kept)
    path = world.project / "CLAUDE.md"
    old = path.read_bytes()
    with faulty() as shim:
        claude_code.project(home.current())
    new = path.read_bytes()
    assert new.startswith(old) and b"experience-forge:begin four" in new
    for at, fault, lasting in chosen(shim.names):
        monkeypatch.chdir(world.kept.parent)
        world.put_back()
        monkeypatch.chdir(world.project)
        with faulty(at, fault, lasting):
            try:
                claude_code.project(home.current())
            except (ForgeError, Killed):
                pass
        assert path.read_bytes() in (old, new), (at, fault, shim.names[at - 1])


def test_forgetting_leaves_no_byte_of_the_entry(world):
    """A secret that slipped in is gone from entries, projections, journal, objects, ledger and index after `forget`."""
    token = "zebra-quartz-7731"
    confirm(entry("five", sections=(("rule", f"Use {token}."), ("why", token), ("how", token)), title=f"Has {token}"))
    shared.refresh(home.current())
    assert any(token.encode() in data for data in tree(world.base).values())
    assert answered("five", "forget", "five")[0] == 0
    assert [name for name, data in tree(world.base).items() if token.encode() in data] == []
    assert journal.check(home.current()) == []


def test_files_stay_private(world):
    """Privacy: after every kind of write, files of the home are 0600 and folders 0700."""
    if os.name == "nt":
        pytest.skip("needs POSIX modes")
    call("draft", "--from", "-", stdin=DRAFT)
    call("off", "--session", "here")
    carried_out("three")()
    for path in (world.home, *world.home.rglob("*")):
        mode = path.stat().st_mode & 0o777
        assert mode == (0o700 if path.is_dir() else 0o600) or mode == 0o700, (path, oct(mode))


def test_an_unreadable_intent_is_kept_until_it_can_be_read(world, monkeypatch):
    """F2: a cut change whose intent can't be read for a moment is not dropped; once it can be, it is finished."""
    finished(world)
    (intent,) = world.home.glob("intent-*.json")
    real = Path.read_bytes

    def unreadable(path):
        if path == intent:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", unreadable)
        with pytest.raises(ForgeError):
            library.recover(home.current())
        assert call("list")[0] == 0 and intent.exists()
    assert call("list")[0] == 0 and not intent.exists()
    assert entries.find(home.current(), "three") is not None


@pytest.mark.parametrize(
    ("name", "folder"),
    [("forget", "ledger"), ("forget", "evidence"), ("forget", "derived"), ("forget", "proposals"),
     ("backup", "entries/personal"), ("backup", "journal/objects"), ("confirm", "."), ("confirm", "derived")],
)  # fmt: skip
def test_a_folder_that_can_not_be_listed_does_not_look_empty(name, folder, world, monkeypatch):
    """F2: nothing is called forgotten, saved or finished while a folder refuses to say what is in it."""
    action = COMMANDS[name](world)
    before = library_state()
    hidden = world.home / folder
    hidden.mkdir(exist_ok=True)

    def refusing(real):
        def listed(path="."):
            if str(path) == str(hidden):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return real(path)

        return listed

    with monkeypatch.context() as patched:
        for listing in ("scandir", "listdir"):
            patched.setattr(os, listing, refusing(getattr(os, listing)))
        code, said = action()
    if (name, folder) != ("confirm", "derived"):
        assert code == 1 and str(hidden) in said, said
    if name == "backup":
        assert not (world.base / "out.zip").exists()
    whole((name, 0, "EACCES", True, "scandir"), before, before if code else library_state(), code)
    assert action()[0] == 0 or name == "confirm"


def test_a_killed_projection_leaves_nothing_beside_the_users_files(world):
    """F12: the half of a file that a killed run left beside a user's file goes with the next projection."""
    action = projected(world)
    with faulty() as shim:
        assert action()[0] == 0
    projected(world)
    at = next(number for number, name in enumerate(shim.names, 1) if name == "replace")
    rules = world.client / "rules" / "experience-forge"
    with faulty(at, "kill"), pytest.raises(Killed):
        action()
    (half,) = rules.glob(f"{files.TEMP_MARK}*")
    # The process that wrote it lives on here; one that is dead takes its place.
    half.rename(half.with_name(half.name.replace(f".{os.getpid()}.", f".{2**22 + 1}.")))
    assert action()[0] == 0
    assert [path.name for path in rules.glob(f"{files.TEMP_MARK}*")] == []


def test_the_files_module_is_the_only_writer():
    """The shim sees every write: the fault enumeration leaves none out (the layer guard forbids other writers)."""
    assert files.TEMP_MARK and files.Calls
