"""The interactive client in a private tmux server, typed at like a person would (POSIX only)."""

from __future__ import annotations

import shlex
import subprocess
import time
import uuid
from collections.abc import Sequence

from .lab import Lab, Run
from .server import Server, Turn

PROMPT = "\u276f"
"""The mark before the input line, and before the chosen answer of a dialog."""
DIALOG = "Do you want to proceed?"
GONE = "CLIENT-HAS-ENDED"
POLL_SECONDS = 0.15
KEY_SECONDS = 0.25


class Terminal:
    """An interactive session; a context manager.

    Args:
        turns: first turns of the scripted model; more by `server.add`.
        args: options of the client. Give `--permission-mode`: the default mode asks the real server.
        size: columns and rows.
    """

    def __init__(
        self, lab: Lab, *turns: Turn, args: Sequence[str] = (), size: tuple[int, int] = (120, 50)
    ) -> None:
        self.lab = lab
        self.server = Server(*turns)
        self._args = list(args)
        self._size = size
        self._socket = f"forge-{uuid.uuid4().hex[:8]}"
        self._begun = 0.0

    def __enter__(self) -> Terminal:
        self.lab.recorded.unlink(missing_ok=True)
        self.server.__enter__()
        self._begun = time.monotonic()
        environment = self.lab.process_environment(self.server.url)
        words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
        client = shlex.join([*words, str(self.lab.client), *self._args])
        width, height = (str(number) for number in self._size)
        # "cat" keeps the pane, and with it the last screen, after the client has gone.
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height),
            *("-c", str(self.lab.project), f"{client}; echo {GONE}; cat"),
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._tmux("kill-server")
        self.server.__exit__(*error)

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-L", self._socket, *words]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        return done.stdout

    def screen(self, scrolled: int = 0) -> str:
        """What is on the screen now, with `scrolled` lines of history above it."""
        return self._tmux("capture-pane", "-p", *(("-S", f"-{scrolled}") if scrolled else ()))

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def type(self, text: str) -> None:
        """Type text, without Enter."""
        self._tmux("send-keys", "-l", text)
        time.sleep(KEY_SECONDS)

    def key(self, *names: str, pause: float = KEY_SECONDS) -> None:
        """Press named keys (`Enter`, `Down`, `Tab`, `Escape`, `C-c`), with a pause in seconds after each."""
        for name in names:
            self._tmux("send-keys", name)
            time.sleep(pause)

    def send(self, text: str) -> None:
        """Type a line and press Enter."""
        self.type(text)
        self.key("Enter")

    def wait(self, *texts: str, gone: str = "", seconds: float = 30, scrolled: int = 0) -> str:
        """The screen, once it shows all texts and no longer shows `gone`.

        Raises:
            TimeoutError: with the screen, when that never came.
        """
        deadline = time.monotonic() + seconds
        while True:
            shown = self.screen(scrolled)
            if all(text in shown for text in texts) and not (gone and gone in shown):
                return shown
            if time.monotonic() > deadline:
                raise TimeoutError(f"never saw {texts!r} without {gone!r}:\n{shown}")
            time.sleep(POLL_SECONDS)

    def ready(self) -> None:
        """Wait until the client takes input."""
        self.wait(PROMPT)
        time.sleep(1.0)  # keys typed in its first second are lost

    def dialog(self) -> str:
        """Wait for a permission dialog, and then long enough for an answer to count; its screen."""
        self.wait(DIALOG)
        time.sleep(1.1)
        return self.screen()

    def finish(self) -> Run:
        """Leave the polite way; what the session left behind."""
        self.send("/exit")
        shown = self.wait(GONE, seconds=20)
        return self.lab.left_behind(self.server, 0, shown, "", time.monotonic() - self._begun)
