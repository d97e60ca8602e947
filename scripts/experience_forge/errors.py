"""Error classes with the exit codes of the command line.

An expected failure says what happened, where, and what to do. Everything that is not a
`ForgeError` is a bug: the boundary in `cli` logs it and exits with 3.
"""

from __future__ import annotations

from collections.abc import Sequence

EXIT_DONE = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_NEEDS_CONSENT = 4
EXIT_INVALID = 5
EXIT_INTERRUPTED = 130


class ForgeError(Exception):
    """An expected failure.

    Args:
        what: one sentence, what happened and where.
        hint: one sentence, what the user can do; may be empty.
        faults: further faults of the same input, one line each.
    """

    exit_code = EXIT_REFUSED

    def __init__(self, what: str, hint: str = "", faults: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.faults = tuple(faults)


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
