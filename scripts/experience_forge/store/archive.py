"""Backups: one archive file that holds what can't be derived, with the hash of every file.

Left out: `derived/`, `venv/`, `bin/`, `logs/`, `receipts/` and the redaction key. A file in which
redaction finds something goes in redacted, and the manifest names it.
"""

from __future__ import annotations

import errno
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..core import codec
from ..errors import Invalid, Refused, Text
from . import files, journal, redaction
from .home import Home

VERSION = 1
MANIFEST = "experience-forge-backup.json"
PARTS = ("config.yaml", "projects.json", "entries", "proposals", "journal", "ledger", "evidence", "tuning", "skills",
         "commands", "agents")
MAX_BYTES = 512 * 1024 * 1024
STAMP = (2026, 1, 1, 0, 0, 0)
"""One time for all members, so that equal homes give equal archives."""


@dataclass(frozen=True)
class Backup:
    """A checked archive: its manifest and the bytes of its files by path."""

    manifest: Mapping[str, Any]
    contents: Mapping[str, bytes]

    @property
    def entries(self) -> list[str]:
        """Keys of the entries in it."""
        return [name.removeprefix("entries/") for name in self.contents if name.startswith("entries/")]


def write(home: Home, target: Path) -> dict[str, Any]:
    """Write a backup to `target`; returns its manifest.

    Raises:
        Refused: when it can't be read or written.
    """
    with _still(home):
        contents: dict[str, bytes] = {}
        redacted: dict[str, dict[str, int]] = {}
        for name, path in _members(home):
            data, found = _clean(name, files.read_bytes(path))
            contents[name] = data
            if found:
                redacted[name] = found
    manifest = {
        "v": VERSION, "made": journal.now(), "redacted": redacted,
        "files": {name: files.sha256(data) for name, data in contents.items()},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MANIFEST: json.dumps(manifest, ensure_ascii=False, indent=1).encode(), **contents}.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), data, zipfile.ZIP_DEFLATED)
    files.write_whole(target, buffer.getvalue())
    return manifest


def names(home: Home) -> list[str]:
    """Paths that a backup would hold, below the home."""
    return [name for name, _ in _members(home)]


def read(path: Path) -> Backup:
    """A backup, every file checked against its hash and its path against the parts of a home.

    Raises:
        Invalid: with all faults, when it is none, is damaged, newer, or holds a foreign path.
        Refused: when it can't be read.
        FileNotFoundError: when there is no such file.
    """
    data = files.read_bytes(path, MAX_BYTES)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(item.file_size for item in archive.infolist()) > MAX_BYTES:
                raise Invalid(
                    Text("errors_store.backup_large", path=path, limit=MAX_BYTES),
                    Text("errors_store.backup_large_hint"),
                )
            contents = {item.filename: archive.read(item) for item in archive.infolist() if not item.is_dir()}
        manifest = json.loads(contents.pop(MANIFEST).decode("utf-8"))
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise Invalid(Text("errors_store.backup_none", path=path), Text("errors_store.backup_none_hint")) from error
    faults = _faults(manifest, contents)
    if faults:
        raise Invalid(Text("errors_store.backup_fault", path=path), Text("errors_store.backup_fault_hint"), faults)
    return Backup(manifest, contents)


def unpack(home: Home, backup: Backup) -> int:
    """Write the files of a backup into an empty home; returns how many."""
    with files.locked(home.lock):
        # The journal comes last: entries without it are unconfirmed, and nothing loads them.
        for name in sorted(backup.contents, key=lambda name: name.startswith("journal/")):
            files.write_whole(home.root.joinpath(*name.split("/")), backup.contents[name])
    return len(backup.contents)


@contextmanager
def _still(home: Home) -> Iterator[None]:
    """Nobody writes meanwhile: the lock is held, or the disk takes no writes; then a backup matters most."""
    with ExitStack() as stack:
        try:
            stack.enter_context(files.locked(home.lock))
        except Refused as error:
            if getattr(error.__cause__, "errno", None) != errno.EROFS:
                raise
        yield


def _members(home: Home) -> list[tuple[str, Path]]:
    found = []
    for part in PARTS:
        base = home.root / part
        paths = [base] if base.is_file() else [path for path in files.walked(base) if not path.is_symlink()]
        found += [(p.relative_to(home.root).as_posix(), p) for p in paths if files.TEMP_MARK not in p.name]
    return found


def _clean(name: str, data: bytes) -> tuple[bytes, dict[str, int]]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data, {}
    cleaned, found = redaction.clean(text)
    if found and name.endswith(".md"):
        # A mark in the middle of YAML would make a text that nobody can restore.
        with suppress(Invalid):
            entry, counts, _ = redaction.clean_entry(codec.parse(text))
            again = codec.render(entry)
            codec.parse(again)
            return again.encode("utf-8"), counts
    return (cleaned.encode("utf-8"), found) if found else (data, {})


def _faults(manifest: Any, contents: Mapping[str, bytes]) -> list[Text]:
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        return [Text("errors_store.backup_manifest")]
    if manifest.get("v") != VERSION:
        return [Text("errors_store.backup_version", format=manifest.get("v"), known=VERSION)]
    faults = [Text("errors.missing", name=name) for name in manifest["files"] if name not in contents]
    for name, data in contents.items():
        parts = PurePosixPath(name).parts
        if not parts or parts[0] not in PARTS or ".." in parts or "\\" in name or ":" in name or name.startswith("/"):
            faults.append(Text("errors_store.backup_path", name=repr(name)))
        elif manifest["files"].get(name) != files.sha256(data):
            faults.append(Text("errors_store.backup_bytes", name=name))
    return faults
