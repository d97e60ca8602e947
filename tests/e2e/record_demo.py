"""Records the session of the demo anew: `cd tests && python -m e2e.record_demo [OUT.jsonl]` (needs the client, tmux).

Types the prompts of examples/demo/scenario.json into the real client, whose model is scripted, and
keeps the trimmed transcript. Commands and edits really run, so their results are the client's own.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from .lab import REPOSITORY, Lab, find_client
from .terminal import Terminal
from .trim import trim

DEMO = REPOSITORY / "examples" / "demo"


def main(arguments: list[str]) -> int:
    """Record and write; 1 without a client."""
    client = find_client()
    if client is None:
        print("no client", file=sys.stderr)
        return 1
    target = Path(arguments[0]) if arguments else DEMO / "session.jsonl"
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(client, Path(folder))
        spec = json.loads(
            (DEMO / "scenario.json").read_text(encoding="utf-8").replace("{PROJECT}", lab.project.as_posix())
        )
        for name, text in spec["files"].items():
            lab.write(name, text)
        turns = [turn for step in spec["steps"] for turn in step["turns"]]
        with Terminal(lab, *turns, args=spec["args"], size=(160, 50)) as terminal:
            terminal.ready()
            for step in spec["steps"]:
                terminal.send(step["prompt"])
                terminal.wait(step["turns"][-1]["text"][:16], seconds=90)
                time.sleep(2)
            run = terminal.finish()
        text = trim(run.transcripts[-1], lab.root)
    target.write_text(text.replace(folder, "/home/dev/lab"), encoding="utf-8")
    print(f"{target}: {len(text.splitlines())} records")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
