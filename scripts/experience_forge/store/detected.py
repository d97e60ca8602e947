"""Which detector stood behind the signals that a draft names, so that decisions can be counted for it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.scoring import family
from ..errors import ForgeError
from ..model import Signal
from . import client_record, session_signals


def named(signals: Iterable[Mapping[str, Any]], session: str) -> list[dict[str, Any]]:
    """The signals of a draft, each with the detector that found its kind in the session.

    One that names a detector keeps it; one of a kind that no detector found there stays without: the
    model saw it alone. Of several the one with the same turn counts, else the strongest.

    Args:
        session: id of the session that the draft comes from; empty when none is known.
    """
    given = [dict(signal) for signal in signals]
    if not session or all(signal.get("detector") for signal in given):
        return given
    found = _found(session)
    for signal in given:
        same = [one for one in found if one.kind.value == signal.get("kind")]
        if same and not signal.get("detector"):
            turn = str(signal.get("turn", ""))
            best = max(same, key=lambda one: (str(one.turn) == turn, one.weight, -one.turn))
            signal["detector"] = family(best.detector)
    return given


def _found(session: str) -> Sequence[Signal]:
    path = next(iter(client_record.records(session)), None)
    try:
        return _of_file(path, path.stat().st_mtime_ns) if path else ()
    except (ForgeError, OSError):
        return ()


@functools.lru_cache(maxsize=4)
def _of_file(path: Path, stamp: int) -> tuple[Signal, ...]:
    return session_signals.of_file(path).signals
