"""What is derived from the entries, in `derived/`: rebuilt at will, never backed up."""

from __future__ import annotations

import json
from typing import Any

from ..errors import Refused
from . import compiled_rules, config, entries, files, measure_rules, recall_index
from .entries import StoredEntry
from .home import Home
from .library import Applied

SETTINGS = "settings.json"
EDITED = "edited.tsv"
"""Entries that the index leaves out for their bytes: the next session says so."""


def rebuild(home: Home) -> dict[str, Any]:
    """Make everything anew; returns counts for a report.

    Raises:
        Refused: when it can't be written.
    """
    library = entries.load_all(home)
    with files.locked(home.lock):
        recall_index.build(home, library)
        compile_settings(home)
        lines = [f"{one.entry.id}\tentries/{one.key}\t{one.confirmed.sha256}\n"
                 for one in library.entries if one.state == "edited" and one.confirmed]
        files.write_text(home.derived / EDITED, "".join(lines))
    return {"entries": len(library.entries), "unreadable": len(library.unreadable)}


def update(home: Home, applied: Applied) -> None:
    """Bring the derived data up to date after one change, without reading every entry anew."""
    changed, removed = _touched(home, applied)
    with files.locked(home.lock):
        try:
            recall_index.update(home, changed, removed)
        except LookupError:
            recall_index.build(home, entries.load_all(home))
        compile_settings(home)


def _touched(home: Home, applied: Applied) -> tuple[list[StoredEntry], list[str]]:
    """The entries that a change left, and the ids that it took away; a moved entry is only the first."""
    keys = [(write.key, write.text) for write in applied.change.writes if not write.key.startswith("@")]
    changed = [entries.read_key(home, key) for key, text in keys if text is not None]
    left = {stored.entry.id for stored in changed}
    gone = [key.rpartition("/")[2].removesuffix(".md") for key, text in keys if text is None]
    return changed, [entry_id for entry_id in gone if entry_id not in left]


def settings_behind(home: Home) -> bool:
    """Whether config.yaml says something else than what hooks were given of it; false when they were given nothing.

    Raises:
        Invalid: when config.yaml does not hold.
    """
    try:
        compiled = json.loads(files.read_text(home.derived / SETTINGS))
    except FileNotFoundError:
        return False
    except (Refused, ValueError):
        return True
    # Through JSON, so that what YAML calls a date is compared in the form that it was written in.
    return bool(compiled != json.loads(json.dumps(config.load(), default=str)))


def renew_settings(home: Home) -> None:
    """Give hooks the settings of config.yaml as they are now."""
    with files.locked(home.lock):
        recall_index.rewrite_settings(home)
        compile_settings(home)


def compile_settings(home: Home) -> None:
    """Settings and rules as JSON for hooks, which read no YAML."""
    files.make_folder(home.derived)
    files.write_text(home.derived / SETTINGS, json.dumps(config.load(), ensure_ascii=False, default=str))
    compiled_rules.build(home)
    measure_rules.build(home)
