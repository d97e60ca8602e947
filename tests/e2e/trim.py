"""Makes a transcript of a lab small and free of this machine: `python -m e2e.trim LAB OUT.jsonl [SESSION]`.

Conversation and hook records stay whole. Records that carry the client's own texts (system prompt,
lists of tools and skills) keep their envelope only: those texts are not ours to ship.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .lab import REPOSITORY, read_lines
from .server import Json

WHOLE = {"user", "assistant", "system", "mode", "last-prompt"}
ENVELOPE = (
    "type", "subtype", "uuid", "parentUuid", "isSidechain", "timestamp", "sessionId", "cwd", "version",
    "gitBranch", "userType", "entrypoint",
)


def trimmed(record: Json) -> Json:
    """The record, or only its envelope when its content is the client's own text."""
    attached = (record.get("attachment") or {}).get("type", "")
    if record.get("type") in WHOLE or attached.startswith("hook_"):
        return record
    small = {name: record[name] for name in ENVELOPE if name in record}
    if attached:
        small["attachment"] = {"type": attached}
    return {**small, "trimmed": True}


def dashed(path: str) -> str:
    """The folder name that the client makes of a working folder."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in path)


def neutral(text: str, root: Path) -> str:
    """Machine folders replaced, both plain and in the client's dashed form."""
    places = {
        (root / "project").as_posix(): "/home/dev/project",
        (root / "home").as_posix(): "/home/dev",
        root.as_posix(): "/home/dev/lab",
        REPOSITORY.as_posix(): "/opt/experience-forge",
        sys.executable: "python3",
    }
    for old, new in places.items():
        text = text.replace(old, new).replace(dashed(old), dashed(new))
    return text


def trim(transcript: Path, root: Path) -> str:
    """The whole trimmed text of one transcript of the lab at `root`."""
    lines = (json.dumps(trimmed(record), ensure_ascii=False) for record in read_lines(transcript))
    return neutral("".join(f"{line}\n" for line in lines), root)


def main(arguments: list[str]) -> int:
    """Trim the one session of a lab; 1 when there is not exactly one."""
    root, session = Path(arguments[0]).resolve(), arguments[2] if len(arguments) > 2 else ""
    found = sorted((root / "home" / ".claude" / "projects").glob(f"*/{session}*.jsonl"))
    if len(found) != 1:
        print(f"{len(found)} transcripts match", file=sys.stderr)
        return 1
    Path(arguments[1]).write_text(trim(found[0], root), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
