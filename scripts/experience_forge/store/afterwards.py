"""What a change that is no draft does to entries, in words and as a diff: what a person reads before they decide."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence

from ..core import codec
from ..core.changes import Change
from ..errors import ForgeError, Text, told
from ..model import Entry
from . import entries, files
from .home import Home

CONTEXT = 1
"""Lines of context around what a diff shows."""


@dataclasses.dataclass(frozen=True)
class Turn:
    """One entry before and after a change; `key` and text are empty on the side on which it is not there."""

    keys: tuple[str, str]
    texts: tuple[str, str]

    @property
    def entry(self) -> Entry | None:
        """The entry as it will be, or as it was when it goes; None when it can't be read."""
        try:
            return codec.parse(self.texts[1] or self.texts[0])
        except ForgeError:
            return None

    @property
    def before(self) -> Entry | None:
        """The entry as it is now; None when it is not there, or can't be read."""
        try:
            return codec.parse(self.texts[0]) if self.texts[0] else None
        except ForgeError:
            return None


def turns(home: Home, change: Change) -> list[Turn]:
    """Every entry that a change touches, a moved one once."""
    found: dict[str, Turn] = {}
    for write in change.writes:
        if write.key.startswith("@"):
            continue
        present = _present(home, write.key) if write.before else ""
        name = write.key.rpartition("/")[2]
        one = found.get(name, Turn(("", ""), ("", "")))
        keys = (write.key if present else one.keys[0], write.key if write.text else one.keys[1])
        found[name] = Turn(keys, (present or one.texts[0], write.text or one.texts[1]))
    return list(found.values())


def explained(home: Home, change: Change) -> Change:
    """The change with title and rule of its entries, its summary in words, and the diffs, above what machines read."""
    lines: list[str] = []
    touched = turns(home, change)
    for turn in touched:
        entry = turn.entry
        if entry is not None:
            lines += [entry.title, told(Text("errors_store.after_rule", rule=entry.rule)), ""]
    lines += [change.summary, ""] if change.summary else []
    for turn in touched:
        lines += [*_diff(turn), ""]
    lines.append(told(Text("errors_store.after_machine")))
    return dataclasses.replace(change, summary="\n".join(lines))


def undone(touched: Sequence[Turn]) -> str:
    """What will be true once a change was taken back, a sentence for each entry."""
    return "\n".join(told(_undone(turn)) for turn in touched)


def _undone(turn: Turn) -> Text:
    entry, before = turn.entry, turn.before
    title = entry.title if entry is not None else (turn.keys[1] or turn.keys[0])
    if not turn.texts[1]:
        return Text("errors_store.after_gone", title=title)
    if before is None or entry is None:
        return Text("errors_store.after_back", title=title)
    differs = [
        Text("errors_store.after_field", name=Text(f"errors_store.name_{name}"),
             before=_word(before, name), after=_word(entry, name))
        for name in ("track", "status", "guard") if getattr(before, name) is not getattr(entry, name)
    ]  # fmt: skip
    if differs:
        return Text("errors_store.after_fields", title=title, fields=differs)
    return Text("errors_store.after_text", title=title)


def _word(entry: Entry, name: str) -> Text:
    value = getattr(entry, name).value
    return Text(f"errors.status_{value}" if name == "status" else f"errors_store.word_{name}_{value}")


def _diff(turn: Turn) -> list[str]:
    before, after = (text.splitlines() for text in turn.texts)
    lines = list(difflib.unified_diff(before, after, lineterm="", n=CONTEXT))[2:]
    places = " → ".join(dict.fromkeys(key for key in turn.keys if key))
    return [f"{places}:", *lines] if lines else []


def _present(home: Home, key: str) -> str:
    try:
        return files.read_text(entries.path_of(home, key))
    except (OSError, ForgeError):
        return ""
