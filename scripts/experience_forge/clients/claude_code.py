"""Projects confirmed entries into Claude Code's folders and into projects' memory files (DESIGN 6)."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..core import eprocess, managed_block, projection, tracks
from ..core.changes import Change as Update
from ..core.rendering import Book
from ..errors import Refused
from ..model import Entry, Status, Track
from ..store import (
    config,
    effects,
    entries,
    files,
    grown,
    launcher,
    log,
    measure_rules,
    projects,
    ruleset,
    templates,
    tidying,
)
from ..store.home import Home
from . import claude_files, claude_skill
from .claude_files import Change, Install

Conflicts = Mapping[str, Sequence[tuple[str, str]]]
PROJECT_FILES = ("CLAUDE.md", "CLAUDE.local.md")
_OFTEN = 20
_CHINESE, _LATIN = re.compile("[\u4e00-\u9fff]"), re.compile("[A-Za-z]{2,}")
_FILES = {
    Track.PROFILE: ("profile.md",), Track.PERSONAL: ("index.md",), Track.DOMAIN: ("SKILL.md",),
    Track.PROJECT: PROJECT_FILES,
}  # fmt: skip


def project(home: Home) -> list[Change]:
    """Write all projections from the confirmed, proven entries; returns what was changed.

    What can't be written (edited by hand, foreign, unclear markers) is left, and logged for doctor.

    Raises:
        Refused: when another run holds the lock of the projections.
    """
    with files.locked(home.root / "projections.lock"):
        if not templates.is_kept(home):
            templates.keep(home, templates.shipped())
        config.keep_language(home, _language(home))
        book = templates.accepted(home)
        confirmed = _confirmed(home)
        done = [claude_files.write(change) for change in _user_changes(home, confirmed, book)]
        for path, make in _block_edits(home, confirmed, book):
            again = partial(claude_files.block_change, path, make)
            done.append(claude_files.write(again(), again))
        _remember(home, [change.path for change in done if change.path.name in PROJECT_FILES])
        _note_bytes(home, done)
        skill = [claude_files.write(change) for change in claude_skill.changes(home)]
        claude_skill.note(home, skill)
        done += skill
    for change in done:
        if change.note:
            log.fault("projection", f"{change.path}: {change.note}")
    return [change for change in done if change.before != change.after]


def _note_bytes(home: Home, done: Iterable[Change]) -> None:
    """Keep what our files hold now: the next session says when one of them was changed by hand.

    A line is `path, sha256, mark`; of an edited block, whose file is the user's, the mark stands for the edit.
    """
    edited = {change.path: change for change in done if change.theirs}
    lines = []
    for install in claude_files.installs(home):
        for path in claude_files.ours(install.client_folder):
            digest = "" if path in edited else files.sha256(files.read_bytes(path))
            lines.append(f"{path}\t{digest}\t\n")
    blocks = [change for path, change in edited.items() if path.name in PROJECT_FILES]
    lines += [f"{one.path}\t\t{files.sha256(one.theirs.encode('utf-8'))}\n" for one in blocks]
    text = "".join(lines)
    path = home.derived / "projected.tsv"
    if home.derived.exists() and text != (files.read_text(path) if path.exists() else ""):
        files.write_text(path, text)


def plan(home: Home, book: Book | None = None) -> list[Change]:
    """What `project` would change or can't, without writing: each with its bytes before and after."""
    changes = [*_planned(home, _confirmed(home), book or templates.accepted(home)), *claude_skill.changes(home)]
    return [change for change in changes if change.before != change.after or change.note]


def targets(home: Home, entry: Entry) -> list[tuple[Path, str]]:
    """The files that would change if this entry were confirmed, each with its diff (of what a model sees)."""
    gone: dict[str, Entry | None] = dict.fromkeys(entry.parents)
    return effects_of(home, {**gone, entry.id: dataclasses.replace(entry, status=Status.ACTIVE)})


def effects_of(home: Home, changed: Mapping[str, Entry | None]) -> list[tuple[Path, str]]:
    """Every file that would be written if these entries were so (None: not there any more), with its diff.

    Lines of other entries are among them: two that contradict each other both say so. A file that we would
    write and leave as it is comes with the reason.
    """
    book = templates.accepted(home)
    then = [one for one in _confirmed(home) if one.id not in changed]
    then += [one for one in changed.values() if one is not None and one.status is Status.ACTIVE]
    usual = {name for one in changed.values() if one is not None for name in _FILES[one.track]}
    found = {}
    for change in _planned(home, then, book, tidying.expected(home, changed)):
        text = diff(change.path, change.before, change.after)
        if text:
            found[change.path] = text
        elif change.note and change.path.name in usual:
            found[change.path] = f"{change.path}: {change.note}\n"
    return sorted(found.items())


def renewal(home: Home) -> list[Change]:
    """What an update of the templates would change in what a client loads; empty when nothing.

    Until the user agrees, projections are made with the templates that were agreed to.
    """
    if not templates.is_kept(home):
        return []
    kept, new = templates.accepted(home), templates.updated(home)
    if kept.text == new.text:
        return []
    confirmed = _confirmed(home)
    old = {change.path: change.after for change in _planned(home, confirmed, kept)}
    changes = _planned(home, confirmed, new)
    return [change for change in changes if _seen(old.get(change.path)) != _seen(change.after)]


def renewal_proposal(home: Home) -> Update | None:
    """The one proposal that renews all projections after an update of the templates; None when nothing changes.

    Its summary shows the difference in every file that a client loads.
    """
    found = renewal(home)
    if not found:
        return None
    shown = "\n".join(diff(change.path, change.before, change.after) for change in found)
    return templates.renewal(home, shown, config.language())


def merge_proposal(home: Home) -> tuple[str, str] | None:
    """Two domains whose skills should become one, when there are more than the client has room for."""
    settings = _settings(home, hooks=False)
    return projection.project(_confirmed(home), settings, templates.accepted(home)).merge


def unproject(home: Home, *, dry_run: bool = False) -> list[Change]:
    """Take all projections of this home away; the user's own bytes stay."""
    found = claude_files.installs(home)
    done: list[Change] = []
    for place, install in enumerate(found, 1):
        done += claude_files.unproject(home, install.client_folder, blocks=place == len(found), dry_run=dry_run)
    return done


def diff(path: Path, before: bytes | None, after: bytes | None) -> str:
    """A unified diff of what a model sees of a file: our marks are left out."""
    lines = difflib.unified_diff(
        _seen(before).splitlines(keepends=True), _seen(after).splitlines(keepends=True),
        str(path) if before is not None else "/dev/null", str(path) if after is not None else "/dev/null", n=1,
    )  # fmt: skip
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _planned(
    home: Home, confirmed: Sequence[Entry], book: Book, conflicts: Conflicts | None = None
) -> list[Change]:
    edits = _block_edits(home, confirmed, book, conflicts)
    blocks = [claude_files.block_change(path, make) for path, make in edits]
    return [*_user_changes(home, confirmed, book, conflicts), *blocks]


def _user_changes(
    home: Home, confirmed: Sequence[Entry], book: Book, conflicts: Conflicts | None = None
) -> Iterator[Change]:
    for install in claude_files.installs(home):
        made = projection.project(confirmed, _settings(home, install.hooks, conflicts), book)
        wanted = {
            claude_files.path_of(install.client_folder, name): managed_block.stamp(text, book.version)
            for name, text in made.files.items()
        }
        wanted.update(
            (claude_files.grown_path(install.client_folder, one.form, one.name),
             managed_block.stamp(one.text, book.version))
            for one in grown.confirmed(home)
        )
        taken = set()
        for path, data in wanted.items():
            change = claude_files.file_change(path, data)
            if change.note == claude_files.FOREIGN and path.name == "SKILL.md":
                taken.add(path.parent)
            # A skill of the user's own with this name gets no files of ours beside it.
            if path.parent.parent not in taken:
                yield change
        for path in claude_files.ours(install.client_folder):
            if path not in wanted:
                yield claude_files.file_change(path, None)


def _block_edits(
    home: Home, confirmed: Sequence[Entry], book: Book, conflicts: Conflicts | None = None
) -> Iterator[tuple[Path, Any]]:
    """Memory files of projects with the function that brings our blocks in them up to date."""
    places = claude_files.block_files(home)
    chosen = str(config.load()["project_file"])
    name = chosen if chosen in PROJECT_FILES else PROJECT_FILES[0]
    present = projects.current(home)
    places = claude_files.block_files(home)
    if any(entry.project in present.ids for entry in confirmed):
        places.append(Path(present.root) / name)
    for path in dict.fromkeys(places):
        if not path.parent.is_dir():
            continue
        owner = projects.current(home, str(path.parent)).ids
        mine = [entry for entry in confirmed if entry.project in owner and path.name == name]
        wanted = projection.blocks(mine, _settings(home, False, conflicts), book)
        yield path, partial(claude_files.update_blocks, home, wanted=wanted, template=book.version)


def _remember(home: Home, tried: Iterable[Path]) -> None:
    """Keep the list of files that hold blocks of ours now."""
    found = dict.fromkeys((*claude_files.block_files(home), *tried))
    claude_files.keep_block_files(home, [path for path in found if _holds_ours(home, path)])


def _holds_ours(home: Home, path: Path) -> bool:
    try:
        standing = {block.id for block in managed_block.scan(files.read_bytes(path)).blocks}
        return bool(standing & claude_files.known_ids(home, standing))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, Refused):
        return True


def _confirmed(home: Home) -> list[Entry]:
    """Entries that a client may be given: confirmed by a person, unchanged since, active."""
    return [stored.entry for stored in entries.load_all(home).deliverable()]


def _settings(home: Home, hooks: bool, conflicts: Conflicts | None = None) -> projection.Settings:
    chosen = config.load()
    rules = tracks.rules_of(ruleset.load("tracks"), chosen.get("domains"))
    merged = chosen.get("merged_domains") or {}
    return projection.Settings(
        language=_language(home), command=launcher.launcher(home), hooks=hooks, domains=rules.domains,
        merged={str(one): str(other) for one, other in merged.items()} if isinstance(merged, dict) else {},
        usefulness=_usefulness(home), withheld=measure_rules.under_test(home),
        salt=claude_files.salt(home), conflicts=tidying.conflicts(home) if conflicts is None else conflicts,
    )  # fmt: skip


def _language(home: Home) -> str:
    """What the client loads is in this language; of a home that recorded none, the language of its reminder."""
    if config.kept_language(home):
        return config.loaded_language(home)
    reminders = [claude_files.path_of(install.client_folder, "reminder") for install in claude_files.installs(home)]
    standing = "".join(files.read_text(path) for path in reminders if path.is_file())
    # The English one names a few Chinese words too.
    chinese, latin = len(_CHINESE.findall(standing)), len(_LATIN.findall(standing))
    shown = "zh" if chinese > latin else "en" if standing else ""
    return config.loaded_language(home, shown)


def _usefulness(home: Home) -> dict[str, float]:
    """What orders entries: a claim that held counts most, then how often the trigger matched (at most 1)."""
    found: dict[str, float] = {}
    for (entry_id, _), one in effects.tallies(home).items():
        claim = 2.0 * (one.helps >= eprocess.CLAIM) - 2.0 * (one.hurts >= eprocess.CLAIM)
        found[entry_id] = max(found.get(entry_id, -2.0), claim + min(1.0, one.opportunities / _OFTEN))
    return found


def _seen(data: bytes | None) -> str:
    """What a model sees of a file: our mark and markers, comments on their own lines, are taken out by the client."""
    if not data:
        return ""
    text = data.decode("utf-8", "replace")
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("<!-- experience-forge"))


__all__ = ["Change", "Install", "diff", "effects_of", "merge_proposal", "plan", "project", "renewal",
           "renewal_proposal", "targets", "unproject"]  # fmt: skip
