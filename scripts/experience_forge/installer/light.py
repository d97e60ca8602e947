"""Many files at once: written without flushing each, flushed together before anything counts on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from ..store import files


@contextmanager
def writes(flush: bool = True) -> Iterator[None]:
    """Within it, `store.files` does not flush single files; hundreds of flushes take a minute on a busy disk.

    Args:
        flush: flush everything at the end, where the system can (else nothing changes: each file is flushed).
    """
    if flush and not hasattr(os, "sync"):
        yield
        return
    before = files.set_calls(files.Calls)
    names = [name for name in dir(files.Calls) if not name.startswith("_")]
    light = SimpleNamespace(**{name: getattr(before, name) for name in names})
    light.fsync = lambda descriptor: None
    files.set_calls(light)
    try:
        yield
    finally:
        files.set_calls(before)
    if flush:
        os.sync()
