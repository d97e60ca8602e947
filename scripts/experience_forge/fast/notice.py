"""SessionStart: one sentence to the user about entries, and files of ours, that were changed by hand since."""

from . import lookup, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

MOST = 200
"""So many entries are read at a start, the newest first; a larger library is read by `doctor`."""
NAMED = 5
TOLD = "told-edited.txt"


def text(recall: "Any") -> str:
    """A sentence about entries, one about files of ours, each once for the same bytes; empty when nothing is new."""
    known = b"\n" + (system.read(lookup.path_of(recall.home, TOLD)) or b"")
    frames = recall.settings.get("frames") or {}
    said, marks = [], []
    for frame, changed in (("edited", _entries(recall)), ("projected", _files(recall))):
        new = [(name, mark) for name, mark in changed if b"\n" + mark not in known]
        if new and frames:
            from . import dialog

            words = frames.get(dialog.user_language(recall.home, recall.context.environ)) or {}
            names = ", ".join(name for name, _ in new[:NAMED]) + (" …" if len(new) > NAMED else "")
            said.append(str(words.get(frame, "")).replace("{ids}", names))
            marks += [mark for _, mark in new]
    if marks:
        # What is not recorded is not said: it would come again in every session.
        system.append(lookup.path_of(recall.home, TOLD), b"".join(marks))
    return "\n".join(said)


def _entries(recall: "Any") -> "list[tuple[str, bytes]]":
    """The newest entries, and those that an index left out as edited, whose bytes are not the confirmed ones."""
    rows = recall.database().execute(
        "SELECT id, path, sha256 FROM entries ORDER BY updated DESC LIMIT ?", (MOST,)).fetchall()
    found = []
    for name, path, confirmed in [*rows, *_lines(recall, "edited.tsv")]:
        digest = _digest(system.join(recall.home, *path.split("/")))
        if digest not in ("", confirmed):
            found.append(("[%s]" % name, ("%s %s\n" % (name, digest)).encode()))
    return found


def _files(recall: "Any") -> "list[tuple[str, bytes]]":
    """Files and blocks that the client loads and somebody changed; a file that is gone is the user's affair."""
    found = []
    for path, written, mark in _lines(recall, "projected.tsv"):
        digest = _digest(path)
        if digest and (mark or digest != written):
            found.append((path, ("%s %s\n" % (path, mark or digest)).encode("utf-8", "replace")))
    return found


def _digest(path: str) -> str:
    data = system.read(path)
    return "" if data is None else system.sha256(data)


def _lines(recall: "Any", name: str) -> "list[tuple[str, str, str]]":
    data = system.read_text(lookup.path_of(recall.home, name)) or ""
    parts = [line.split("\t") for line in data.splitlines()]
    return [(one[0], one[1], one[2]) for one in parts if len(one) == 3]
