"""Finding entries in an open index: by error signature, by trigger words, by ranked search.

The one code for hooks, command line and evaluation. `connection` is any SQLite connection to an
index; `scope` a tuple of project ids, of which an entry without a project is always part.
"""

from . import shellwords, signature, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

TERMS = 24
SIGNATURE_POINTS = 60.0
FLOOR = 14.0
"""No index speaks at a prompt below this: one rare word in a title reaches 12."""
COMMITS = 5
PROMPT_SCOPE = 1000
"""Above so many entries in scope the ranked search does not speak at a prompt (measured: false alarms rise)."""

_WEIGHTS = "4.0, 4.0, 2.5, 1.5, 1.0"


def in_scope(scope: "Sequence[str]", outdated: bool = False) -> tuple[str, list[str]]:
    """SQL condition on table `entries` (as `e`) and its parameters."""
    states = "('active', 'outdated')" if outdated else "('active')"
    marks = ",".join("?" * (len(scope) + 1))
    return "e.status IN %s AND e.project IN (%s)" % (states, marks), ["", *scope]


def errors(
    connection: "Any", present: list[str], text: str, scope: "Sequence[str]" = (),
    commands: list[list[str]] | None = None, outdated: bool = False,
) -> list[tuple[float, int, float]]:
    """Entries whose error condition holds for an output, best first: (points, n, share).

    `present` are the anchor words of the text that the index has (see `lookup.Prefilter`);
    `commands` the simple commands that made the output, None when unknown (any command fits).
    """
    if not present:
        return []
    lines = signature.lines_of(text)
    where, values = in_scope(scope, outdated)
    found: dict[int, tuple[float, float]] = {}
    seen: set[int] = set()
    for start in range(0, len(present), 200):
        part = present[start:start + 200]
        rows = connection.execute(
            "SELECT s.s, s.n, s.share, s.words, s.generic, c.command, e.project FROM keys k "
            "JOIN segments s ON s.s = k.ref JOIN conditions c ON c.c = s.c JOIN entries e ON e.n = s.n "
            "WHERE k.kind = 'e' AND k.key IN (%s) AND %s" % (",".join("?" * len(part)), where), [*part, *values]
        )
        for number, n, share, words, generic, command, project in rows:
            if number in seen:
                continue
            seen.add(number)
            if generic or not _command_fits(command, commands):
                continue
            pairs = _pairs(words)
            got = signature.share_seen(pairs, lines)
            if got >= share - 1e-9:
                # More words seen are a better match; a project's own entry goes before a global one.
                points = got * sum(pairs.values()) + (0.5 if project else 0.0)
                if points > found.get(n, (0.0, 0.0))[0]:
                    found[n] = (points, got)
    return sorted(((points, n, got) for n, (points, got) in found.items()), key=lambda one: (-one[0], one[1]))


def _command_fits(pattern: str, commands: list[list[str]] | None) -> bool:
    if not pattern or commands is None:
        return True
    return any(shellwords.matches(pattern, words) for words in commands)


def _pairs(words: str) -> dict[str, float]:
    pairs = {}
    for item in words.split(" "):
        word, _, value = item.rpartition(":")
        pairs[word] = float(value)
    return pairs


def rarest(connection: "Any", words: list[str], limit: int = TERMS, budget: int = 0) -> list[tuple[str, int]]:
    """The rarest of the words that the index knows, as (word, number of entries).

    With a budget, words are left out from where their entries add up to more than it: a hook's time
    must not grow with the store.
    """
    known = []
    for word in dict.fromkeys(words):
        row = connection.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
        if row:
            known.append((word, row[0]))
    known.sort(key=lambda pair: pair[1])
    if budget:
        total = 0
        for at, (_, count) in enumerate(known[:limit]):
            total += count
            if total > budget:
                return known[:max(at, 1)]
    return known[:limit]


def search(
    connection: "Any", text: str, scope: "Sequence[str]" = (), limit: int = 20, outdated: bool = False,
    budget: int = 0,
) -> list[tuple[float, int]]:
    """Ranked search over all words: (score, n), best first; the score is BM25 with weighted fields."""
    chosen = rarest(connection, tokens.terms(text), TERMS, budget)
    if not chosen:
        return []
    where, values = in_scope(scope, outdated)
    query = " OR ".join('"%s"' % word for word, _ in chosen)
    rows = connection.execute(
        "SELECT -bm25(search, %s) AS score, e.n FROM search JOIN entries e ON e.n = search.rowid "
        "WHERE search MATCH ? AND %s ORDER BY score DESC, e.n LIMIT ?" % (_WEIGHTS, where), [query, *values, limit]
    )
    return [(score, n) for score, n in rows]


def combined(
    connection: "Any", text: str, present: list[str], scope: "Sequence[str]" = (), limit: int = 20,
    outdated: bool = False,
) -> list[tuple[float, int, float]]:
    """Search and signature together: (score, n, share of the signature seen), best first."""
    scores = {n: (score, 0.0) for score, n in search(connection, text, scope, max(limit, 50), outdated)}
    for points, n, share in errors(connection, present, text, scope, None, outdated):
        base = scores.get(n, (0.0, 0.0))[0]
        scores[n] = (base + SIGNATURE_POINTS * share + points, share)
    ordered = sorted(((score, n, share) for n, (score, share) in scores.items()), key=lambda one: (-one[0], one[1]))
    return ordered[:limit]


def words(
    connection: "Any", present: list[str], text: str, scope: "Sequence[str]" = ()
) -> list[tuple[float, int]]:
    """Entries whose word condition or alias is wholly in a prompt, the longest first: (words met, n)."""
    if not present:
        return []
    said = set(tokens.terms(text))
    where, values = in_scope(scope)
    part = present[:400]
    rows = connection.execute(
        "SELECT c.n, c.words, e.project FROM keys k JOIN conditions c ON c.c = k.ref JOIN entries e ON e.n = c.n "
        "WHERE k.kind = 'w' AND k.key IN (%s) AND %s" % (",".join("?" * len(part)), where), [*part, *values]
    )
    found: dict[int, float] = {}
    for n, condition, project in rows:
        wanted = set(tokens.terms(condition))
        if wanted and wanted <= said:
            found[n] = max(found.get(n, 0), len(wanted) + (0.5 if project else 0))
    return sorted(((count, n) for n, count in found.items()), key=lambda one: (-one[0], one[1]))


def complains(text: str, complaints: "Mapping[str, str]") -> bool:
    """Whether a prompt says that something is wrong, by the shipped words of both languages."""
    low = text.lower().replace("’", "'")
    if any(mark in low for mark in complaints.get("zh", "").split()):
        return True
    marks = {ord(mark): " " for mark in ".,!?;:\"()`"}
    return not set(complaints.get("en", "").split()).isdisjoint(low.translate(marks).split())


def prompt(
    connection: "Any", text: str, scope: "Sequence[str]", complaints: "Mapping[str, str]", factor: float = 1.0
) -> tuple[float, int] | None:
    """The one entry that the ranked search gives for a prompt: (score, n), or None.

    It speaks only to a complaint, above the floor of the index (times `factor`), and never when
    more than PROMPT_SCOPE entries are in scope.
    """
    if not complains(text, complaints):
        return None
    where, values = in_scope(scope)
    (count,) = connection.execute("SELECT count(*) FROM entries e WHERE " + where, values).fetchone()
    if not 0 < count <= PROMPT_SCOPE:
        return None
    row = connection.execute("SELECT value FROM meta WHERE name = 'prompt_floor'").fetchone()
    found = search(connection, text, scope, 1)
    if row and found and found[0][0] > float(row[0]) * factor:
        return found[0]
    return None


def prompt_floor(connection: "Any", prompts: "Iterable[str]", complaints: "Mapping[str, str]") -> float:
    """The score above which the ranked search speaks: 19 of 20 everyday prompts that complain stay below.

    Calibrated at each build, since scores grow with the store.
    """
    scores = []
    for text in prompts:
        if complains(text, complaints):
            found = search(connection, text, (), 1)
            scores.append(found[0][0] if found else 0.0)
    return _floor(scores, 20)


def start_floor(connection: "Any", prompts: "Sequence[str]") -> float:
    """The score above which an entry fits a session start: everyday tasks, five at a time, stand for commits.

    Nine of ten such groups stay below.
    """
    groups = ["\n".join(prompts[at:at + COMMITS]) for at in range(0, len(prompts), COMMITS)]
    found = [search(connection, group, (), 1) for group in groups]
    return _floor([one[0][0] if one else 0.0 for one in found], 10)


def _floor(scores: list[float], one_of: int) -> float:
    scores.sort(reverse=True)
    return round(max(FLOOR, scores[len(scores) // one_of] if scores else 0.0), 2)


def prompt_words(text: str) -> list[str]:
    """The distinct search words of a prompt, to be looked up in the prefilter."""
    return list(dict.fromkeys(tokens.terms(text)))
