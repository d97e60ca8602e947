"""Whether what an entry stands on is still there: checked at delivery, for the one entry to be delivered.

Reads `derived/freshness.tsv`, which `store.freshness` compiles: one line for each cite, version
condition and review date. States: `bound` (all that is cited still holds), `drifted` (something
does not), `unbound` (nothing to check, or nothing that can be checked from here).
"""

import os

from . import spans, versions

RULES = os.path.join("derived", "freshness.tsv")
SEEN = os.path.join("derived", "versions-seen.tsv")
MAX_BYTES = 1 << 20
SEARCHED = 2000
"""Folder entries looked at for a cited file that is gone from its place."""

WITHHELD = {"workflow": ("gone", "changed", "version"), "pitfall": ("version",)}
"""Reasons for which a drifted entry of a kind is not delivered; every other one comes with a warning.

Steps over changed ground mislead, and every harmful skill of one public study was a version mismatch;
a preference holds until its owner says otherwise.
"""


def check(
    home: str, entry_id: str, kind: str, folder: str, today: str, project: str = ""
) -> "tuple[str, str, str, str]":
    """State of one entry as (state, reason, detail, delivery).

    Args:
        folder: root of the project (or the working folder) of this session.
        today: ISO date.
        project: id of that project: only for entries of it is a missing file a finding.

    Returns:
        state: bound, drifted, unbound. reason: gone, changed, version, review, or empty.
        detail: what exactly (path and lines, or predicate and the version found).
        delivery: `plain`, `warn` or `no`.
    """
    state, reason, detail = "unbound", "", ""
    for line in _lines(os.path.join(home, RULES), entry_id + "\t"):
        fields = line.split("\t")
        if len(fields) < 3:
            continue
        found, why = _one(home, fields[1], fields[2:], folder, today, project)
        if found == "drifted":
            return "drifted", *why, delivery(kind, why[0])
        if found == "bound":
            state, detail = "bound", why[1] or detail
    return state, reason, detail, "plain"


def delivery(kind: str, reason: str) -> str:
    """`no` when a drifted entry of this kind must not be delivered for this reason, else `warn`."""
    return "no" if reason in WITHHELD.get(kind, ()) else "warn"


def _one(
    home: str, what: str, values: "list[str]", folder: str, today: str, project: str
) -> "tuple[str, tuple[str, str]]":
    if what == "review":
        due = len(values[0]) == 10 and values[0] <= today
        return ("drifted" if due else "bound"), ("review" if due else "", values[0] if due else "")
    if what == "version":
        return version(home, values[0], folder)
    if what == "cite" and len(values) >= 4:
        return cite(values[0], values[1], values[2], bool(project) and values[3] == project, folder)
    return "unbound", ("", "")


def version(home: str, predicate: str, folder: str) -> "tuple[str, tuple[str, str]]":
    """State of a version condition, by lock file, manifest, then the last version seen in a session."""
    name, _ = versions.parse(predicate)
    found, where = versions.in_folder(folder, name) if folder else ("", "")
    if not found:
        for line in _lines(os.path.join(home, SEEN), name.lower() + "\t"):
            found, where = line.split("\t")[1], "--version"
    holds = versions.holds(predicate, found) if found else None
    if holds is None:
        return "unbound", ("", "")
    return ("bound", ("", "")) if holds else ("drifted", ("version", "%s, %s: %s" % (predicate, where, found)))


def cite(path: str, lines: str, wanted: str, here: bool, folder: str) -> "tuple[str, tuple[str, str]]":
    """State of one cited span.

    Args:
        here: whether the entry belongs to the project of `folder`: only then is a missing file
            with a relative path a finding.
    """
    full = os.path.expanduser(path)
    if not os.path.isabs(full):
        if not folder:
            return "unbound", ("", "")
        full = os.path.join(folder, full)
    where = path + (":" + lines if lines else "")
    indented = path.endswith(spans.INDENTED)
    text = _text(full)
    if text is not None:
        now = spans.find(text, lines, wanted, indented) if wanted else lines
        if now is not None:
            return "bound", ("", "" if now == lines else "%s -> %s" % (where, now))
        return "drifted", ("changed", where)
    if os.path.exists(full):
        return "unbound", ("", "")
    for other in _same_name(folder, os.path.basename(full)) if folder and wanted else ():
        text = _text(other)
        if text is not None and spans.find(text, lines, wanted, indented) is not None:
            return "bound", ("", "%s -> %s" % (where, os.path.relpath(other, folder)))
    if here or os.path.isabs(os.path.expanduser(path)):
        return "drifted", ("gone", where)
    return "unbound", ("", "")


def _same_name(folder: str, name: str) -> "list[str]":
    """Files of that name below a folder, among its first entries, hidden and vendored folders left out."""
    found, waiting, seen = [], [folder], 0
    while waiting and seen < SEARCHED:
        current = waiting.pop(0)
        try:
            with os.scandir(current) as entries:
                for item in entries:
                    seen += 1
                    if item.is_dir(follow_symlinks=False):
                        if not item.name.startswith(".") and item.name not in ("node_modules", "venv", "target"):
                            waiting.append(item.path)
                    elif item.name == name:
                        found.append(item.path)
        except OSError:
            continue
    return found


def _text(path: str) -> "str | None":
    try:
        if os.stat(path).st_size > MAX_BYTES:
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _lines(path: str, start: str) -> "list[str]":
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return []
    if start not in text:
        return []
    return [line for line in text.splitlines() if line.startswith(start)]
