"""`experience-forge projects`: which projects are known, under which ids and names."""

from __future__ import annotations

import argparse
from collections import Counter

from .. import shared
from ..report import Output
from ..store import entries, home, projects, recall_index

HELP = "list the known projects with their ids, places and number of entries"
EPILOG = """examples:
  experience-forge projects
  experience-forge projects --rename 3f2a9c01b7de billing

A project keeps its entries when it gets a remote or moves: earlier ids stay with it.
JSON: {"projects": [{"id", "name", "root", "ids", "seen", "entries", "here"}]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--rename", nargs=2, metavar=("ID", "NAME"), help="give a project another readable name")
    parser.add_argument("--dry-run", action="store_true", help="with --rename: write nothing")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run this verb."""
    where = home.current()
    shared.begin(where)
    renamed = None
    if args.rename:
        renamed = projects.renamed(where, *args.rename)
        shared.gated_text("--rename", renamed.name)
    if renamed and not args.dry_run:
        projects.record(where, renamed)
        recall_index.rewrite_settings(where)
    here = projects.current(where)
    counts = Counter(stored.entry.project for stored in entries.load_all(where).entries if stored.entry.project)
    known = projects.all(where)
    if here.id not in {one for project in known for one in project.ids}:
        known.append(here)
    known = [renamed if renamed and project.id == renamed.id else project for project in known]
    rows = [
        {"id": p.id, "name": p.name, "root": p.root, "ids": list(p.ids), "seen": p.seen,
         "entries": sum(counts[one] for one in p.ids), "here": here.id in p.ids}
        for p in known
    ]
    out.data({"projects": rows})
    columns = [out.text(f"projects.column_{name}") for name in ("id", "name", "entries", "root", "here")]
    out.table(columns, [(r["id"], r["name"], r["entries"], r["root"], "*" if r["here"] else "") for r in rows])
    return 0
