"""A skill that grows from entries: its text checked against the rules of Agent Skills, its cost, its change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from ..errors import Invalid, Text
from ..fast import tokens
from ..model import Entry
from . import codec, tokens_estimate
from .changes import Change, Write

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Grown:
    """A grown skill's text with what is read from it, and its cost in tokens."""

    name: str
    description: str
    text: str
    listed_tokens: int
    loaded_tokens: int
    entries: tuple[str, ...]


def key_of(name: str) -> str:
    """Where a grown skill lies below the home."""
    return f"@skills/{name}/SKILL.md"


def parse(text: str, known_ids: Sequence[str], rules: Mapping[str, Any]) -> Grown:
    """A grown skill from its SKILL.md.

    Args:
        known_ids: ids of the entries that it may grow from.
        rules: the data of `rules/grow.yaml`.

    Raises:
        Invalid: with all faults at once.
    """
    text = text.replace("\r\n", "\n").rstrip("\n") + "\n"
    head, body = _split(text)
    faults: list[Text] = []
    name, description = str(head.get("name", "")), str(head.get("description", "")).strip()
    if not NAME.fullmatch(name) or len(name) > rules["name_most"]:
        faults.append(Text("errors_entry.skill_name", name=name, limit=rules["name_most"]))
    elif not name.endswith(rules["suffix"]):
        faults.append(Text("errors_entry.skill_suffix", name=name, suffix=rules["suffix"]))
    if not description or len(description) > rules["description_most"]:
        faults.append(Text("errors_entry.skill_description", count=len(description), limit=rules["description_most"]))
    if "<" in description or ">" in description:
        faults.append(Text("errors_entry.skill_brackets"))
    unknown = sorted(set(head) - set(rules["fields"]))
    if unknown:
        faults.append(Text("errors_entry.skill_unknown", names=", ".join(unknown)))
    loaded = tokens_estimate.estimate(body)
    if loaded > rules["body_tokens_most"]:
        faults.append(Text("errors_entry.skill_tokens", tokens=loaded, limit=rules["body_tokens_most"]))
    mentioned = tuple(entry_id for entry_id in known_ids if f"[{entry_id}]" in body)
    missing = [entry_id for entry_id in known_ids if entry_id not in mentioned]
    if missing:
        faults.append(Text("errors_entry.skill_missing", ids="], [".join(missing)))
    if re.search(r"^[A-Z][A-Z ,:']{24,}", text, re.MULTILINE) or "WHAT IT DOES AND WHEN" in text:
        faults.append(Text("errors_entry.skill_capitals"))
    if faults:
        raise Invalid(Text("errors_entry.skill_fault"), Text("errors.mend_these"), faults)
    return Grown(name, description, text, tokens_estimate.estimate(f"{name}: {description}"), loaded, mentioned)


def unheard(grown: Grown, prompts: Sequence[str]) -> list[str]:
    """Trigger prompts that share no word with the description, so that a client would hardly load the skill."""
    words = set(tokens.terms(grown.description))
    return [prompt for prompt in prompts if not words.intersection(tokens.terms(prompt))]


def change(grown: Grown, before: str, prompts: Sequence[str], language: str, summary: str) -> Change:
    """The change that puts a grown skill into the home.

    Args:
        before: sha256 of the text it replaces, empty for a new one.
    """
    data = {"skill": grown.name, "entries": list(grown.entries), "prompts": list(prompts)}
    write = Write(key_of(grown.name), before, grown.text)
    rule = " ".join(grown.description.split())[:300]
    return Change("grow", grown.name, rule, "domain", language, summary, data, (write,))


def lines_of(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """What the template shows of each entry."""
    return [{"id": entry.id, "title": entry.title, "rule": entry.rule} for entry in entries]


def _split(text: str) -> tuple[dict[str, Any], str]:
    if not text.startswith("---\n") or "\n---\n" not in text[3:]:
        raise Invalid(Text("errors_entry.skill_front"), Text("errors_entry.skill_front_hint"))
    front, _, body = text[4:].partition("\n---\n")
    try:
        head = codec.load_front(front)
    except yaml.YAMLError as error:
        raise Invalid(Text("errors_entry.skill_yaml"), Text("errors.mend_it")) from error
    return head, body
