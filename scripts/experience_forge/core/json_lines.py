"""Files of JSON lines: one record a line, and a line that holds none is passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def objects(text: str | bytes) -> Iterator[dict[str, Any]]:
    """The records of a text of JSON lines, in their order.

    Only a newline ends a line: `splitlines` would also cut at U+2028 and its like, which JSON allows in a string.
    """
    for line in text.split("\n") if isinstance(text, str) else text.split(b"\n"):
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(item, dict):
            yield item
