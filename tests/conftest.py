"""Fixtures: every test has a home of its own and can't reach the real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REAL_HOME = Path(os.path.expanduser("~"))


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """A throw-away HOME, data home and client folder; using the real ones raises."""
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "EXPERIENCE_FORGE", "XDG_")) and name != "EXPERIENCE_FORGE_TEST_ENV":
            monkeypatch.delenv(name)
    for name in ("LANG", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(home / "forge-home"))
    _refuse_real_home(monkeypatch)
    return home


def _refuse_real_home(monkeypatch):
    from experience_forge.fast import home as fast_home

    original = fast_home.default_home

    def guarded(*arguments, **keywords):
        path = original(*arguments, **keywords)
        if Path(path).is_relative_to(REAL_HOME / ".local") or Path(path).is_relative_to(REAL_HOME / ".claude"):
            raise RuntimeError(f"a test reached for the real home: {path}")
        return path

    monkeypatch.setattr(fast_home, "default_home", guarded)
