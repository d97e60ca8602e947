"""Small real trees for tests: entries, drafts, homes."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from pathlib import Path

from experience_forge import report
from experience_forge.core import codec
from experience_forge.model import Condition, Consent, Entry, Kind, Track
from experience_forge.store import home, journal, library, proposals
from experience_forge.store.home import Home


def entry(entry_id: str = "use-pnpm", **fields) -> Entry:
    """A valid entry; every field may be given."""
    values = {
        "id": entry_id,
        "title": f"Use pnpm in this repository ({entry_id})",
        "kind": Kind.PREFERENCE,
        "track": Track.PERSONAL,
        "sections": (
            ("rule", "Use pnpm, never npm."),
            ("why", "The lock file is pnpm's; npm writes a second one."),
            ("how", "pnpm install, pnpm add, pnpm run."),
        ),
        "aliases": ("用 pnpm 不要用 npm",),
        "applies_when": (Condition(command="npm install *"),),
        "fails_when": (Condition(command="npm install *"),),
        "created": "2026-08-28",
        "updated": "2026-08-28",
    }
    values.update(fields)
    return Entry(**values)


def confirm(one: Entry, consent: Consent | None = None, into: Home | None = None) -> library.Applied:
    """Put an entry into the library the way a confirmed draft goes."""
    where = into or home.current()
    draft = proposals.create(where, "draft", codec.render(one), {}, one.id)
    return library.apply(where, draft, consent or Consent("terminal", journal.now(), "terminal"))


@contextmanager
def answering(answer: str, then: str | None = None):
    """A person at a terminal who gives this answer to whatever is asked, in this process.

    Args:
        then: what they say from the second question on, when it is another answer.
    """
    before = report.Output.ask
    answers = itertools.chain([answer], itertools.repeat(answer if then is None else then))
    report.Output.ask = lambda self, question: next(answers)
    try:
        yield
    finally:
        report.Output.ask = before


def tree(base: Path) -> dict[str, bytes]:
    """All files below a folder with their bytes, by their path with `/`."""
    return {p.relative_to(base).as_posix(): p.read_bytes() for p in sorted(base.rglob("*")) if p.is_file()}
