"""UserPromptSubmit: word conditions and aliases exactly, then the calibrated search; one pointer line."""

from . import deliver, rank

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

TEXT_LIMIT = 4000
MARK = "[experience-forge "


def handle(raw: bytes, context: "Any") -> "dict[str, Any] | None":
    """The pointer line for a prompt, or None."""
    text = str(context.data.get("prompt") or "")[:TEXT_LIMIT]
    # `<task-notification>` and its like are the machine's, `/verb` is a command, and our own words are ours.
    if not text.strip() or text.lstrip()[:1] in ("<", "/") or MARK in text:
        return None
    recall = deliver.Recall(context)
    try:
        if not recall.open() or recall.silent():
            return None
        return answer(recall, text)
    finally:
        recall.close()


def answer(recall: deliver.Recall, text: str) -> "dict[str, Any] | None":
    """The output for the one entry that fits, when it was not given yet."""
    present = recall.prefilter.present("w", rank.prompt_words(text))
    found = [(n, "words") for _, n in rank.words(recall.database(), present, text, recall.scope)] if present else []
    settings = recall.settings
    if not found and rank.complains(text, settings.get("complaints", {})):
        best = rank.prompt(
            recall.database(), text, recall.scope, settings["complaints"], float(settings.get("prompt_factor", 1.0)))
        found = [(best[1], "search, score %.1f" % best[0])] if best else []
    known = {n: recall.entry(n) for n, _ in found}
    for n, why in found:
        entry = known[n]
        if recall.said(entry["id"]) or recall.doubled(entry, known.values()):
            continue
        warning = recall.ready(entry)
        if warning is None:
            continue
        line = " ".join(part for part in (recall.frame("pointer", entry), warning, recall.conflict(entry)) if part)
        recall.expose(entry, line, "UserPromptSubmit", why, "pointer")
        return deliver.output("UserPromptSubmit", line)
    return None
