"""How this tool is called: the full path that prompts, permission rules and the consent gate agree on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..fast import confirm_line
from ..fast import home as fast_home
from .home import Home, skill_folder


def record() -> dict[str, object]:
    """The record of installation that counts here; empty when nothing is installed.

    The copy that runs is asked first, then the skill folder of the client.
    """
    own = confirm_line.installed(str(skill_folder()))
    installed = Path(fast_home.client_folder(), "skills", "experience-forge")
    return own or confirm_line.installed(str(installed)) or {}


def hooks_wired() -> bool:
    """Whether hooks act here: wired by the copy that runs, by the user's own install, or by this project's."""
    here = Path(os.environ.get("CLAUDE_PROJECT_DIR") or os.curdir, ".claude")
    folders = [skill_folder(), *(Path(one, "skills", "experience-forge") for one in (fast_home.client_folder(), here))]
    return any((confirm_line.installed(str(one)) or {}).get("hooks") for one in folders)


def launcher(home: Home) -> str:
    """The full path of the command line: as installed, else this copy's own script."""
    known = record().get("launcher")
    if known:
        return str(known)
    for name in ("experience-forge", "experience-forge.cmd"):
        path = home.root / "bin" / name
        if path.exists():
            return str(path)
    script = skill_folder() / "scripts" / "forge.py"
    # From a wheel there is no script beside the data: its console command is next to the interpreter.
    return str(script if script.exists() else Path(sys.executable).parent / "experience-forge")


def confirm_command(home: Home, proposal_id: str, digest: str) -> str:
    """The exact line that asks for consent to one proposal; the gate compares it to the letter."""
    return str(confirm_line.write(launcher(home), proposal_id, digest))
