"""Whether a coding agent is above this process: then a terminal proves nothing.

A model can make itself a terminal with `script` or `setsid`; the environment and the ancestors
mostly still show where it came from.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..store import files
from ..store.home import skill_folder

MAX_DEPTH = 40


def client_above(environ: Mapping[str, str], pid: int | None = None) -> str:
    """What shows that a client started us: a variable or a program; empty when nothing does.

    Args:
        pid: the process whose ancestors are looked at, this one by default.
    """
    known = _known()
    for name in known["variables"]:
        if environ.get(name):
            return str(name)
    for words in ancestors(os.getpid() if pid is None else pid):
        found = client_in(words, known["names"], known["paths"])
        if found:
            return found
    return ""


def _known() -> dict[str, list[str]]:
    # Without a YAML library: install.py asks too, on a Python that has none.
    text = files.read_text(skill_folder() / "rules" / "clients.yaml")
    lines = (line.partition(": ") for line in text.splitlines())
    return {name: json.loads(value) for name, colon, value in lines if colon and value.startswith("[")}


def client_in(words: list[str], names: list[str], paths: list[str]) -> str:
    """The client that a command line is, or empty: its program, or the script that its program runs."""
    for word in words[:2]:
        base = word.replace("\\", "/").rsplit("/", 1)[-1].lower()
        for ending in (".exe", ".cmd", ".js", ".mjs"):
            base = base.removesuffix(ending)
        if base in names:
            return base
        for part in paths:
            if part in word.replace("\\", "/"):
                return part
    return ""


def ancestors(pid: int) -> Iterator[list[str]]:
    """The command lines of the parent, its parent and so on, as far as they can be seen."""
    look = _linux if Path("/proc/self/stat").exists() else _windows_table() if sys.platform == "win32" else _ps
    for depth in range(MAX_DEPTH):
        try:
            parent, words = look(pid)
        except (OSError, ValueError, KeyError, subprocess.SubprocessError):
            return
        if depth:
            yield words
        if parent <= 1 or parent == pid:
            return
        pid = parent


def age_of_this_process() -> float:
    """Seconds since this process was started; where the system does not say, the CPU time that it took."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        up = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        return max(0.0, up - int(fields[19]) / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()


def _linux(pid: int) -> tuple[int, list[str]]:
    # The name stands in parentheses and may hold anything, so the fields are counted from its end.
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    name = stat[stat.index("(") + 1:stat.rindex(")")]
    parent = int(stat[stat.rindex(")") + 2:].split()[1])
    raw = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    words = [word for word in raw.split("\0") if word]
    return parent, [*words[:2], name] if not words else [words[0], *words[1:2]]


def _ps(pid: int) -> tuple[int, list[str]]:
    command = ["ps", "-o", "ppid=,command=", "-p", str(pid)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=2, check=True)
    parent, _, line = done.stdout.strip().partition(" ")
    return int(parent), line.split()


def _windows_table() -> Callable[[int], tuple[int, list[str]]]:
    """A look-up over one snapshot of all processes (Toolhelp), names only."""
    if sys.platform != "win32":
        raise OSError("not Windows")
    import ctypes
    from ctypes import wintypes

    class Entry(ctypes.Structure):
        _fields_ = (
            ("size", wintypes.DWORD), ("usage", wintypes.DWORD), ("pid", wintypes.DWORD),
            ("heap", ctypes.POINTER(ctypes.c_ulong)), ("module", wintypes.DWORD), ("threads", wintypes.DWORD),
            ("parent", wintypes.DWORD), ("priority", ctypes.c_long), ("flags", wintypes.DWORD),
            ("name", ctypes.c_wchar * 260),
        )  # fmt: skip

    kernel = ctypes.windll.kernel32
    snapshot = kernel.CreateToolhelp32Snapshot(2, 0)
    entry = Entry(size=ctypes.sizeof(Entry))
    table: dict[int, tuple[int, list[str]]] = {}
    more = kernel.Process32FirstW(snapshot, ctypes.byref(entry))
    while more:
        table[entry.pid] = (entry.parent, [entry.name])
        more = kernel.Process32NextW(snapshot, ctypes.byref(entry))
    kernel.CloseHandle(snapshot)
    return table.__getitem__
