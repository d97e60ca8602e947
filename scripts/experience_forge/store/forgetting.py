"""Erases an entry with everything that was kept of it; what stays is its id and hash."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import entries, files, journal, proposals
from .home import Home


@dataclass(frozen=True)
class Plan:
    """What forgetting an entry erases or cleans; `digests` are all texts that it ever had.

    `heirs` are the entries that it was merged into, at whatever remove, and `parents` those that were merged into
    it: they may hold the same words, and stay until they are forgotten, too.
    """

    id: str
    sha256: str
    key: str
    digests: tuple[str, ...]
    files: tuple[Path, ...]
    sessions: tuple[str, ...]
    heirs: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()

    @property
    def kin(self) -> tuple[str, ...]:
        """All entries that may hold words of this one."""
        return (*self.heirs, *self.parents)


def plan(home: Home, entry_id: str) -> Plan:
    """All that an entry left: its file, earlier texts, open proposals, evidence, ledger lines.

    Raises:
        Refused: when neither an entry nor a proposal nor the journal knows the id.
    """
    stored = entries.find(home, entry_id)
    open_ = [p for p in proposals.all(home) if entry_id in proposals.entries_in(p.text)]
    digests = _digests(home, entry_id)
    if stored is None and not open_ and not digests:
        entries.get(home, entry_id)
    touched: list[Path] = [stored.path] if stored else []
    touched += [journal.object_path(home, digest) for digest in digests if journal.object_path(home, digest).exists()]
    touched += [path for path in _mentions(home, entry_id) if path.stem not in {p.id for p in open_}]
    for proposal in open_:
        path = proposals.text_path(home, proposal.id)
        touched += [path, path.with_suffix(".json")]
    touched += [path for path in _line_files(home) if _has_entry(path, entry_id)]
    touched += _moved_aside(home, entry_id, digests)
    sessions = tuple(sorted({source.session for source in stored.entry.sources if source.session})) if stored else ()
    touched += [path for path in _evidence_of(home, sessions) if path not in touched]
    above = {one.entry.id: one.entry.parents for one in entries.load_all(home).entries}
    below = {name: tuple(heir for heir in above if name in above[heir]) for name in (*above, entry_id)}
    return Plan(
        entry_id, stored.sha256 if stored else "", stored.key if stored else "", digests, tuple(touched), sessions,
        _reached(entry_id, below), tuple(name for name in _reached(entry_id, above) if name in above),
    )  # fmt: skip


def _reached(start: str, steps: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """All names that steps lead to, without the first; each once, so that a ring ends."""
    found: list[str] = []
    waiting = [start]
    while waiting:
        for name in steps.get(waiting.pop(), ()):
            if name not in found and name != start:
                found.append(name)
                waiting.append(name)
    return tuple(found)


def carry_out(home: Home, planned: Plan) -> list[Path]:
    """Erase what was planned; returns the files that are gone or cleaned.

    Raises:
        Refused: when a file can't be erased; the ones before it are gone then, and a second run goes on.
    """
    done = []
    with files.locked(home.lock):
        journal.append(home, {
            "what": "forget", "entries": [planned.id], "sha256": planned.sha256,
            "files": [{"path": planned.key, "before": planned.sha256, "after": None}] if planned.key else [],
        })
        for path in planned.files:
            if path.suffix == ".jsonl" and path.is_relative_to(home.root):
                _drop_lines(path, planned.id)
            elif path.suffix == ".json" and path in set(_mentions(home, planned.id)):
                _drop_mention(path, planned.id)
            else:
                files.remove(path)
            done.append(path)
        proposals.drop_near(home, planned.id)
        for path in files.walked(home.derived):
            files.remove(path)
    return done


def _mentions(home: Home, entry_id: str) -> list[Path]:
    """Computed parts of proposals that name the entry as a near one, with its words."""
    return [path for path in files.listed(home.proposals, ".json") if _near(path, entry_id)]


def _near(path: Path, entry_id: str) -> bool:
    near = _record(files.read_bytes(path)).get("near")
    return isinstance(near, list) and any(isinstance(one, dict) and one.get("id") == entry_id for one in near)


def _drop_mention(path: Path, entry_id: str) -> None:
    meta = _record(files.read_bytes(path))
    meta["near"] = [one for one in meta["near"] if not (isinstance(one, dict) and one.get("id") == entry_id)]
    files.write_text(path, json.dumps(meta, ensure_ascii=False, indent=1) + "\n")


def _digests(home: Home, entry_id: str) -> tuple[str, ...]:
    found: set[str] = set()
    for record in journal.read(home):
        if record.get("what") in ("change", "revoked") and (
            entry_id in record.get("entries", ())
            or any(str(f["path"]).rsplit("/", 1)[-1] == f"{entry_id}.md" for f in record.get("files", ()))
        ):
            for item in record.get("files", ()):
                # A change of several entries keeps the texts of the others.
                if str(item["path"]).rsplit("/", 1)[-1] == f"{entry_id}.md":
                    found |= {str(item[name]) for name in ("before", "after") if item.get(name)}
            found.add(str(record.get("digest", "")))
        elif record.get("what") == "discard" and entry_id in record.get("entries", ()):
            found.add(str(record.get("said", "")))
    return tuple(sorted(found - {""}))


def _moved_aside(home: Home, entry_id: str, digests: tuple[str, ...]) -> list[Path]:
    """What `doctor --repair` moved aside and what holds this entry: of derived files all, which would be made anew."""
    kept = home.root / "kept"
    return [
        path for path in files.walked(kept)
        if "derived" in path.relative_to(kept).parts or path.stem == entry_id
        or files.sha256(files.read_bytes(path)) in digests
    ]  # fmt: skip


def _line_files(home: Home) -> list[Path]:
    return [path for folder in (home.ledger, home.evidence) for path in files.walked(folder, ".jsonl")]


def _has_entry(path: Path, entry_id: str) -> bool:
    return any(_record(raw).get("entry") == entry_id for raw in files.read_bytes(path).split(b"\n"))


def _evidence_of(home: Home, sessions: tuple[str, ...]) -> list[Path]:
    return [path for path in files.walked(home.evidence) if any(one and one in path.name for one in sessions)]


def _drop_lines(path: Path, entry_id: str) -> None:
    kept = [raw for raw in files.read_bytes(path).split(b"\n") if raw.strip() and _record(raw).get("entry") != entry_id]
    if kept:
        files.write_whole(path, b"\n".join(kept) + b"\n")
    else:
        files.remove(path)


def _record(raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}

