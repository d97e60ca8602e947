"""`experience-forge tune`: how suggestions and drafts fared, and a change of rules that follows from it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from typing import Any

import yaml

from .. import shared
from ..core import changes, tuning
from ..core.changes import Change, Write
from ..errors import ForgeError, Invalid, Text, Usage
from ..report import Output
from ..store import config, files, home, journal, ledger, log, ruleset, session_signals
from ..store.launcher import confirm_command

HELP = "show how suggestions and drafts fared by signal, and propose changes of weights and rules"
EPILOG = """examples:
  experience-forge tune                                 counts with intervals, and what would be proposed
  experience-forge tune --propose                       the proposal that follows from the counts
  experience-forge tune --set scoring.weights.design=1  a proposal of your own, with past sessions scored anew
  experience-forge tune --sessions 100                  score up to 100 transcripts anew

JSON: {"signals": {kind: {...counts, "interval"}}, "detectors", "emptied", "changes": [{"path", "before", "after"}],
       "rescored": {"sessions", "before", "after", "accepted", "kept"}, "conflicts", "proposal"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--propose", action="store_true", help="make the proposal that follows from the counts")
    parser.add_argument("--set", action="append", default=[], metavar="FILE.PATH=VALUE", help="propose this value")
    parser.add_argument("--sessions", type=int, default=60, help="transcripts to score anew, the newest first")
    parser.add_argument("--dry-run", action="store_true", help="print what would be proposed")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    records = journal.read(where)
    ledgers = [ledger.read(where, session) for session in ledger.sessions(where)]
    signals = tuning.tallies(records, ledgers)
    detectors = tuning.tallies(records, ledgers, "detectors")
    rules = ruleset.load("tuning")
    wanted = _given(args.set, out) or {
        f"scoring.weights.{kind}": value
        for kind, value in tuning.proposed(signals, ruleset.load("scoring")["weights"], rules).items()
    }
    changed = [{"path": path, "before": tuning.leaf(ruleset.load(path.partition(".")[0]), path.partition(".")[2]),
                "after": value} for path, value in wanted.items()]
    document: dict[str, Any] = {
        "signals": _json(signals), "detectors": _json(detectors), "emptied": _emptied(records, rules),
        "changes": changed, "conflicts": _conflicts(where, rules), "proposal": None,
        "rescored": _rescored(ledgers, wanted, args.sessions) if changed else None,
    }
    _tell(document, signals, detectors, rules, out)
    if changed and (args.set or args.propose):
        document["proposal"] = _propose(where, wanted, document["rescored"], args.dry_run, out)
    out.data(document)
    return 0


def _given(values: list[str], out: Output) -> dict[str, Any]:
    names = ruleset.load("tuning")["tunable"]
    found = {}
    for item in values:
        path, _, value = item.partition("=")
        name, _, rest = path.partition(".")
        old = tuning.leaf(ruleset.load(name), rest) if name in names and rest else None
        new = yaml.safe_load(value) if value else None
        same_kind = isinstance(new, type(old)) or (isinstance(old, (int, float)) and isinstance(new, (int, float)))
        if old is None or isinstance(old, Mapping) or not same_kind:
            raise Usage(out.text("tidy.tune_unknown", path=item, name=name),
                        out.text("tidy.tune_unknown_hint", names=", ".join(names)))
        found[path] = new
    return found


def _json(found: Mapping[str, tuning.Tally]) -> dict[str, Any]:
    return {name: {**{what: one.counts.get(what, 0) for what in tuning.OUTCOMES}, "answered": one.answered,
                   "taken": one.taken, "interval": [round(end, 3) for end in one.interval]}
            for name, one in found.items()}


def _emptied(records: list[dict[str, Any]], rules: Mapping[str, Any]) -> list[dict[str, Any]]:
    edited = [r for r in records if r.get("what") == "change" and r.get("edited")]
    counts = Counter(name for record in edited for name in record.get("emptied", ()))
    if len(edited) < rules["emptied_least"]:
        return []
    return [{"name": name, "count": count, "edited": len(edited)} for name, count in sorted(counts.items())
            if count >= rules["emptied_share"] * len(edited)]


def _conflicts(where: home.Home, rules: Mapping[str, Any]) -> list[str]:
    found = []
    for name in rules["tunable"]:
        given = ruleset.tuning(where, name)
        if given:
            found += [f"{name}.{line}" for line in tuning.laid_over(ruleset.shipped(name), given)[1]]
    return found


def _rescored(ledgers: list[list[dict[str, Any]]], wanted: Mapping[str, Any], most: int) -> dict[str, int]:
    scoring = ruleset.load("scoring")
    before = {str(kind): float(value) for kind, value in scoring["weights"].items()}
    after = dict(before)
    after.update({path.split(".")[2]: float(value) for path, value in wanted.items()
                  if path.startswith("scoring.weights.")})
    limit = float(wanted.get("scoring.thresholds.suggest", config.load()["suggest"]["threshold"]))
    sessions = [found for records in ledgers for found in tuning.suggestions(records)]
    suggested = {str(r.get("session", "")) for records in ledgers for r in records if r.get("what") == "suggestion"}
    paths = sorted(session_signals.transcripts(), key=lambda path: -path.stat().st_mtime)[: max(0, most)]
    for path in paths:
        if path.stem not in suggested:
            try:
                sessions.append((tuple(s.kind.value for s in session_signals.of_file(path).signals), ""))
            except ForgeError as error:
                log.fault("tune", error.what)
    return tuning.rescored(sessions, before, after, limit)


def _propose(
    where: home.Home, wanted: Mapping[str, Any], counts: Mapping[str, int], dry_run: bool, out: Output
) -> dict[str, Any]:
    names = sorted({path.partition(".")[0] for path in wanted})
    writes = tuple(_write(where, name, wanted) for name in names)
    lines = [out.text("tidy.tune_summary", name=", ".join(names))]
    for path, value in wanted.items():
        old = tuning.leaf(ruleset.load(path.partition(".")[0]), path.partition(".")[2])
        lines.append(out.text("tidy.tune_change", path=path, before=old, after=value))
    lines.append(out.text("tidy.tune_rescored", **counts))
    change = Change("tuning", f"tune {', '.join(names)}", "", "", config.language(), "\n".join(lines), {}, writes)
    if dry_run:
        out.line(changes.render(change).rstrip("\n"))
        return {"id": "", "change": "tuning", "text": changes.render(change)}
    proposal = shared.propose(where, change, f"tune-{'-'.join(names)}"[:64], {})
    command = confirm_command(where, proposal.id, proposal.digest)
    out.line(proposal.text.rstrip("\n"))
    out.talk(out.text("library.proposal_open", command=command))
    return {"id": proposal.id, "change": "tuning", "digest": proposal.digest, "text": proposal.text,
            "confirm_command": command}


def _write(where: home.Home, name: str, wanted: Mapping[str, Any]) -> Write:
    """The tuning file of one rule file: what the user set, and what was shipped there at that time."""
    given = ruleset.tuning(where, name)
    values, base = given.get("values") or {}, given.get("base") or {}
    for path, value in wanted.items():
        if path.partition(".")[0] == name:
            rest = path.partition(".")[2]
            values = tuning.joined(values, tuning.tree_of(rest, value))
            base = tuning.joined(base, tuning.tree_of(rest, tuning.leaf(ruleset.shipped(name), rest)))
    text = yaml.safe_dump({"values": values, "base": base}, allow_unicode=True, sort_keys=True)
    _check(name, {"values": values, "base": base})
    try:
        before = files.sha256(files.read_bytes(ruleset.tuning_path(where, name)))
    except FileNotFoundError:
        before = ""
    return Write(f"@tuning/{name}.yaml", before, text)


def _check(name: str, given: Mapping[str, Any]) -> None:
    """Refuse a tuning with which the rules would not hold."""
    from ..core.scoring import Weights

    merged = tuning.laid_over(ruleset.shipped(name), given)[0]
    if name == "scoring":
        Weights.of(merged)
        negative = [kind for kind, value in merged["weights"].items() if value < 0]
        if negative:
            raise Invalid(Text("errors.negative_weight"), Text("errors.negative_weight_hint"), negative)


def _tell(
    document: Mapping[str, Any], signals: Mapping[str, tuning.Tally], detectors: Mapping[str, tuning.Tally],
    rules: Mapping[str, Any], out: Output,
) -> None:
    if not signals and not detectors:
        out.say("tidy.tune_none")
    for title, found in (("tune_signals", signals), ("tune_detectors", detectors)):
        if found:
            out.say(f"tidy.{title}")
        for name, one in found.items():
            low, high = one.interval
            counts = {what: one.counts.get(what, 0) for what in tuning.OUTCOMES}
            out.line("  " + out.text("tidy.tune_line", name=name, taken=one.taken, answered=one.answered,
                                     low=f"{low:.2f}", high=f"{high:.2f}", **counts))
    for item in document["emptied"]:
        out.say("tidy.tune_emptied", **item)
    for line in document["conflicts"]:
        out.say("tidy.tune_conflict", what=line)
    for item in document["changes"]:
        out.say("tidy.tune_change", **item)
    if document["rescored"]:
        out.say("tidy.tune_rescored", **document["rescored"])
    elif signals:
        out.say("tidy.tune_nothing", least=rules["least"], low=rules["low"])
