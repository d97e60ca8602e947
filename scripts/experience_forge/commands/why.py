"""`experience-forge why`: what a session was given, and why each entry matched."""

from __future__ import annotations

import argparse
import os

from .. import shared
from ..report import Output
from ..store import home, known_sessions, ledger, receipt_lines

HELP = "list everything that a session was given, and why it matched"
EPILOG = """examples:
  experience-forge why                       the session that this runs in, else the last one
  experience-forge why --session 3f2a91c0-...

JSON: {"session", "recall": on or off, "given": [as in `log`, with "entry"],
       "withheld": [{"entry", "at", "event"}], "held": [{"entry", "at", "event", "reason", "detail"}]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--session", default="", help="id of the session")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    asked = known_sessions.resolve(where, args.session) if args.session else ""
    session = asked or os.environ.get("CLAUDE_CODE_SESSION_ID", "") or next(iter(ledger.sessions(where)), "")
    if not session:
        out.data({"session": "", "recall": "on", "given": [], "withheld": [], "held": []})
        out.say("recall.nothing_given")
        return 0
    records = ledger.read(where, session)
    given = [receipt_lines.of(where, one) for one in ledger.with_proofs(records, session)]
    withheld = [one for one in records if one.get("what") == "opportunity" and one.get("arm") == "withheld"]
    held = [one for one in records if one.get("what") == "held"]
    states = [str(one["recall"]) for one in records if one.get("what") == "state" and one.get("recall")]
    out.data({
        "session": session, "recall": states[-1] if states else "on", "given": [line.to_json() for line in given],
        "withheld": [{"entry": one.get("entry"), "at": one.get("at"), "event": one.get("event")} for one in withheld],
        "held": [{name: one.get(name) for name in ("entry", "at", "event", "reason", "detail")} for one in held],
    })
    out.say("recall.session", session=session)
    for line in given:
        out.line(f"{line.entry}\n" + line.text(out.text, out.word, out.moment))
    for one in withheld:
        out.say("recall.withheld", id=one.get("entry"), at=one.get("at"))
    for one in held:
        reason = out.text(f"effect.reason_{one.get('reason')}")
        out.say("recall.held", id=one.get("entry"), at=one.get("at"), reason=reason, detail=one.get("detail"))
    if not given and not withheld and not held:
        out.say("recall.nothing_given")
    return 0
