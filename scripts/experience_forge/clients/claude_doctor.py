"""Looks over the installs in Claude Code: records, settings, hooks of ours and of others, what fired when."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..core import json_lines
from ..errors import ForgeError, Refused
from ..fast import home as fast_home
from ..store import files, installs
from ..store.doctor import Finding, finding, short_diff
from ..store.home import Home
from . import claude_files, claude_settings, hook_probe

SESSIONS_READ = 5
TAIL_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True)
class Fired:
    """One run of a hook of ours that the client recorded."""

    event: str
    at: str
    milliseconds: int
    failed: bool


def examine(home: Home) -> list[Finding]:
    """Findings about every install of this home, and about foreign hooks."""
    found: list[Finding] = []
    every = installs.known(home.root)
    if not every:
        found.append(finding("note", "install", "not_installed"))
    for install in every:
        found += _install(home, install)
    found += _foreign(_settings_files(every))
    return found


def fired() -> dict[str, Fired]:
    """The last run of each of our hooks that the newest transcripts of the client show.

    The client records a run at Stop always, and at other events when the hook said something.
    """
    last: dict[str, Fired] = {}
    for record in _recent_records():
        for one in _runs_in(record):
            if one.event not in last or last[one.event].at <= one.at:
                last[one.event] = one
    return last


def _install(home: Home, install: Mapping[str, Any]) -> Iterator[Finding]:
    folder = Path(str(install.get("skill_folder", "")))
    mark = installs.mark(folder)
    if not mark and install.get("project") and not folder.exists():
        project = folder.parent.parent.parent
        yield finding("warn", "install", "project_gone", path=folder, project=shlex.quote(str(project)))
        return
    if not mark:
        yield finding("warn", "install", "no_mark", path=folder)
        return
    shown = {"path": str(folder), "version": str(mark.get("version")), "hooks": bool(mark.get("hooks"))}
    yield Finding("ok", "install", "installed", shown)
    if mark.get("version") != __version__:
        yield finding("note", "install", "other_version", path=folder, version=mark.get("version"), own=__version__)
    if str(mark.get("home")) != str(home.root):
        yield finding("warn", "install", "other_home", path=folder, home=mark.get("home"))
    for name, what in (("python", "base interpreter"), ("launcher", "launcher")):
        path = str(mark.get(name, ""))
        if not os.access(path, os.X_OK):
            yield finding("warn", "install", "stale_path", what=what, path=path, install=folder / "install.py")
    if not (folder / "scripts" / "hook.py").exists():
        yield finding("warn", "install", "no_hook_file", path=folder)
    else:
        yield from _start(str(mark.get("python", "")), folder / "scripts")
    yield from _own_settings(install, mark)


def _start(python: str, scripts: Path) -> Iterator[Finding]:
    probe = hook_probe.look(python, scripts)
    if probe.damaged:
        yield finding(
            "warn", "install", "compiled_damaged", repair=True, path=probe.damaged[0], count=len(probe.damaged)
        )
    elif probe.error:
        yield finding("warn", "install", "hook_fails", path=scripts, error=probe.error)


def repair(home: Home, dry_run: bool = False) -> list[tuple[str, dict[str, str]]]:
    """Compile anew what is damaged in the installs of this home; as `store.doctor.repair`, what was done."""
    done: list[tuple[str, dict[str, str]]] = []
    for install in installs.known(home.root):
        folder = Path(str(install.get("skill_folder", "")))
        python = str(installs.mark(folder).get("python", ""))
        damaged = hook_probe.look(python, folder / "scripts").damaged if python else ()
        if not damaged:
            continue
        if not dry_run:
            for path in damaged:
                # Gone first: on a disk that is still full Python then reads the source instead.
                files.remove(path)
            hook_probe.compile_all(python, folder / "scripts")
        done.append(("would_compile" if dry_run else "did_compile", {"path": str(folder), "count": str(len(damaged))}))
    return done


def _own_settings(install: Mapping[str, Any], mark: Mapping[str, Any]) -> Iterator[Finding]:
    path = Path(str(install.get("settings") or Path(str(install.get("client_folder", ""))) / "settings.json"))
    try:
        data = claude_settings.checked(files.read_bytes(path).decode("utf-8")) if path.exists() else {}
    except (ForgeError, OSError, ValueError) as error:
        yield finding("warn", "hooks", "settings_broken", path=path, reason=getattr(error, "what", error))
        return
    if data.get("disableAllHooks"):
        yield finding("warn", "hooks", "all_disabled", path=path)
    hooks = data.get("hooks") or {}
    expected = {event for event, _, _ in claude_settings.EVENTS} if mark.get("hooks") else set()
    present: dict[str, list[Mapping[str, Any]]] = {}
    for event, groups in hooks.items():
        lists = [group.get("hooks") or [] for group in groups if isinstance(group, dict)]
        ours = [one for handlers in lists for one in handlers if claude_settings.is_ours(one)]
        if ours:
            present[event] = ours
    for event in sorted(expected - set(present)):
        yield finding("warn", "hooks", "hook_missing", event=event, path=path)
    for event, ours in sorted(present.items()):
        if len(ours) > 1:
            yield finding("warn", "hooks", "hook_twice", event=event, count=len(ours), path=path)
        yield from _stale_handler(event, ours[0], path)
    if not expected and present:
        yield finding("note", "hooks", "hooks_unrecorded", path=path)


def _stale_handler(event: str, handler: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    command, arguments = str(handler.get("command", "")), [str(one) for one in handler.get("args", [])]
    if not os.access(command, os.X_OK):
        yield finding("warn", "hooks", "hook_interpreter", event=event, command=command, path=path)
    if len(arguments) > 1 and not Path(arguments[-2], "hook.py").exists():
        yield finding("warn", "hooks", "hook_folder", event=event, folder=arguments[-2], path=path)


def _foreign(settings: list[Path]) -> Iterator[Finding]:
    """Hooks of others that answer permission requests, and rules that allow our confirm beforehand."""
    for path in settings:
        data = _json(path)
        for event in ("PermissionRequest",):
            for command in _commands(data, event):
                yield finding("warn", "foreign", "foreign_permission", path=path, command=command[:200])
        allow = (data.get("permissions") or {}).get("allow") if isinstance(data.get("permissions"), dict) else []
        for rule in allow if isinstance(allow, list) else []:
            if isinstance(rule, str) and "experience-forge" in rule and "confirm" in rule:
                yield finding("note", "foreign", "confirm_allowed", path=path, rule=rule)


def _commands(data: Mapping[str, Any], event: str) -> Iterator[str]:
    hooks = data.get("hooks")
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    for group in groups if isinstance(groups, list) else []:
        handlers = group.get("hooks") if isinstance(group, dict) else None
        for handler in handlers if isinstance(handlers, list) else []:
            if isinstance(handler, dict) and not claude_settings.is_ours(handler):
                words = [str(handler.get("command") or handler.get("url") or handler.get("type"))]
                yield " ".join([*words, *map(str, handler.get("args") or [])])


def _settings_files(installs: list[dict[str, Any]]) -> list[Path]:
    """Every settings and plugin hook file that the client would read here."""
    folder, here = Path(fast_home.client_folder()), Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd()) / ".claude"
    found = [folder / "settings.json", here / "settings.json", here / "settings.local.json"]
    found += [Path(str(one["settings"])) for one in installs if one.get("settings")]
    found += [Path("/etc/claude-code/managed-settings.json"),
              Path("/Library/Application Support/ClaudeCode/managed-settings.json")]  # fmt: skip
    found += sorted((folder / "plugins").glob("**/hooks/hooks.json"))[:200]
    found += sorted((folder / "skills").glob("*/hooks/hooks.json"))
    return list(dict.fromkeys(path for path in found if path.is_file()))


def _recent_records() -> Iterator[dict[str, Any]]:
    folder = Path(fast_home.client_folder()) / "projects"
    dated = sorted(((path.stat().st_mtime, path) for path in folder.glob("*/*.jsonl")), reverse=True)
    for _, path in dated[:SESSIONS_READ]:
        try:
            with path.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - TAIL_BYTES))
                data = file.read()
        except OSError:
            continue
        for line in data.split(b"\n"):
            if b"hook" in line.lower() and (record := json_lines.record_of(line)) is not None:
                yield record


def _runs_in(record: Mapping[str, Any]) -> Iterator[Fired]:
    at = str(record.get("timestamp") or "")
    if record.get("subtype") == "stop_hook_summary":
        for info in record.get("hookInfos") or []:
            if isinstance(info, dict) and claude_settings.ANY_MARK in str(info.get("command")):
                yield Fired("Stop", at, int(info.get("durationMs") or 0), bool(record.get("hookErrors")))
    attached = record.get("attachment")
    if isinstance(attached, dict) and claude_settings.ANY_MARK in str(attached.get("command")):
        failed = bool(attached.get("exitCode")) or "error" in str(attached.get("type"))
        yield Fired(str(attached.get("hookEvent") or "?"), at, int(attached.get("durationMs") or 0), failed)


def projections(home: Home) -> list[Finding]:
    """Files and blocks of ours that somebody edited, or that could not be written."""
    from . import claude_code

    found = []
    for change in claude_code.plan(home):
        if change.note:
            values = {"path": str(change.path), "note": change.note}
            if change.theirs:
                values["difference"] = short_diff(change.ours, change.theirs)
            found.append(Finding("warn", "projections", _noted(change.note), values))
        elif change.pending and not _takes_writes(change.path):
            found.append(finding("warn", "projections", "projection_blocked", path=change.path))
        elif change.pending:
            found.append(finding("note", "projections", "projection_behind", repair=True, path=change.path))
    shown = [path for install in claude_files.installs(home) for path in claude_files.ours(install.client_folder)]
    return [*found, finding("ok", "projections", "projections", count=len(shown))]


def _noted(note: str) -> str:
    """The message of a note: of what was edited by hand it says the way out."""
    if note == claude_files.EDITED:
        return "projection_edited_file"
    return "projection_edited_block" if note.startswith(claude_files.EDITED) else "projection_note"


def _takes_writes(path: Path) -> bool:
    """Whether a file can be made or changed there: no link that leads nowhere, nothing read-only."""
    if path.is_symlink() and not path.exists():
        return False
    place = path
    while not place.exists():
        place = place.parent
    return os.access(place, os.W_OK)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(files.read_text(path))
    except (OSError, ValueError, Refused, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
