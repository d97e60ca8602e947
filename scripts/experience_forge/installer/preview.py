"""What an install would change, told before anything is written."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..clients import claude_settings
from ..clients.claude_settings import Trace
from ..errors import ForgeError
from ..fast.home import RECORD
from ..store import files, installs
from . import environment, skill
from .steps import edit, hashes, run_inside
from .target import Target
from .texts import Voice

PLAN = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from experience_forge.clients import claude_code as client\nfrom experience_forge.store import home\n"
    "print(''.join(client.diff(one.path, one.before, one.after) for one in client.plan(home.current())))"
)


def preview(target: Target, voice: Voice, verbose: bool = False) -> str:
    """What an install would change, as diffs; whole new files of the skill by number, or `verbose` each by name."""
    before = installs.of(target.home, target.skill)
    lines: list[str] = []
    if not environment.is_current(target.venv, target.base, target.requirements):
        lines.append(voice.text("would_make", path=target.venv))
    if not skill.check_target(target.source, target.skill, hashes(before), target.launcher):
        changes = skill.changes(target.source, target.skill, target.launcher)
        lines += _new_files(target, [one for one in changes if one.old is None], voice, verbose)
        lines += [diff(one.target, _decoded(one.old), _decoded(one.new)) for one in changes if one.old is not None]
    for path, text in target.launchers().items():
        lines.append(diff(path, _decoded(files.read_bytes(path)) if path.is_file() else "", text))
    old_mark = installs.mark(target.skill)
    old_text = installs.dumped(old_mark) if old_mark else ""
    lines.append(diff(target.skill / RECORD, old_text, installs.dumped(target.mark())))
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
        name = "settings_left_alone_hooks" if target.hooks else "settings_left_alone"
        left = voice.text(name, path=target.settings, reason=error.what)
        return left + "\n" + target.wanted().snippet()
    return diff(target.settings, old or "", edited.text if edited else old or "")


def _projection_diff(target: Target, voice: Voice) -> str:
    """The rule files as a diff; they can be rendered only where the private environment is there already."""
    if target.given_elsewhere:
        return ""
    if installs.mark(target.skill) and environment.is_current(target.venv, target.base, target.requirements):
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


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
