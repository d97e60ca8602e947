"""The data home: its folders, and where the parts of the skill itself lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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


def skill_folder() -> Path:
    """The folder that holds `rules/` and `templates.md`: the skill, or the data of a wheel."""
    package = Path(__file__).resolve().parent.parent
    source = package.parent.parent
    return source if (source / "rules").is_dir() else package / "_data"
