"""The recall index: one SQLite file of a generation, and the plain-text prefilter that names it.

A new generation is written aside; replacing the prefilter switches readers over to both files at
once. So a reader needs no lock and opens the database as immutable, and a torn build is never seen.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import Refused, Text
from ..fast import confirm_line, deliver, lookup, signature, stored, tokens
from ..model import Entry, Status
from . import files, journal, launcher, projects, recall_rows, ruleset
from .home import Home

MOST_BYTES = 2 << 30
FEW = 50
"""So many changes are always made in the present index rather than by a build."""
RECALIBRATED = 2000

_CHECKED = (
    "sha256", "seq", "path", "track", "project", "status", "guard", "language", "kind", "pinned", "title", "rule",
    "reason", "action",
)
BACKGROUND = 1 << 40
"""Row numbers of the search table from here on belong to no entry."""

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE entries (
  n INTEGER PRIMARY KEY, id TEXT UNIQUE, sha256 TEXT, seq INTEGER, path TEXT, track TEXT, project TEXT, status TEXT,
  guard TEXT, language TEXT, kind TEXT, pinned INTEGER, updated TEXT, title TEXT, rule TEXT,
  reason TEXT, action TEXT);
CREATE INDEX entry_project ON entries (project, status);
CREATE TABLE conditions (c INTEGER PRIMARY KEY, n INTEGER, command TEXT, path TEXT, words TEXT, error INTEGER);
CREATE INDEX condition_entry ON conditions (n);
CREATE TABLE segments (s INTEGER PRIMARY KEY, n INTEGER, c INTEGER, share REAL, generic INTEGER, words TEXT);
CREATE INDEX segment_entry ON segments (n);
CREATE TABLE keys (kind TEXT, key TEXT, ref INTEGER, n INTEGER, PRIMARY KEY (kind, key, ref)) WITHOUT ROWID;
CREATE INDEX key_entry ON keys (n);
CREATE TABLE weights (word TEXT PRIMARY KEY, weight REAL) WITHOUT ROWID;
CREATE VIRTUAL TABLE search USING fts5(title, alias, symptom, rule, body, tokenize='unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, 'row');
"""


def build(home: Home, library: Any, *, anew: bool = False) -> dict[str, Any]:
    """Bring the index in line with the confirmed entries of a library.

    What an index of this edition holds already is kept, so that a call after one change is cheap.

    Args:
        anew: build everything from nothing (repairs).

    Returns what is indexed: `entries`, `generation`, and `generic` (ids whose error condition also
    fits failures of every day, so that it needs a command or a path beside it).

    Raises:
        Refused: when it can't be written; the index before stays in use.
    """
    stored = confirmed(library.entries)
    base = None if anew else _base(home)
    wanted = {one.entry.id: one for one in stored}
    known = _known(base) if base is not None else None
    if base is not None and known is not None:
        changed = [one for name, one in wanted.items() if known.get(name) != (one.sha256, _path(one))]
        removed = [name for name in known if name not in wanted]
        if len(changed) + len(removed) <= max(FEW, len(stored) // 5):
            with contextlib.suppress(sqlite3.Error):
                return _change(home, base, changed, removed)
    with _generation(home, None) as (connection, name):
        connection.executescript(SCHEMA)
        connection.execute("INSERT INTO meta VALUES ('edition', ?)", (edition(),))
        _write_weights(connection)
        _write_background(connection)
        _insert(connection, stored, _weights(connection))
        connection.execute("INSERT INTO search(search) VALUES ('optimize')")
        _calibrate(connection)
        return _finish(home, connection, name)


def update(home: Home, stored: Iterable[Any] = (), removed: Iterable[str] = ()) -> dict[str, Any]:
    """Put some stored entries in (or in place of themselves), drop some ids; returns as `build`.

    Raises:
        LookupError: when there is no usable index of this edition: the caller has to `build`.
        Refused: when it can't be written; the index before stays in use.
    """
    base = _base(home)
    if base is None or not _same_edition(base):
        raise LookupError("no recall index of this edition")
    try:
        return _change(home, base, list(stored), list(removed))
    except sqlite3.Error as error:
        raise LookupError(f"the recall index is broken: {error}") from error


def edition() -> str:
    """What the index was made by: versions of words, signatures and files, and the calibration lists."""
    made_by = [ruleset.load(name) for name in ("calibration", "spellings")]
    lists = json.dumps(made_by, sort_keys=True, ensure_ascii=False)
    mark = files.sha256(lists.encode("utf-8"))[:16]
    return f"{lookup.VERSION}.{tokens.VERSION}.{signature.VERSION}.{mark}"


def _change(home: Home, base: Path, changed: Sequence[Any], removed: Sequence[str]) -> dict[str, Any]:
    with _generation(home, base) as (connection, name):
        for entry_id in {*removed, *(one.entry.id for one in changed)}:
            _drop(connection, entry_id)
        _insert(connection, confirmed(changed), _weights(connection))
        _recalibrate(connection)
        return _finish(home, connection, name)


def _base(home: Home) -> Path | None:
    """The database in use, when there is one of this version."""
    present = lookup.header(str(home.root))
    path = home.derived / str(present["db"]) if present else None
    return path if path is not None and path.is_file() else None


def _known(base: Path) -> dict[str, tuple[str, str]] | None:
    """Digest and path of each entry in a database; None when it is of another edition, or broken."""
    try:
        if not _same_edition(base):
            return None
        with contextlib.closing(_reader(base)) as connection:
            return {name: (digest, path) for name, digest, path in
                    connection.execute("SELECT id, sha256, path FROM entries")}
    except sqlite3.Error:
        return None


def _same_edition(base: Path) -> bool:
    try:
        with contextlib.closing(_reader(base)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = 'edition'").fetchone()
            return row is not None and row[0] == edition()
    except sqlite3.Error:
        return False


def _path(one: Any) -> str:
    # Relative to the home, so that a home can be moved.
    return f"entries/{one.key}"


def _reader(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)


def rewrite_settings(home: Home) -> None:
    """Write what hooks read of the configuration: switches, counts, frames, complaint words."""
    files.write_text(home.derived / lookup.SETTINGS, json.dumps(_settings(home), ensure_ascii=False))


def confirmed(stored: Iterable[Any]) -> list[Any]:
    """Those whose bytes are the ones that a person confirmed; the outdated among them stay findable."""
    return [one for one in stored if one.state == "confirmed" and one.entry.status is not Status.SUPERSEDED]


def connect(home: Home) -> sqlite3.Connection:
    """The present index, read only.

    Raises:
        LookupError: when there is none, or it is of another version.
    """
    path = _base(home)
    if path is None:
        raise LookupError("no recall index of this version")
    return _reader(path)


def foreign(home: Home) -> list[str]:
    """Ids of which the index says something else than the files of the entries, or that nobody confirmed so."""
    names = ("id", *_CHECKED)
    try:
        with contextlib.closing(connect(home)) as connection:
            rows = connection.execute(f"SELECT {', '.join(names)} FROM entries ORDER BY id").fetchall()
    except (LookupError, sqlite3.Error):
        return []
    confirmed_now = journal.confirmed(home)
    found = []
    for row in rows:
        said = dict(zip(names, row, strict=True))
        known = confirmed_now.get(str(said["path"]).removeprefix("entries/"))
        # Bytes that were changed in the file itself are another finding.
        if known is None or known.sha256 != said["sha256"] or _otherwise(home, said):
            found.append(str(said["id"]))
    return found


def faithful(home: Home, connection: sqlite3.Connection, n: int) -> bool:
    """Whether a row says what the file of its entry says, and a person confirmed that."""
    names = ("id", *_CHECKED)
    row = connection.execute(f"SELECT {', '.join(names)} FROM entries WHERE n = ?", (n,)).fetchone()
    return not deliver.differs(str(home.root), dict(zip(names, row, strict=True)))


def _otherwise(home: Home, said: Mapping[str, Any]) -> bool:
    try:
        data = files.read_bytes(home.root / str(said["path"]))
        if files.sha256(data) != said["sha256"]:
            return False
        return any(said[name] != value for name, value in stored.columns(data).items())
    except (OSError, Refused):
        return False
    except ValueError:
        return True


def broken(home: Home) -> bool:
    """Whether there is an index whose bytes are not what was written; false when none was made yet."""
    if not (home.derived / lookup.PREFILTER).exists():
        return False
    path = _base(home)
    if path is None or not lookup.whole(str(home.root)) or not lookup.settings(str(home.root)).get("frames"):
        return True
    try:
        with contextlib.closing(_reader(path)) as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return True
    except sqlite3.Error:
        return True
    written = (lookup.header(str(home.root)) or {}).get("sha256")
    return files.sha256(files.read_bytes(path, MOST_BYTES)) != written


@contextlib.contextmanager
def _generation(home: Home, base: Path | None) -> Iterator[tuple[sqlite3.Connection, str]]:
    """A database file aside: a copy of `base`, or empty; removed when the work on it fails."""
    files.make_folder(home.derived)
    number = max((_number(path) for path in _generations(home)), default=0) + 1
    path = home.derived / f"recall-{number}.sqlite"
    # A generation's bytes never change once it is named, so they can be copied as they are.
    files.write_whole(path, files.read_bytes(base, MOST_BYTES) if base is not None else b"")
    connection = sqlite3.connect(path)
    try:
        # The file is nobody's until the prefilter names it: no journal, one flush at the end.
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=NORMAL")
        yield connection, path.name
    except BaseException as error:
        connection.close()
        files.remove(path)
        # SQLite says "database or disk is full", "disk I/O error", "attempt to write a readonly database".
        if isinstance(error, sqlite3.OperationalError) and any(w in str(error) for w in ("full", "I/O", "readonly")):
            raise Refused(
                Text("errors_store.cant_write", path=path, cause=error), Text("errors_store.free_space")
            ) from error
        raise
    finally:
        connection.close()


def _generations(home: Home) -> list[Path]:
    return [path for path in files.listed(home.derived, ".sqlite") if path.name.startswith("recall-")]


def _finish(home: Home, connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    connection.commit()
    count = int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])
    projects = connection.execute("SELECT count(*) FROM entries WHERE project != ''").fetchone()[0]
    header = {"version": lookup.VERSION, "db": name, "entries": count, "projects": int(projects)}
    keys = connection.execute("SELECT DISTINCT kind, key FROM keys").fetchall()
    generic = [row[0] for row in connection.execute(
        "SELECT DISTINCT e.id FROM segments s JOIN entries e USING (n) WHERE s.generic"
    )]
    connection.close()
    header["sha256"] = files.sha256(files.read_bytes(home.derived / name, MOST_BYTES))
    rewrite_settings(home)
    files.write_whole(home.derived / lookup.PREFILTER, lookup.prefilter(header, keys))
    # A reader on Windows may hold one open: the next build takes it away.
    with contextlib.suppress(Exception):
        for path in _generations(home):
            if path.name != name and _number(path) < _number(home.derived / name):
                with contextlib.suppress(Exception):
                    files.remove(path)
    return {"entries": count, "generation": name, "generic": generic}


def _number(path: Path) -> int:
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def _settings(home: Home) -> dict[str, Any]:
    from . import config

    recall = config.load()["recall"]
    # The bare name need not be on the PATH of the shell that the model has.
    command = confirm_line.quote(launcher.launcher(home)) if launcher.record() else "experience-forge"
    return {
        "on": bool(recall.get("on", True)),
        "start_count": int(recall.get("start_count", 5)),
        "start_characters": int(recall.get("start_characters", 2000)),
        "prompt_factor": float(recall.get("prompt_factor", 1.0)),
        "complaints": _complaints(),
        "project_aliases": projects.aliases(home),
        "off_projects": [str(one) for one in recall.get("off_projects", [])],
        "frames": {
            language: {
                name.partition(".frame_")[2]: text.replace("`experience-forge ", f"`{command} ")
                for name, text in ruleset.messages(language).items()
                if name.startswith("recall.frame_")
            }
            for language in ("en", "zh")
        },
    }


def _complaints() -> dict[str, str]:
    return {key: str(words) for key, words in ruleset.load("calibration")["complaints"].items()}


def _write_weights(connection: sqlite3.Connection) -> None:
    lists = ruleset.load("calibration")
    weights = signature.background([str(line) for line in lists["errors"]])
    for word in signature.words(str(lists["ordinary_words"])):
        weights[word] = min(weights.get(word, signature.UNKNOWN), float(lists["ordinary_weight"]))
    connection.executemany("INSERT INTO weights VALUES (?, ?)", sorted(weights.items()))


def _write_background(connection: sqlite3.Connection) -> None:
    """Texts of every day beside the entries: what is rare is rare in them too, also in a store of three."""
    lists = ruleset.load("calibration")
    texts = [str(text) for name in ("prompts", "everyday_complaints", "errors") for text in lists[name]]
    for number, text in enumerate(texts):
        connection.execute(
            "INSERT INTO search(rowid, body) VALUES (?, ?)", (BACKGROUND + number, " ".join(tokens.terms(text)))
        )


def _weights(connection: sqlite3.Connection) -> dict[str, float]:
    return dict(connection.execute("SELECT word, weight FROM weights"))


def _insert(connection: sqlite3.Connection, stored: Sequence[Any], weights: Mapping[str, float]) -> None:
    everyday = _Everyday()
    numbers = {
        table: int(connection.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()[0])
        for table, column in (("entries", "n"), ("conditions", "c"), ("segments", "s"))
    }
    for one in stored:
        numbers["entries"] += 1
        n = numbers["entries"]
        rows = recall_rows.rows_of(one.entry, weights)
        connection.execute(
            f"INSERT INTO entries VALUES ({','.join('?' * 17)})",
            (n, one.entry.id, one.sha256, one.confirmed.seq, _path(one), *recall_rows.columns(one.entry)),
        )
        connection.execute(
            "INSERT INTO search(rowid, title, alias, symptom, rule, body) VALUES (?,?,?,?,?,?)", (n, *rows.search)
        )
        for condition in rows.conditions:
            numbers["conditions"] += 1
            c = numbers["conditions"]
            connection.execute(
                "INSERT INTO conditions VALUES (?,?,?,?,?,?)",
                (c, n, condition.command, condition.path, condition.words, int(condition.error)),
            )
            _keys(connection, condition.keys, c, n)
            for segment in condition.segments:
                numbers["segments"] += 1
                generic = 0
                if not (condition.command or condition.path):
                    near = everyday.nearest(segment)
                    generic = int(near >= 1.0)
                    segment = replace(segment, share=min(1.0, max(segment.share, near + signature.MARGIN)))
                connection.execute(
                    "INSERT INTO segments VALUES (?,?,?,?,?,?)",
                    (numbers["segments"], n, c, segment.share, generic,
                     " ".join(f"{word}:{value}" for word, value in segment.words.items())),
                )
                anchors = signature.anchors(segment.words, segment.share, everyday.ordinary)
                _keys(connection, [("e", key) for key in anchors], numbers["segments"], n)


def _keys(connection: sqlite3.Connection, keys: Iterable[tuple[str, str]], ref: int, n: int) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO keys VALUES (?,?,?,?)", [(kind, key, ref, n) for kind, key in keys]
    )


class _Everyday:
    """The shipped failures of every day, by word, to find the segments that fit one of them."""

    def __init__(self) -> None:
        self.lines = [signature.lines_of(str(line)) for line in ruleset.load("calibration")["errors"]]
        self.ordinary = frozenset(signature.words(str(ruleset.load("calibration")["ordinary_words"])))
        self.by_word: dict[str, list[int]] = {}
        for index, line in enumerate(self.lines):
            for word in frozenset().union(*line):
                self.by_word.setdefault(word, []).append(index)

    def nearest(self, segment: recall_rows.Segment) -> float:
        """The largest share of the segment that one of the failures shows, when it is near enough to matter."""
        need = (segment.share - signature.MARGIN) * sum(segment.words.values())
        shown: dict[int, float] = {}
        for word, value in segment.words.items():
            for index in self.by_word.get(word, ()):
                shown[index] = shown.get(index, 0.0) + value
        near = [index for index, value in shown.items() if value >= need]
        return max((signature.share_seen(segment.words, self.lines[index]) for index in near), default=0.0)


def _drop(connection: sqlite3.Connection, entry_id: str) -> None:
    row = connection.execute("SELECT n FROM entries WHERE id = ?", (entry_id,)).fetchone()
    if row is None:
        return
    for table in ("entries", "conditions", "segments", "keys"):
        connection.execute(f"DELETE FROM {table} WHERE n = ?", row)
    connection.execute("DELETE FROM search WHERE rowid = ?", row)


def _recalibrate(connection: sqlite3.Connection) -> None:
    """Calibrate again when a small store has changed by a tenth; a large one has no ranked search at prompts."""
    count = int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])
    row = connection.execute("SELECT value FROM meta WHERE name = 'calibrated'").fetchone()
    before = int(row[0]) if row else 0
    if count <= RECALIBRATED and abs(count - before) * 10 > before:
        _calibrate(connection)


def _calibrate(connection: sqlite3.Connection) -> None:
    from ..fast import rank

    lists = ruleset.load("calibration")
    prompts = [str(line) for line in (*lists["prompts"], *lists["everyday_complaints"])]
    floor = rank.prompt_floor(connection, prompts, _complaints())
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('prompt_floor', ?)", (str(floor),))
    start = rank.start_floor(connection, [str(line) for line in lists["prompts"]])
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('start_floor', ?)", (str(start),))
    connection.execute("INSERT OR REPLACE INTO meta SELECT 'calibrated', count(*) FROM entries")


def text_of(entry: Entry) -> str:
    """All words of an entry as one text, for similarity and for vectors."""
    return "\n".join([entry.title, *entry.aliases, *(text for _, text in entry.sections), " ".join(entry.tags)])
