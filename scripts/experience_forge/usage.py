"""Wrong command lines, told in our own words and the user's language: for `experience-forge` and install.py."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from typing import Any, NoReturn

from .errors import Text, Usage, told


def positive(text: str) -> int:
    """A whole number from 1 on, as the type of an argument.

    Raises:
        ArgumentTypeError: for anything else.
    """
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(told(Text("errors.usage_positive", value=text)))
    return int(text)


def date(text: str) -> str:
    """An ISO date, as the type of an argument.

    Raises:
        ArgumentTypeError: for anything else.
    """
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(told(Text("errors.usage_date", value=text))) from None


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours: what, a hint, and JSON where it was asked for; and whose help is."""

    def format_help(self) -> str:
        """The help in the user's language, as wide as the terminal."""
        from . import helping

        return helping.page(self, helping.saying())

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help; argparse's own way passes over what can't be written."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Raise the fault instead of leaving the process."""
        ours = (_usage(key, found) for form, key in USAGE if (found := re.fullmatch(form, message)))
        told: Text | str = next(ours, message)
        verb = self.prog.partition(" ")[2]
        what = Text("errors.usage", verb=verb, fault=told) if verb else told
        raise Usage(what, Text("errors.see", command=f"{self.prog} --help"))


USAGE = (
    (r"the following arguments are required: (.+)", "required"),
    (r"unrecognized arguments: (.+)", "unrecognized"),
    (r"argument (.+?): invalid choice: (.+?) \(choose from (.+)\)", "choice"),
    (r"argument (.+?): invalid (\w+) value: (.+)", "value"),
    (r"argument (.+?): expected one argument", "expected_one"),
    (r"argument (.+?): expected at least one argument", "expected_some"),
    (r"argument (.+?): expected (\d+) arguments?", "expected_count"),
    (r"argument (.+?): not allowed with argument (.+)", "not_with"),
    (r"argument (.+?): ignored explicit argument (.+)", "takes_none"),
    (r"one of the arguments (.+) is required", "one_required"),
    (r"argument (.+?): (.+)", "own"),
)
"""What argparse says of a wrong command line, and the sentence of ours that says the same; else its own stays."""


def _usage(key: str, found: re.Match[str]) -> Text:
    return Text(f"errors.usage_{key}", **dict(zip(("name", "value", "names"), found.groups(), strict=False)))
