"""What the Stop hook needs of rules, settings and texts, as one JSON file: hooks read no YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import files, ruleset, templates
from .home import Home

NAME = "signals.json"
VERSION = 1


def build(home: Home) -> Path:
    """Write `<home>/derived/signals.json`; unchanged bytes are not written. Returns the file.

    Raises:
        Refused: when it can't be written.
        Invalid: when a rule file or the templates do not hold.
    """
    path = home.derived / NAME
    text = json.dumps(document(home), ensure_ascii=False, separators=(",", ":"))
    try:
        if files.read_text(path) == text:
            return path
    except FileNotFoundError:
        pass
    files.make_folder(home.derived)
    files.write_text(path, text)
    return path


def document(home: Home) -> dict[str, Any]:
    """The rules of signals, and the suggestion's sentence in both languages with `{signals}` and `{score}` open."""
    phrases, scoring = ruleset.load("phrases"), ruleset.load("scoring")
    book = templates.accepted(home)
    return {
        "version": VERSION,
        "phrases": {name: part for name, part in phrases.items() if name != "version"},
        "scoring": {
            name: scoring[name] for name in ("weights", "weak_share", "thresholds", "rework_rounds", "explain", "quiet")
        },
        "names": scoring["names"],
        "answers": scoring["answers"],
        "replies": scoring["replies"],
        "texts": {language: templates.for_hooks(book, language) for language in ("en", "zh")},
    }
