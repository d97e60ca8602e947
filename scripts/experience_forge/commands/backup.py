"""`experience-forge backup`: one archive file of everything that can't be derived."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import shared
from ..errors import Refused
from ..report import Output
from ..store import archive, home, journal

HELP = "write everything that can't be derived into one archive file"
EPILOG = """examples:
  experience-forge backup ~/forge-backup.zip
  experience-forge backup ~/backups                      in this folder, named by the day
  experience-forge backup ~/forge-backup.zip --force     over an older one

JSON: {"path", "files", "entries", "redacted": {file: {kind: n}}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("file", help="the archive to write, or a folder for it")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--dry-run", action="store_true", help="say what would go in, write nothing")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    target = _target(args.file)
    if target.exists() and not args.force:
        raise Refused(out.text("backup.exists", path=target), out.text("backup.exists_hint"))
    if args.dry_run:
        names = archive.names(where)
        out.data({"path": str(target), "files": len(names), "dry_run": True})
        for name in names:
            out.line(name)
        return 0
    manifest = archive.write(where, target)
    entries = sum(1 for name in manifest["files"] if name.startswith("entries/"))
    count = len(manifest["files"])
    out.data({"path": str(target), "files": count, "entries": entries, "redacted": manifest["redacted"]})
    out.say("backup.done", path=target, files=len(manifest["files"]), entries=entries)
    for name, found in manifest["redacted"].items():
        out.talk(out.text("backup.redacted", name=name, kinds=", ".join(sorted(found))))
    return 0


def _target(given: str) -> Path:
    """The file to write: of a folder, one in it that is named by the day."""
    target = Path(given).expanduser()
    return target / f"experience-forge-{journal.now()[:10]}.zip" if target.is_dir() else target
