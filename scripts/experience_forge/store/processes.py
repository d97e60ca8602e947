"""Processes that share one piece of work, and end with it."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

MOST = 4
"""Processes at most: somebody waits, but the machine is theirs, and each takes 26 MB."""


def cores() -> int:
    """Processes to share work with: as many as this process may use cores, and not more than `MOST`."""
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(MOST, count)


def spread(
    function: Callable[..., Result], *given: Iterable[Any], count: int, forked: bool = False, each: int = 1
) -> Iterator[Result]:
    """`map(function, *given)` in `count` processes, which end with this one.

    Args:
        forked: the processes know all that this one knows (Linux alone: elsewhere forks are not safe).
        each: how many calls a process is given at once.
    """
    context = multiprocessing.get_context("fork") if forked else None
    with ProcessPoolExecutor(count, context, initializer=_begin) as pool:
        # One that came while a process is made would be lost, or told by a half-made process.
        with _interrupts_held():
            results = pool.map(function, *given, chunksize=each)
        yield from results


def _begin() -> None:
    # What they make points in no circles; looking for circles takes a twentieth of the time.
    gc.disable()
    # An interrupt is told by the process that began them, and not once more by each of them.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _mask(free=True)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    _mask(free=False)
    try:
        yield
    finally:
        _mask(free=True)


def _mask(*, free: bool) -> None:
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK if free else signal.SIG_BLOCK, {signal.SIGINT})
