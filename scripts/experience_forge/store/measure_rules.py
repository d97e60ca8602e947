"""Compiles who may be withheld, and how often, for hooks; and the question that asks for it."""

from __future__ import annotations

from collections.abc import Iterable

from ..core import coin
from ..core.effect import Tally
from ..core.verdicts import Verdict
from ..fast import coin as fast
from ..model import Entry
from ..wording import filled
from . import condition_rules, config, effects, entries, files, freshness, ruleset
from .home import Home


def build(home: Home) -> dict[str, int]:
    """Write `derived/measure.tsv`, the question, and what freshness needs; returns counts.

    Raises:
        Refused: when it can't be written.
    """
    stored = entries.load_all(home).entries
    bound = freshness.build(home, [one.entry for one in stored])
    settings = config.load()["measure"]
    allowed = settings.get("holdouts") is True
    tallies = effects.tallies(home)
    lines = []
    for one in stored:
        if not coin.why_not(one.entry, allowed, condition_rules.weights()):
            known = tallies.get((one.entry.id, one.sha256)) or Tally(one.entry.id, one.sha256)
            p = coin.chance_of(known.coins, max(known.helps, known.hurts))
            lines.append(f"{one.entry.id}\t{one.sha256}\t{p}\n")
    files.write_text(home.root / fast.RULES, "".join(lines))
    asked = ask(home, [one.entry for one in stored], tallies)
    return {"under_test": len(lines), "bound": bound, "asking": int(bool(asked))}


def under_test(home: Home) -> frozenset[str]:
    """Ids of the entries that a holdout may withhold: they leave the index, their trigger delivers them."""
    try:
        text = files.read_text(home.root / fast.RULES)
    except FileNotFoundError:
        return frozenset()
    return frozenset(line.split("\t", 1)[0] for line in text.splitlines() if line)


def ask(home: Home, stored: Iterable[Entry], tallies: effects.Tallies) -> str:
    """Leave the question for holdouts when an entry has met its fifth opportunity; its id, or nothing.

    Asked until `measure on` or `measure off` answers it, once for all entries.
    """
    settings = config.load()["measure"]
    path = home.root / fast.QUESTION
    if settings.get("holdouts") is True or settings.get("answered"):
        files.remove(path)
        return ""
    met = {entry_id: 0 for entry_id, _ in tallies}
    for (entry_id, _), one in tallies.items():
        met[entry_id] += one.opportunities
    weights = condition_rules.weights()
    ready = [e for e in stored if not coin.why_not(e, True, weights) and met.get(e.id, 0) >= coin.ASK_AT]
    if not ready:
        files.remove(path)
        return ""
    first = max(ready, key=lambda entry: met[entry.id])
    text = ruleset.messages(config.loaded_language(home))["effect.question"]
    files.write_text(path, f"{first.id}\t{filled(text, {'id': first.id, 'count': met[first.id]})}\n")
    return first.id


def say(found: Verdict, language: str) -> str:
    """A verdict in words."""
    return filled(ruleset.messages(language)[f"effect.verdict_{found.name}"], found.values)
