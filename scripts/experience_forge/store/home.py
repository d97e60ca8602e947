"""The data home: its folders, and where the parts of the skill itself lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import Refused, Text
from ..fast import home as fast_home


@dataclass(frozen=True)
class Home:
    """Paths of one data home (DESIGN 4)."""

    root: Path

    @property
    def entries(self) -> Path:
        """Confirmed entries, `<track>/[<domain or project>/]<id>.md`."""
        return self.root / "entries"

    @property
    def proposals(self) -> Path:
        """The inbox; loaded by nothing."""
        return self.root / "proposals"

    @property
    def journal(self) -> Path:
        """Chained records of consents and changes."""
        return self.root / "journal"

    @property
    def ledger(self) -> Path:
        """One append-only file a session."""
        return self.root / "ledger"

    @property
    def evidence(self) -> Path:
        """Redacted excerpts with their address."""
        return self.root / "evidence"

    @property
    def receipts(self) -> Path:
        """Open consent receipts, hashes only."""
        return self.root / "receipts"

    @property
    def derived(self) -> Path:
        """Index, search data, read positions: rebuilt at will."""
        return self.root / "derived"

    @property
    def logs(self) -> Path:
        """Fault logs that doctor shows."""
        return self.root / "logs"

    @property
    def config(self) -> Path:
        """Settings the user chose."""
        return self.root / "config.yaml"

    @property
    def lock(self) -> Path:
        """The lock of every change."""
        return self.root / "lock"


def current() -> Home:
    """The data home of this process, by its environment."""
    return Home(Path(str(fast_home.default_home())))


def check() -> None:
    """See that the data home can be one, before anything else is tried: one refusal for all commands.

    Raises:
        Refused: when the environment names a relative path (each folder would get a home of its own), or when the
            path, or what stands above it, is no folder.
    """
    own = os.environ.get("EXPERIENCE_FORGE_HOME", "")
    if own and not os.path.isabs(os.path.expanduser(own)):
        raise Refused(Text("errors_store.home_relative", path=own), Text("errors_store.home_hint"))
    for path in (current().root, *current().root.parents):
        if path.is_dir():
            return
        if path.is_symlink() or path.exists():
            raise Refused(Text("errors_store.home_no_folder", path=path), Text("errors_store.home_hint"))


def skill_folder() -> Path:
    """The folder that holds `rules/` and `templates.md`: the skill, or the data of a wheel."""
    package = Path(__file__).resolve().parent.parent
    source = package.parent.parent
    return source if (source / "rules").is_dir() else package / "_data"
