"""Whether what an entry stands on holds where a command runs, as hooks would find it here."""

from __future__ import annotations

from . import freshness, journal, projects
from .home import Home


def state(home: Home, entry_id: str, kind: str, project: str) -> dict[str, str]:
    """`state`, `reason`, `detail` and `delivery` of an entry (see `fast.freshness.check`).

    Args:
        project: id of the entry's project, or empty: an entry of another project is looked at in that one's folder.
    """
    here = projects.current(home)
    root, name = here.root, here.id
    if project and project not in here.ids:
        root, name = next(((one.root, project) for one in projects.all(home) if project in one.ids), ("", project))
    found = freshness.check(home, entry_id, kind, root, journal.now()[:10], name)
    return dict(zip(("state", "reason", "detail", "delivery"), found, strict=True))


def told(found: dict[str, str]) -> str:
    """Name of the message that says what does not hold; empty when nothing is to be said."""
    if found["state"] != "drifted":
        return ""
    return "effect.freshness_overdue" if found["reason"] == "review" else "effect.freshness_drifted"
