"""Parsed entries kept in `derived/entries.json`, so that 10,000 files need not be parsed each time.

An item counts while size and time of its file are the same; the truth stays in the files.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ..core import codec
from ..errors import Invalid, Refused, Text
from ..model import Cite, Condition, Entry, Guard, Kind, Provenance, Source, Status, Track
from . import files
from .home import Home

VERSION = 2
MAX_FILE_BYTES = 96 * 1024


class Cache:
    """One run's view of the cache.

    Args:
        trusted: use items whose size and time fit; else every file is read.
    """

    def __init__(self, home: Home, *, trusted: bool = True) -> None:
        self._path = home.derived / "entries.json"
        self._old: dict[str, Any] = self._load() if trusted else {}
        self._new: dict[str, Any] = {}
        self._changed = False

    def get(self, key: str, path: Path, info: os.stat_result) -> tuple[Entry, str]:
        """An entry and the digest of its bytes.

        Raises:
            ForgeError: when the file can't be read or does not hold.
        """
        stamp = [info.st_size, info.st_mtime_ns]
        item = self._old.get(key)
        if item is not None and item["stamp"] == stamp:
            self._new[key] = item
            return from_plain(item["entry"]), str(item["sha256"])
        self._changed = True
        data = _read(path, info)
        entry = parse_bytes(data, path)
        digest = files.sha256(data)
        self._new[key] = {"stamp": stamp, "sha256": digest, "entry": plain(entry)}
        return entry, digest

    def save(self) -> None:
        """Write the cache when it changed; a failure is no failure of the command."""
        if not self._changed and len(self._new) == len(self._old):
            return
        try:
            body = json.dumps({"v": VERSION, "items": self._new}, ensure_ascii=False, separators=(",", ":"))
            files.write_text(self._path, body)
        except (Refused, TypeError, ValueError):
            return

    def _load(self) -> dict[str, Any]:
        try:
            data = json.loads(files.read_text(self._path, 512 * 1024 * 1024))
            if data["v"] == VERSION and isinstance(data["items"], dict):
                return dict(data["items"])
        except (FileNotFoundError, Refused, ValueError, KeyError, TypeError, RecursionError):
            pass
        return {}


def _read(path: Path, info: os.stat_result) -> bytes:
    """The bytes of a file that was looked at a moment ago; of anything unusual `files` tells what it is."""
    if stat.S_ISREG(info.st_mode) and info.st_size <= MAX_FILE_BYTES:
        try:
            with open(path, "rb", buffering=0) as file:
                data = file.read(MAX_FILE_BYTES + 1)
            if len(data) == info.st_size:
                return data
        except OSError:
            pass
    return files.read_bytes(path, MAX_FILE_BYTES)


def parse_bytes(data: bytes, path: Path) -> Entry:
    """An entry from a file's bytes.

    Raises:
        Invalid: also when its id is not the file's name.
    """
    if b"\0" in data:
        raise Invalid(Text("errors_store.nul_bytes", path=path), Text("errors_store.nul_bytes_hint"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(
            Text("errors_store.not_utf8", path=path, byte=error.start), Text("errors_store.save_utf8")
        ) from error
    entry = codec.parse(text)
    if entry.id != path.stem:
        raise Invalid(Text("errors_store.other_entry_id", path=path, id=entry.id), Text("errors_store.same_id"))
    return entry


def plain(entry: Entry) -> dict[str, Any]:
    """An entry as JSON values; `from_plain` takes it back."""
    data: dict[str, Any] = {}
    for item in fields(entry):
        value = getattr(entry, item.name)
        if item.name in ("applies_when", "fails_when"):
            value = [condition.parts() for condition in value]
        elif item.name in ("sources", "cites"):
            value = [{f.name: getattr(part, f.name) for f in fields(part)} for part in value]
        elif item.name == "extra":
            value = json.loads(json.dumps(dict(value), default=str))
        data[item.name] = value
    return data


def from_plain(data: dict[str, Any]) -> Entry:
    """An entry from the JSON values of `plain`."""
    values = dict(data)
    values["kind"] = _KINDS[values["kind"]]
    values["track"] = _TRACKS[values["track"]]
    values["status"] = _STATES[values["status"]]
    values["guard"] = _GUARDS[values["guard"]]
    values["sections"] = tuple([(name, text) for name, text in values["sections"]])
    for name in ("applies_when", "fails_when"):
        values[name] = tuple([_made(Condition, {**_NO_CONDITION, **parts}) for parts in values[name]])
    values["sources"] = tuple([
        _made(Source, {**part, "provenance": _PROVENANCES[part["provenance"]]}) for part in values["sources"]
    ])
    values["cites"] = tuple([_made(Cite, part) for part in values["cites"]])
    for name in ("aliases", "versions", "tags", "parents"):
        values[name] = tuple(values[name])
    return _made(Entry, values)


_KINDS, _TRACKS = {item.value: item for item in Kind}, {item.value: item for item in Track}
_STATES, _GUARDS = {item.value: item for item in Status}, {item.value: item for item in Guard}
_PROVENANCES = {item.value: item for item in Provenance}
_NO_CONDITION = {item.name: "" for item in fields(Condition)}
_Made = TypeVar("_Made")


def _made(kind: type[_Made], values: dict[str, Any]) -> _Made:
    # What `plain` wrote has every field: __init__ of a frozen class would take three times as long.
    one = object.__new__(kind)
    one.__dict__.update(values)
    return one
