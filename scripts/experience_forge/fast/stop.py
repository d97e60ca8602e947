"""Stop: adds up the session as it grows; at most one suggestion a session, to the user alone."""

import sys

from . import minijson, spool, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any, BinaryIO

FIRST_REACH = 6 * 1024 * 1024
"""Without a state only this much from the end is read: hooks installed late must not make a turn slow."""
MOST = 16 * 1024 * 1024
STATE_TAIL = 128 * 1024
SIGNALS_KEPT = 3


def handle(raw: bytes, context: "Any") -> "dict[str, Any] | None":
    """One sentence as `systemMessage`, or None: the suggestion, else the question for holdouts, once an entry."""
    return _suggestion(context) or _question(context)


def _question(context: "Any") -> "dict[str, Any] | None":
    if context.data.get("agent_id") or not context.data.get("session_id") or not attended(context.environ):
        return None
    from . import coin

    entry, text = coin.question(context.home), coin.question_text(context.home)
    if not entry or not text:
        return None
    asked = system.join(context.home, "derived", "asked.txt")
    mark = entry.encode("utf-8") + b"\n"
    if mark in (system.read(asked) or b""):
        return None
    system.append(asked, mark)
    return {"systemMessage": text}


def _suggestion(context: "Any") -> "dict[str, Any] | None":
    data = context.data
    session = str(data.get("session_id") or "")
    path = str(data.get("transcript_path") or "")
    if not session or not path or data.get("agent_id") or not attended(context.environ):
        return None
    suggest = _json(system.join(context.home, "derived", "settings.json")).get("suggest") or {}
    if not suggest.get("on", True):
        return None
    records = spool.read(context.home, session)
    if any(one.get("what") == "suggestion" for one in records) or _off(records) or _off_here(suggest, context):
        return None
    found = _grown(context.home, session, path, suggest)
    return _say(context, session, found) if found else None


def attended(environ: "dict[str, str]") -> bool:
    """Whether a person sits at the session: no script's run, and not our own worker's."""
    return not environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk") and not environ.get(
        "EXPERIENCE_FORGE_WORKER"
    )


def _off(records: "list[dict[str, Any]]") -> bool:
    states = [one.get("suggest") for one in records if one.get("what") == "state" and one.get("suggest")]
    return bool(states) and states[-1] == "off"


def _off_here(suggest: "dict[str, Any]", context: "Any") -> bool:
    off = suggest.get("off_projects")
    if not off:
        return False
    from . import git

    return not set(git.project(git.folder_of(context.environ, context.data)).ids).isdisjoint(off)


def _grown(
    home: str, session: str, path: str, suggest: "dict[str, Any]"
) -> "tuple[Any, Any, str, dict[str, Any]] | None":
    """Read what is new; (score, signals, language, rules) when it reached the threshold, else None."""
    where = system.join(home, "derived", "stop", _safe(session) + ".jsonl")
    state = _last(where)
    size = _size(path)
    offset = int((state.get("at") or {}).get("offset") or 0) if state.get("path") == path else 0
    if size == offset:
        return None
    if size < offset:
        offset = 0  # another file stands there now
    rules = _json(system.join(home, "derived", "signals.json"))
    if not rules.get("phrases"):
        return None
    watch, position = _watched(rules, state if offset else {}, path, size)
    signals = watch.all_signals()
    scoring = _core()[3]
    total = scoring.score(signals, watch.weights, float(suggest.get("threshold") or watch.weights.suggest))
    kept = watch.to_json()
    kept["signals"] = _few(kept["signals"])
    line = minijson.dumps({"path": path, "at": position.to_json(), "watch": kept}) + "\n"
    system.append(where, line.encode("utf-8", "replace"))
    return (total, signals, watch.language, rules) if total.suggest else None


def _watched(rules: "dict[str, Any]", state: "dict[str, Any]", path: str, size: int) -> "tuple[Any, Any]":
    """The watch over the session with all new events fed to it, and where reading stands now."""
    claude_records, lines, phrases, scoring, signals = _core()
    weights = scoring.Weights.of(rules["scoring"])
    watch = signals.Watch(
        phrases.Phrases(rules["phrases"]), weights, rules["scoring"].get("explain") or {}, keep_turns=False
    )
    position = lines.Position()
    if state:
        position = lines.Position.from_json(state.get("at"))
        watch.resume(state.get("watch"))
    with open(path, "rb") as file:
        if (not state and size > FIRST_REACH) or size - position.offset > MOST:
            position.offset = _line_start(file, size - FIRST_REACH)
        telling = signals.telling(rules["scoring"].get("explain") or {})
        for event in claude_records.read(lines.Lines(file, position, telling), position, False):
            watch.feed(event)
    return watch, position


def _core() -> "tuple[Any, ...]":
    """The detectors. `dataclasses` loads `inspect`, a tenth of this hook's time, only to write docstrings
    that are missing; none of ours is, so an empty module stands in for it while they load.
    """
    stands_in = sys.version_info < (3, 13) and "inspect" not in sys.modules
    if stands_in:
        sys.modules["inspect"] = type(sys)("inspect")
    try:
        from ..core import claude_records, lines, phrases, scoring, signals
    finally:
        if stands_in:
            del sys.modules["inspect"]
    return claude_records, lines, phrases, scoring, signals


def _line_start(file: "BinaryIO", offset: int) -> int:
    file.seek(offset)
    file.readline(MOST)
    return file.tell()


def _say(context: "Any", session: str, found: "tuple[Any, Any, str, dict[str, Any]]") -> "dict[str, Any]":
    total, signals, language, rules = found
    names = _named(signals, rules["names"], language)
    name = "suggestion-strong" if total.stress else "suggestion"
    text = rules["texts"][language][name].replace("{signals}", names).replace("{score}", "%g" % total.total)
    last = str(context.data.get("last_assistant_message") or "").rstrip(" \n*_`)")
    # The receipt comes first: what is not recorded is not said.
    spool.append(
        context.home,
        session,
        {
            "what": "suggestion",
            "event": context.event,
            "score": total.total,
            "text": text,
            "language": language,
            "signals": names,
            "kinds": sorted({signal.kind.value for signal in signals}),
            "found": [list(one) for one in sorted({(s.kind.value, s.detector, s.strength) for s in signals})],
            "asked": last[-1:] in ("?", "？"),
        },
    )
    return {"systemMessage": text}


def _named(signals: "Any", names: "dict[str, dict[str, str]]", language: str) -> str:
    counts: "dict[str, int]" = {}
    for signal in signals:
        kind = signal.kind.value
        rounds = signal.detector.rpartition("-")[2] if kind == "rework" else ""
        counts[kind] = max(counts.get(kind, 0), int(rounds)) if rounds.isdigit() else counts.get(kind, 0) + 1
    join = "、" if language == "zh" else ", "
    texts = []
    for kind, count in counts.items():
        text = names[kind][language].replace("{n}", str(count))
        texts.append(text.replace("(s)", "" if count == 1 else "s"))
    return join.join(texts)


def _few(signals: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
    seen: "dict[str, int]" = {}
    kept = []
    for signal in reversed(signals):
        seen[signal["kind"]] = seen.get(signal["kind"], 0) + 1
        if seen[signal["kind"]] <= SIGNALS_KEPT:
            kept.append(signal)
    return kept[::-1]


def _last(path: str) -> "dict[str, Any]":
    size = _size(path)
    if not size:
        return {}
    with open(path, "rb") as file:
        file.seek(max(0, size - STATE_TAIL))
        tail = file.read(STATE_TAIL)
    for line in reversed(tail.split(b"\n")):
        if line:
            try:
                state = minijson.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                continue
            return state if isinstance(state, dict) else {}
    return {}


def _json(path: str) -> "dict[str, Any]":
    data = system.read(path)
    try:
        value = minijson.loads(data.decode("utf-8")) if data else {}
    except (ValueError, RecursionError):
        value = {}
    return value if isinstance(value, dict) else {}


def _size(path: str) -> int:
    try:
        return int(system.calls.stat(path).st_size)
    except (OSError, ValueError):
        return 0


def _safe(session: str) -> str:
    return "".join(mark if mark.isalnum() or mark in "-_" else "_" for mark in session)[:100]
