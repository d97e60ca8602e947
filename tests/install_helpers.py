"""Runs install.py as a user would, in a throw-away home with a ready-made environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from experience_forge.installer import environment, machine

ROOT = Path(__file__).resolve().parent.parent


class Machine:
    """One throw-away machine: a home folder with a client folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / ".local" / "share" / "experience-forge"
        self.client_folder = home / ".claude"
        self.settings = self.client_folder / "settings.json"
        self.skill = self.client_folder / "skills" / "experience-forge"
        self.launcher = self.data / "bin" / "experience-forge"
        self.extra = {}
        self.client_folder.mkdir(parents=True, exist_ok=True)

    def environ(self):
        kept = {name: os.environ[name] for name in os.environ if not name.startswith(("CLAUDE", "EXPERIENCE"))}
        path = os.pathsep.join(["/usr/bin", "/bin"])
        return {**kept, "HOME": str(self.home), "USERPROFILE": str(self.home), "PATH": path, **self.extra}

    def run(self, *arguments, python=sys.executable, source=ROOT, **options):
        """Run install.py without a terminal."""
        return subprocess.run(
            [str(python), str(Path(source) / "install.py"), *arguments], capture_output=True, text=True,
            encoding="utf-8", env=self.environ(), stdin=subprocess.DEVNULL, timeout=300, check=False, **options,
        )  # fmt: skip

    def command(self, *arguments):
        """Run the installed command."""
        return subprocess.run(
            [str(self.launcher), *arguments], capture_output=True, text=True, encoding="utf-8",
            env=self.environ(), stdin=subprocess.DEVNULL, timeout=120, check=False,
        )  # fmt: skip

    def ready_environment(self, requirements=ROOT / "requirements.txt"):
        """Put the test environment in place of the private one: making it takes ten seconds."""
        python = environment.python_of(self.data / "venv")
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        stamp = environment._stamp(machine.base_python(), requirements)
        (self.data / "venv" / environment.STAMP).write_text(json.dumps(stamp), encoding="utf-8")

    def client(self, version):
        """Put a client of that version on the PATH."""
        program = self.home / ".local" / "bin" / "claude"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n", encoding="utf-8")
        program.chmod(0o755)

    def mark(self):
        return json.loads((self.skill / ".installed.json").read_text(encoding="utf-8"))

    def installs(self):
        return json.loads((self.data / "install.json").read_text(encoding="utf-8"))["installs"]

    def snapshot(self, folder=None):
        """Bytes of every file, but for caches and logs."""
        top = folder or self.home
        return {
            path.relative_to(top).as_posix(): path.read_bytes()
            for path in sorted(top.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts and "venv" not in path.parts
            and path.suffix != ".lock" and "logs" not in path.parts and "derived" not in path.parts
        }  # fmt: skip
