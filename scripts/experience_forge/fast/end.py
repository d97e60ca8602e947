"""SessionEnd starts the worker and leaves; SessionStart starts it too, since an end is not guaranteed."""

import sys

from . import spool, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

CATCH_UP_SECONDS = 3600
"""At a start the worker runs only when it did not run for this long."""


def handle(raw: bytes, context: "Any") -> None:
    """Note the end, start the worker; nothing is said."""
    session = str(context.data.get("session_id") or "")
    if session and not context.data.get("agent_id"):
        spool.append(context.home, session, {"what": "state", "state": "ended", "event": context.event})
    _start(context)


def catch_up(raw: bytes, context: "Any") -> None:
    """At a session's start: what an earlier end left undone, at most once an hour."""
    if context.data.get("agent_id") or context.data.get("source") == "compact":
        return
    stamp = system.join(context.home, "derived", "worker.stamp")
    if _age(stamp) < CATCH_UP_SECONDS and not _unsettled(context.home):
        return
    _start(context)


def settle(raw: bytes, context: "Any") -> None:
    """At a turn's end: a consent of this turn is settled now, so that its entry acts in this session already."""
    if _unsettled(context.home):
        _start(context)


def _unsettled(home: str) -> bool:
    """Whether a confirm used its receipt and the client's record was not read since."""
    try:
        names = system.calls.listdir(system.join(home, "receipts"))
    except OSError:
        return False
    return any(name.endswith(".used") for name in names)


def _start(context: "Any") -> None:
    """The worker as a process of its own, in a session of its own: it outlives this hook and the client."""
    if context.environ.get("EXPERIENCE_FORGE_WORKER"):
        return
    script = system.join(sys.argv[1], "forge.py") if len(sys.argv) > 1 else ""
    if system.kind(script) != "file" or not sys.executable:
        context.fault("the worker can't be started: there is no %s" % (script or "forge.py"))
        return
    system.append(system.join(context.home, "derived", "worker.stamp"), b".")
    environ = dict(context.environ, EXPERIENCE_FORGE_HOME=context.home, EXPERIENCE_FORGE_WORKER="1", PYTHONUTF8="1")
    _detached([sys.executable, script, "worker"], environ)


def _detached(command: "list[str]", environ: "dict[str, str]") -> None:
    if not system.WINDOWS and _spawned(command, environ):
        return
    import subprocess

    flags = 0x00000008 | 0x00000200 | 0x08000000 if system.WINDOWS else 0
    subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        creationflags=flags,
        start_new_session=not system.WINDOWS,
    )


def _spawned(command: "list[str]", environ: "dict[str, str]") -> bool:
    """Start by one system call, which spares a hook the import of `subprocess`; False where it is not known."""
    calls = system.calls
    if not hasattr(calls, "posix_spawn"):
        return False
    null = "/dev/null"
    actions = [(calls.POSIX_SPAWN_OPEN, number, null, calls.O_RDWR, 0) for number in (0, 1, 2)]
    try:
        calls.posix_spawn(command[0], command, environ, file_actions=actions, setsid=True)
    except (NotImplementedError, OSError, TypeError):
        return False
    return True


def _age(path: str) -> float:
    import time

    try:
        return float(time.time() - system.calls.stat(path).st_mtime)
    except (OSError, ValueError):
        return 1e9
