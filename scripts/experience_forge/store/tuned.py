"""A user's tuning as one change: values of rules, the form of a draft, and what both do to the table in SKILL.md.

Everything lies in `<home>/tuning/`, over the shipped files, so that an update leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ..core import rule_text, tuning
from ..core.changes import Write
from ..core.scoring import Weights
from ..errors import Invalid, Text
from . import files, library, ruleset, templates
from .home import Home, skill_folder

LEAVE_OUT = "tuning.leave_out"


def names_of(wanted: Mapping[str, Any]) -> list[str]:
    """The rule files that these values belong to."""
    return sorted({path.partition(".")[0] for path in wanted})


def after(name: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A rule file as it would be with these values."""
    rules = ruleset.load(name)
    for path, value in wanted.items():
        own, _, rest = path.partition(".")
        if own == name:
            rules = tuning.joined(rules, tuning.tree_of(rest, value))
    return dict(rules)


def weights_after(wanted: Mapping[str, Any]) -> Weights:
    """The weights as they would be.

    Raises:
        Invalid: when they would not hold.
    """
    rules = after("scoring", wanted)
    weights = Weights.of(rules)
    negative = [kind for kind, value in weights.kinds.items() if value < 0]
    if negative:
        raise Invalid(Text("errors_tidy.negative"), Text("errors_tidy.negative_hint"), negative)
    beyond = list(_beyond(wanted))
    if beyond:
        raise Invalid(Text("errors_tidy.beyond"), Text("errors_tidy.beyond_hint"), beyond)
    if not 0 < weights.suggest <= weights.stress:
        raise Invalid(Text("errors_tidy.thresholds"), Text("errors_tidy.thresholds_hint"))
    return weights


def _beyond(wanted: Mapping[str, Any]) -> Iterator[Text]:
    """Values of the score that are wanted and lie outside the bounds of `rules/tuning.yaml`."""
    bounds = ruleset.shipped("tuning")["bounds"]
    for path, value in wanted.items():
        name, _, rest = path.partition(".")
        low, high = bounds.get(rest.partition(".")[0], (None, None)) if name == "scoring" else (None, None)
        # Not `value < low or value > high`: no comparison holds for a NaN.
        if low is not None and not low <= value <= high:
            yield Text("errors_tidy.bounds", path=path, value=value, low=low, high=high)


def writes(home: Home, wanted: Mapping[str, Any]) -> tuple[Write, ...]:
    """The files of a tuning with these values: what the user set, and what was shipped there at that time.

    Raises:
        Invalid: when the rules would not hold.
    """
    weights_after(wanted)
    found = [_rules(home, name, wanted) for name in names_of(wanted)]
    if LEAVE_OUT in wanted:
        for key, text in zip((templates.OWN, templates.OWN_BASE), templates.own_forms(wanted[LEAVE_OUT]), strict=True):
            before = _digest(home, key)
            if text or before:
                found.append(Write(key, before, text or None))
    return tuple(found)


def diff(home: Home, wanted: Mapping[str, Any]) -> str:
    """What changes in `rules/`, `templates.md` and the table in SKILL.md, as a person reads it."""
    shown = []
    for name in names_of(wanted):
        text = files.read_text(skill_folder() / "rules" / f"{name}.yaml")
        present = rule_text.with_values(text, _leaves(ruleset.tuning(home, name).get("values") or {}))
        values = {path.partition(".")[2]: value for path, value in wanted.items() if path.partition(".")[0] == name}
        shown.append(rule_text.diff(f"rules/{name}.yaml", present, rule_text.with_values(present, values)))
    if LEAVE_OUT in wanted:
        book = templates.updated(home)
        own = templates.own_forms(wanted[LEAVE_OUT])[0]
        then = templates.tuned(templates.shipped(), own) if own else templates.shipped()
        shown.append(rule_text.diff("templates.md", book.text, then.text))
    skill = files.read_text(skill_folder() / "SKILL.md")
    now = rule_text.with_scores(skill, ruleset.load("scoring"))
    shown.append(rule_text.diff("SKILL.md", now, rule_text.with_scores(skill, after("scoring", wanted))))
    return "".join(shown)


def conflicts(home: Home) -> list[str]:
    """Where an update and the user changed the same: the user's hold."""
    found = []
    for name in ruleset.load("tuning")["tunable"]:
        given = ruleset.tuning(home, name)
        if given:
            found += [f"{name}.{line}" for line in tuning.laid_over(ruleset.shipped(name), given)[1]]
    return found + templates.own_conflicts(home)


def _leaves(tree: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tree.items():
        path = f"{before}.{name}" if before else str(name)
        found.update(_leaves(value, path) if isinstance(value, Mapping) else {path: value})
    return found


def _rules(home: Home, name: str, wanted: Mapping[str, Any]) -> Write:
    given = ruleset.tuning(home, name)
    values, base = given.get("values") or {}, given.get("base") or {}
    for path, value in wanted.items():
        if path.partition(".")[0] == name:
            rest = path.partition(".")[2]
            values = tuning.joined(values, tuning.tree_of(rest, value))
            base = tuning.joined(base, tuning.tree_of(rest, tuning.leaf(ruleset.shipped(name), rest)))
    text = yaml.safe_dump({"values": values, "base": base}, allow_unicode=True, sort_keys=True)
    key = f"@tuning/{name}.yaml"
    return Write(key, _digest(home, key), text)


def _digest(home: Home, key: str) -> str:
    try:
        return files.sha256(files.read_bytes(library.path_of(home, key)))
    except FileNotFoundError:
        return ""
