"""`experience-forge doctor`: what is installed, what fired, what is damaged, and what to do about it."""

from __future__ import annotations

import argparse

from .. import shared
from ..clients import claude_doctor
from ..core import layout
from ..errors import EXIT_DONE, EXIT_REFUSED, ForgeError
from ..report import Output
from ..store import config, doctor, home
from ..store.doctor import Finding, finding

HELP = "check the installation, the hooks and the data; mend what can be made anew"
EPILOG = """examples:
  experience-forge doctor
  experience-forge doctor --repair --dry-run
  experience-forge doctor --json

--repair only moves damaged lines aside (below <home>/kept/) and makes derived files anew; entries and the
journal are never changed by it. It prints what it moved and how to take it back.
Exit code: 0 when all is well or there are only notes, 1 when something needs you

JSON: {"findings": [{"level", "area", "finding", ...}], "activity": {event: {"count", "last", "kinds"}},
       "fired": {event: {"at", "milliseconds", "failed"}}, "repaired": [{"did", ...}]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--repair", action="store_true", help="move damaged lines aside, make derived files anew")
    parser.add_argument("--dry-run", action="store_true", help="with --repair: only say what it would do")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    repaired: list[tuple[str, dict[str, str]]] = []
    if args.repair:
        repaired = [*doctor.repair(where, doctor.stamp(), args.dry_run), *claude_doctor.repair(where, args.dry_run)]
        if not args.dry_run:
            shared.refresh(where)
    findings = [*claude_doctor.examine(where), *_projections(where), *doctor.examine(where), *_settings()]
    if any(one.text == "config_unread" for one in findings):
        # The files can't be looked at without the settings: one fault, told once.
        findings = [one for one in findings if one.text != "projections_unread"]
    activity = doctor.activity(where)
    fired = claude_doctor.fired()
    out.data({
        "findings": [one.as_json() for one in findings],
        "activity": activity,
        "fired": {e: {"at": f.at, "milliseconds": f.milliseconds, "failed": f.failed} for e, f in fired.items()},
        "repaired": [{"did": name, **values} for name, values in repaired],
    })
    for name, values in repaired:
        out.say(f"doctor.{name}", **values)
    for area in dict.fromkeys(one.area for one in findings):
        out.say(f"doctor.area_{area}")
        for one in (found for found in findings if found.area == area):
            out.prose(f"{_sign(one.level, out)} {out.text(f'doctor.{one.text}', **_told(one, out))}")
            for line in one.values.get("difference", "").splitlines():
                out.say("doctor.difference", line=line)
    _tell_activity(out, activity, fired)
    bad = [one for one in findings if one.level in ("warn", "fault")]
    out.say("doctor.all_well" if not bad else "doctor.needs_you", count=len(bad))
    if any(one.repair for one in findings) and not args.repair:
        out.say("doctor.can_repair")
    return EXIT_REFUSED if bad else EXIT_DONE


def _sign(level: str, out: Output) -> str:
    word = out.word("level", level)
    return f"  {word}" + " " * (5 - layout.cells(word))


def _told(one: Finding, out: Output) -> dict[str, object]:
    switch = {True: "status.on", False: "status.off"}
    return {name: out.text(switch[value]) if isinstance(value, bool) else value for name, value in one.values.items()}


def _projections(where: home.Home) -> list[Finding]:
    try:
        return claude_doctor.projections(where) if where.root.exists() else []
    except ForgeError as error:
        return [finding("warn", "projections", "projections_unread", note=error.what)]


def _settings() -> list[Finding]:
    try:
        return [
            Finding("warn", "home", f"config_{kind}{'' if values.get('near', '-') else '_alone'}", dict(values))
            for kind, values in config.oddities()
        ]
    except ForgeError:
        return []  # the examination of the data home has told it


def _tell_activity(out: Output, activity: dict[str, dict[str, object]], fired: dict[str, claude_doctor.Fired]) -> None:
    out.say("doctor.area_activity")
    for event in sorted({*activity, *fired}):
        recorded = activity.get(event, {})
        kinds = recorded.get("kinds")
        named = kinds.items() if isinstance(kinds, dict) else ()
        parts = out.listed(f"{out.word('record', kind)} {count}" for kind, count in named)
        run = fired.get(event)
        took = [f"{run.milliseconds} ms", *([out.text("words.failed")] if run.failed else [])] if run else []
        last = out.moment(str(recorded.get("last") or "-"))
        out.say("doctor.activity", event=event, recorded=parts or "-", last=last,
                ran=f"{out.moment(run.at)} ({out.listed(took)})" if run else "-")
    if not activity and not fired:
        out.say("doctor.no_activity")
