"""Fixtures of the end-to-end tests: the real client, or a reason why not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from .lab import Lab, find_client

# Looked up on import: the fixture `own_home` takes CLAUDE_* out of the environment.
CLIENT = find_client()
MISSING = (
    "no Claude Code client: `npm install --prefix .client --no-audit --no-fund "
    "@anthropic-ai/claude-code-linux-x64@2.1.332`, or name one in CLAUDE_BIN"
)


def _need(present: bool, reason: str) -> None:
    if present:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def client() -> Path:
    """The client's program; without one the test is skipped, and in CI it fails."""
    _need(CLIENT is not None and CLIENT.exists(), MISSING)
    assert CLIENT is not None
    return CLIENT


@pytest.fixture(scope="session")
def tmux() -> str:
    """The terminal multiplexer that interactive tests need; as `client`."""
    found = shutil.which("tmux")
    _need(found is not None, "no tmux: interactive tests need it (`apt-get install tmux`)")
    assert found is not None
    return found


@pytest.fixture
def lab(client: Path, tmp_path: Path) -> Lab:
    """A fresh throw-away HOME and project."""
    return Lab(client, tmp_path / "lab")
