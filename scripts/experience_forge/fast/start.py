"""SessionStart: the few entries that fit project, branch and last commits, within 2,000 characters."""

from . import deliver, git, lookup, minijson, rank, spool, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

LIMIT = 2000
CANDIDATES = 30
BUDGET = 2000
"""Rows that the ranked search may look at: at 10,000 entries a fifth of a bare start."""
MEANING_POINTS = 40.0


def handle(raw: bytes, context: "Any") -> "dict[str, Any] | None":
    """The start text, or None. After a compaction what was said before counts as gone."""
    data = context.data
    recall = deliver.Recall(context)
    try:
        if not recall.session:
            return None
        if data.get("source") in deliver.FORGET:
            state = {"what": "state", "state": data["source"], "event": context.event}
            spool.append(recall.home, recall.session, state)
        if not recall.open():
            return None
        told = _notice(recall)
        if not recall.prefilter.head.get("entries") or recall.silent():
            return told or None
        found = answer(recall, str(data.get("source") or "startup"))
        return {**told, **(found or {})} or None
    finally:
        recall.close()


def _notice(recall: deliver.Recall) -> "dict[str, Any]":
    """What the user is to know of changed files; a fault of it silences nothing else."""
    from . import notice

    try:
        text = notice.text(recall)
    except Exception as error:
        recall.context.fault("notice: %s: %s" % (type(error).__name__, error))
        return {}
    return {"systemMessage": text} if text else {}


def answer(recall: deliver.Recall, source: str) -> "dict[str, Any] | None":
    """The output with as many entries as fit, most useful first."""
    settings = recall.settings
    limit = min(LIMIT, int(settings.get("start_characters", LIMIT)))
    count = int(settings.get("start_count", 5))
    chosen: list[tuple[dict[str, Any], str, str]] = []
    texts, used = [], 0
    head = ""
    for entry, why in candidates(recall, loaded(recall)):
        if len(chosen) == count:
            break
        if recall.outranked(entry):
            continue
        told = ("[%s]" % entry["id"], entry["title"] + ":", entry["rule"], recall.conflict(entry))
        line = "- " + " ".join(part for part in told if part)
        head = head or recall.frame("start", entry)
        if used + len(line) + 1 > limit - len(head) or not recall.unchanged(entry):
            continue
        chosen.append((entry, why, line))
        used += len(line) + 1
    for entry, why, line in chosen:
        recall.expose(entry, line, "SessionStart:" + source, why, "start")
        texts.append(line)
    return deliver.output("SessionStart", "\n".join([head, *texts])) if chosen else None


def candidates(recall: deliver.Recall, loaded_text: str) -> "list[tuple[dict[str, Any], str]]":
    """Entries that fit, the project's own first, then by score; (entry, why)."""
    project = recall.project
    words = [project.name.replace("-", " ")]
    if project.git:
        words += [git.branch(project.git).replace("/", " "), *git.messages(project.git)]
    connection, scope = recall.database(), recall.scope
    (floor,) = connection.execute("SELECT value FROM meta WHERE name = 'start_floor'").fetchone()
    scores = {n: score for score, n in rank.search(connection, "\n".join(words), scope, CANDIDATES, budget=BUDGET)}
    where, values = rank.in_scope(scope)
    for name, cosine in meaning(recall).items():
        row = connection.execute("SELECT e.n FROM entries e WHERE e.id = ? AND " + where, [name, *values]).fetchone()
        if row:
            scores[row[0]] = scores.get(row[0], 0.0) + MEANING_POINTS * cosine
    rows = connection.execute(
        "SELECT n FROM entries WHERE project IN (%s) AND status = 'active' ORDER BY pinned DESC, updated DESC LIMIT ?"
        % ",".join("?" * len(scope)), [*scope, CANDIDATES])
    own = [row[0] for row in rows]
    found = []
    for n in dict.fromkeys([*own, *scores]):
        entry = recall.entry(n)
        score = scores.get(n, 0.0)
        # An entry that is given here is not given again where it would act: no loose fits.
        if (n not in own and score < float(floor)) or not fresh(recall, entry, loaded_text):
            continue
        why = "project, branch and commits, score %.1f" % score if score else "an entry of this project"
        found.append(((not entry["pinned"], n not in own, -score, entry["id"]), entry, why))
    found.sort(key=lambda one: one[0])
    return apart([(entry, why) for _, entry, why in found])


def meaning(recall: deliver.Recall) -> "dict[str, float]":
    """Similarity of meaning by entry, when the optional encoder worked it out for this project."""
    data = system.read(lookup.path_of(recall.home, "meaning.json"))
    if not data:
        return {}
    found = minijson.loads(data.decode("utf-8"))
    return dict(found.get(recall.project.id) or {}) if isinstance(found, dict) else {}


def apart(found: "list[tuple[dict[str, Any], str]]") -> "list[tuple[dict[str, Any], str]]":
    """Of entries with one meaning the first, which is the project's."""
    kept = []
    seen: list[tuple[frozenset[str], frozenset[str]]] = []
    for entry, why in found:
        meant = deliver.meant(entry)
        if any(deliver.alike(meant, other) for other in seen):
            continue
        seen.append(meant)
        kept.append((entry, why))
    return kept


def fresh(recall: deliver.Recall, entry: "dict[str, Any]", loaded_text: str) -> bool:
    """Whether the session does not have the entry yet: not loaded by a file, not said by a hook in any wording."""
    if entry["track"] == "profile" or named(entry["id"], loaded_text) or recall.under_test(entry):
        return False
    return not recall.said(entry["id"]) and not recall.doubled(entry)


def loaded(recall: deliver.Recall) -> str:
    """The text of the files that the client loads by itself and that may hold our entries."""
    root = recall.project.root
    parts = [system.read_text(system.join(root, name)) for name in ("CLAUDE.md", "CLAUDE.local.md")]
    return "\n".join(part for part in parts if part)


def named(entry_id: str, text: str) -> bool:
    """Whether a text names the id as a whole word."""
    at = text.find(entry_id)
    while at >= 0:
        around = text[at - 1:at] + text[at + len(entry_id):at + len(entry_id) + 1]
        if not any(mark.isalnum() or mark == "-" for mark in around):
            return True
        at = text.find(entry_id, at + 1)
    return False
