"""UserPromptSubmit after our suggestion: a bare yes or no is passed on and recorded; silence is no refusal."""

from . import deliver, minijson, spool, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

LONGEST = 40
_MARKS = " \t\r\n.,!?;:。，！？；：~～\"'“”"


def handle(raw: bytes, context: "Any") -> "dict[str, Any] | None":
    """What the model is told after a bare answer, or None."""
    data = context.data
    session = str(data.get("session_id") or "")
    if not session or data.get("agent_id"):
        return None
    known = system.read(spool.ledger_path(context.home, session), spool.LEDGER_LIMIT)
    if not known or b'"suggestion"' not in known:
        return None
    prompt = str(data.get("prompt") or "")
    if prompt.lstrip()[:1] == "<":
        return None  # a machine's prompt answers nothing
    offered = _open(spool.read(context.home, session))
    if offered is None:
        return None
    rules = _rules(context.home)
    answer = _answer(prompt, rules.get("answers") or {}, offered)
    spool.append(context.home, session, {"what": "answer", "event": context.event, "answer": answer})
    text = ((rules.get("replies") or {}).get(answer) or {}).get(offered.get("language") or "en")
    if not text:
        return None
    text = text.replace("{text}", str(offered.get("text") or "")).replace(
        "{signals}", str(offered.get("signals") or "")
    )
    return deliver.output(context.event, text)


def _open(records: "list[dict[str, Any]]") -> "dict[str, Any] | None":
    """The suggestion that nobody answered yet."""
    offered = None
    for one in records:
        if one.get("what") == "suggestion":
            offered = one
        elif one.get("what") == "answer":
            offered = None
    return offered


def _answer(prompt: str, answers: "dict[str, list[str]]", offered: "dict[str, Any]") -> str:
    bare = " ".join(prompt.lower().strip(_MARKS).split())
    if any(words in bare for words in answers.get("words") or ()):
        return "words"
    # When the agent had asked something itself, a bare yes is an answer to that.
    if len(prompt) <= LONGEST and not offered.get("asked"):
        for answer in ("yes", "no"):
            if bare in (answers.get(answer) or ()):
                return answer
    return "unanswered"


def _rules(home: str) -> "dict[str, Any]":
    data = system.read(system.join(home, "derived", "signals.json"))
    try:
        value = minijson.loads(data.decode("utf-8")) if data else {}
    except (ValueError, RecursionError):
        value = {}
    return value if isinstance(value, dict) else {}
