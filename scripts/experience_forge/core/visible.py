"""Text made safe to look at; the one copy lives in `fast`, for the consent hook needs it too."""

from __future__ import annotations

from ..fast.visible import escape, rows, width

__all__ = ["escape", "rows", "width"]
