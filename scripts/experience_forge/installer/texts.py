"""Texts of the installer: `rules/messages/install.yaml`, read without a YAML library.

Each line of that file is `name: {"en": "...", "zh": "..."}`, which is YAML and, behind the colon, JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from ..core import layout
from ..store import files
from ..wording import filled


class Voice:
    """Says things in the user's language.

    Args:
        rules: the folder `rules/` of the skill.
        environ: decides the language by its locale variables.
    """

    def __init__(self, rules: Path, environ: Mapping[str, str] = os.environ) -> None:
        self.language = language(environ)
        self._texts: dict[str, dict[str, str]] = {}
        for line in files.read_text(rules / "messages" / "install.yaml").splitlines():
            name, colon, value = line.partition(": ")
            if colon and value.startswith("{"):
                self._texts[name] = json.loads(value)

    def text(self, name: str, /, **values: object) -> str:
        """One text with its fields filled in."""
        return filled(self._texts[name][self.language], values)

    def line(self, name: str, /, **values: object) -> None:
        """A line of result."""
        print(self._fitted(sys.stdout, name, **values), flush=True)

    def talk(self, name: str, /, **values: object) -> None:
        """A line of talk, on stderr."""
        print(self._fitted(sys.stderr, name, **values), file=sys.stderr, flush=True)

    def _fitted(self, stream: TextIO, name: str, /, **values: object) -> str:
        """One text as it fits the terminal, if there is one."""
        text = self.text(name, **values)
        if not stream.isatty():
            return text
        width = shutil.get_terminal_size((80, 24)).columns
        return "\n".join(row for line in text.split("\n") for row in layout.paragraph(line, width))

    def ask(self, name: str, /, **values: object) -> str | None:
        """One line of a person's answer in lower case; None without a terminal."""
        if not can_ask():
            return None
        sys.stderr.write(self.text(name, **values))
        sys.stderr.flush()
        answer = sys.stdin.readline()
        return answer.strip().lower() if answer else None


def can_ask() -> bool:
    """Whether a person can answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def language(environ: Mapping[str, str]) -> str:
    """`zh` or `en` by the locale; the first variable that is set decides."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = environ.get(name)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
