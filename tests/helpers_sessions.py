"""Small transcripts for tests, as the client writes them."""

from __future__ import annotations

import json


class Transcript:
    """Builds a Claude Code transcript record by record; `text()` is the file."""

    def __init__(self, session="5e55-1", spaced=False):
        self.records, self.session, self.spaced, self.calls = [], session, spaced, 0

    def _add(self, kind, content, **more):
        self.records.append(
            {
                "type": kind,
                "isSidechain": False,
                "sessionId": self.session,
                "cwd": "/home/dev/shop",
                "timestamp": "2026-01-02T03:04:05Z",
                "uuid": f"u{len(self.records)}",
                "message": {"role": kind, "content": content},
                **more,
            }
        )
        return self

    def prompt(self, text, **more):
        """A prompt of the person."""
        return self._add("user", text, **more)

    def answer(self, text):
        """Something that the agent says."""
        return self._add("assistant", [{"type": "text", "text": text}])

    def thinking(self, text):
        """A thought of the agent."""
        return self._add("assistant", [{"type": "thinking", "thinking": text, "signature": ""}])

    def edit(self, path="/home/dev/shop/cart.py"):
        """An edit that succeeds."""
        return self._tool("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "updated", False)

    def run(self, command="python3 -m pytest", output="1 passed", failed=False):
        """A command with its output."""
        return self._tool("Bash", {"command": command}, output, failed)

    def _tool(self, name, given, output, failed):
        self.calls += 1
        ident = f"toolu_{self.calls}"
        self._add("assistant", [{"type": "tool_use", "id": ident, "name": name, "input": given}])
        block = {"type": "tool_result", "content": output, "tool_use_id": ident}
        return self._add("user", [{**block, "is_error": True} if failed else block])

    def lines(self):
        """The records as lines."""
        separators = (", ", ": ") if self.spaced else (",", ":")
        return [json.dumps(record, ensure_ascii=False, separators=separators) for record in self.records]

    def text(self):
        """The whole file."""
        return "".join(line + "\n" for line in self.lines())

    def write(self, path):
        """Write the file; returns its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text(), encoding="utf-8")
        return path


def rework(session="5e55-1", spaced=False):
    """A session with two rounds of rework by the agent's own check, and no word of complaint."""
    made = Transcript(session, spaced).prompt("make the cart total right").edit()
    made.run(output="Exit code 1\nFAILED test_total", failed=True).edit()
    made.run(output="Exit code 1\nFAILED test_total", failed=True).edit()
    return made.run().answer("All tests pass now.")
