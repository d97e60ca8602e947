"""SessionStart: one sentence to the user about entries whose files were changed since they were confirmed."""

from . import lookup, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

MOST = 200
"""So many entries are read at a start, the newest first; a larger library is read by `doctor`."""
NAMED = 5
TOLD = "told-edited.txt"


def text(recall: "Any") -> str:
    """The sentence, once for the same bytes; empty when there is nothing new to say."""
    known = system.read(lookup.path_of(recall.home, TOLD)) or b""
    found = []
    for name, path, confirmed in _entries(recall):
        data = system.read(system.join(recall.home, *path.split("/")))
        if data is None:
            continue
        digest = system.sha256(data)
        mark = ("%s %s\n" % (name, digest)).encode()
        if digest != confirmed and b"\n" + mark not in b"\n" + known:
            found.append((name, mark))
    frames = recall.settings.get("frames") or {}
    if not found or not frames:
        return ""
    from . import dialog

    said = frames.get(dialog.user_language(recall.home, recall.context.environ)) or {}
    ids = ", ".join("[%s]" % name for name, _ in found[:NAMED]) + (" …" if len(found) > NAMED else "")
    # What is not recorded is not said: it would come again in every session.
    system.append(lookup.path_of(recall.home, TOLD), b"".join(mark for _, mark in found))
    return str(said.get("edited", "")).replace("{ids}", ids)


def _entries(recall: "Any") -> "list[tuple[str, str, str]]":
    """Id, path and confirmed hash of the newest entries, and of those that an index left out as edited."""
    rows = recall.database().execute(
        "SELECT id, path, sha256 FROM entries ORDER BY updated DESC LIMIT ?", (MOST,)).fetchall()
    data = system.read_text(lookup.path_of(recall.home, "edited.tsv")) or ""
    left_out = [tuple(line.split("\t")) for line in data.splitlines()]
    return [*rows, *(one for one in left_out if len(one) == 3)]
