"""Puts the skill of this working tree into a lab, with hooks, as an installation would."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from .lab import REPOSITORY, Lab

PARTS = ("SKILL.md", "templates.md", "scripts", "rules")
HARMLESS = ("draft", "show", "list", "score", "status")
"""Verbs that the installer offers a permission rule for; a copy until install.py is used here."""
GUARDED_START = (
    "import sys\nsys.path.insert(0,sys.argv[1])\n"
    "try:\n import hook; hook.main()\nexcept BaseException: pass\nsys.exit(0)"
)
EVENTS = {
    "SessionStart": "", "UserPromptSubmit": "", "PreToolUse": "Bash|Edit|Write|NotebookEdit",
    "PostToolBatch": "", "Stop": "", "SessionEnd": "",
}  # fmt: skip


@dataclass(frozen=True)
class Installed:
    """Where things are in the lab."""

    skill: Path
    home: Path
    launcher: Path


def lay_out(lab: Lab, hooks: bool = True) -> Installed:
    """Copy the skill, write record, launcher and settings; the data home is the default one."""
    skill = lab.home / ".claude" / "skills" / "experience-forge"
    home = lab.home / ".local" / "share" / "experience-forge"
    for name in PARTS:
        source, target = REPOSITORY / name, skill / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    launcher = home / "bin" / "experience-forge"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{skill}/scripts/forge.py" "$@"\n', encoding="utf-8"
    )
    os.chmod(launcher, 0o700)
    record = {
        "version": "0.1.0", "home": str(home), "python": sys.executable, "hooks": hooks,
        "client_version": "2.1.332", "launcher": str(launcher),
    }  # fmt: skip
    (skill / ".installed.json").write_text(json.dumps(record), encoding="utf-8")
    install = {"client_folder": str(lab.home / ".claude"), "skill_folder": str(skill), "hooks": hooks,
               "python": sys.executable}  # fmt: skip
    (home / "install.json").write_text(json.dumps({"installs": [install]}), encoding="utf-8")
    rules = [f"Bash({launcher} {verb} *)" for verb in HARMLESS]
    lab.settings(lambda data: data.setdefault("permissions", {}).setdefault("allow", []).extend(rules))
    if hooks:
        for event, matcher in EVENTS.items():
            add_hook(lab, event, matcher, sys.executable, [
                "-I", "-S", "-c", GUARDED_START, str(skill / "scripts"), event])  # fmt: skip
    return Installed(skill, home, launcher)


def add_hook(lab: Lab, event: str, matcher: str, command: str, arguments: list[str], timeout: int = 5) -> None:
    """Put one hook in exec form into the client's settings."""
    entry = {"type": "command", "command": command, "args": arguments, "timeout": timeout}
    group = {"matcher": matcher, "hooks": [entry]}
    lab.settings(lambda data: data.setdefault("hooks", {}).setdefault(event, []).append(group))
