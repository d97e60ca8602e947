"""Which of a client's tools change files."""

from __future__ import annotations

from ..model import Event

EDITS = frozenset(
    {
        "Edit",
        "Write",
        "MultiEdit",
        "NotebookEdit",
        "Update",
        "Create",
        "ApplyPatch",
        "apply_patch",
        "str_replace_editor",
    }
)


def is_edit(event: Event) -> bool:
    """Whether an event is the call of a tool that changes a file."""
    return event.tool in EDITS and bool(event.path)
