"""`experience-forge tune`: how suggestions and drafts fared, and a change of rules that follows from it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from .. import shared, usage
from ..core import changes, drafts, tuning
from ..core.changes import Change
from ..core.scoring import family
from ..errors import ForgeError, Usage
from ..report import Output
from ..store import config, home, journal, ledger, log, proposals, ruleset, session_signals, tuned
from ..store.launcher import confirm_command

HELP = "show how suggestions and drafts fared by signal, and propose changes of weights and rules"
EPILOG = """examples:
  experience-forge tune                                 counts with intervals, and what would be proposed
  experience-forge tune --propose                       the proposal that follows from the counts
  experience-forge tune --set scoring.weights.design=1  a proposal of your own, with past sessions scored anew
  experience-forge tune --set tuning.leave_out=[tags]   drafts without a field
  experience-forge tune --sessions 100                  score up to 100 transcripts anew

A proposal shows the difference in rules/, templates.md and the table of SKILL.md; the shipped files stay.

JSON: {"signals": {kind: {...counts, "interval"}}, "detectors", "fields", "reasons": {reason: n},
       "emptied": [{"name", "count", "edited"}], "changes": [{"path", "before", "after"}], "diff",
       "rescored": {"sessions", "before", "after", "accepted", "kept"}, "conflicts", "proposal"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--propose", action="store_true", help="make the proposal that follows from the counts")
    parser.add_argument("--set", action="append", default=[], metavar="FILE.PATH=VALUE", help="propose this value")
    parser.add_argument("--sessions", type=usage.positive, default=60,
                        help="transcripts to score anew, the newest first")
    parser.add_argument("--dry-run", action="store_true", help="print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    records = proposals.with_reasons(where, journal.read(where))
    ledgers = [ledger.read(where, session) for session in ledger.sessions(where)]
    tables = {
        "signals": tuning.tallies(records, ledgers), "detectors": tuning.tallies(records, ledgers, "detectors"),
        "fields": tuning.fields(records),
    }
    rules = ruleset.load("tuning")
    given = _given(args.set, out)
    wanted = given or tuning.proposed(records, ledgers, ruleset.load("scoring"), rules)
    wanted = {path: value for path, value in wanted.items() if value != _present(path)}
    changed = [{"path": path, "before": _present(path), "after": value} for path, value in wanted.items()]
    emptied = tuning.always_emptied(records, rules)
    document: dict[str, Any] = {
        **{name: _json(found) for name, found in tables.items()}, "reasons": tuning.reasons(records),
        "emptied": [{"name": name, "count": lost, "edited": had} for name, (lost, had) in emptied.items()],
        "changes": changed, "diff": tuned.diff(where, wanted) if changed else "", "conflicts": tuned.conflicts(where),
        "rescored": _rescored(ledgers, wanted, args.sessions) if _scores(wanted) else None, "proposal": None,
    }
    asked = bool(args.set or args.propose)
    _tell(document, tables, rules, asked, bool(given), out)
    if given and not wanted:
        out.say("tidy.tune_same")
    if changed and asked:
        document["proposal"] = _propose(where, wanted, document, args.dry_run, out)
    out.data(document)
    return 0


def _given(values: Sequence[str], out: Output) -> dict[str, Any]:
    names = ruleset.load("tuning")["tunable"]
    found = {}
    for item in values:
        path, _, value = item.partition("=")
        name, _, rest = path.partition(".")
        old = tuning.leaf(ruleset.load(name), rest) if name in names and rest else None
        new = _read(value)
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (old, new))
        if old is None or isinstance(old, Mapping) or not (numbers or type(new) is type(old)):
            raise Usage(out.text("tidy.tune_unknown", path=item, name=name),
                        out.text("tidy.tune_unknown_hint", names=", ".join(names)))
        if path == tuned.LEAVE_OUT:
            _may_be_left_out(new, out)
        found[path] = new
    return found


def _scores(wanted: Mapping[str, Any]) -> bool:
    """Whether these values change what a session is worth."""
    return any(path.startswith("scoring.") for path in wanted)


def _read(value: str) -> Any:
    try:
        return yaml.safe_load(value) if value else None
    except yaml.YAMLError:
        return None


def _may_be_left_out(names: Sequence[Any], out: Output) -> None:
    may = (*drafts.MAY_LACK, *drafts.MAY_BE_DASH)
    wrong = [str(name) for name in names if name not in may]
    if wrong:
        raise Usage(out.text("tidy.tune_cant_leave_out", names=", ".join(wrong)),
                    out.text("tidy.tune_may_leave_out", names=", ".join(may)))


def _present(path: str) -> Any:
    name, _, rest = path.partition(".")
    return tuning.leaf(ruleset.load(name), rest)


def _json(found: Mapping[str, tuning.Tally]) -> dict[str, Any]:
    return {name: {**{what: one.counts.get(what, 0) for what in tuning.OUTCOMES}, "answered": one.answered,
                   "taken": one.taken, "interval": [round(end, 3) for end in one.interval]}
            for name, one in found.items()}


def _rescored(ledgers: Sequence[Sequence[Mapping[str, Any]]], wanted: Mapping[str, Any], most: int) -> dict[str, int]:
    """Past suggestions, and sessions that brought none, scored as they were and as they would be."""
    before, after = tuned.weights_after({}), tuned.weights_after(wanted)
    limit = float(config.load()["suggest"]["threshold"])
    now = after.suggest if "scoring.thresholds.suggest" in wanted else limit
    sessions = [found for records in ledgers for found in tuning.suggestions(records)]
    suggested = {str(r.get("session", "")) for records in ledgers for r in records if r.get("what") == "suggestion"}
    sessions += [(found, "") for session, found in _transcripts(most) if session not in suggested]
    return tuning.rescored(sessions, before, after, limit, now)


def _transcripts(most: int) -> Iterator[tuple[str, tuple[tuning.Found, ...]]]:
    """Signals of the newest sessions that the client keeps."""
    paths = sorted(session_signals.transcripts(), key=lambda path: -path.stat().st_mtime)[: max(0, most)]
    for path in paths:
        try:
            signals = session_signals.of_file(path).signals
        except ForgeError as error:
            log.fault("tune", error.what)
            continue
        yield path.stem, tuple(tuning.Found(s.kind.value, family(s.detector), s.strength == "weak") for s in signals)


def _propose(
    where: home.Home, wanted: Mapping[str, Any], document: Mapping[str, Any], dry_run: bool, out: Output
) -> dict[str, Any]:
    names = tuned.names_of(wanted)
    lines = [out.text("tidy.tune_summary")]
    lines += [out.text("tidy.tune_change", **item) for item in document["changes"]]
    lines += [out.text("tidy.tune_rescored", **document["rescored"])] if document["rescored"] else []
    lines += ["", document["diff"].rstrip("\n")]
    title = out.text("tidy.tune_title", name=", ".join(names))
    change = Change("tuning", title, "", "", config.language(), "\n".join(lines), {}, tuned.writes(where, wanted))
    if dry_run:
        out.line(changes.render(change).rstrip("\n"))
        return {"id": "", "change": "tuning", "text": changes.render(change)}
    proposal = shared.propose(where, change, f"tune-{'-'.join(names)}"[:64], {})
    command = confirm_command(where, proposal.id, proposal.digest)
    out.line(proposal.text.rstrip("\n"))
    out.explain(out.text("library.proposal_open", command=command))
    return {"id": proposal.id, "change": "tuning", "digest": proposal.digest, "text": proposal.text,
            "confirm_command": command}


def _tell(
    document: Mapping[str, Any], tables: Mapping[str, Mapping[str, tuning.Tally]], rules: Mapping[str, Any],
    asked: bool, given: bool, out: Output,
) -> None:
    if not any(tables.values()):
        out.say("tidy.tune_none")
    for title in ("signals", "detectors"):
        if tables[title]:
            out.say(f"tidy.tune_{title}")
        for name, one in tables[title].items():
            low, high = one.interval
            counts = {what: one.counts.get(what, 0) for what in tuning.OUTCOMES}
            line = "tune_line" if one.answered else "tune_line_open"
            shown = out.word("signal", name) if title == "signals" else name
            out.line("  " + out.text(f"tidy.{line}", name=shown, taken=one.taken, answered=one.answered,
                                     low=f"{low:.2f}", high=f"{high:.2f}", **counts))
    touched = {name: one for name, one in tables["fields"].items() if one.taken - one.counts.get("accepted", 0)
               or one.counts.get("discarded", 0)}
    if touched:
        out.say("tidy.tune_fields")
    for name, one in touched.items():
        counts = {what: one.counts.get(what, 0) for what in tuning.OUTCOMES}
        out.line("  " + out.text("tidy.tune_field", name=name, **counts))
    if document["reasons"]:
        said = list(document["reasons"].items())[:5]
        out.say("tidy.tune_reasons", reasons=", ".join(f"{reason} ({count})" for reason, count in said))
    for item in document["emptied"]:
        out.say("tidy.tune_emptied", **item)
    for line in document["conflicts"]:
        out.say("tidy.tune_conflict", what=line)
    if document["changes"] and not asked:
        out.say("tidy.tune_follows")
        for item in document["changes"]:
            out.line("  " + out.text("tidy.tune_change", **item))
        if document["rescored"]:
            out.say("tidy.tune_rescored", **document["rescored"])
        out.line(document["diff"].rstrip("\n"))
        out.talk(out.text("tidy.tune_how"))
    elif tables["signals"] and not document["changes"] and not given:
        out.say("tidy.tune_nothing", least=rules["least"], low=rules["low"])
