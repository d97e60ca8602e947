"""The way through a hook: read once, ask the event's modules in turn, print what the first one says.

A module has `handle(raw, context)` and returns the client's output or None. It is imported when its
turn comes, and may be missing. Any fault goes to the log, and the hook ends as if it had nothing to say.
"""

from . import minijson, spool, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

INPUT_LIMIT = 1024 * 1024

MODULES = {
    "SessionStart": ("start",),
    "UserPromptSubmit": ("answer", "prompt"),
    "PreToolUse": ("gate", "action"),
    "PostToolBatch": ("batch",),
    "Stop": ("stop",),
    "SessionEnd": ("end",),
}
AFTER = {"SessionStart": ("end", "catch_up"), "Stop": ("end", "settle")}
"""What runs after the output is written: the worker, for ended sessions and for consents to be settled."""


class Context:
    """One call of a hook: `home`, `event`, `environ`, `raw`, and `data`, parsed when first asked for."""

    def __init__(self, home: str, event: str, environ: dict[str, str], raw: bytes) -> None:
        self.home, self.event, self.environ, self.raw = home, event, environ, raw
        self._data: dict[str, Any] | None = None

    @property
    def data(self) -> "dict[str, Any]":
        """The client's input as a dict; empty when it is no JSON object."""
        if self._data is None:
            value = minijson.loads(self.raw.decode("utf-8", "replace")) if self.raw.strip() else {}
            self._data = value if isinstance(value, dict) else {}
        return self._data

    def fault(self, text: str) -> None:
        """Put one line into the log of hooks."""
        spool.fault(self.home, "%s: %s" % (self.event, text))


def main(event: str, scripts: str = "") -> None:
    """Run the hook of an event; never raises, always ends well."""
    raw, more = system.read_input(INPUT_LIMIT)
    environ = system.environment()
    home = home_of(environ, scripts)
    context = Context(home, event, environ, raw)
    try:
        if system.kind(home) != "folder":
            context.fault("the data home %s is missing" % home)
            return
        if more:
            context.fault("the input is longer than %d bytes" % INPUT_LIMIT)
            return
        output = answer(context)
        if output is not None:
            system.write_output(minijson.dumps(output).encode("utf-8", "replace"))
        name, function = AFTER.get(event, ("", ""))
        module = _module(name) if name else None
        if module is not None and hasattr(module, function):
            getattr(module, function)(raw, context)
    except Exception as error:
        context.fault("%s: %s" % (type(error).__name__, error))


def answer(context: Context) -> "dict[str, Any] | None":
    """What the first module with something to say returns; a fault of one does not silence the next."""
    for name in MODULES.get(context.event, ()):
        try:
            if name == "gate" and not _concerns_gate(context):
                continue
            module = _module(name)
            found: dict[str, Any] | None = module.handle(context.raw, context) if module is not None else None
        except Exception as error:
            context.fault("%s: %s: %s" % (name, type(error).__name__, error))
            continue
        if found is not None:
            return found
    return None


def _concerns_gate(context: Context) -> bool:
    """Whether the consent gate has work: our confirm line, or an open receipt that another call voids.

    The gate loads `json` and `re`, twice a bare start; these are its own first conditions.
    """
    data = context.data
    if data.get("tool_name") != "Bash":
        return False
    command = str((data.get("tool_input") or {}).get("command") or "")
    if "confirm" in command and ("--digest" in command or "--receipt" in command):
        return True
    try:
        names = system.calls.listdir(system.join(context.home, "receipts"))
    except OSError:
        return False
    return any(name.endswith(".open") for name in names)


def _module(name: str) -> "Any":
    full = __package__ + "." + name
    try:
        module = __import__(full, None, None, ["handle"])
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        return None
    return module


def home_of(environ: dict[str, str], scripts: str = "") -> str:
    """The data home of a hook: its own variable, else the installer's record, else the platform's place."""
    own = environ.get("EXPERIENCE_FORGE_HOME", "")
    if own.startswith("/") or own[1:3] in (":\\", ":/"):
        return own.rstrip("/\\") or own
    if not own and scripts:
        data = system.read(system.join(system.parent(scripts.rstrip("/\\")), ".installed.json"), 1 << 16)
        try:
            home = minijson.loads(data.decode("utf-8")).get("home") if data else None
        except (ValueError, AttributeError):
            home = None
        if isinstance(home, str) and home:
            return home
    from .home import default_home

    return default_home(environ)
