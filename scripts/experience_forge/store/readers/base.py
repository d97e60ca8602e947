"""What readers are given: see `core.lines`. A format's module needs nothing else of this package."""

from __future__ import annotations

from ...core.lines import Lines, Position

__all__ = ["HEAD_BYTES", "Lines", "Position"]

HEAD_BYTES = 65536
"""Bytes from the beginning of a file by which its format is known."""
