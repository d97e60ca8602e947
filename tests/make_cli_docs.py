"""Writes docs/cli.md from the help texts; `--check` only compares."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
# argparse breaks lines by the terminal's width: the file must not depend on who makes it.
os.environ["COLUMNS"] = "110"

from experience_forge import cli  # noqa: E402


def render() -> str:
    """The whole document."""
    parts = ["# Command line", "", "Generated from the help texts by `python3 tests/make_cli_docs.py`.", ""]
    parts += ["```text", cli.overview(), "```", ""]
    for verb in cli.verbs():
        parts += [f"## {verb}", "", "```text", cli.parser_of(verb).format_help().rstrip(), "```", ""]
    return "\n".join(parts)


def main() -> int:
    """Write or compare; returns an exit code."""
    path = ROOT / "docs" / "cli.md"
    wanted = render()
    if "--check" not in sys.argv:
        path.write_text(wanted, encoding="utf-8", newline="\n")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == wanted:
        return 0
    print("docs/cli.md is not what the help texts say: run `python3 tests/make_cli_docs.py`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
