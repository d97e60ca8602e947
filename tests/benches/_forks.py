"""Forks of one warmed process, and `strace` put to one of them: what `bench faults` runs its pairs with.

Starting a Python costs a second below strace; a fork of one that has imported everything costs some milliseconds.
The process that forks never runs a command itself: what a command keeps in memory ends with its fork.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import pkgutil
import re
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

CALLS = (
    "openat", "open", "creat", "write", "writev", "pwrite64", "pwritev", "sendfile", "copy_file_range", "fallocate",
    "fsync", "fdatasync", "close", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat",
    "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat",
    "truncate", "ftruncate", "utimensat",
)  # fmt: skip
"""Every call that makes, writes, flushes, closes, renames or removes, and those that only strange programs use."""
SECONDS = 60.0
"""After which a fork counts as hanging; the longest takes two."""
_LINE = re.compile(r"^(?:\[pid\s+\d+\]\s+|\d+\s+)?(?P<call>[a-z0-9_]+)\((?P<rest>.*)$")


@dataclass(frozen=True)
class Call:
    """One call of a run: its name, which of that name it is (1-based), and the line that strace wrote of it."""

    name: str
    ordinal: int
    line: str


class Died(Exception):
    """A fork that was killed, or that hung; `signal` is 0 for the latter."""

    def __init__(self, signal: int) -> None:
        super().__init__(f"killed by {signal}" if signal else "hangs")
        self.signal = signal


class Kept:
    """Stands for a function of its arguments alone: worked out once in the process that forks, not in each fork."""

    every: ClassVar[list[Kept]] = []

    def __init__(self, module: Any, name: str) -> None:
        self.known: dict[Any, Any] = {}
        self.missed: list[tuple[Any, ...]] = []
        self._real = getattr(module, name)
        setattr(module, name, self)
        Kept.every.append(self)

    def __call__(self, *arguments: Any) -> Any:
        # `re` takes texts and bytes of the same letters, with flags that are numbers or names.
        key = tuple((type(one).__name__ == "bytes", one) for one in arguments)
        if key not in self.known:
            self.known[key] = self._real(*arguments)
            self.missed.append(arguments)
        return self.known[key]


def keep_pure() -> None:
    """Keep what patterns and templates are compiled to."""
    from experience_forge.core import rendering
    from experience_forge.store import templates

    Kept(getattr(re, "_compiler", None) or importlib.import_module("sre_compile"), "compile")
    Kept(rendering, "faults_of")
    Kept(rendering, "_compiled")
    Kept(templates, "parse")


@dataclass(frozen=True)
class Learnt:
    """What a fork had to import and to work out; the next ones have it from their begin."""

    modules: tuple[str, ...]
    pure: tuple[tuple[tuple[Any, ...], ...], ...]


class Lesson:
    """In a fork: what comes after this."""

    def __init__(self) -> None:
        self._modules = set(sys.modules)
        self._missed = [len(one.missed) for one in Kept.every]

    def learnt(self) -> Learnt:
        pure = tuple(tuple(one.missed[at:]) for one, at in zip(Kept.every, self._missed, strict=True))
        return Learnt(tuple(sorted(set(sys.modules) - self._modules)), pure)


def warm(learnt: Learnt) -> None:
    """Import and work out once, for all forks, what one of them had to."""
    for name in learnt.modules:
        try:
            importlib.import_module(name)
        except Exception:
            # Made by its parent as it was imported: it comes with that one.
            continue
    for kept, missed in zip(Kept.every, learnt.pure, strict=True):
        for arguments in missed:
            kept(*arguments)
    gc.collect()
    gc.freeze()


def begin() -> None:
    """Import the whole package, and read the rules that come with it."""
    import experience_forge

    for found in pkgutil.walk_packages(experience_forge.__path__, "experience_forge."):
        importlib.import_module(found.name)
    keep_pure()
    read_rules()


def read_rules() -> None:
    """Fill the caches of what is shipped: files of the skill, none of the world."""
    from experience_forge import wording
    from experience_forge.core import vet_rules
    from experience_forge.store import (
        condition_rules,
        redaction,
        ruleset,
        session_signals,
        spelling_rules,
        templates,
        tidying,
    )
    from experience_forge.store.home import skill_folder

    for path in (skill_folder() / "rules").glob("*.yaml"):
        ruleset.shipped(path.stem)
    for path in (skill_folder() / "rules" / "messages").glob("errors*.yaml"):
        wording.sentences(path.stem)
    for language in ("en", "zh"):
        ruleset.messages(language)
    for fill in (redaction.rules, session_signals.detectors, condition_rules.lexicon, spelling_rules.forms,
                 tidying.rules, templates.shipped):  # fmt: skip
        fill()
    for name in ("prompts", "everyday_complaints"):
        # They are looked up one by one at each change: half of its time, and no write among it.
        del ruleset.shipped("calibration")[name][5:]
    vet_rules.Rules.of(ruleset.shipped("poison"))


def forked(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a fork of this process.

    Raises:
        AssertionError: with the words of whatever it raised.
        Died: when the fork was killed or hangs.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _answer(write, lambda: function(*arguments))
    os.close(write)
    try:
        return _answered(child, read)
    finally:
        os.close(read)


class Gate:
    """Where a fork waits until strace holds it."""

    def __init__(self) -> None:
        self.ready, self._ready = os.pipe()
        self._go, self.go = os.pipe()

    def wait(self) -> None:
        """In the fork: say who waits, and wait; it ends with the process that traces."""
        os.close(self.ready)
        os.close(self.go)
        os.write(self._ready, f"{os.getpid()}\n".encode())
        if not os.read(self._go, 1):
            os._exit(1)

    def here(self) -> None:
        """In the process that traces: keep its own ends alone."""
        os.close(self._ready)
        os.close(self._go)

    def close(self) -> None:
        os.close(self.ready)
        os.close(self.go)


def traced(function: Callable[[Gate], Any], options: list[str], log: Path) -> Any:
    """As `forked`, below `strace` with these options from where the function, or what it forks, waits at the gate."""
    gate, (read, write) = Gate(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _answer(write, lambda: function(gate))
    os.close(write)
    gate.here()
    try:
        waiting = _line(gate.ready)
        assert waiting, f"nobody waited at the gate: {_answered(child, read)}"
        with subprocess.Popen(
            ["strace", "-p", waiting, "-o", str(log), *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as strace:
            assert strace.stderr is not None
            told = _line(strace.stderr.fileno())
            assert "attached" in told, told
            os.write(gate.go, b"g")
            try:
                return _answered(child, read)
            finally:
                strace.wait(SECONDS)
    finally:
        gate.close()
        os.close(read)


def _answer(write: int, function: Callable[[], Any]) -> None:
    """In the fork: run, hand back what came of it, and end without Python's own end."""
    try:
        try:
            said = True, function()
        except BaseException:
            said = False, traceback.format_exc()
        data = pickle.dumps(said)
        while data:
            data = data[os.write(write, data):]
    finally:
        os._exit(0)


def _answered(child: int, read: int) -> Any:
    data = b""
    until = time.monotonic() + SECONDS
    while True:
        if not select.select([read], [], [], max(0.0, until - time.monotonic()))[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise Died(0)
        part = os.read(read, 1 << 20)
        if not part:
            break
        data += part
    status = os.waitpid(child, 0)[1]
    if not data:
        raise Died(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)
    good, said = pickle.loads(data)
    if not good:
        raise AssertionError(said)
    return said


def _line(descriptor: int) -> str:
    data = b""
    while not data.endswith(b"\n"):
        if not select.select([descriptor], [], [], SECONDS)[0]:
            break
        part = os.read(descriptor, 1)
        if not part:
            break
        data += part
    return data.decode("utf-8", "replace").strip()


def calls_of(trace: str) -> list[Call]:
    """The calls of one process in the order of a trace, each with its number among those of its name."""
    seen: dict[str, int] = {}
    found = []
    for line in trace.splitlines():
        match = _LINE.match(line)
        if match is not None:
            seen[match["call"]] = seen.get(match["call"], 0) + 1
            found.append(Call(match["call"], seen[match["call"]], line))
    return found


def ours(calls: Iterable[Call], base: str) -> list[Call]:
    """Those on files below `base` that write: opening a file to read it is none, opening a folder to flush it is."""
    return [one for one in calls if base in one.line and not _reads(one)]


def _reads(one: Call) -> bool:
    if one.name not in ("openat", "open") or any(word in one.line for word in ("O_WRONLY", "O_RDWR", "O_DIRECTORY")):
        return False
    # A folder is opened like a file; its kind is seen where it lies.
    opened = re.search(r'"((?:[^"\\]|\\.)*)"', one.line)
    return not (opened and os.path.isdir(opened[1]))

