"""Fault logs below `<home>/logs`, shown by doctor."""

from __future__ import annotations

import datetime
from pathlib import Path

from . import files
from .home import current


def fault(name: str, text: str) -> Path:
    """Append one fault to `<home>/logs/<name>.log`; returns the file.

    Raises:
        Refused: when it can't be written.
    """
    path = current().logs / f"{name}.log"
    stamp = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    files.append_line(path, f"{stamp} {text}")
    return path
