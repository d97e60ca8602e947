"""Reads what a person hands to a command by its path: a file, or what a shell makes of `<(...)`."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import Invalid, Refused, Text
from . import files

LIMIT = 64 * 1024 * 1024
"""Bytes that are read at most."""


def data(source: str, hint: str = "errors.check_path_stdin") -> bytes:
    """Bytes of the file or pipe at a path.

    Args:
        hint: id of the text that says what to give instead.

    Raises:
        Refused: when there is nothing, it is a folder, larger than `LIMIT`, or can't be read.
    """
    path = Path(source)
    if path.is_dir():
        raise Refused(Text("errors.not_a_file", path=path), Text(hint))
    try:
        if not path.exists() or path.is_file():
            return files.read_bytes(path, LIMIT)
        return _streamed(path)
    except FileNotFoundError:
        raise Refused(Text("errors.no_file", path=path), Text(hint)) from None


def text(source: str, hint: str = "errors.check_path_stdin") -> str:
    """UTF-8 text, a byte order mark taken off; errors as `data`.

    Raises:
        Invalid: when it is no text: not UTF-8, or with NUL bytes.
    """
    try:
        found = data(source, hint).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = Text("errors_store.not_utf8", path=source, byte=error.start)
        raise Invalid(what, Text("errors_store.save_utf8_again")) from error
    if "\0" in found:
        raise Invalid(Text("errors_store.nul_bytes", path=source), Text("errors_store.save_utf8_again"))
    return found


def _streamed(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            found = stream.read(LIMIT + 1)
    except OSError as error:
        cause = error.strerror or os.strerror(error.errno or 0)
        raise Refused(Text("errors.field_reason", field=path, reason=cause), Text("errors.check_path_stdin")) from error
    if len(found) > LIMIT:
        raise Refused(
            Text("errors_store.too_large", path=path, size=len(found), limit=LIMIT), Text("errors_store.make_smaller")
        )
    return found
