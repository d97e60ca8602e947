"""The line that asks for consent, `<launcher> confirm <id> --digest <64 hex>`: written and read only here."""

import json
import os
import re

from .home import RECORD

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

SKILL = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
"""The folder of SKILL.md when this is an installed copy."""

ID = "[a-z0-9][a-z0-9-]{0,63}"
DIGEST = "[0-9a-f]{64}"
RECEIPT = "[0-9a-f]{32}"
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def installed(folder: str = SKILL) -> "dict[str, Any] | None":
    """The record that the installer left in a skill folder, or None."""
    try:
        with open(os.path.join(folder, RECORD), "rb") as file:
            record = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def quote(text: str) -> str:
    """The text as one word of a shell, as `shlex.quote` writes it."""
    if _PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def write(launcher: str, proposal: str, digest: str) -> str:
    """The whole line."""
    return "%s confirm %s --digest %s" % (quote(launcher), proposal, digest)


def read(launcher: str, command: str) -> tuple[str, str] | None:
    """`(id, digest)` when the command is exactly such a line, else None."""
    pattern = "%s confirm (%s) --digest (%s)" % (re.escape(quote(launcher)), ID, DIGEST)
    match = re.fullmatch(pattern, command)
    return (match.group(1), match.group(2)) if match else None


def mentions(launcher: str, command: str) -> bool:
    """Whether the command has to do with confirming at all; a cheap look for every Bash call."""
    if "confirm" not in command or ("--digest" not in command and "--receipt" not in command):
        return False
    name = os.path.basename(launcher.replace("\\", "/"))
    return name in command or "experience-forge" in command or "forge.py" in command
