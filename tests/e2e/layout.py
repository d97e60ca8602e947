"""Installs the skill of this working tree into a lab, by `install.py`, as a user would."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .lab import REPOSITORY, Lab

STAMP = "experience-forge.json"
KEPT_ENVIRONMENT = Path(sys.prefix) / "lab-venv"
"""The private environment of the first lab, lent to the later ones: making it takes half a minute."""


@dataclass(frozen=True)
class Installed:
    """Where things are in the lab."""

    skill: Path
    home: Path
    launcher: Path


def lay_out(lab: Lab, hooks: bool = True, *options: str) -> Installed:
    """Install into the lab, the data home at its default place; fails with what install.py said."""
    home = lab.home / ".local" / "share" / "experience-forge"
    _lend_environment(home / "venv")
    command = [sys.executable, str(REPOSITORY / "install.py"), "--yes", "--no-scan"]
    done = run_installer(lab, [*command, "--hooks" if hooks else "--no-hooks", *options])
    assert done.returncode == 0, done.stdout + done.stderr
    _keep_environment(home / "venv")
    skill = lab.home / ".claude" / "skills" / "experience-forge"
    record = json.loads((skill / ".installed.json").read_text(encoding="utf-8"))
    return Installed(skill, Path(record["home"]), Path(record["launcher"]))


def run_installer(lab: Lab, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command of the installer as the user of the lab, the lab's client on the path."""
    programs = lab.root / "bin"
    programs.mkdir(exist_ok=True)
    if not (programs / "claude").exists():
        (programs / "claude").symlink_to(lab.client)
    environment = lab.process_environment("http://127.0.0.1:9")
    environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        command, env=environment, cwd=lab.root, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
        check=False, timeout=900,
    )  # fmt: skip


def _lend_environment(venv: Path) -> None:
    try:
        stamp = json.loads((KEPT_ENVIRONMENT / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    wanted = hashlib.sha256((REPOSITORY / "requirements.txt").read_bytes()).hexdigest()
    if stamp.get("requirements") != wanted:
        shutil.rmtree(KEPT_ENVIRONMENT)
        return
    venv.parent.mkdir(parents=True, exist_ok=True)
    venv.symlink_to(KEPT_ENVIRONMENT)


def _keep_environment(venv: Path) -> None:
    if venv.is_symlink() or sys.prefix == sys.base_prefix:
        return
    try:
        venv.rename(KEPT_ENVIRONMENT)
    except OSError:
        return  # another run was first, or it is another disk: this lab keeps its own
    venv.symlink_to(KEPT_ENVIRONMENT)
