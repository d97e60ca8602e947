"""Error signatures: what of an error line stays the same when path, line, version and time differ.

A signature is a segment (a sentence of an error text) as words with weights. It matches an output
when the words seen in three neighbouring lines carry enough of its weight. The weights come from
shipped lists of generic errors: `no module named` is in many of them and says little, `distutils`
in none and says much; a quoted name counts double, since it is what tells siblings apart.
"""

from .tokens import STOP, bigrams, clipped, is_path, noise, runs, stem, translate, without_ansi

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from collections.abc import Iterator, Mapping, Sequence

VERSION = 1
UNKNOWN = 6.0
BIGRAM_UNKNOWN = 3.0
QUOTED = 2.0
FILE = 0.25
"""A file name in an error line is mostly somebody else's: it says a quarter of what its words would."""
MARGIN = 0.03
"""A segment has to be seen by this much more than the failure of every day that is nearest to it."""
LINES = 400
FULL = 9.0
"""Below this weight a segment has to be there whole; from LONG on most of it is enough."""
LONG = 14.0
SHARE_LONG = 0.62
SHARE_MIDDLE = 0.8

_ENDINGS = frozenset(
    "yml yaml json toml py pyc js ts tsx jsx mjs cjs vue sh bat ps1 exe dll so txt md xml html css go rs java kt c h "
    "cpp rb php lock cfg ini conf env log csv xlsx sql gz zip tar whl jar".split()
)
_PAIRS = {"'": "'", '"': '"', "`": "`'", "“": "”", "‘": "’", "「": "」"}


_known: dict[str, tuple[str, ...]] = {}


def words(line: str) -> list[str]:
    """The signature words of one line, in order: paths, numbers, hashes, versions dropped; codes stay."""
    if not line.isascii():
        line = "".join(_sides(line))
    if "/" in line or "\\" in line:
        line = " ".join([chunk for chunk in line.split() if not _place(chunk)])
    out: list[str] = []
    for word in translate(line).split():
        found = _known.get(word)
        if found is None:
            found = _known[word] = _word(word)
        out.extend(found)
    return out


def _sides(line: str) -> "Iterator[str]":
    # Chinese stands next to a path or a name without a blank: part them.
    before = True
    for mark in line:
        now = mark.isascii()
        if now is not before:
            yield " "
            before = now
        yield mark


def _place(chunk: str) -> bool:
    if "/" not in chunk and "\\" not in chunk:
        return False
    if is_path(chunk) or "://" in chunk:
        return True
    # `src/a.ts:10:5`: one separator, and the ending of a file.
    name = chunk.replace("\\", "/").rpartition("/")[2].rstrip("\"'`.,:;)]>0123456789")
    return name.rpartition(".")[2].lower() in _ENDINGS and "." in name


def _word(word: str) -> tuple[str, ...]:
    """The signature words that one word without marks gives, as a tuple."""
    if word.isalpha() and word.isascii() and word.islower() and 1 < len(word) < 7:
        return () if word in STOP else (stem(word),)
    if not word.isascii():
        out: list[str] = []
        for run, cjk in runs(word):
            out.extend(bigrams(run) if cjk else _word(run) if run.isascii() else (run.lower(),))
        return tuple(out)
    word = word.strip("_")
    if "_" in word:
        # GLIBC_2 and PGBOUNCER_17 are one name with a changing number.
        word = word.rstrip("0123456789_")
    if noise(word):
        return ()
    low = word.lower().replace("_", "")
    if low in STOP:
        return ()
    return (stem(low) if low == word else low,)


def quoted(line: str) -> list[str]:
    """The words of quoted names in a line: no blanks, no paths, no file names."""
    found = []
    index = 0
    while index < len(line):
        closing = _PAIRS.get(line[index])
        if closing is None or (line[index] == "'" and index and line[index - 1].isalnum()):
            index += 1
            continue
        end = min((at for at in (line.find(mark, index + 1) for mark in closing) if at > 0), default=-1)
        if end < 0:
            index += 1
            continue
        name = line[index + 1:end]
        if 0 < len(name) <= 80 and " " not in name and not is_path(name):
            ending = name.rpartition(".")[2].lower()
            if "." not in name or ending not in _ENDINGS:
                found.extend(words(name))
        index = end + 1
    return found


def file_words(line: str) -> list[str]:
    """The words of file names in a line."""
    found = []
    for chunk in line.split():
        chunk = chunk.strip("\"'`“”‘’()[]<>,:;。，：；")
        if "." in chunk and chunk.rpartition(".")[2].lower() in _ENDINGS and not is_path(chunk):
            found.extend(words(chunk))
    return found


def segments(text: str) -> list[str]:
    """The sentences of an error text: cut at line ends, `...`, and the end of a sentence."""
    text = without_ansi(text)
    for mark in ("...", "…", "。", "；", "！", ". ", "; ", "! "):
        text = text.replace(mark, "\n")
    return [part.strip() for part in text.split("\n") if part.strip()]


def weight(word: str, weights: "Mapping[str, float]") -> float:
    """What a word says: by the shipped background, else what an unknown one says."""
    known = weights.get(word)
    if known is not None:
        return known
    return UNKNOWN if word.isascii() else BIGRAM_UNKNOWN


def background(lines: "Sequence[str]") -> dict[str, float]:
    """Weights of the words of a list of generic errors: ln((n + 1) / (df + 1/2)), at most what an unknown word says."""
    counts: dict[str, int] = {}
    for line in lines:
        for word in set(words(line)):
            counts[word] = counts.get(word, 0) + 1
    total = len(lines) + 1
    return {word: round(min(weight(word, {}), _log(total / (count + 0.5))), 2) for word, count in counts.items()}


def _log(value: float) -> float:
    # The limit that defines ln, exact to four digits here: `math` is one more module for hooks to load.
    return float((value ** 1e-6 - 1.0) / 1e-6)


def compiled(segment: str, weights: "Mapping[str, float]") -> tuple[dict[str, float], float] | None:
    """A segment as (words with weights, share of the weight that has to be seen); None when it is empty."""
    names, files = set(quoted(segment)), set(file_words(segment))
    pairs = {}
    for word in words(segment):
        factor = FILE if word in files else QUOTED if word in names else 1.0
        pairs[word] = round(weight(word, weights) * factor, 2)
    if not pairs:
        return None
    total = sum(pairs.values())
    share = 1.0 if total < FULL else SHARE_MIDDLE if total < LONG else SHARE_LONG
    return pairs, share


def anchors(
    pairs: "Mapping[str, float]", share: float, ordinary: frozenset[str] = frozenset()
) -> list[str]:
    """Keys of which every match shows at least one (prefix filter): a telling word, or a pair of ordinary ones.

    Words that any output is full of (`ordinary`) would have the index opened for nothing: where the
    telling words are not enough, `~word` says that a word needs a partner, and `one+other` is the pair.
    """
    need = share * sum(pairs.values()) - 1e-6
    by_weight = sorted(pairs.items(), key=lambda pair: (-pair[1], -len(pair[0]), pair[0]))
    rest = sum(pairs.values())
    chosen: list[str] = []
    for word, value in by_weight:
        if word not in ordinary:
            if rest < need:
                return chosen
            chosen.append(word)
            rest -= value
    if rest < need:
        return chosen
    common = [pair for pair in by_weight if pair[0] in ordinary]
    most = common[0][1]
    partners: list[str] = []
    for word, value in common:
        # Without two of the partners, the others and the heaviest one do not reach the share.
        if rest + most < need and len(partners) > 1:
            break
        partners.append(word)
        rest -= value
    if most >= need or rest + most >= need:
        return chosen + [word for word, _ in common]
    partners.sort()
    return chosen + ["~" + word for word in partners] + [
        one + "+" + other for index, one in enumerate(partners) for other in partners[index + 1:]
    ]


def lines_of(text: str, limit: int = 16000) -> list[frozenset[str]]:
    """The words of each line that has any: at most 400 lines and `limit` characters, the end kept."""
    found = []
    for line in without_ansi(clipped(text, limit)).split("\n")[-LINES:]:
        out = words(line[:2000])
        if out:
            found.append(frozenset(out))
    return found


def share_seen(pairs: "Mapping[str, float]", lines: list[frozenset[str]]) -> float:
    """The share (0 to 1) of a segment's weight in its best line and the two lines beside it."""
    best, at = 0.0, -1
    for index, line in enumerate(lines):
        seen = sum(value for word, value in pairs.items() if word in line)
        if seen > best:
            best, at = seen, index
    if at < 0:
        return 0.0
    near = lines[at].union(*lines[max(0, at - 1):at + 2])
    total = sum(pairs.values())
    # Words of the neighbours complete a wrapped message; they do not make one out of two.
    wide = sum(value for word, value in pairs.items() if word in near)
    return max(best, best + 0.8 * (wide - best)) / total
