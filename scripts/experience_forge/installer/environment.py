"""The private environment `<home>/venv`: made aside, then put in place whole."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from ..errors import Refused, Text
from ..store import files
from . import light, machine, trees

STAMP = "experience-forge.json"
PACKAGES = "yaml, frontmatter, jinja2, rich"


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


def is_current(folder: Path, base: str, requirements: Path) -> bool:
    """Whether the environment is complete, of this base, with these packages, and runs."""
    try:
        stamp = json.loads(files.read_text(folder / STAMP))
    except (OSError, ValueError, Refused):
        return False
    return bool(stamp == _stamp(base, requirements)) and runs(python_of(folder))


def make(folder: Path, base: str, requirements: Path) -> None:
    """Make the environment with the pinned packages; an older one stays until the new one is whole.

    Raises:
        Refused: with the last words of venv or pip, and what helps.
    """
    files.make_folder(folder.parent)
    fresh = folder.with_name(f"{folder.name}.new")
    old = folder.with_name(f"{folder.name}.old")
    _clear(fresh, old)
    try:
        if not _with_pip_of(base, fresh, requirements):
            _clear(fresh)
            _with_own_pip(base, fresh, requirements)
        if not runs(python_of(fresh)):
            raise Refused(Text("errors_install.no_import"), Text("errors_install.other_python"))
        files.write_text(fresh / STAMP, json.dumps(_stamp(base, requirements)) + "\n")
        if folder.exists():
            files.move(folder, old)
        files.move(fresh, folder)
    finally:
        _clear(fresh, old)


def _with_pip_of(base: str, fresh: Path, requirements: Path) -> bool:
    """Let the base's pip fill an environment that has none, which takes half the time; false when it can't."""
    try:
        _run([base, "-I", "-m", "venv", "--without-pip", str(fresh)], "")
        # `--python` is known since pip 22.3.
        _run([base, "-I", "-m", "pip", "--python", str(python_of(fresh)), *_arguments(requirements)], "")
    except Refused:
        return False
    return True


def _with_own_pip(base: str, fresh: Path, requirements: Path) -> None:
    _run([base, "-I", "-m", "venv", str(fresh)], machine.help_command())
    hint = Text("errors_install.pip")
    _run([str(python_of(fresh)), "-I", "-m", "pip", *_arguments(requirements)], hint)


def _arguments(requirements: Path) -> list[str]:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    return ["install", *quiet, "--require-hashes", "-r", str(requirements)]


def _clear(*folders: Path) -> None:
    with light.writes(flush=False):
        for folder in folders:
            trees.remove(folder)


def _stamp(base: str, requirements: Path) -> dict[str, str]:
    return {"base": base, "requirements": files.sha256(files.read_bytes(requirements))}


def runs(python: Path) -> bool:
    """Whether an interpreter starts and has the packages."""
    if not python.exists():
        return False
    try:
        command = [str(python), "-I", "-c", f"import {PACKAGES}"]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _run(command: list[str], hint: Text | str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", env=environment,
            stdin=subprocess.DEVNULL, timeout=900, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise Refused(Text("errors_install.cant_run", command=command[0], cause=error), hint) from error
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith(("ERROR", "Error"))] or lines[-1:]
        raise Refused(Text("errors_install.no_environment", cause=" ".join(errors[:2])[:400]), hint)
