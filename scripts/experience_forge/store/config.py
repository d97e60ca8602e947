"""Settings the user chose, `<home>/config.yaml`; every setting has a default here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ..errors import Invalid, Refused, Text
from . import files
from .home import Home, current

LANGUAGES = ("en", "zh")
DEFAULTS: Mapping[str, Any] = {
    "language": "auto",
    "suggest": {"on": True, "threshold": 3, "declined_in_a_row": 0, "off_projects": []},
    "recall": {
        "on": True,
        "start_count": 5,
        "start_characters": 2000,
        "off_projects": [],
    },
    "measure": {"holdouts": False},
    "project_file": "CLAUDE.md",
}

CHOICES: Mapping[str, tuple[str, ...]] = {
    "language": ("auto", "en", "zh"), "project_file": ("CLAUDE.md", "CLAUDE.local.md"),
}  # fmt: skip
BOUNDS: Mapping[str, tuple[float, float]] = {
    "recall.start_count": (0, 50), "recall.start_characters": (0, 2000), "suggest.threshold": (0.1, 20),
}  # fmt: skip
"""The least and the most that a number may be; beyond them the nearer one counts."""
UNSET = ("recall.embed", "measure.answered")
"""Settings that have no default, or that a command keeps here."""


def load() -> dict[str, Any]:
    """All settings, defaults filled in, unknown ones kept.

    Raises:
        Invalid: when the file is no YAML mapping, or a setting has another type than its default.
    """
    return _bounded(_merged(_tuned(DEFAULTS), _read()))


def _bounded(data: dict[str, Any]) -> dict[str, Any]:
    for name, (least, most) in BOUNDS.items():
        group, _, key = name.partition(".")
        data[group] = {**data[group], key: max(least, min(most, data[group][key]))}
    return data


def _read() -> dict[str, Any]:
    path = current().config
    try:
        data = yaml.safe_load(files.read_text(path)) or {}
    except FileNotFoundError:
        data = {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = Text("errors_store.path_line", path=path, line=mark.line + 1) if mark else path
        raise Invalid(Text("errors_store.not_yaml", where=where), Text("errors_store.mend_config")) from error
    if not isinstance(data, dict):
        raise Invalid(Text("errors.no_mapping", path=path), Text("errors_store.mend_config"))
    data = _named(data)
    faults = _faults(data, {**DEFAULTS, "domains": {}, "merged_domains": {}})
    if faults:
        raise Invalid(Text("errors_store.settings", path=path), Text("errors_store.mend_config"), faults)
    return data


def oddities() -> list[tuple[str, dict[str, str]]]:
    """What stands in the file and does nothing: names that nothing reads, values that are none of the possible ones.

    Returns `("key", {"name", "near"})` (`near` may be empty), `("value", {"name", "value", "known"})` and
    `("range", {"name", "value", "least", "most"})`.
    """
    data = _read()
    due: dict[str, Any] = {**DEFAULTS, "domains": {}, "merged_domains": {}}
    found = list(_unknown(data, due))
    for name, known in CHOICES.items():
        value = data.get(name)
        if value is not None and value not in known:
            found.append(("value", {"name": name, "value": str(value), "known": ", ".join(known)}))
    for name, (least, most) in BOUNDS.items():
        group, _, key = name.partition(".")
        value = (data.get(group) or {}).get(key)
        if value is not None and not least <= value <= most:
            found.append(("range", {"name": name, "value": f"{value:g}", "least": f"{least:g}", "most": f"{most:g}"}))
    return found


def _unknown(data: Mapping[str, Any], due: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Names that are none of the settings, with the nearest that is one."""
    import difflib

    known = [*due, *(name.removeprefix(above) for name in UNSET if name.startswith(above))]
    for name, value in data.items():
        inner = due.get(name)
        if name not in known:
            near = difflib.get_close_matches(name, [one for one in known if "." not in one], 1, 0.5)
            yield "key", {"name": above + name, "near": above + near[0] if near else ""}
        elif isinstance(value, Mapping) and isinstance(inner, Mapping) and inner:
            yield from _unknown(value, inner, f"{above}{name}.")


def _named(data: Mapping[Any, Any]) -> dict[str, Any]:
    """The mapping with its names as texts: YAML takes a bare `on:` for the truth value."""
    words = {True: "on", False: "off"}
    return {
        words.get(name, str(name)) if isinstance(name, bool) else str(name):
            _named(value) if isinstance(value, Mapping) else value
        for name, value in data.items()
    }  # fmt: skip


def _faults(data: Mapping[str, Any], due: Mapping[str, Any], above: str = "") -> list[Text]:
    """Settings that have another type than their default, each with its place."""
    found: list[Text] = []
    for name, value in data.items():
        wanted = due.get(name)
        if wanted is None or value is None:
            continue
        # A whole number is as good as any, and a switch is none: `threshold: true` is a mistake.
        kinds = (int, float) if isinstance(wanted, int) and not isinstance(wanted, bool) else type(wanted)
        if not isinstance(value, kinds) or isinstance(value, bool) is not isinstance(wanted, bool):
            form = {bool: "switch", dict: "mapping", list: "list", str: "text"}.get(type(wanted), "number")
            found.append(Text("errors_store.setting", name=above + str(name), form=Text(f"errors_store.form_{form}")))
        elif isinstance(wanted, Mapping) and isinstance(value, Mapping):
            found += _faults(value, wanted, f"{above}{name}.")
    return found


def _tuned(defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """The defaults with the score from which to suggest as `tune` left it."""
    from . import ruleset

    if not ruleset.tuning_path(current(), "scoring").exists():
        return defaults
    return _merged(defaults, {"suggest": {"threshold": ruleset.load("scoring")["thresholds"]["suggest"]}})


def change(values: Mapping[str, Any]) -> dict[str, Any]:
    """Write settings over the present ones, under the home's lock; returns all settings.

    Args:
        values: nested like the file, such as `{"suggest": {"on": False}}`; None takes a setting out.
    """
    home = current()
    with files.locked(home.lock):
        data = _changed(_read(), values)
        files.write_text(home.config, yaml.safe_dump(data, allow_unicode=True, sort_keys=False))
    return load()


def language() -> str:
    """`zh` or `en`: the setting, else the locale of the environment."""
    try:
        chosen = str(load()["language"])
    except Exception:
        chosen = "auto"
    if chosen in LANGUAGES:
        return chosen
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def loaded_language(home: Home, shown: str = "") -> str:
    """`zh` or `en`: what a client loads is in this language, whatever the locale of the shell is by now.

    It is the setting, else what was in force when the first projection was made (`keep_language`).

    Args:
        shown: with neither, the language of what a client loads already; empty when that is nothing.
    """
    chosen = str(load()["language"])
    return chosen if chosen in LANGUAGES else kept_language(home) or shown or language()


def kept_language(home: Home) -> str:
    """The language of the first projection; empty before it."""
    try:
        kept = files.read_text(home.root / "language").strip()
    except (FileNotFoundError, Refused):
        return ""
    return kept if kept in LANGUAGES else ""


def keep_language(home: Home, value: str) -> None:
    """Remember the language of the first projection; a later call changes nothing."""
    if not kept_language(home):
        files.write_text(home.root / "language", value + "\n")


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = {key: (dict(value) if isinstance(value, Mapping) else value) for key, value in base.items()}
    for key, value in over.items():
        if value is None and key in base:
            # `suggest:` with nothing behind it is the default.
            continue
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = _merged(result[key], value)
        else:
            result[key] = value
    return result


def _changed(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """As `_merged`, but None takes a setting out."""
    result = dict(base)
    for key, value in over.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = _changed(result[key], value)
        else:
            result[key] = value
    return result
