"""`experience-forge restore`: take a backup back, into an empty home or as proposals."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from .. import shared
from ..clients import ancestry
from ..core import changes, codec, vet
from ..errors import ForgeError, NeedsConsent, Refused, Text, told
from ..report import Output
from ..store import archive, entries, home, proposals, ruleset

HELP = "take a backup back: whole into an empty data home, or what is missing as proposals"
EPILOG = """examples:
  experience-forge restore ~/forge-backup.zip              into an empty home, after a question at a terminal
  experience-forge restore ~/forge-backup.zip --merge      entries that are not there become proposals
  experience-forge restore ~/forge-backup.zip --dry-run    check the archive and say what would happen

Nothing that is there is overwritten.
JSON: {"restored": n, "proposals": [ids], "present": [keys], "unreadable": [...],
       "blocked": [...]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("file", help="the archive to read")
    parser.add_argument("--merge", action="store_true", help="propose the entries that are missing here")
    parser.add_argument("--dry-run", action="store_true", help="check and say, write nothing")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    if Path(args.file).expanduser().is_dir():
        raise Refused(Text("errors.not_a_file", path=args.file), Text("errors.check_path"))
    try:
        backup = archive.read(Path(args.file).expanduser())
    except FileNotFoundError:
        raise Refused(Text("errors.no_file", path=args.file), Text("errors.check_path")) from None
    if args.merge:
        return _merge(where, backup, args.dry_run, out)
    if entries.load_all(where).entries or where.journal.is_dir():
        raise Refused(Text("errors.home_not_empty", path=where.root), Text("errors.merge_option"))
    if args.dry_run:
        out.data({"restored": len(backup.contents), "proposals": [], "dry_run": True})
        out.say("restore.would", files=len(backup.contents), entries=len(backup.entries))
        return 0
    _consent(backup, out)
    count = archive.unpack(where, backup)
    shared.refresh(where)
    out.data({"restored": count, "proposals": [], "present": [], "unreadable": [], "blocked": []})
    out.say("restore.done", files=count, entries=len(backup.entries))
    return 0


def _consent(backup: archive.Backup, out: Output) -> None:
    """A whole backup brings many entries at once: only a person at a terminal of their own may say yes."""
    client = ancestry.client_above(os.environ)
    if client:
        raise NeedsConsent(Text("errors.restore_below", client=client), Text("errors.own_terminal_or_merge"))
    answer = out.ask_for_consent(out.text("restore.question", files=len(backup.contents), entries=len(backup.entries)))
    if answer is None:
        what = Text("errors.restore_person")
        raise NeedsConsent(what, Text("errors.own_terminal_or_merge"))
    if answer.lower() not in ("y", "yes", "是"):
        raise NeedsConsent(Text("errors.nothing_restored"))


def _merge(where: home.Home, backup: archive.Backup, dry: bool, out: Output) -> int:
    made, present, unreadable, blocked = [], [], [], []
    for key in backup.entries:
        text = backup.contents[f"entries/{key}"].decode("utf-8", "replace")
        try:
            entry = codec.parse(text)
        except ForgeError as error:
            unreadable.append(f"{key}: {error.what}")
            continue
        if entries.find(where, entry.id) is not None:
            present.append(key)
            continue
        faults = vet.blocked(vet.vet_entry(entry, ruleset.load("poison"), out.language))
        if faults:
            blocked.append(f"{key}: {'; '.join(map(told, faults))}")
            continue
        change = changes.Change(
            "restore", entry.title, entry.rule, entry.track.value, entry.language,
            f"restore from a backup of {backup.manifest['made']}", {"entry": entry.id},
            (changes.Write(changes.key_of(entry), "", text),),
        )
        wanted = f"restore-{entry.id}"[:64]
        made.append(wanted if dry else proposals.create(where, "restore", changes.render(change), {}, wanted).id)
    out.data({"restored": 0, "proposals": made, "present": present, "unreadable": unreadable, "blocked": blocked,
              "dry_run": dry})
    out.say("restore.merged", proposals=len(made), present=len(present), unreadable=len(unreadable))
    for one in blocked:
        out.say("restore.blocked", entry=one)
    return 0
