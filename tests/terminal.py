"""Runs the command line at a pseudo-terminal, as a person would; POSIX only."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORGE = [sys.executable, str(ROOT / "scripts" / "forge.py")]


def hear_signals():
    """In a child: whoever runs the tests may have left signals ignored (`nohup`, `&`), and that is inherited."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A command at a terminal of its own: `expect` waits for text, `send` types a line."""

    def __init__(self, arguments, columns=100, **environment):
        import fcntl
        import pty
        import struct
        import termios

        self.seen = ""
        self.code = None
        script = bool(arguments) and str(arguments[0]).endswith(".py")
        command = [sys.executable, *arguments] if script else [*FORGE, *arguments]
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            # Here, not by the parent: a quick command has read its width before the parent runs again.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            hear_signals()
            # readline, which pytest loads, puts COLUMNS into the environment that a worker of pytest begins with.
            kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
            given = {**kept, "TERM": "xterm", "PYTHONUTF8": "1", **environment}
            os.execve(command[0], [str(part) for part in command], given)

    def expect(self, text, seconds=20.0):
        """Everything printed so far, once `text` occurs in it."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            if time.monotonic() > deadline or not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{text!r} did not come; seen:\n{self.seen}")
        return self.seen

    def send(self, line):
        """Type a line."""
        os.write(self.descriptor, line.encode("utf-8") + b"\n")

    def end(self, seconds=20.0):
        """Wait for the end; returns the exit code."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def interrupt(self):
        """Press Ctrl-C and wait for the end; pressed again when it was lost while the terminal was being set up."""
        return self._ended_by(lambda: os.write(self.descriptor, b"\x03"))

    def kill(self, number):
        """Send a signal and wait for the end; sent again when it came before the question was waited at."""
        return self._ended_by(lambda: os.kill(self.pid, number))

    def _ended_by(self, act):
        for _ in range(8):
            act()
            try:
                return self.end(3.0)
            except AssertionError:
                continue
        return self.end()

    def _read(self, seconds):
        ready, _, _ = select.select([self.descriptor], [], [], max(0.0, seconds))
        if not ready:
            raise AssertionError(f"nothing more came; seen:\n{self.seen}")
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)
