"""What installing, looking ahead and uninstalling have in common."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..clients import claude_settings
from ..clients.claude_settings import Edited, Trace
from ..errors import Refused
from ..store import files
from . import environment
from .target import Target
from .texts import Voice

LOCK_SECONDS = 900.0


def edit(text: str | None, wanted: claude_settings.Wanted, before: Trace | None) -> Edited | None:
    """The settings with what is wanted; None when there is neither a file nor anything to add."""
    if text is None:
        if not wanted.hooks and not wanted.rules:
            return None
        return claude_settings.add("{}\n", wanted, before or Trace(existed=False))
    return claude_settings.add(text, wanted, before)


def run_inside(target: Target, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the private environment's Python on this home."""
    variables = {**os.environ, "EXPERIENCE_FORGE_HOME": str(target.home)}
    return subprocess.run(
        [str(environment.python_of(target.venv)), "-I", "-X", "utf8", *arguments],
        capture_output=True, text=True, encoding="utf-8", errors="replace", env=variables,
        stdin=subprocess.DEVNULL, timeout=300, check=False,
    )  # fmt: skip


def write_launchers(texts: Mapping[Path, str]) -> None:
    """Write the commands that start the tool; unchanged bytes are not written."""
    for path, text in texts.items():
        data = text.encode("utf-8")
        if not path.is_file() or files.read_bytes(path) != data:
            files.write_whole(path, data, 0o700)


@contextmanager
def one_at_a_time(home: Path, voice: Voice) -> Iterator[None]:
    """The lock of the data home's installs; says so when another run holds it."""
    path = home / "install.lock"
    with ExitStack() as held:
        try:
            held.enter_context(files.locked(path, wait=0.2))
        except Refused:
            voice.talk("another_runs")
            held.enter_context(files.locked(path, wait=LOCK_SECONDS))
        yield


def sweep(settings: Path, skill: Path, client_folder: Path) -> None:
    """Remove what a killed run of ours had begun to write outside the data home: nobody else would."""
    for folder in (skill, client_folder / "rules" / "experience-forge"):
        if folder.is_dir():
            files.sweep_temps(folder)
    beside = Path(os.path.realpath(settings)).parent
    if beside.is_dir():
        files.sweep_temps(beside, below=False)


def kept_folder(home: Path) -> Path:
    """Where this run keeps what a person edited."""
    return home / "kept" / time.strftime("%Y%m%d-%H%M%S")


def hashes(install: Mapping[str, Any]) -> dict[str, str]:
    """The files that an install wrote, with the hash of each."""
    known = install.get("files")
    return {str(name): str(value) for name, value in known.items()} if isinstance(known, dict) else {}
