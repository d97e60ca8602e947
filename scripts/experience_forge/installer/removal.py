"""Uninstalls: everything of ours goes, what a person edited is kept, and a run that was cut is finished by the next."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..clients import claude_files, claude_settings
from ..clients.claude_settings import Edited, Trace
from ..errors import ForgeError, Refused, Text
from ..fast.home import RECORD
from ..store import files, installs
from ..store.home import Home
from . import environment, light, skill, trees
from .steps import hashes, kept_folder, one_at_a_time, sweep, write_launchers
from .target import Target
from .texts import Voice

# Names of what the installer and the tools make in the data home; `--purge` removes these and no other.
MACHINERY = ("venv", "venv.new", "venv.old", "bin", "derived", "receipts", "logs")
LOOSE = ("install.json", "install.lock", "settings.lock", "worker.lock", "projections.lock", "vectors.lock", "lock")
KEPT = (
    "entries", "proposals", "journal", "ledger", "evidence", "config.yaml", "projects.json",
    "projections.json", "templates.md", "redaction.key", "language",
)  # fmt: skip
UNUSED = tuple(name for name in KEPT if name != "config.yaml")
"""What goes with an uninstall when nothing was ever confirmed or drafted."""


def uninstall(target: Target, voice: Voice, only: Path | None, purge: bool) -> bool:
    """Take away everything of ours; false when something was left for the user to do.

    Args:
        only: remove the install in this skill folder alone; None removes all of this home.
        purge: also the entries and everything else in the data home.
    """
    home = target.home
    if not home.exists() and not installs.known(home):
        return _uninstall_unrecorded(target, voice)
    with one_at_a_time(home, voice):
        earlier = _children(home / "kept")
        found = installs.read(home) or [_guess(target)]
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
        _remove_loose(home, keep_record=bool(installs.known(home)) and not purge)
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
    folders = installs.launched(target.home)
    if folders:
        base = str(installs.of(target.home, folders[0]).get("python") or target.base)
        write_launchers(skill.launchers(target.home, folders, environment.python_of(target.venv), base))


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
    sweep(settings, folder, Path(str(one["client_folder"])))
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
        installs.drop(target.home, folder)
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
        kept = kept_folder(target.home) / path.name
        text = json.dumps(list(edited.changed_by_hand), ensure_ascii=False, indent=2) + "\n"
        files.write_text(kept, text)
        voice.line("kept", name=path, path=kept)
    return edited is not None and edited.text != before


def _remove_projections(target: Target, voice: Voice, one: Mapping[str, Any]) -> bool:
    """Take the reminder, the rule files, domain skills and, with the last install, the blocks in projects."""
    others = [other for other in installs.known(target.home) if other["skill_folder"] != one["skill_folder"]]
    whole = True
    try:
        done = claude_files.unproject(Home(target.home), Path(str(one["client_folder"])), blocks=not others)
    except ForgeError as error:
        voice.talk("projections_left", reason=error.what)
        return False
    for change in done:
        left = bool(change.note) and change.before == change.after
        if change.note:
            # Why this run ends with 1 is told where errors are.
            (voice.talk if left else voice.line)("projection_note", path=change.path, note=change.note)
        whole = whole and not left
    return whole


def _remove_skill(target: Target, voice: Voice, one: Mapping[str, Any], folder: Path) -> None:
    files.remove(folder / RECORD)
    if one.get("in_place"):
        voice.line("clone_stays", path=folder)
        return
    known = hashes(one)
    if not known and folder.is_dir():
        # Without a record: what has the very bytes of this copy is ours.
        known = skill.hashes(target.source, target.launcher)
    kept = kept_folder(target.home)
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
        if not (keep_record and name == installs.NAME):
            files.remove(home / name)
    files.remove_empty_folder(home)


def entries_in(home: Path) -> int:
    """How many entries a data home holds, whatever their state.

    Raises:
        Refused: when they can't be listed.
    """
    return len(files.walked(home / "entries", ".md"))


def _holds_anything(home: Path) -> bool:
    """Whether there is an entry, a proposal or a record of a consent; what can't be listed is taken to hold one."""
    try:
        intents = [path for path in files.listed(home, ".json") if path.name.startswith("intent-")]
        records = files.listed(home / "journal", ".jsonl")
        return bool(intents or records or entries_in(home) or files.listed(home / "proposals", ""))
    except Refused:
        return True


def _purge(home: Path, names: tuple[str, ...]) -> None:
    for name in names:
        trees.remove(home / name)
    if names is KEPT:
        for path in home.glob("intent-*.json"):
            files.remove(path)
    files.remove_empty_folder(home)


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
