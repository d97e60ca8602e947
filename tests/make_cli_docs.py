"""Writes docs/cli.md and docs/cli.zh-CN.md from the help texts; `--check` only compares."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
# Help is as wide as the terminal: the files must not depend on who makes them.
os.environ["COLUMNS"] = "110"

from experience_forge import cli, wording  # noqa: E402

HEADS = {
    "en": ("cli.md", "# Command line", "Generated from the help texts by `python3 tests/make_cli_docs.py`."),
    "zh": ("cli.zh-CN.md", "# 命令行", "由 `python3 tests/make_cli_docs.py` 从帮助文本生成。"),
}
"""By language: the file below docs/, its title, and where it comes from."""


def render(language: str) -> str:
    """The whole document in one language."""
    _, title, origin = HEADS[language]
    with wording.speaking(lambda: language):
        parts = [title, "", origin, "", "```text", cli.overview(), "```", ""]
        for verb in cli.verbs():
            parts += [f"## {verb}", "", "```text", cli.parser_of(verb).format_help().rstrip(), "```", ""]
    return "\n".join(parts)


def main() -> int:
    """Write or compare; returns an exit code."""
    differ = []
    for language, (name, _, _) in HEADS.items():
        path = ROOT / "docs" / name
        wanted = render(language)
        if "--check" not in sys.argv:
            path.write_text(wanted, encoding="utf-8", newline="\n")
        elif not path.exists() or path.read_text(encoding="utf-8") != wanted:
            differ.append(f"docs/{name}")
    for name in differ:
        print(f"{name} is not what the help texts say: run `python3 tests/make_cli_docs.py`")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
