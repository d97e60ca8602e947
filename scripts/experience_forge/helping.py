"""Pages of help: in the user's language, in columns of a terminal's cells, wrapped as each language is.

English stands in the code, and is the key to its translation in `rules/help-<language>.yaml`; that file is read
when help is shown in that language, by the standard library alone, since install.py has nothing else.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterable

from . import wording
from .core import layout
from .core.layout import Say

WIDEST = 110
"""Columns above which help is hard to read, however wide the terminal is."""
FARTHEST = 24
"""The column at which the help of an argument begins, at the most: as argparse has it."""


def columns() -> int:
    """Columns that a page takes."""
    return min(WIDEST, shutil.get_terminal_size((80, 24)).columns) - 2


def saying() -> Say | None:
    """What translates a text of help for the user whose command runs, None for English.

    A text that has no translation stays English, and so does all of it where the file is damaged.
    """
    language = wording.spoken()
    if language == wording.ENGLISH:
        return None
    try:
        words = wording.phrases(f"help-{language}")
    except (OSError, ValueError):
        return None
    return lambda text: words.get(text, text)


def page(parser: argparse.ArgumentParser, say: Say | None) -> str:
    """The help of one parser, as `argparse` orders it."""
    told, width = say or str, columns()
    formatter = _Formatter(parser, told, width)
    parts = [formatter.usage(told("usage: ")), layout.help_text(parser.description or "", width, say)]
    sections = [(group.title or "", [formatter.row(action) for action in group._group_actions
                                     if action.help != argparse.SUPPRESS]) for group in parser._action_groups]
    names = [name for _, pairs in sections for name, _ in pairs]
    at = min(FARTHEST, max(map(layout.cells, names), default=0) + 4)
    parts += ["\n".join([told(f"{title}:"), *rows(pairs, at, width)]) for title, pairs in sections if pairs]
    parts.append(layout.help_text(re.sub(r"\n{3,}", "\n\n", parser.epilog or "").strip("\n"), width, say))
    return "\n\n".join(filter(None, parts)) + "\n"


def rows(pairs: Iterable[tuple[str, str]], at: int, width: int) -> list[str]:
    """Names with what they mean in the column `at`; below a name that reaches it."""
    lines = []
    for name, text in pairs:
        told = layout.wrapped(" ".join(text.split()), max(layout.LEAST, width - at)) if text else []
        if told and layout.cells(name) <= at - 4:
            lines.append(f"  {name}{' ' * (at - 2 - layout.cells(name))}{told.pop(0)}")
        else:
            lines.append(f"  {name}")
        lines += [" " * at + line for line in told]
    return lines


class _Formatter(argparse.HelpFormatter):
    """How argparse writes the usage, the names and the `%` fields; where they stand is decided above."""

    def __init__(self, parser: argparse.ArgumentParser, told: Say, width: int) -> None:
        super().__init__(parser.prog, width=width)
        self._parser, self._told = parser, told
        # Newer ones colour what they write; cells are counted without that.
        getattr(self, "_set_color", bool)(False)

    def usage(self, head: str) -> str:
        """The usage behind its head; argparse counts letters, so it is given as many as the head has cells."""
        size = layout.cells(head)
        self.add_usage(self._parser.usage, self._parser._actions, self._parser._mutually_exclusive_groups, "." * size)
        return head + self.format_help().rstrip("\n")[size:]

    def row(self, action: argparse.Action) -> tuple[str, str]:
        """The name of an argument, with its values, and what it means."""
        return self._format_action_invocation(action), self._expand_help(action) if action.help else ""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return self._told(action.help) if action.help else None
