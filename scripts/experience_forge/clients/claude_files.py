"""Our files and blocks in Claude Code's folders: where they lie, how they are written and how they go.

Standard library only, so that an uninstall works without the private environment.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..core import managed_block
from ..core.managed_block import Edit
from ..errors import Refused, Text, told
from ..fast import home as fast_home
from ..store import files
from ..store import installs as records
from ..store.home import Home

TRIES = 3
"""So often a file of the user's is read again when it changed between our read and our write."""
EDITED = "edited by hand: left as it is"
FOREIGN = "not written by experience-forge: left as it is"
_ALWAYS = ("reminder", "profile", "index")


@dataclass(frozen=True)
class Install:
    """One client folder that projects this data home; `project` tells a project's `.claude` from the user's."""

    client_folder: Path
    hooks: bool
    project: bool = False


@dataclass(frozen=True)
class Change:
    """One file as it is and as it shall be (None: no file); `note` says why nothing is done.

    Of what somebody edited by hand `ours` is the text that we would have there, and `theirs` the one that is.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    note: str = ""
    ours: str = ""
    theirs: str = ""

    @property
    def pending(self) -> bool:
        """Whether there is something to write."""
        return self.before != self.after and not self.note


def installs(home: Home) -> tuple[Install, ...]:
    """Client folders whose own record names this very home; those of the user go before a project's."""
    found = records.known(home.root)
    usual = Path(fast_home.client_folder())
    found.append({"client_folder": str(usual), "skill_folder": str(usual / "skills" / "experience-forge")})
    result: dict[Path, Install] = {}
    for one in found:
        skill = Path(str(one["skill_folder"]))
        folder = Path(str(one.get("client_folder") or skill.parent.parent))
        # From the client's own folder: `install.json` may be of a home that somebody made up, with a record beside it.
        record = records.mark(folder / "skills" / "experience-forge")
        if record.get("home") and _same(Path(str(record["home"])), home.root):
            result.setdefault(folder, Install(folder, bool(record.get("hooks")), bool(one.get("project"))))
    mine = tuple(one for one in result.values() if not one.project)
    # In a project both would be loaded, and everything stood twice.
    return mine or tuple(result.values())


def path_of(client_folder: Path, name: str) -> Path:
    """The file of a logical name of `core.projection`."""
    if name in _ALWAYS:
        return client_folder / "rules" / "experience-forge" / f"{name}.md"
    _, domain, *entry = name.split("/")
    skill = client_folder / "skills" / f"{domain}-experience"
    return skill / "references" / f"{entry[0]}.md" if entry else skill / "SKILL.md"


def grown_path(client_folder: Path, form: str, name: str) -> Path:
    """The file of what has grown from entries: a skill, a slash command or an agent."""
    part = Path("skills", name, "SKILL.md") if form == "skill" else Path(f"{form}s", f"{name}.md")
    return client_folder / part


def ours(client_folder: Path) -> Iterator[Path]:
    """Files below a client folder that carry our mark, edited by hand or not."""
    patterns = ("rules/experience-forge/*.md", "skills/*-experience/SKILL.md", "skills/*-experience/references/*.md",
                "commands/*-experience.md", "agents/*-experience.md")
    for pattern in patterns:
        for path in _matching(client_folder, pattern.split("/")):
            data = _bytes(path)
            if data is not None and managed_block.unstamp(data)[0] != "foreign":
                yield path


def _matching(folder: Path, parts: Sequence[str]) -> list[Path]:
    """As `glob`, which passes over a folder that it may not read."""
    if not parts:
        return [folder] if folder.exists() else []
    found = [path for path in files.listed(folder, "") if fnmatch.fnmatchcase(path.name, parts[0])]
    return [inner for path in found for inner in _matching(path, parts[1:])]


def file_change(path: Path, wanted: bytes | None) -> Change:
    """What a whole file of ours comes to; a foreign or edited one is left with the reason."""
    try:
        before = files.read_bytes(path)
    except FileNotFoundError:
        return Change(path, None, wanted)
    except Refused as error:
        return Change(path, None, None, error.what)
    state, _, text = managed_block.unstamp(before)
    if state == "foreign":
        return Change(path, before, before, FOREIGN)
    if state == "edited" and (wanted is None or text != managed_block.unstamp(wanted)[2]):
        return Change(path, before, before, EDITED, managed_block.unstamp(wanted or b"")[2], text)
    return Change(path, before, wanted)


def block_change(path: Path, make: Callable[[bytes | None], Edit]) -> Change:
    """What a file with our blocks comes to.

    Args:
        make: from the file's bytes (None: no file) to the edit.
    """
    try:
        before = files.read_bytes(path)
    except FileNotFoundError:
        before = None
    except Refused as error:
        return Change(path, None, None, error.what)
    edit = make(before)
    if edit.refused:
        return Change(path, before, before, edit.refused)
    if not edit.edited:
        return Change(path, before, edit.data)
    note = f"{EDITED}: {', '.join(sorted(edit.edited))}" if edit.data == before else ""
    anew = (make(None).data or b"").decode("utf-8", "replace")
    return Change(path, before, edit.data, note, anew, "\n".join(edit.edited.values()))


def write(change: Change, again: Callable[[], Change] | None = None) -> Change:
    """Carry one change out; a failure comes back as its note.

    Args:
        again: makes the change anew when the file is not what it was; without it that is a failure.
    """
    for _ in range(TRIES):
        if not change.pending:
            return change
        if _bytes(change.path) != change.before:
            if again is None:
                break
            change = again()
            continue
        try:
            if change.after is None:
                _remove(change.path)
            else:
                # A run that was killed here left its half beside the user's file, where nobody else would look for it.
                files.sweep_temps(Path(os.path.realpath(change.path)).parent, below=False)
                files.write_whole(change.path, change.after, 0o644 if again else 0o600)
        except Refused as error:
            return replace(change, after=change.before, note=error.what)
        return change
    return replace(change, after=change.before, note=told(Text("errors_client.changing")))


def update_blocks(
    home: Home, data: bytes | None, wanted: Mapping[str, str], template: str, *, force: bool = False
) -> Edit:
    """`managed_block.update` for this home: of the blocks that stand there, it knows which are ours."""
    standing = {block.id for block in managed_block.scan(data).blocks} if data else set()
    return managed_block.update(data, wanted, known_ids(home, standing), template, force=force)


def known_ids(home: Home, among: Iterable[str]) -> set[str]:
    """Which ids are ours: of entries that this home has or ever had, and of our line on further ones."""
    asked = set(among) - {f"_more-{salt(home)}"}
    # The journal names the file of every entry that ever was; looking for it as text spares parsing 10,000 lines.
    lines = b"\n".join(files.read_bytes(path) for path in sorted(home.journal.glob("*.jsonl"))) if asked else b""
    found = {name for name in asked if f"/{name}.md\"".encode() in lines}
    if asked - found:
        found |= asked & {path.stem for path in home.entries.rglob("*.md")}
    return found | {f"_more-{salt(home)}"}


def salt(home: Home) -> str:
    """Six hex digits that tell this home's lines in a shared file from a teammate's."""
    return hashlib.sha256(str(home.root).encode("utf-8", "surrogatepass")).hexdigest()[:6]


def block_files(home: Home) -> list[Path]:
    """Files in projects that hold, or held, blocks of this home; none when the record can't be read."""
    try:
        return _block_files(home)
    except Refused:
        return []


def _block_files(home: Home) -> list[Path]:
    data = files.read_record(_record(home))
    listed = data.get("files", []) if isinstance(data, dict) else []
    return [Path(str(path)) for path in listed] if isinstance(listed, list) else []


def keep_block_files(home: Home, found: Iterable[Path]) -> None:
    """Remember the files in projects that hold our blocks.

    Raises:
        Refused: when the record can't be read (writing would lose what it names) or written.
    """
    listed = sorted({str(path) for path in found})
    if listed == sorted(str(path) for path in _block_files(home)):
        return
    files.write_text(_record(home), json.dumps({"v": 1, "files": listed}, ensure_ascii=False, indent=1) + "\n")


def unproject(home: Home, client_folder: Path, *, blocks: bool = True, dry_run: bool = False) -> list[Change]:
    """Take everything of ours out of one client folder, and our blocks out of projects.

    What a person edited is kept below `<home>/kept/` before it goes (the note names the copy). The user's
    own bytes stay as they are.

    Args:
        blocks: also the blocks in projects; false while another client folder uses this home.
        dry_run: change nothing.
    """
    done = [_gone(home, path, dry_run) for path in list(ours(client_folder))]
    if blocks:
        done += [_without_blocks(home, path, dry_run) for path in block_files(home)]
        if not dry_run and not any(change.note for change in done if change.after is not None):
            files.remove(_record(home))
    return [change for change in done if change.before != change.after or change.note]


def _gone(home: Home, path: Path, dry_run: bool) -> Change:
    before = files.read_bytes(path)
    edited = managed_block.unstamp(before)[0] == "edited"
    note = _keep(home, path, before, dry_run) if edited else ""
    change = Change(path, before, None)
    done = change if dry_run else write(change)
    return replace(done, note=done.note or note)


def _without_blocks(home: Home, path: Path, dry_run: bool) -> Change:
    edited: dict[str, str] = {}

    def make(data: bytes | None) -> Edit:
        edit = update_blocks(home, data, {}, "0", force=True)
        edited.update(edit.edited)
        return edit

    change = block_change(path, make)
    if path.is_symlink() and change.after is None and change.before is not None:
        # The user moved it into a dotfiles folder: what is left of it is theirs.
        change = replace(change, after=b"")
    text = "\n\n".join(f"{name}\n{body}" for name, body in edited.items())
    note = _keep(home, path, text.encode("utf-8"), dry_run) if edited else ""
    done = change if dry_run else write(change, lambda: block_change(path, make))
    return replace(done, note=done.note or note)


def _keep(home: Home, path: Path, data: bytes, dry_run: bool) -> str:
    name = f"{path.parent.name}-{path.name}"
    target = home.root / "kept" / f"{name}.{hashlib.sha256(data).hexdigest()[:8]}"
    if not dry_run:
        files.write_whole(target, data)
    return f"edited by hand: a copy is kept in {target}"


def _remove(path: Path) -> None:
    files.remove(path)
    for folder in list(path.parents)[:3]:
        if folder.name in ("experience-forge", "references", "rules") or folder.name.endswith("-experience"):
            files.remove_empty_folder(folder)


def _record(home: Home) -> Path:
    return home.root / "projections.json"


def _bytes(path: Path) -> bytes | None:
    try:
        return files.read_bytes(path)
    except (OSError, Refused):
        return None


def _same(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve()
    except (OSError, RuntimeError):
        return one == other


def paths_of(changes: Iterable[Change]) -> list[Path]:
    """The files that were changed."""
    return [change.path for change in changes if change.before != change.after]
