"""Files of JSON lines: one record a line, and a line that holds none is passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def objects(text: str | bytes) -> Iterator[dict[str, Any]]:
    """The records of a text of JSON lines, in their order.

    Only a newline ends a line: `splitlines` would also cut at U+2028 and its like, which JSON allows in a string.
    """
    lines = text.split("\n") if isinstance(text, str) else text.split(b"\n")
    return (record for line in lines if (record := record_of(line)) is not None)


def record_of(line: str | bytes) -> dict[str, Any] | None:
    """The record of one line; None when it holds none."""
    try:
        # Bytes are UTF-8: left to itself, `json` would also guess at UTF-16.
        item = json.loads(line if isinstance(line, str) else line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) else None
