"""Error classes with the exit codes of the command line.

An expected failure says what happened, where, and what to do. Everything that is not a
`ForgeError` is a bug: the boundary in `cli` logs it and exits with 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import wording
from .wording import Text as Text
from .wording import told as told

EXIT_DONE = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_NEEDS_CONSENT = 4
EXIT_INVALID = 5
EXIT_INTERRUPTED = 130


class ForgeError(Exception):
    """An expected failure; `str` of it is the English sentence (logs), its parts speak the user's language.

    Args:
        what: one sentence, what happened and where.
        hint: one sentence, what the user can do; may be empty.
        faults: further faults of the same input, one line each.
    """

    exit_code = EXIT_REFUSED

    def __init__(self, what: Text | str, hint: Text | str = "", faults: Sequence[Text | str] = ()) -> None:
        super().__init__(what)
        self._hint = hint
        self._faults = tuple(faults)

    @property
    def text(self) -> Text | str:
        """What happened, to stand within another text."""
        text: Text | str = self.args[0]
        return text

    @property
    def what(self) -> str:
        """What happened and where."""
        return wording.shown(self.text, wording.spoken())

    @property
    def hint(self) -> str:
        """What the user can do; may be empty."""
        return wording.shown(self._hint, wording.spoken())

    @property
    def faults(self) -> tuple[str, ...]:
        """Further faults, one line each."""
        language = wording.spoken()
        return tuple(wording.shown(fault, language) for fault in self._faults)

    def __str__(self) -> str:
        """The English sentence."""
        return wording.shown(self.text, wording.ENGLISH)


class Refused(ForgeError):
    """The request was understood and can't be done (exit 1)."""


class Usage(ForgeError):
    """The command line is wrong (exit 2)."""

    exit_code = EXIT_USAGE


class NeedsConsent(ForgeError):
    """A person has to confirm first; the proposal is kept (exit 4)."""

    exit_code = EXIT_NEEDS_CONSENT


class Invalid(ForgeError):
    """Data that came in does not hold: all its faults are listed (exit 5)."""

    exit_code = EXIT_INVALID
