"""A large library for benches: entries in both languages, with planted copies, siblings and contradictions.

Files and a chained journal are written at once: confirming 10,000 drafts one by one is another bench.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random

from experience_forge.core import body, changes, codec
from experience_forge.model import Condition, Entry, Kind, Source, Track

LETTERS = "bcdfghklmnprstvwz"
VOWELS = "aeiou"
TOOLS = ("git", "npm", "docker", "kubectl", "pip", "cargo", "go", "mvn", "terraform", "psql", "pytest", "helm")
DOMAINS = ("python", "javascript", "docker", "git", "database", "ops")
HAN = [chr(code) for code in range(0x4E00, 0x4E00 + 1400)]


def word(rng):
    """A pronounceable word of two to four syllables."""
    return "".join(rng.choice(LETTERS) + rng.choice(VOWELS) for _ in range(rng.randint(2, 4)))


class Vocabulary:
    """Words whose frequency falls with their rank as in real texts (Zipf): a few everywhere, most of them rare."""

    def __init__(self, rng, size):
        self.rng = rng
        self.latin = list(dict.fromkeys(word(rng) for _ in range(size)))
        self.han = ["".join(rng.choice(HAN) for _ in range(2)) for _ in range(size)]

    def some(self, count, chinese=False):
        """`count` words of a text, drawn by their frequency."""
        source = self.han if chinese else self.latin
        picks = [source[int(len(source) ** self.rng.random()) - 1] for _ in range(count)]
        return "".join(picks) if chinese else " ".join(picks)


def one(rng, vocabulary, number):
    """One entry of its own."""
    chinese = rng.random() < 0.5
    kind = rng.choice((Kind.PITFALL, Kind.PITFALL, Kind.PREFERENCE, Kind.DESIGN, Kind.WORKFLOW))
    track = rng.choice((Track.PERSONAL, Track.PERSONAL, Track.DOMAIN, Track.PROJECT))
    text = {name: vocabulary.some(rng.randint(8, 22), chinese) for name in NAMES[kind]}
    text["rule"] = vocabulary.some(9, chinese)
    code = f"{word(rng).upper()}_{rng.randint(10, 99)}"
    conditions = [Condition(command=f"{rng.choice(TOOLS)} {word(rng)} *")]
    if kind is Kind.PITFALL:
        text["symptom"] = f"Error {code}: {vocabulary.some(6)}"
        conditions = [Condition(error=text["symptom"])]
    created = f"2026-{rng.randint(1, 9):02d}-{rng.randint(1, 28):02d}"
    return Entry(
        id=f"e{number:05d}", title=vocabulary.some(7, chinese), kind=kind, track=track,
        sections=tuple((name, text[name]) for name in NAMES[kind]), aliases=(vocabulary.some(6, not chinese),),
        domain=rng.choice(DOMAINS) if track is Track.DOMAIN else "",
        project=f"p{rng.randint(0, 30)}" if track is Track.PROJECT else "",
        language="zh" if chinese else "en", applies_when=tuple(conditions), fails_when=tuple(conditions),
        sources=(Source(session=f"s{number % 700}", at=created, quote=vocabulary.some(8, chinese)),),
        created=created, updated=created,
    )


NAMES = {
    Kind.PITFALL: ("scenario", "symptom", "root_cause", "right_action", "rule"),
    Kind.PREFERENCE: ("rule", "why", "how"),
    Kind.DESIGN: ("situation", "decision", "why", "alternatives_rejected", "rule"),
    Kind.WORKFLOW: ("when", "steps", "rule"),
}


def copy_of(rng, vocabulary, entry, number, share):
    """The same entry told again: a share of its words changed, its trigger kept."""
    def told(text):
        pieces = text.split(" ") if " " in text else [text[i:i + 2] for i in range(0, len(text), 2)]
        chinese = not text.isascii()
        pieces = [vocabulary.some(1, chinese) if rng.random() < share else piece for piece in pieces]
        return ("" if chinese and " " not in text else " ").join(pieces)

    kept = {"symptom"} if entry.kind is Kind.PITFALL else set()
    sections = tuple((name, text if name in kept else told(text)) for name, text in entry.sections)
    return dataclasses.replace(entry, id=f"e{number:05d}", title=told(entry.title), sections=sections)


def entries(count, copies, seed=7):
    """`count` entries of which `copies` tell an earlier one again; returns them and the planted pairs of ids."""
    rng = random.Random(seed)
    vocabulary = Vocabulary(rng, 30000)
    found = [one(rng, vocabulary, number) for number in range(count - copies)]
    pairs = []
    for number in range(count - copies, count):
        base = found[rng.randrange(count - copies)]
        found.append(copy_of(rng, vocabulary, base, number, rng.choice((0.08, 0.15, 0.25))))
        pairs.append((base.id, found[-1].id))
    return found, pairs


def written(entry):
    """The stored form of an entry of this module: what `codec.render` gives, in a twentieth of its time."""
    def value(text):
        return f"'{text}'" if ": " in text or text[:2] == "20" else text

    def flow(pairs):
        return "- {" + ", ".join(f"{name}: {value(text)}" for name, text in pairs if text) + "}"

    plain = [("id", entry.id), ("title", entry.title), ("aliases", f"[{', '.join(entry.aliases)}]"),
             ("kind", entry.kind.value), ("track", entry.track.value), ("domain", entry.domain),
             ("project", entry.project), ("status", entry.status.value), ("language", entry.language)]
    lines = [f"{name}: {text}" for name, text in plain if text]
    for name in ("applies_when", "fails_when"):
        lines += [f"{name}:", *(flow((("command", one.command), ("error", one.error))) for one in getattr(entry, name))]
    lines += [f"origin: {entry.origin}", "sources:"]
    lines += [flow((("session", one.session), ("at", one.at), ("quote", one.quote))) for one in entry.sources]
    lines += [f"revision: {entry.revision}", f"created: '{entry.created}'", f"updated: '{entry.updated}'"]
    return "---\n" + "\n".join(lines) + "\n---\n" + body.render(entry.kind, entry.language, entry.sections)


def fill(home, found):
    """Write entries and a journal that confirms each of them."""
    lines, prev = [], "0" * 64
    folders = set()
    for seq, entry in enumerate(found, 1):
        key, text = changes.key_of(entry), written(entry)
        # What stands here must be what the product writes; trying each would take most of the time.
        assert seq % 500 or text == codec.render(entry), entry.id
        path = home.entries.joinpath(*key.split("/"))
        if path.parent not in folders:
            folders.add(path.parent)
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        record = {
            "v": 1, "seq": seq, "at": f"{entry.created}T00:00:00Z", "prev": prev, "what": "change", "change": "draft",
            "proposal": entry.id, "digest": digest, "entries": [entry.id],
            "files": [{"path": key, "before": None, "after": digest}],
            "consent": {"by": "terminal", "at": f"{entry.created}T00:00:00Z", "proof": "terminal"},
        }
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        prev = hashlib.sha256(line.encode("utf-8")).hexdigest()
        lines.append(line)
    home.journal.mkdir(parents=True, exist_ok=True)
    (home.journal / "2026-01.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
