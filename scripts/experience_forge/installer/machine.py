"""What this machine has: the base interpreter, what a private environment needs, the client."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CLIENT_SECONDS = 20


@dataclass(frozen=True)
class Client:
    """A Claude Code that was found; `version` is empty when it did not say one."""

    path: str
    version: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version for comparing, empty when unknown."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:3])


def base_python() -> str:
    """The interpreter behind this one: no virtual environment, no shim, links resolved.

    Hooks start it directly: a venv breaks when its base is upgraded, a pyenv shim costs 140 ms.
    """
    own = getattr(sys, "_base_executable", "") or sys.executable
    if sys.prefix != sys.base_prefix and os.path.realpath(own).startswith(os.path.realpath(sys.prefix) + os.sep):
        # A venv made by copying: look in the base's own folder.
        name = "python.exe" if os.name == "nt" else f"python{sys.version_info[0]}.{sys.version_info[1]}"
        for folder in (sys.base_prefix, os.path.join(sys.base_prefix, "bin")):
            if os.path.exists(os.path.join(folder, name)):
                own = os.path.join(folder, name)
    real = os.path.realpath(own)
    # Homebrew's Cellar paths hold the patch version and go with the next upgrade; its opt links stay.
    steady = re.sub(r"/Cellar/([^/]+)/[^/]+/", r"/opt/\1/", real)
    return steady if steady != real and os.path.exists(steady) else real


def missing_part() -> tuple[str, str] | None:
    """What is missing to make a private environment, and the one command that helps; None: nothing."""
    try:
        import venv  # noqa: F401
    except ImportError:
        return "venv", help_command()
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        return "ensurepip", help_command()
    return None


def help_command() -> str:
    """The one command that brings `venv` and `pip` on this system."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if os.path.exists("/etc/debian_version"):
        return f"sudo apt install python{version}-venv"
    if os.path.exists("/etc/fedora-release") or os.path.exists("/etc/redhat-release"):
        return f"sudo dnf install python{version} python{version}-pip"
    if os.path.exists("/etc/alpine-release"):
        return "apk add python3 py3-pip"
    if os.path.exists("/etc/SUSE-brand"):
        return f"sudo zypper install python{version.replace('.', '')}-pip"
    if sys.platform == "darwin":
        return "brew install python@3.12"
    if os.name == "nt":
        return "winget install Python.Python.3.12"
    return f"{sys.executable} -m ensurepip --upgrade"


def find_client() -> Client | None:
    """The Claude Code that a shell would start, else the usual places; None when there is none."""
    places = [shutil.which("claude") or ""]
    places += [str(Path.home() / part) for part in (".local/bin/claude", ".claude/local/claude")]
    for place in places:
        if place and os.path.exists(place):
            return Client(place, _version(place))
    return None


def _version(program: str) -> str:
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, encoding="utf-8", errors="replace",
            timeout=CLIENT_SECONDS, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.search(r"\d+\.\d+\.\d+", done.stdout)
    return match.group(0) if match else ""
