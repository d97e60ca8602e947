"""`experience-forge digest`: what happened in the last week, on request."""

from __future__ import annotations

import argparse
import datetime
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .. import shared, usage
from ..core import growing
from ..report import Output
from ..store import candidates, effects, entries, grown, home, journal, proposals, tidying

HELP = "tell what was saved, delivered, decided and is due, of the last week"
EPILOG = """examples:
  experience-forge digest
  experience-forge digest --days 30

JSON: {"since", "saved": [{"id", "title"}], "changed": [{"seq", "at", "change", "entries", "names"}],
       "delivered": {id: n}, "sessions", "proposals", "candidates", "due": {kind: n},
       "unused_skills": [{"name", "form"}]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--days", type=usage.positive, default=7, help="how many days back (7)")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    today = datetime.date.fromisoformat(journal.now()[:10])
    since = (today - datetime.timedelta(days=min(args.days, today.toordinal() - 1))).isoformat()
    library = entries.load_all(where)
    by_id = library.by_id()
    records = [r for r in journal.read(where) if r.get("what") == "change" and str(r.get("at", ""))[:10] >= since]
    # What was taken back since is not saved any more.
    saved = [entry_id for r in records if r.get("change") in ("draft", "import") for entry_id in r.get("entries", ())]
    delivered: Counter[str] = Counter()
    sessions = set()
    for ledger in effects.ledgers(where):
        for shown in ledger.exposures:
            if shown.at[:10] >= since:
                delivered[shown.entry] += 1
                sessions.add(ledger.session)
    plan = tidying.plan(where, library, today.isoformat())
    skills = [skill for skill in grown.confirmed(where) if grown.use_of(skill, grown.transcripts()).unused]
    document: dict[str, Any] = {
        "since": since,
        "saved": [{"id": one, "title": by_id[one].entry.title} for one in saved if one in by_id],
        "changed": [{"seq": r["seq"], "at": r["at"], "change": r.get("change"), "entries": r.get("entries", []),
                     "names": _names(r)}
                    for r in records if r.get("change") not in ("draft", "import")],
        "delivered": dict(delivered.most_common()), "sessions": len(sessions),
        "proposals": len(proposals.all(where)), "candidates": len(candidates.offered(where)),
        "due": dict(Counter(step.kind for step in plan.steps)),
        "unused_skills": [{"name": skill.name, "form": skill.form} for skill in skills],
    }
    out.data(document)
    _tell(document, out)
    return 0


def _names(record: Mapping[str, Any]) -> list[str]:
    """What a change was about: its entries, else the names of what has grown, else its files."""
    keys = [str(file.get("path", "")) for file in record.get("files", ())]
    grown_names = [found[1] for found in map(growing.form_of_key, keys) if found]
    return [*record.get("entries", ())] or grown_names or keys


def _tell(document: dict[str, Any], out: Output) -> None:
    out.say("tidy.digest_head", since=document["since"])
    out.say("tidy.digest_saved", count=len(document["saved"]))
    for item in document["saved"]:
        out.prose(f"  - [{item['id']}] {item['title']}")
    if document["changed"]:
        out.say("tidy.digest_changed", count=len(document["changed"]))
        for item in document["changed"]:
            change = out.word("change", item["change"])
            named = f"{item['seq']} {out.moment(item['at'])} {change}"
            out.line("  - " + out.text("words.count", name=named, count=", ".join(item["names"])))
    count = sum(document["delivered"].values())
    out.say("tidy.digest_delivered" if count else "tidy.digest_delivered_none", count=count,
            sessions=document["sessions"])
    for entry_id, count in list(document["delivered"].items())[:5]:
        out.line(f"  - [{entry_id}] {count}")
    out.say("tidy.digest_open", proposals=document["proposals"], candidates=document["candidates"])
    out.say("tidy.digest_due" if document["due"] else "tidy.digest_due_none")
    for kind, count in document["due"].items():
        out.line("  - " + out.text("words.count", name=out.text(f"tidy.kind_{kind}"), count=count))
    for item in document["unused_skills"]:
        out.say("tidy.digest_unused", name=item["name"], form=out.text(f"tidy.form_{item['form']}"))
