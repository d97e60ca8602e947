"""PostToolBatch: the entry that knows the error in the results of a batch, failed, refused or piped away."""

from . import deliver, signature

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

SHELLS = ("Bash", "BashOutput", "PowerShell", "KillShell")
FAILED = ("<tool_use_error>", "Error", "error:")
MARK = "[experience-forge "
TEXT_LIMIT = 16000


def handle(raw: bytes, context: "Any") -> "dict[str, Any] | None":
    """The text of the one entry for the next model request, or None."""
    calls = context.data.get("tool_calls")
    results = [one for one in map(result, calls) if one] if isinstance(calls, list) else []
    if not results:
        return None
    recall = deliver.Recall(context)
    try:
        if not recall.open():
            return None
        looked = [(recall.prefilter.errors(anchor_words(one[0])), *one) for one in results]
        looked = [one for one in looked if one[0]]
        return answer(recall, looked) if looked and not recall.silent() else None
    finally:
        recall.close()


def result(call: "Any") -> tuple[str, str, str, str] | None:
    """(text, command line, tool, call id) of a result that may hold an error; None for what was merely read."""
    if not isinstance(call, dict):
        return None
    tool, given = str(call.get("tool_name") or ""), call.get("tool_input")
    text = flat(call.get("tool_response"))[-TEXT_LIMIT:]
    line = ""
    if tool in SHELLS:
        line = str(given.get("command") or "") if isinstance(given, dict) else ""
    elif not tool.startswith("mcp__") and not text.lstrip().startswith(FAILED):
        # A file that was read may quote any error: only its own failure counts.
        return None
    if MARK in text:
        text = "\n".join(line for line in text.split("\n") if MARK not in line)
    return (text, line, tool, str(call.get("tool_use_id") or "")) if text.strip() else None


def anchor_words(text: str) -> list[str]:
    """The distinct signature words of an output, to be looked up in the prefilter."""
    return list(dict.fromkeys(word for line in signature.lines_of(text) for word in line))


def flat(value: "Any") -> str:
    """All strings of a tool's response as one text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(flat(one) for one in value.values())
    if isinstance(value, list):
        return "\n".join(flat(one) for one in value)
    return ""


def answer(recall: deliver.Recall, looked: "list[tuple[list[str], str, str, str, str]]") -> "dict[str, Any] | None":
    """The output for the best entry over all results that was not given yet."""
    from . import action, rank, shellwords

    found = []
    for present, text, line, tool, call in looked:
        commands = shellwords.commands(line) if line else None
        if commands and action.own(commands):
            continue
        for points, n, share in rank.errors(recall.database(), present, text, recall.scope, commands):
            found.append((points, n, share, tool, call))
    known = {n: recall.entry(n) for n in {one[1] for one in found}}
    for _, n, share, tool, call in sorted(found, key=lambda one: (-one[0], one[1])):
        entry = known[n]
        if recall.said(entry["id"]) or recall.doubled(entry, known.values()):
            continue
        if call:
            recall.context.data["tool_use_id"] = call
        warning = recall.ready(entry)
        if warning is None:
            continue
        parts = (("cause", "reason"), ("action", "action"), ("rule", "rule"))
        text = deliver.note(recall, entry, parts, warning)
        recall.expose(entry, text, "PostToolBatch:" + tool, "error signature, %d %% seen" % round(100 * share))
        return deliver.output("PostToolBatch", text)
    return None
