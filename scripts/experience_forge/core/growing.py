"""What grows from entries: a skill, a slash command or an agent; its text checked, its cost, its change.

Entries that are one repeatable procedure become a command that the user starts, or, when it looks through
something and reports, an agent; all others a skill that the client loads when it fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from ..errors import Invalid, Text
from ..fast import tokens
from ..model import Entry, Kind
from . import codec, tokens_estimate
from .changes import Change, Write

FORMS: Final = ("skill", "command", "agent")
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_STEP = re.compile(r"^\s*(?:\d{1,2}[.)、．]|[-*+•]|[（(]?[一二三四五六七八九十]{1,2}[）)、.．])\s*\S", re.MULTILINE)
_RUNS = re.compile(r"!`|^```!", re.MULTILINE)
"""What a client runs by itself when it loads the file."""


@dataclass(frozen=True)
class Grown:
    """A grown skill's text with what is read from it, and its cost in tokens."""

    name: str
    description: str
    text: str
    listed_tokens: int
    loaded_tokens: int
    entries: tuple[str, ...]
    form: str = "skill"


def key_of(name: str, form: str = "skill") -> str:
    """Where it lies below the home."""
    return f"@skills/{name}/SKILL.md" if form == "skill" else f"@{form}s/{name}.md"


def form_of_key(key: str) -> tuple[str, str] | None:
    """Form and name of what lies at a key; None when nothing grown does."""
    match = re.fullmatch(r"@(skill|command|agent)s/([^/]+?)(?:/SKILL)?\.md", key)
    return (match[1], match[2]) if match else None


def form_of(entries: Sequence[Entry], rules: Mapping[str, Any]) -> str:
    """What entries should become, by what they are: `skill`, `command` or `agent`.

    Args:
        rules: the data of `rules/grow.yaml`.
    """
    procedures = [entry for entry in entries if is_procedure(entry, rules)]
    if not entries or len(procedures) < rules["procedure_share"] * len(entries):
        return "skill"
    looking = [entry for entry in procedures if looks_through(entry, rules)]
    return "agent" if len(looking) * 2 > len(procedures) else "command"


def looks_through(entry: Entry, rules: Mapping[str, Any]) -> bool:
    """Whether an entry is a procedure whose title or "when" says that something is looked through and reported."""
    words = [str(word).lower() for listed in rules["reports"].values() for word in listed]
    return is_procedure(entry, rules) and _names(f"{entry.title}\n{entry.section('when')}".lower(), words)


def is_procedure(entry: Entry, rules: Mapping[str, Any]) -> bool:
    """Whether an entry is a workflow whose steps have an order: numbered, listed, or told one after the other."""
    if entry.kind is not Kind.WORKFLOW:
        return False
    steps = entry.section("steps")
    if len(_STEP.findall(steps)) >= 2:
        return True
    words = [str(word).lower() for listed in rules["then"].values() for word in listed]
    return _names(steps.lower(), words)


def _names(text: str, words: Sequence[str]) -> bool:
    return any(re.search(rf"\b{re.escape(word)}\b", text) if word.isascii() else word in text for word in words)


def parse(
    text: str, known_ids: Sequence[str], rules: Mapping[str, Any], form: str = "skill", name: str = ""
) -> Grown:
    """What was written for entries: a SKILL.md, or the file of a command or an agent.

    Args:
        known_ids: ids of the entries that it may grow from.
        rules: the data of `rules/grow.yaml`.
        form: one of `FORMS`.
        name: of a command, whose file says none itself.

    Raises:
        Invalid: with all faults at once.
    """
    text = text.replace("\r\n", "\n").rstrip("\n") + "\n"
    head, body = _split(text)
    faults: list[Text] = []
    name = name if form == "command" else str(head.get("name", ""))
    description = str(head.get("description", "")).strip()
    if not NAME.fullmatch(name) or len(name) > rules["name_most"]:
        faults.append(Text("errors_entry.skill_name", name=name, limit=rules["name_most"]))
    elif not name.endswith(rules["suffix"]):
        faults.append(Text("errors_entry.skill_suffix", name=name, suffix=rules["suffix"]))
    if not description or len(description) > rules["description_most"]:
        faults.append(Text("errors_entry.skill_description", count=len(description), limit=rules["description_most"]))
    if "<" in description or ">" in description:
        faults.append(Text("errors_entry.skill_brackets"))
    unknown = sorted(set(head) - set(rules["fields"][form]))
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
    if _RUNS.search(body):
        faults.append(Text("errors_tidy.grown_runs"))
    if form == "command" and len(_STEP.findall(body)) < 2:
        faults.append(Text("errors_tidy.grown_steps"))
    if faults:
        raise Invalid(Text("errors_entry.skill_fault"), Text("errors.mend_these"), faults)
    listed = tokens_estimate.estimate(f"{name}: {description}")
    return Grown(name, description, text, listed, loaded, mentioned, form)


def unheard(grown: Grown, prompts: Sequence[str]) -> list[str]:
    """Trigger prompts that share no word with the description, so that a client would hardly load the skill."""
    words = set(tokens.terms(grown.description))
    return [prompt for prompt in prompts if not words.intersection(tokens.terms(prompt))]


def change(
    grown: Grown, before: str, prompts: Sequence[str], language: str, summary: str, place: str = ""
) -> Change:
    """The change that puts it into the home.

    Args:
        before: sha256 of the text it replaces, empty for a new one.
        place: the file that a client gets, for the eyes only.
    """
    data = {"skill": grown.name, "form": grown.form, "entries": list(grown.entries), "prompts": list(prompts),
            "place": place}
    write = Write(key_of(grown.name, grown.form), before, grown.text)
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
