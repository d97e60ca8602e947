"""The coin of a hook: shown or withheld, once for an entry version and session, logged before acting.

What may be withheld, and with which chance, is compiled into `derived/measure.tsv` by
`store.measure_rules`; no such file means that nothing is ever withheld.
"""

from . import system

FIRST, LATER, PROVEN = 0.3, 0.15, 0.03
"""Chances of withholding: for the first coins, for later ones, once evidence suffices for a claim."""
FIRST_COINS = 40
RULES = "derived/measure.tsv"
QUESTION = "derived/measure-question.tsv"
BITS = 53


def chance(coins: int, proven: bool) -> float:
    """Chance of withholding for an entry version with so many coins behind it (DESIGN 10)."""
    if proven:
        return PROVEN
    return FIRST if coins < FIRST_COINS else LATER


def draw() -> float:
    """A number in [0, 1) from the system's randomness, 53 bits."""
    return (int.from_bytes(system.calls.urandom(8), "big") >> (64 - BITS)) / (1 << BITS)


def chance_for(home: str, entry_id: str, entry_sha: str) -> float:
    """The compiled chance for one entry version; 0.0 when it is never withheld."""
    text = "\n" + _text(home, RULES)
    wanted = "\n%s\t%s\t" % (entry_id, entry_sha)
    at = text.find(wanted)
    if at < 0:
        return 0.0
    at += len(wanted)
    end = text.find("\n", at)
    try:
        p = float(text[at:end] if end >= 0 else text[at:])
    except ValueError:
        return 0.0
    return p if 0.0 < p < 1.0 else 0.0


def decide(
    home: str,
    session: str,
    entry_id: str,
    entry_sha: str,
    entry_meta: "dict[str, object] | None" = None,
    earlier: "tuple[dict[str, object], ...] | list[dict[str, object]]" = (),
    toss: "object" = None,
) -> "tuple[str, dict[str, object]]":
    """Whether an entry whose trigger matched is delivered: ("shown" | "withheld", fields to log).

    The caller appends the fields to its `opportunity` line before it says anything.

    Args:
        home: path of the data home.
        session: id of the session; without one nothing is withheld, since no outcome could be found.
        entry_sha: sha256 of the entry's stored bytes, which is its version.
        entry_meta: the caller's mapping of the entry; a `guard` other than remind, or `pinned`, or
            `track` profile or project there is never withheld, whatever was compiled.
        earlier: the records (dicts) of this session's ledger, for the coin tossed before.
        toss: tests put a function of known draws here.

    Returns:
        The arm and `{"arm", "holdout_p", "draw", "coin"}`: coin is `new`, `kept` (tossed earlier in
        this session) or `none` (not under test: p and draw are absent).
    """
    meta = entry_meta or {}
    for record in earlier:
        if (
            record.get("what") == "opportunity"
            and record.get("entry") == entry_id
            and record.get("sha256") == entry_sha
            and record.get("coin") == "new"
        ):
            arm = "withheld" if record.get("arm") == "withheld" else "shown"
            return arm, {"arm": arm, "coin": "kept"}
    p = chance_for(home, entry_id, entry_sha) if session and entry_sha else 0.0
    if p == 0.0 or meta.get("pinned") or meta.get("guard", "remind") not in ("remind", "", None):
        return "shown", {"arm": "shown", "coin": "none"}
    if meta.get("track") in ("profile", "project"):
        return "shown", {"arm": "shown", "coin": "none"}
    number = float(toss()) if callable(toss) else draw()
    arm = "withheld" if number < p else "shown"
    return arm, {"arm": arm, "holdout_p": p, "draw": number, "coin": "new"}


def question(home: str) -> "str | None":
    """The entry for which the user should be asked whether holdouts are fine; None when nothing is open."""
    return _text(home, QUESTION).partition("\t")[0] or None


def question_text(home: str) -> "str | None":
    """The question itself, in the user's language, ready to be shown; None when nothing is open."""
    return _text(home, QUESTION).strip().partition("\t")[2] or None


def _text(home: str, name: str) -> str:
    data = system.read(system.join(home, *name.split("/")))
    return data.decode("utf-8", "replace") if data else ""
