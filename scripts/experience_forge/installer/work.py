"""Installs and uninstalls: each step can be repeated, and a run that was cut is finished by the next."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..clients import claude_files, claude_settings
from ..clients.claude_settings import Edited, Trace
from ..errors import ForgeError, Invalid, Refused, Text
from ..fast.home import RECORD
from ..store import files
from ..store.home import Home
from . import environment, light, record, skill, trees
from .target import Target
from .texts import Voice

LOCK_SECONDS = 900.0
# Names of what the installer and the tools make in the data home; `--purge` removes these and no other.
MACHINERY = ("venv", "venv.new", "venv.old", "bin", "derived", "receipts", "logs")
LOOSE = ("install.json", "install.lock", "settings.lock", "worker.lock", "projections.lock", "vectors.lock", "lock")
KEPT = (
    "entries", "proposals", "journal", "ledger", "evidence", "config.yaml", "projects.json",
    "projections.json", "templates.md", "redaction.key", "language",
)  # fmt: skip
UNUSED = tuple(name for name in KEPT if name != "config.yaml")
"""What goes with an uninstall when nothing was ever confirmed or drafted."""
REFRESH = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from experience_forge import shared\nfrom experience_forge.store import home\n"
    "print('\\n'.join(str(path) for path in shared.refresh(home.current())))"
)
PLAN = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from experience_forge.clients import claude_code as client\nfrom experience_forge.store import home\n"
    "print(''.join(client.diff(one.path, one.before, one.after) for one in client.plan(home.current())))"
)


class Installer:
    """One run of the installer for one target."""

    def __init__(self, target: Target, voice: Voice) -> None:
        self.target = target
        self.voice = voice
        self.before = record.of(target.home, target.skill)
        self.failed = False

    def install(self) -> bool:
        """Do everything; false when a part was left for the user to do (it was said which).

        Raises:
            Refused: when nothing could be installed, with what helps.
        """
        target = self.target
        files.make_folder(target.home)
        with _one_at_a_time(target.home, self.voice):
            self.before = record.of(target.home, target.skill)
            in_place = skill.check_target(target.source, target.skill)
            self._environment()
            manifest = {} if in_place else self._copy()
            self._compile()
            self._launcher()
            self._record(manifest, in_place)
            self._settings()
            if not target.project:
                self._one_set_of_hooks()
            self._projections()
        return not self.failed

    def _environment(self) -> None:
        target = self.target
        if target.borrowed or environment.is_current(target.venv, target.base, target.requirements):
            return
        self.voice.line("making_environment", path=target.venv)
        environment.make(target.venv, target.base, target.requirements)

    def _copy(self) -> dict[str, str]:
        target = self.target
        kept = _kept_folder(target.home)
        with light.writes():
            manifest, edited = skill.copy(target.source, target.skill, _hashes(self.before), kept, target.launcher)
        self._tell_kept(edited, kept)
        return manifest

    def _tell_kept(self, edited: list[str], kept: Path) -> None:
        for name in edited:
            self.voice.line("kept", name=name, path=kept / name)

    def _compile(self) -> None:
        cause = skill.compile_all(self.target.base, self.target.skill / "scripts")
        if cause:
            self.failed = True
            self.voice.talk("hooks_do_not_start", path=self.target.skill, cause=cause)

    def _launcher(self) -> None:
        _write_launchers(self.target.launchers())

    def _record(self, manifest: Mapping[str, str], in_place: bool) -> None:
        target = self.target
        record.put(target.home, {
            "client_folder": str(target.client_folder), "skill_folder": str(target.skill),
            "settings": str(target.settings), "project": target.project, "hooks": target.hooks,
            "python": target.base, "launcher": target.launcher, "version": __version__,
            "in_place": in_place, "files": dict(manifest), "trace": self.before.get("trace"),
        })  # fmt: skip
        # Last: from here on the hooks act.
        record.write_mark(target.skill, target.mark())

    def _settings(self) -> None:
        target = self.target
        wanted = target.wanted()
        try:
            claude_settings.change_file(target.settings, self._with_trace, lock=target.settings_lock)
        except ForgeError as error:
            self.failed = True
            if self.target.hooks:
                self._without_hooks()
            self.voice.talk("settings_left_alone", path=target.settings, reason=error.what)
            print(wanted.snippet(), flush=True)

    def _without_hooks(self) -> None:
        """Record that nothing was wired, so that nobody is told that it was."""
        record.put(self.target.home, {**record.of(self.target.home, self.target.skill), "hooks": False})
        record.write_mark(self.target.skill, {**self.target.mark(), "hooks": False})

    def _with_trace(self, text: str | None) -> Edited | None:
        """The edit; its trace is on disk before the settings are, so that a cut run can be undone."""
        edited = edit(text, self.target.wanted(), Trace.from_json(self.before.get("trace")))
        if edited is not None:
            install = {**record.of(self.target.home, self.target.skill), "trace": edited.trace.as_json()}
            record.put(self.target.home, install)
        return edited

    def _one_set_of_hooks(self) -> None:
        """Take our hooks out of projects when the user's own settings have them: else each runs twice."""
        if not self.target.hooks:
            return
        for one in record.installs(self.target.home):
            if one.get("project") and one.get("hooks"):
                drop_hooks(self.target, one)
                self.voice.line("hooks_moved", path=one["settings"])

    def _projections(self) -> None:
        """Let the new code write the reminder, the rule files and the derived index."""
        done = run_inside(self.target, ["-c", REFRESH, str(self.target.skill / "scripts")])
        if done.returncode:
            self.failed = True
            last = (done.stderr.strip().splitlines() or ["?"])[-1]
            self.voice.talk("projection_failed", reason=last)


def edit(text: str | None, wanted: claude_settings.Wanted, before: Trace | None) -> Edited | None:
    """The settings with what is wanted; None when there is neither a file nor anything to add."""
    if text is None:
        if not wanted.hooks and not wanted.rules:
            return None
        return claude_settings.add("{}\n", wanted, before or Trace(existed=False))
    return claude_settings.add(text, wanted, before)


def drop_hooks(target: Target, one: Mapping[str, Any]) -> None:
    """Take the hooks of another install out of its settings, keeping its rules."""
    trace = Trace.from_json(one.get("trace"))
    rules = claude_settings.Wanted(rules=trace.rules if trace else ())
    path = Path(str(one["settings"]))

    def change(text: str | None) -> Edited | None:
        edited = edit(text, rules, trace)
        if edited is not None:
            record.put(target.home, {**one, "hooks": False, "trace": edited.trace.as_json()})
        return edited

    claude_settings.change_file(path, change, lock=target.settings_lock)
    folder = Path(str(one["skill_folder"]))
    record.write_mark(folder, {**record.mark(folder), "hooks": False})


def run_inside(target: Target, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the private environment's Python on this home."""
    variables = {**os.environ, "EXPERIENCE_FORGE_HOME": str(target.home)}
    return subprocess.run(
        [str(environment.python_of(target.venv)), "-I", "-X", "utf8", *arguments],
        capture_output=True, text=True, encoding="utf-8", errors="replace", env=variables,
        stdin=subprocess.DEVNULL, timeout=300, check=False,
    )  # fmt: skip


def preview(target: Target, voice: Voice, verbose: bool = False) -> str:
    """What an install would change, as diffs; whole new files of the skill by number, or `verbose` each by name."""
    before = record.of(target.home, target.skill)
    lines: list[str] = []
    if not environment.is_current(target.venv, target.base, target.requirements):
        lines.append(voice.text("would_make", path=target.venv))
    if not skill.check_target(target.source, target.skill):
        changes = skill.changes(target.source, target.skill, target.launcher)
        lines += _new_files(target, [one for one in changes if one.old is None], voice, verbose)
        lines += [diff(one.target, _decoded(one.old), _decoded(one.new)) for one in changes if one.old is not None]
    for path, text in target.launchers().items():
        lines.append(diff(path, _decoded(files.read_bytes(path)) if path.is_file() else "", text))
    old_mark = record.mark(target.skill)
    lines.append(diff(target.skill / RECORD, record.dumped(old_mark) if old_mark else "", record.dumped(target.mark())))
    lines.append(_settings_diff(target, before, voice))
    lines.append(_projection_diff(target, voice))
    return "\n".join(line for line in lines if line)


def _new_files(target: Target, new: list[skill.Copy], voice: Voice, verbose: bool) -> list[str]:
    """New files: each with its size, or a line for each folder of the skill."""
    if verbose:
        return [voice.text("would_add", path=one.target, size=len(one.new)) for one in new]
    folders: dict[Path, list[int]] = {}
    for one in new:
        parts = Path(one.relative).parts[:-1][:1]
        folders.setdefault(target.skill.joinpath(*parts), []).append(len(one.new))
    told = [
        voice.text("would_add_many", path=path, count=len(sizes), size=sum(sizes))
        for path, sizes in sorted(folders.items())
    ]
    return [*told, voice.text("list_all")] if told else []


def _settings_diff(target: Target, before: Mapping[str, Any], voice: Voice) -> str:
    trace = Trace.from_json(before.get("trace"))
    try:
        old, edited = claude_settings.change_file(
            target.settings, lambda text: edit(text, target.wanted(), trace), lock=target.settings_lock, dry_run=True
        )
    except ForgeError as error:
        left = voice.text("settings_left_alone", path=target.settings, reason=error.what)
        return left + "\n" + target.wanted().snippet()
    return diff(target.settings, old or "", edited.text if edited else old or "")


def _projection_diff(target: Target, voice: Voice) -> str:
    """The rule files as a diff; they can be rendered only where the private environment is there already."""
    if target.given_elsewhere:
        return ""
    if record.mark(target.skill) and environment.is_current(target.venv, target.base, target.requirements):
        done = run_inside(target, ["-B", "-c", PLAN, str(target.source / "scripts")])
        if not done.returncode:
            return done.stdout.strip()
    return voice.text("would_project", path=target.client_folder / "rules" / skill.NAME)


def diff(path: Path, old: str, new: str) -> str:
    """A unified diff of one file; empty when nothing changes."""
    pieces = difflib.unified_diff(
        old.splitlines(), new.splitlines(), str(path) if old else "/dev/null", str(path), lineterm=""
    )
    return "\n".join(pieces)


def uninstall(target: Target, voice: Voice, only: Path | None, purge: bool) -> bool:
    """Take away everything of ours; false when something was left for the user to do.

    Args:
        only: remove the install in this skill folder alone; None removes all of this home.
        purge: also the entries and everything else in the data home.
    """
    home = target.home
    if not home.exists() and not record.installs(home):
        return _uninstall_unrecorded(target, voice)
    with _one_at_a_time(home, voice):
        earlier = _children(home / "kept")
        found = record.installs(home) or [_guess(target)]
        chosen = [one for one in found if only is None or one["skill_folder"] == str(only)]
        if only is not None and not chosen:
            raise Refused(
                Text("errors_install.nothing_installed", path=only),
                Text("errors.see", command="experience-forge doctor"),
            )
        whole = [_remove_install(target, voice, one) for one in chosen]
        last = len(chosen) == len(found)
        if last:
            _remove_machinery(home)
        else:
            _point_launcher(target)
    if last:
        _remove_loose(home, keep_record=bool(record.installs(home)) and not purge)
        if purge:
            for path in earlier:
                trees.remove(path)
            # What was kept in this very run was told to the user a moment ago: it stays.
            _purge(home, KEPT)
            files.remove_empty_folder(home / "kept")
            files.remove_empty_folder(home)
        elif not _holds_anything(home):
            _purge(home, UNUSED)
    return all(whole)


def _point_launcher(target: Target) -> None:
    """Let the launcher start an install that is left."""
    folders = record.launched(target.home)
    if folders:
        base = str(record.of(target.home, folders[0]).get("python") or target.base)
        _write_launchers(skill.launchers(target.home, folders, environment.python_of(target.venv), base))


def _write_launchers(texts: Mapping[Path, str]) -> None:
    for path, text in texts.items():
        data = text.encode("utf-8")
        if not path.is_file() or files.read_bytes(path) != data:
            files.write_whole(path, data, 0o755)


def _guess(target: Target) -> dict[str, Any]:
    return {
        "client_folder": str(target.client_folder), "skill_folder": str(target.skill), "settings": str(target.settings),
        "project": target.project, "in_place": _in_place(target), "files": {}, "trace": None,
    }  # fmt: skip


def _in_place(target: Target) -> bool:
    return target.skill.exists() and os.path.realpath(target.skill) == os.path.realpath(target.source)


def _uninstall_unrecorded(target: Target, voice: Voice) -> bool:
    """The data home is gone: what is left in the client's folders goes by its content."""
    return _remove_install(target, voice, _guess(target), locked=False)


def _remove_install(target: Target, voice: Voice, one: Mapping[str, Any], locked: bool = True) -> bool:
    settings, folder = Path(str(one["settings"])), Path(str(one["skill_folder"]))
    whole, there = True, folder.exists()
    still_held = False
    try:
        # Settings first: no hook may be left that points at files which are gone.
        there = _remove_from_settings(target, voice, settings, Trace.from_json(one.get("trace")), locked) or there
    except ForgeError as error:
        whole = False
        still_held = _names_us(settings)
        if still_held:
            voice.talk("settings_still_hold", path=settings, reason=error.what)
        else:
            voice.talk("settings_unread", path=settings, reason=error.what)
    whole = _remove_projections(target, voice, one) and whole
    _remove_skill(target, voice, one, folder)
    if target.home.exists() and not still_held:
        # While the settings hold us, the record of what stood there before us is needed by the next run.
        record.drop(target.home, folder)
    if not one.get("in_place"):
        voice.line("removed" if there else "nothing_there", path=folder)
    return whole


def _names_us(path: Path) -> bool:
    """Whether a file that can't be parsed holds our words anywhere."""
    try:
        return skill.NAME.encode() in files.read_bytes(path)
    except (OSError, ForgeError):
        return True


def _remove_from_settings(target: Target, voice: Voice, path: Path, trace: Trace | None, locked: bool) -> bool:
    """Take what is ours out of the settings; says whether there was anything."""

    def change(text: str | None) -> Edited | None:
        return None if text is None else claude_settings.remove(text, trace)

    lock = target.settings_lock if locked else Path(os.devnull)
    if not locked:
        before, edited = claude_settings.change_file(path, change, lock=lock, dry_run=True)
        changed = edited is not None and edited.text != before
        if edited is not None and changed:
            files.write_whole(path, edited.text.encode("utf-8"))
        return changed
    before, edited = claude_settings.change_file(path, change, lock=lock)
    if edited is not None and edited.changed_by_hand:
        kept = _kept_folder(target.home) / path.name
        text = json.dumps(list(edited.changed_by_hand), ensure_ascii=False, indent=2) + "\n"
        files.write_text(kept, text)
        voice.line("kept", name=path, path=kept)
    return edited is not None and edited.text != before


def _remove_projections(target: Target, voice: Voice, one: Mapping[str, Any]) -> bool:
    """Take the reminder, the rule files, domain skills and, with the last install, the blocks in projects."""
    others = [other for other in record.installs(target.home) if other["skill_folder"] != one["skill_folder"]]
    whole = True
    try:
        done = claude_files.unproject(Home(target.home), Path(str(one["client_folder"])), blocks=not others)
    except ForgeError as error:
        voice.talk("projections_left", reason=error.what)
        return False
    for change in done:
        if change.note:
            voice.line("projection_note", path=change.path, note=change.note)
        whole = whole and (change.before != change.after or not change.note)
    return whole


def _remove_skill(target: Target, voice: Voice, one: Mapping[str, Any], folder: Path) -> None:
    files.remove(folder / RECORD)
    if one.get("in_place"):
        voice.line("clone_stays", path=folder)
        return
    known = _hashes(one)
    if not known and folder.is_dir():
        # Without a record: what has the very bytes of this copy is ours.
        known = skill.hashes(target.source, target.launcher)
    kept = _kept_folder(target.home)
    edited: list[str] = []
    with light.writes():
        for relative in sorted(known):
            edited += skill.remove_file(folder, relative, known[relative], kept)
    for name in edited:
        voice.line("kept", name=folder / name, path=kept / name)
    if folder.is_dir():
        for inner in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
            skill.prune(inner, folder)
        skill.prune(folder, folder)
    if folder.exists():
        voice.line("folder_stays", path=folder)
    files.remove_empty_folder(folder.parent)


def _remove_machinery(home: Path) -> None:
    with light.writes():
        for name in MACHINERY:
            trees.remove(home / name)


def _remove_loose(home: Path, keep_record: bool) -> None:
    for name in LOOSE:
        if not (keep_record and name == record.NAME):
            files.remove(home / name)
    files.remove_empty_folder(home)


def entries_in(home: Path) -> int:
    """How many entries a data home holds, whatever their state."""
    return sum(1 for _ in home.glob("entries/**/*.md"))


def _holds_anything(home: Path) -> bool:
    """Whether there is an entry, a proposal or a record of a consent."""
    patterns = ("entries/**/*.md", "proposals/*", "journal/*.jsonl", "intent-*.json")
    return any(True for pattern in patterns for _ in home.glob(pattern))


def _purge(home: Path, names: tuple[str, ...]) -> None:
    for name in names:
        trees.remove(home / name)
    if names is KEPT:
        for path in home.glob("intent-*.json"):
            files.remove(path)
    files.remove_empty_folder(home)


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []


def _one_at_a_time(home: Path, voice: Voice) -> Any:
    path = home / "install.lock"
    try:
        with files.locked(path, wait=0.2):
            pass
    except Refused:
        voice.talk("another_runs")
    return files.locked(path, wait=LOCK_SECONDS)


def _kept_folder(home: Path) -> Path:
    return home / "kept" / time.strftime("%Y%m%d-%H%M%S")


def _hashes(install: Mapping[str, Any]) -> dict[str, str]:
    known = install.get("files")
    return {str(name): str(value) for name, value in known.items()} if isinstance(known, dict) else {}


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


__all__ = ["Installer", "Invalid", "diff", "entries_in", "preview", "uninstall"]
