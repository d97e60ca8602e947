"""Where one install goes, and what of it depends on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..clients import claude_files, claude_settings
from ..errors import Text, Usage
from ..fast import home as fast_home
from ..store import home as store_home
from ..store import installs
from . import environment, machine, skill


@dataclass(frozen=True)
class Target:
    """One install: `project` tells a project's `.claude` from the user's own client folder."""

    source: Path
    home: Path
    client_folder: Path
    settings: Path
    project: bool
    base: str
    client: machine.Client | None
    hooks: bool
    rules: bool
    borrowed: Path | None = None

    @property
    def skill(self) -> Path:
        """The skill folder of the client."""
        return self.client_folder / "skills" / skill.NAME

    @property
    def venv(self) -> Path:
        """The private environment; the demo may borrow one that is there."""
        return self.borrowed or self.home / "venv"

    @property
    def requirements(self) -> Path:
        """The pinned packages."""
        return self.source / "requirements.txt"

    @property
    def launcher(self) -> str:
        """How the command is called."""
        return skill.launcher_path(self.home)

    @property
    def settings_lock(self) -> Path:
        """The lock of settings edits; in our home, since the client watches its own folder."""
        return self.home / "settings.lock"

    @property
    def client_too_old(self) -> bool:
        """Whether the client can't start hooks in exec form."""
        numbers = self.client.numbers if self.client else ()
        return bool(numbers) and numbers < claude_settings.OLDEST_CLIENT

    @property
    def given_elsewhere(self) -> bool:
        """Whether the user's own install gives the reminder and rule files, so that this one writes none."""
        return self.project and any(not one.project for one in claude_files.installs(store_home.Home(self.home)))

    def wanted(self) -> claude_settings.Wanted:
        """What shall stand in the settings."""
        groups = claude_settings.hook_groups(self.base, str(self.skill / "scripts")) if self.hooks else {}
        return claude_settings.Wanted(groups, claude_settings.allow_rules(self.launcher) if self.rules else ())

    def launchers(self) -> dict[Path, str]:
        """Launcher files with their texts."""
        folders = installs.launched(self.home, self.skill, self.project)
        return skill.launchers(self.home, folders, environment.python_of(self.venv), self.base)

    def mark(self) -> dict[str, Any]:
        """The record in the skill folder."""
        return {
            "version": __version__,
            "home": str(self.home),
            "python": self.base,
            "launcher": self.launcher,
            "hooks": self.hooks,
            "client_version": self.client.version if self.client else "",
        }


def make(source: Path, project: str | None, hooks: bool, rules: bool, *, gone_too: bool = False) -> Target:
    """The target on this machine.

    Args:
        project: a project folder, or None for the user's own client folder.
        gone_too: the project folder may be gone, when an install in it is recorded.

    Raises:
        Usage: when the project folder does not exist.
    """
    store_home.check()
    home = Path(fast_home.default_home())
    if project is None:
        client_folder = Path(fast_home.client_folder())
        settings = client_folder / "settings.json"
    else:
        folder = Path(os.path.abspath(os.path.expanduser(project)))
        known = gone_too and installs.of(home, folder / ".claude" / "skills" / skill.NAME)
        if not folder.is_dir() and not known:
            raise Usage(Text("errors_install.no_folder", path=folder), Text("errors_install.project_folder"))
        client_folder, settings = folder / ".claude", folder / ".claude" / "settings.local.json"
    client = machine.find_client()
    target = Target(
        source, home, client_folder, settings, project is not None, machine.base_python(), client, hooks, rules
    )
    if hooks and (target.client_too_old or hooks_elsewhere(target)):
        return make_without_hooks(target)
    return target


def make_without_hooks(target: Target) -> Target:
    """The same target, with no hooks."""
    values = {name: getattr(target, name) for name in target.__dataclass_fields__}
    return Target(**{**values, "hooks": False})


def hooks_elsewhere(target: Target) -> bool:
    """Whether the user's own install has hooks already, which act in every project."""
    if not target.project:
        return False
    return any(one.get("hooks") and not one.get("project") for one in installs.known(target.home))
