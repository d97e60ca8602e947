"""Where the data home is; the one copy of that rule, for hooks and commands alike."""

import os
import sys

RECORD = ".installed.json"
"""Name of the record that the installer leaves in the skill folder of a client."""


def default_home(environ: "dict[str, str]" = os.environ, platform: str = sys.platform) -> str:  # type: ignore[assignment]
    """The data home by DESIGN 4: own variable, XDG, platform default.

    A relative `XDG_DATA_HOME` is ignored, as its specification demands.
    """
    own = environ.get("EXPERIENCE_FORGE_HOME")
    if own:
        return os.path.abspath(os.path.expanduser(own))
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return os.path.join(base, "experience-forge")
    xdg = environ.get("XDG_DATA_HOME")
    if xdg and os.path.isabs(xdg):
        return os.path.join(xdg, "experience-forge")
    return os.path.join(os.path.expanduser("~"), ".local", "share", "experience-forge")


def client_folder(environ: "dict[str, str]" = os.environ) -> str:  # type: ignore[assignment]
    """The folder of Claude Code's own files: `CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    own = environ.get("CLAUDE_CONFIG_DIR")
    return os.path.abspath(os.path.expanduser(own)) if own else os.path.join(os.path.expanduser("~"), ".claude")
