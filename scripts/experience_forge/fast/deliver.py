"""Delivering one entry: in scope, unchanged since it was confirmed, once a session, receipt before words."""

from . import lookup, minijson, spool, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from collections.abc import Iterable
    from typing import Any

NAMES = (
    "n", "id", "sha256", "seq", "path", "track", "project", "guard", "language", "kind", "pinned", "title", "rule",
    "reason", "action",
)
FORGET = ("compact", "clear")
"""Sources of a start after which the session has nothing left of what hooks said."""
EQUAL = "-"
"""In place of the winner, when neither of two entries that contradict each other has the narrower scope."""
MOST_GIVEN = 200
ALIKE = 0.6
"""Share of the words of title and rule from which two entries mean the same."""
FIELDS = ", ".join("e." + name for name in NAMES)


class Recall:
    """The index for one call of a hook, opened step by step; `close` gives it back."""

    def __init__(self, context: "Any") -> None:
        self.context, self.home = context, context.home
        self.session = str(context.data.get("session_id") or "")
        self.agent = str(context.data.get("agent_id") or "")
        self.prefilter: lookup.Prefilter
        self.connection: Any = None
        self._opened = False
        self._settings: dict[str, Any] | None = None
        self._records: list[dict[str, Any]] | None = None
        self._project: Any = None

    def open(self) -> bool:
        """Open the prefilter; False when there is no index, or none that this version reads."""
        path = lookup.path_of(self.home, lookup.PREFILTER)
        try:
            self.prefilter = lookup.Prefilter(path)
        except OSError:
            # No entry was confirmed yet: nothing is wrong.
            return False
        except (ValueError, KeyError) as error:
            self.context.fault("the recall index can't be used: %s" % error)
            return False
        self._opened = True
        return True

    def database(self) -> "Any":
        """The open database."""
        if self.connection is None:
            self.connection = lookup.connect(self.home, self.prefilter.head)
        return self.connection

    def close(self) -> None:
        """Give files back."""
        if self.connection is not None:
            self.connection.close()
        if self._opened:
            self.prefilter.close()

    @property
    def settings(self) -> "dict[str, Any]":
        """Switches and frames of the last build."""
        if self._settings is None:
            self._settings = lookup.settings(self.home)
        return self._settings

    @property
    def project(self) -> "Any":
        """The project that this call belongs to."""
        if self._project is None:
            from . import git

            folder = git.folder_of(self.context.environ, self.context.data)
            self._project = git.project(folder, self.settings.get("project_aliases"))
        return self._project

    @property
    def scope(self) -> tuple[str, ...]:
        """Project ids of which entries may be delivered; none are looked for when no entry has a project."""
        return tuple(self.project.ids) if self.prefilter.head.get("projects") else ()

    @property
    def records(self) -> "list[dict[str, Any]]":
        """The ledger of this session so far."""
        if self._records is None:
            self._records = spool.read(self.home, self.session)
        return self._records

    def silent(self) -> bool:
        """Whether recall is switched off, in general, for this project or for this session."""
        off = self.settings.get("off_projects")
        if not self.settings.get("on", True) or (off and not set(self.project.ids).isdisjoint(off)):
            return True
        states = [one.get("recall") for one in self.records if one.get("what") == "state" and one.get("recall")]
        return bool(states) and states[-1] == "off"

    def entry(self, n: int) -> "dict[str, Any]":
        """The row of an entry as a dict; `n` is one that the index gave."""
        row = self.database().execute("SELECT %s FROM entries e WHERE e.n = ?" % FIELDS, (n,)).fetchone()
        return dict(zip(NAMES, row, strict=True))

    def said(self, entry_id: str, forms: tuple[str, ...] | None = None) -> bool:
        """Whether the session (and agent) was given the entry already, and still has it.

        A compaction, or clearing, drops what hooks had said; a `hold` counts for the whole session.
        """
        found = False
        for one in self.records:
            # An index line that the client loaded is not the note itself.
            if str(one.get("agent") or "") != self.agent or one.get("form") == "loaded":
                continue
            if one.get("what") == "state" and one.get("state") in FORGET and forms is None:
                found = False
            elif one.get("entry") == entry_id and (
                (one.get("what") == "exposure" and (forms is None or one.get("form") in forms))
                or (forms is None and one.get("what") == "opportunity" and one.get("arm") == "withheld")
            ):
                found = True
        return found

    def doubled(self, entry: "dict[str, Any]", beside: "Iterable[dict[str, Any]]" = ()) -> bool:
        """Whether the project has an entry of the same meaning, beside this one or given in the session: that one wins.

        Args:
            beside: entries that fit the same event.
        """
        if entry["project"] or not self.scope:
            return False
        others = [one for one in (*beside, *self._given_here()) if one["project"]]
        return bool(others) and any(alike(meant(entry), meant(one)) for one in others)

    def _given_here(self) -> "list[dict[str, Any]]":
        """The project's entries that this session (and agent) was given."""
        names = list({str(one.get("entry")) for one in self.records if one.get("what") == "exposure"
                      and one.get("form") != "loaded" and str(one.get("agent") or "") == self.agent})[-MOST_GIVEN:]
        rows = self.database().execute(
            "SELECT e.n FROM entries e WHERE e.status = 'active' AND e.id IN (%s) AND e.project IN (%s)"
            % (",".join("?" * len(names)), ",".join("?" * len(self.scope))), [*names, *self.scope]).fetchall()
        return [self.entry(row[0]) for row in rows]

    def unchanged(self, entry: "dict[str, Any]") -> bool:
        """Whether all that would be said is what a person confirmed: the file's bytes, and the index's words of it."""
        fault = differs(self.home, entry)
        if fault:
            self.context.fault("entry %s %s: not delivered" % (entry["id"], fault))
        return not fault

    def ready(self, entry: "dict[str, Any]") -> str | None:
        """Whether the entry may be delivered now: unchanged, not drifted, not withheld. A sentence to add, or None."""
        if not self.unchanged(entry):
            return None
        if self.outranked(entry):
            return None
        warning = self._drift(entry)
        if warning is None or not self._tossed(entry):
            return None
        return warning

    def outranked(self, entry: "dict[str, Any]") -> bool:
        """Whether an entry of narrower scope contradicts this one: undecided, it speaks for both until then."""
        return self.contradicted(entry)[1] not in ("", EQUAL, entry["id"])

    def conflict(self, entry: "dict[str, Any]") -> str:
        """A sentence about the entry that contradicts this one, or nothing."""
        other, wins = self.contradicted(entry)
        return self.frame("conflict_open" if wins == EQUAL else "conflict", entry, other=other) if other else ""

    def contradicted(self, entry: "dict[str, Any]") -> tuple[str, str]:
        """The entry that contradicts this one and which of the two wins for now; empty strings without one.

        One that wins over this entry comes before the others.
        """
        data = system.read(lookup.path_of(self.home, "contradictions.json"))
        if not data or entry["id"].encode() not in data:
            return "", ""
        try:
            found = minijson.loads(data.decode("utf-8")).get(entry["id"]) or []
            pairs = [(str(one["with"]), str(one["wins"])) for one in found]
        except (ValueError, KeyError, TypeError, AttributeError):
            return "", ""
        pairs.sort(key=lambda pair: pair[1] != pair[0])
        for other, wins in pairs:
            # What tidy found last may be decided by now: only an entry that is still there, and acts here, contradicts.
            row = self.database().execute("SELECT status, project FROM entries WHERE id = ?", (other,)).fetchone()
            if row and row[0] == "active" and (not row[1] or row[1] in self.scope):
                return other, wins
        return "", ""

    def _drift(self, entry: "dict[str, Any]") -> str | None:
        """Empty, a sentence to add, or None when what the entry stands on has gone."""
        data = system.read(lookup.path_of(self.home, "freshness.tsv"))
        if not data or ("\n" + entry["id"] + "\t").encode() not in b"\n" + data:
            return ""
        from . import freshness

        state, reason, detail, delivery = freshness.check(
            self.home, entry["id"], entry["kind"], self.project.root, system.now()[:10], self.project.id)
        if delivery == "no":
            # A decision, no fault: `why` tells of it, once a session.
            if not any(one.get("what") == "held" and one.get("entry") == entry["id"] for one in self.records):
                self.append("held", entry, {"reason": reason, "detail": detail})
            return None
        if state != "drifted":
            return ""
        # A date that has passed is no change of what the note stands on.
        return self.frame("overdue" if reason == "review" else "stale", entry, text=detail)

    def _tossed(self, entry: "dict[str, Any]") -> bool:
        """Log the opportunity; False when the coin of a holdout says to withhold."""
        data = system.read(lookup.path_of(self.home, "measure.tsv"))
        fields: dict[str, Any] = {"arm": "shown", "coin": "none"}
        if data and ("\n%s\t%s\t" % (entry["id"], entry["sha256"])).encode() in b"\n" + data:
            from . import coin

            _, fields = coin.decide(self.home, self.session, entry["id"], entry["sha256"], entry, self.records)
        self.append("opportunity", entry, fields)
        return bool(fields["arm"] != "withheld")

    def under_test(self, entry: "dict[str, Any]") -> bool:
        """Whether a holdout may withhold the entry: then only its trigger may deliver it."""
        data = system.read(lookup.path_of(self.home, "measure.tsv"))
        return data is not None and ("\n%s\t" % entry["id"]).encode() in b"\n" + data

    def append(self, what: str, entry: "dict[str, Any]", fields: "dict[str, Any]") -> None:
        """One line of the ledger about an entry."""
        data = self.context.data
        record = {"what": what, "entry": entry["id"], "sha256": entry["sha256"], "event": self.context.event}
        if self.agent:
            record["agent"] = self.agent
        for name, source in (("call", "tool_use_id"), ("transcript", "transcript_path")):
            if data.get(source):
                record[name] = str(data[source])
        record.update(fields)
        spool.append(self.home, self.session, record)

    def expose(self, entry: "dict[str, Any]", text: str, place: str, why: str, form: str = "remind") -> None:
        """Write the receipt of a delivery; only then may the text be printed."""
        self.append("exposure", entry, {"place": place, "form": form, "characters": len(text), "why": why})

    def frame(self, name: str, entry: "dict[str, Any]", **values: object) -> str:
        """A frame text in the entry's language, its fields filled in.

        Raises:
            LookupError: when there are no frames: an entry is given as a note of the user's, or not at all.
        """
        frames = self.settings.get("frames") or {}
        texts = frames.get(entry["language"]) or frames.get("en")
        if not texts:
            raise LookupError("derived/%s can't be used" % lookup.SETTINGS)
        known = {"id": entry["id"], "title": entry["title"], **values}
        # One pass: what an entry's own text has in braces is text.
        first, *parts = str(texts.get(name, "")).split("{")
        for part in parts:
            key, _, rest = part.partition("}")
            first += str(known.get(key, "")) + rest
        return first


def differs(home: str, entry: "dict[str, Any]") -> str:
    """Why a row of the index must not be delivered; empty when a person confirmed every word of it.

    The file is read and hashed, the journal has to name that hash, and the row has to say what the file says.
    """
    from . import consented, stored

    folder, _, key = entry["path"].partition("/")
    data = system.read(system.join(home, *entry["path"].split("/")))
    if data is None or system.sha256(data) != entry["sha256"]:
        return "has other bytes than were confirmed"
    if folder != "entries" or not consented.bytes_of(home, key, entry["sha256"], entry["seq"]):
        return "was never confirmed with these bytes"
    try:
        said = stored.columns(data)
    except ValueError as error:
        return "can't be read (%s)" % error
    # The rows that hooks ask for are active ones.
    if any(entry.get(name, "active") != value for name, value in said.items()):
        return "reads otherwise in the recall index than in its file (`experience-forge doctor --repair`)"
    return ""


def meant(entry: "dict[str, Any]") -> "tuple[frozenset[str], frozenset[str]]":
    """What `alike` compares: the words of the title, and those of title and rule."""
    from . import tokens

    return frozenset(tokens.terms(entry["title"])), frozenset(tokens.terms(entry["title"] + " " + entry["rule"]))


def alike(one: "tuple[frozenset[str], frozenset[str]]", other: "tuple[frozenset[str], frozenset[str]]") -> bool:
    """Whether two entries have one meaning: one title, or most of their words in common."""
    (title, words), (other_title, other_words) = one, other
    return bool(title and title == other_title) or (
        bool(words) and len(words & other_words) >= ALIKE * len(words | other_words))


def note(recall: Recall, entry: "dict[str, Any]", parts: tuple[tuple[str, str], ...], warning: str = "") -> str:
    """The text of an entry: head, then the named parts that it has, one a line."""
    lines = [recall.frame("head", entry)]
    for name, field in parts:
        if entry[field]:
            lines.append(recall.frame(name, entry, text=entry[field]))
    if warning:
        lines.append(warning)
    conflict = recall.conflict(entry)
    if conflict:
        lines.append(conflict)
    return "\n".join(lines)


def output(event: str, text: str) -> "dict[str, Any]":
    """The client's output that puts a text into the model's context."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


