"""A hook command that records what it gets and plays a prepared reply: `recorder.py LOG [REPLY]`.

REPLY is a JSON file with any of `stdout` (text, or an object printed as JSON), `stderr`, `exit`,
`sleep` (seconds, before answering).
"""

import json
import os
import sys
import time

KEPT = ("CLAUDE", "EXPERIENCE_FORGE")
LEFT_OUT = ("TOKEN", "KEY", "SECRET")


def main(arguments):
    """Record one event; the exit code is the reply's."""
    raw = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        event = json.loads(raw)
    except ValueError:
        event = {"unparsed": raw}
    names = [name for name in os.environ if name.startswith(KEPT) and not any(word in name for word in LEFT_OUT)]
    environment = {name: os.environ[name] for name in names}
    with open(arguments[0], "a", encoding="utf-8") as log:
        log.write(json.dumps({"event": event, "env": environment}, ensure_ascii=False) + "\n")
    if len(arguments) < 2:
        return 0
    with open(arguments[1], encoding="utf-8") as file:
        reply = json.load(file)
    time.sleep(reply.get("sleep", 0))
    text = reply.get("stdout", "")
    sys.stdout.write(text if isinstance(text, str) else json.dumps(text))
    sys.stderr.write(reply.get("stderr", ""))
    return int(reply.get("exit", 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
