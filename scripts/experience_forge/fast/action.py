"""PreToolUse: the entry whose command or path condition matches what is about to run or be written."""

from . import deliver, globs, shellwords

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

WRITERS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
STRENGTH = {"deny": 3, "ask": 2, "hold": 1, "remind": 0}
DECISIONS = {"deny": "deny", "hold": "deny", "ask": "ask"}


def handle(raw: bytes, context: "Any") -> "dict[str, Any] | None":
    """The answer to one call: a reminder beside its result, a question, a refusal, or None."""
    data = context.data
    tool, given = str(data.get("tool_name") or ""), data.get("tool_input")
    if not isinstance(given, dict):
        return None
    if tool == "Bash":
        commands, path = shellwords.commands(str(given.get("command") or "")), ""
        if own(commands):
            return None
        kind, keys = "c", shellwords.keys_for(commands)
    elif tool in WRITERS:
        commands, path = [], str(given.get("file_path") or given.get("notebook_path") or "")
        kind, keys = "p", globs.keys_for(path)
    else:
        return None
    recall = deliver.Recall(context)
    try:
        present = recall.prefilter.present(kind, keys) if recall.open() else ()
        if not present:
            return None
        return answer(recall, found(recall, kind, present, commands, path), "PreToolUse:" + tool)
    finally:
        recall.close()


def own(commands: list[list[str]]) -> bool:
    """Whether a line calls this tool itself: what we print or do never triggers an entry."""
    return any(
        shellwords.name_of(word) in ("experience-forge", "experience-forge.cmd", "forge.py")
        for words in commands for word in words[:3]
    )


def found(
    recall: deliver.Recall, kind: str, present: list[str], commands: list[list[str]], path: str
) -> "list[tuple[dict[str, Any], str]]":
    """Entries whose condition matches, strongest guard first: (entry, what matched)."""
    rows = recall.database().execute(
        "SELECT c.n, c.command, c.path, c.words FROM keys k JOIN conditions c ON c.c = k.ref "
        "JOIN entries e ON e.n = c.n WHERE k.kind = ? AND k.key IN (%s) AND e.status = 'active' LIMIT 2000"
        % ",".join("?" * len(present)), [kind, *present]
    ).fetchall()
    best: dict[int, str] = {}
    for n, command, pattern, words in rows:
        # What a prompt said is not known here: such a condition waits for its prompt.
        if words or (command and not any(shellwords.matches(command, one) for one in commands)):
            continue
        if pattern and not _path_fits(recall, pattern, commands, path):
            continue
        why = " ".join(part for part in (command, pattern) if part)
        if len(why) > len(best.get(n, "")):
            best[n] = why
    entries = [(recall.entry(n), why) for n, why in best.items()]
    scope = recall.scope if any(entry["project"] for entry, _ in entries) else ()
    entries = [(entry, why) for entry, why in entries if not entry["project"] or entry["project"] in scope]
    entries.sort(key=lambda one: (-STRENGTH.get(one[0]["guard"], 0), not one[0]["project"], -len(one[1]), one[0]["id"]))
    return entries


def _path_fits(recall: deliver.Recall, pattern: str, commands: list[list[str]], path: str) -> bool:
    root = recall.project.root
    if path:
        return globs.matches(pattern, path, root)
    return any(globs.matches(pattern, word, root) for words in commands for word in words[1:])


def answer(recall: deliver.Recall, entries: "list[tuple[dict[str, Any], str]]", place: str) -> "dict[str, Any] | None":
    """The output for the first entry that has to say something."""
    beside = [entry for entry, _ in entries]
    for entry, why in entries:
        guard = entry["guard"]
        if guard in ("deny", "ask") or (guard == "hold" and not recall.said(entry["id"], ("hold",))):
            if recall.unchanged(entry):
                return _refusal(recall, entry, guard, place, why)
            continue
        if recall.silent() or recall.said(entry["id"]) or recall.doubled(entry, beside):
            continue
        warning = recall.ready(entry)
        if warning is None:
            continue
        second = ("action", "action") if entry["kind"] == "pitfall" else ("why", "reason")
        parts = (("rule", "rule"), second)
        text = deliver.note(recall, entry, parts, warning)
        recall.expose(entry, text, place, why)
        return deliver.output("PreToolUse", text)
    return None


def _refusal(recall: deliver.Recall, entry: "dict[str, Any]", guard: str, place: str, why: str) -> "dict[str, Any]":
    text = recall.frame(guard, entry, text=entry["rule"] or entry["title"])
    recall.append("opportunity", entry, {"arm": "shown", "coin": "none"})
    recall.expose(entry, text, place, why, guard)
    return {"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": DECISIONS[guard], "permissionDecisionReason": text,
    }}
