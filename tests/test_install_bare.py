"""install.py runs on a Python that has nothing but the standard library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def bare(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """One run of install.py without site-packages."""
    return subprocess.run(
        [sys.executable, "-S", "-B", str(ROOT / "install.py"), *arguments], capture_output=True, encoding="utf-8",
        stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONUTF8": "1", **environ}, timeout=120,
    )


@pytest.mark.parametrize("arguments", [("--yes", "--hooks", "--dry-run"), ("--yes", "--no-hooks", "--dry-run")])
def test_the_installer_needs_no_package(arguments):
    """Before the private environment is there, no package of ours is: the installer says what it will do."""
    run = bare(*arguments)
    assert run.returncode == 0, run.stderr
    assert "pyyaml" in run.stdout


def test_an_uninstall_needs_no_package():
    """Taking everything away, entries included, asks who sits there without a package of ours."""
    run = bare("--uninstall", "--purge", "--yes", CLAUDE_CODE_SESSION_ID="s")
    assert "Traceback" not in run.stderr and run.returncode in (0, 1, 4), run.stderr


@pytest.mark.parametrize(("language", "says", "hint"), [
    ("en_US.UTF-8", "unrecognized arguments: --nope", "hint: see `install.py --help`"),
    ("zh_CN.UTF-8", "不认识的参数：--nope", "提示：请看 `install.py --help`"),
])
def test_a_wrong_command_line_is_told_in_the_users_language(language, says, hint):
    """The installer's usage errors come in both languages, by the standard library alone."""
    run = bare("--nope", LANG=language)
    assert run.returncode == 2
    assert run.stderr == f"install.py: {says}\n{hint}\n"
