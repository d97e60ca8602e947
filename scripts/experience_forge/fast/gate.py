"""The consent gate, PreToolUse of Bash: turns our own confirm line into a dialog with a one-time receipt.

The order of the checks is the protocol's. Whatever goes wrong here leaves the call without a
receipt, and `confirm` refuses without one: a crash can't give consent.
"""

import hashlib
import json
import os

from . import confirm_line, dialog, receipts

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

MAX_BYTES = 256 * 1024


def handle(raw: bytes, context: "Any") -> "dict[str, Any] | None":
    """The hook's answer to one call, or None to stay silent.

    Args:
        raw: what came on standard input (unused: `context.data` is it, parsed).
        context: has `home`, `event`, `environ` and `data`.
    """
    data = context.data
    record = confirm_line.installed()
    if record is None or not _ours(record, context) or data.get("tool_name") != "Bash" or context.event != "PreToolUse":
        return None
    folder = os.path.join(str(context.home), "receipts")
    session, call = str(data.get("session_id") or ""), str(data.get("tool_use_id") or "")
    if not data.get("agent_id"):
        receipts.void_others(folder, session, call)
    command = str((data.get("tool_input") or {}).get("command") or "")
    launcher = str(record.get("launcher") or "")
    if not confirm_line.mentions(launcher, command):
        return None
    refusal, text, found = _checked(launcher, command, context)
    if found is None:
        return _answer("deny", _refusal(refusal, launcher, command, context))
    now = receipts.clock()
    if not receipts.mark_call(folder, call, session, now):
        return None
    proposal, digest = found
    receipt = receipts.mint(folder, proposal, digest, session, call, command, now)
    # The whole input is ours: run_in_background, timeouts and a misleading description are gone.
    changed = {"command": dialog.command(command, receipt, text), "description": dialog.description(text)}
    return _answer("ask", dialog.reason(text, digest, warnings(str(context.home), proposal, text)), changed)


def warnings(home: str, proposal: str, text: str) -> list[str]:
    """Findings of the scan, as the command that made the proposal computed them; texts."""
    try:
        with open(os.path.join(home, "proposals", proposal + ".json"), "rb") as file:
            found = json.loads(file.read().decode("utf-8")).get("warnings") or []
    except (OSError, ValueError, AttributeError):
        return [dialog.REFUSALS[dialog.language(dialog.fields(text), text)]["warnings"]]
    if not isinstance(found, list):
        found = [found]
    return [_warning(each) for each in found]


def _ours(record: "dict[str, Any]", context: "Any") -> bool:
    if record.get("hooks") is not True or not record.get("launcher"):
        return False
    # Another data home (EXPERIENCE_FORGE_HOME of a test or a trial) never touches a client.
    return os.path.normcase(str(record.get("home"))) == os.path.normcase(str(context.home))


def _checked(launcher: str, command: str, context: "Any") -> tuple[str, str, tuple[str, str] | None]:
    """Checks 4 to 7: `(name of the refusal, "", None)` or `("", text, (id, digest))`."""
    found = confirm_line.read(launcher, command)
    if found is None:
        return "shape", "", None
    if context.data.get("agent_id"):
        return "subagent", "", None
    environ = context.environ
    if environ.get("CLAUDE_CODE_ENTRYPOINT") != "cli" or environ.get("CLAUDE_CODE_SESSION_ATTENDED") != "1":
        return "nobody", "", None
    proposal, digest = found
    try:
        with open(os.path.join(str(context.home), "proposals", proposal + ".md"), "rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, ValueError):
        return "unreadable", "", None
    if hashlib.sha256(data).hexdigest() != digest:
        return "changed", "", None
    return "", text, found


def _refusal(name: str, launcher: str, command: str, context: "Any") -> str:
    texts = dialog.REFUSALS[dialog.user_language(str(context.home), context.environ)]
    line = confirm_line.quote(launcher) if name == "nobody" else confirm_line.write(launcher, "<id>", "<digest>")
    shown = confirm_line.read(launcher, command)
    return texts[name].format(id=shown[0] if shown else "", line=line)


def _warning(found: object) -> str:
    if isinstance(found, dict):
        known = [found[name] for name in ("text", "message", "what") if found.get(name)]
        found = known[0] if known else json.dumps(found, ensure_ascii=False)
    return str(found)


def _answer(decision: str, reason: str, changed: dict[str, str] | None = None) -> "dict[str, Any]":
    output: dict[str, object] = {"hookEventName": "PreToolUse", "permissionDecision": decision}
    output["permissionDecisionReason"] = reason
    if changed is not None:
        output["updatedInput"] = changed
    return {"hookSpecificOutput": output}
