"""The skill works wherever its folder lies and whoever calls it from where."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def copied(tmp_path):
    """The skill's files in a path with a space and Chinese characters."""
    folder = tmp_path / "我的 技能" / "experience-forge"
    for name in ("scripts", "rules"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("SKILL.md", "templates.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def call(copied, *arguments, cwd, environment):
    """Run the copied launcher from another folder."""
    return subprocess.run(
        [sys.executable, str(copied / "scripts" / "forge.py"), *arguments],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )


def test_a_copied_folder_runs_from_anywhere(copied, tmp_path):
    """In a path with a space and Chinese characters, every part of the package is found from another folder."""
    environment = {**os.environ, "PYTHONUTF8": "1"}
    environment.pop("PYTHONPATH", None)
    overview = call(copied, "--help", cwd=tmp_path, environment=environment)
    assert overview.returncode == 0, overview.stderr
    listed = call(copied, "list", "--json", cwd=tmp_path, environment=environment)
    assert listed.returncode == 0, listed.stderr
    assert '"entries": []' in listed.stdout


def test_a_locale_without_utf8_changes_nothing(copied, tmp_path):
    """In the C locale texts are read and printed as UTF-8 all the same."""
    environment = {**os.environ, "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment.pop("PYTHONPATH", None)
    config = Path(environment["EXPERIENCE_FORGE_HOME"]) / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("language: zh\n", encoding="utf-8")
    status = call(copied, "status", cwd=tmp_path, environment=environment)
    assert status.returncode == 0, status.stderr
    assert "数据目录" in status.stdout
