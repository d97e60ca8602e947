"""How many real changes of cited spans and versions are found, and how many moves raise a false alarm.

    python3 tests/run.py bench freshness [--seeds 7 8 9]

Generates a mutation set over real files (this repository's and the standard library's Python, and
written samples of TypeScript, JSON, YAML, Markdown and lock files) and runs each case through the
check that hooks use. The last line has `found` (share of real changes found), `false_alarms`, `cases`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
import textwrap
from collections import defaultdict
from pathlib import Path

from experience_forge.core import freshness as core
from experience_forge.fast import freshness
from experience_forge.model import Cite, Entry, Kind, Track

ROOT = Path(__file__).resolve().parent.parent.parent
TODAY = "2026-09-01"

TYPESCRIPT = """\
import { readFile } from 'node:fs/promises';

export interface Settings {
  retries: number;
  timeout: number;
  hosts: string[];
}

export async function load(path: string): Promise<Settings> {
  const text = await readFile(path, 'utf8');
  const value = JSON.parse(text) as Settings;
  if (value.retries < 0 || value.retries > 9) {
    throw new Error('retries out of range');
  }
  return { retries: value.retries, timeout: value.timeout, hosts: [...value.hosts] };
}

export function describe(settings: Settings): string {
  const parts = [`retries ${settings.retries}`, `timeout ${settings.timeout}`];
  for (const host of settings.hosts) {
    parts.push(host.toLowerCase());
  }
  return parts.join(', ');
}

export const fallback: Settings = {
  retries: 3,
  timeout: 2500,
  hosts: ['one.example', 'two.example'],
};
"""
YAML = """\
services:
  web:
    image: app:4
    ports:
      - 8080
    environment:
      LEVEL: info
      RETRIES: 3
  queue:
    image: broker:7
    ports:
      - 5672
    volumes:
      - data:/var/lib/broker
  worker:
    image: app:4
    command: run --queue fast
    environment:
      LEVEL: debug
      BATCH: 50
"""
MARKDOWN = """\
# Deploying

Run the migration before the rollout, because the new code reads the column that the migration adds.

1. Freeze the queue and wait until it is empty.
2. Run the migration with a lock timeout of five seconds.
3. Roll out one instance, watch the error rate for ten minutes.

# Rolling back

Keep the column: older code ignores it, and dropping it locks the table for minutes on a large set.
Restart the queue last, since it starts to send as soon as it is up.
"""
LOCKS = {
    "package-lock.json": '{{"packages": {{"node_modules/left-pad": {{\n "version": "{v}"}}}}}}',
    "poetry.lock": '[[package]]\nname = "left-pad"\nversion = "{v}"\n',
    "uv.lock": '[[package]]\nname = "left-pad"\nversion = "{v}"\nsource = {{ registry = "x" }}\n',
    "Cargo.lock": '[[package]]\nname = "left-pad"\nversion = "{v}"\n',
    "yarn.lock": 'left-pad@^1.0.0:\n  version "{v}"\n  resolved "x"\n',
    "pnpm-lock.yaml": "packages:\n\n  left-pad@{v}:\n    resolution: {{}}\n",
    "go.mod": "module m\n\nrequire (\n\texample.org/x/left-pad v{v}\n)\n",
    "requirements.txt": "other==9.9\nleft-pad[extra]=={v}  # pinned\n",
    "Gemfile.lock": "GEM\n  specs:\n    left-pad ({v})\n",
    "composer.lock": '{{"packages": [{{"name": "left-pad", "version": "{v}"}}]}}',
    "package.json": '{{"dependencies": {{"left-pad": "^{v}"}}}}',
}


def sources(rng):
    """(file name, text) of real and written files to cite from."""
    own = sorted(p for p in (ROOT / "scripts").rglob("*.py") if p.read_text(encoding="utf-8").count("\n") > 60)
    library = Path(os.__file__).parent
    real = [library / name for name in ("textwrap.py", "shlex.py", "fnmatch.py", "bisect.py", "sched.py", "queue.py")]
    picked = [path for path in [*rng.sample(own, 8), *real] if path.exists()]
    found = [(path.name, path.read_text(encoding="utf-8")) for path in picked]
    return [*found, ("settings.ts", TYPESCRIPT), ("compose.yaml", YAML), ("deploy.md", MARKDOWN)]


def pick_span(rng, text):
    """A span of 3 to 14 lines that begins and ends with something on it, and says enough to be its own."""
    lines = text.splitlines()
    for _ in range(200):
        size = rng.randint(3, 14)
        first = rng.randrange(0, max(1, len(lines) - size))
        chosen = lines[first:first + size]
        if len(chosen) >= 3 and chosen[0].strip() and chosen[-1].strip() and len(" ".join(chosen).split()) >= 12:
            return first, first + len(chosen)
    return 0, len(lines)


# Real changes: (lines of the span) -> other lines, None when the change does not apply.


def other_number(rng, span):
    """A number becomes another one."""
    return _replaced(rng, span, r"(?<![\w.])\d+(?![\w.])", lambda m: str(int(m[0]) + 1))


def other_word(rng, span):
    """An identifier or word is renamed everywhere in the span."""
    words = sorted({word for line in span for word in re.findall(r"[A-Za-z_]\w{3,}", line)})
    if not words:
        return None
    old = rng.choice(words)
    return [re.sub(rf"\b{old}\b", old + "_new", line) for line in span]


def other_operator(rng, span):
    """A comparison or sign is turned round."""
    pairs = {"<": ">", ">": "<", "+": "-", "==": "!=", "and": "or", "True": "False", "not ": ""}
    for old in rng.sample(sorted(pairs), len(pairs)):
        where = [n for n, line in enumerate(span) if old in line]
        if where:
            n = rng.choice(where)
            return [line.replace(old, pairs[old], 1) if i == n else line for i, line in enumerate(span)]
    return None


def line_dropped(rng, span):
    """A line with words on it is gone."""
    where = [n for n, line in enumerate(span) if re.search(r"\w", line)]
    n = rng.choice(where)
    return [line for i, line in enumerate(span) if i != n]


def line_added(rng, span):
    """A statement is put into the middle."""
    n = rng.randrange(1, len(span))
    blank = re.match(r"\s*", span[n - 1])[0]
    return [*span[:n], f"{blank}extra_step(1)", *span[n:]]


def lines_swapped(rng, span):
    """Two different neighbouring lines change places."""
    where = [
        n for n in range(len(span) - 1)
        if span[n].strip() and span[n + 1].strip() and span[n].split() != span[n + 1].split()
    ]
    if not where:
        return None
    n = rng.choice(where)
    return [*span[:n], span[n + 1], span[n], *span[n + 2:]]


def stepped_out(rng, span):
    """A Python line leaves its block: same words, other meaning."""
    where = [
        n for n in range(1, len(span))
        if span[n].startswith("        ") and span[n - 1].strip()
        and len(span[n]) - len(span[n].lstrip()) == len(span[n - 1]) - len(span[n - 1].lstrip())
        and not span[n - 1].rstrip().endswith((",", "(", "[", "{", "\\", '"'))
        and re.match(r"\s+(return|self|if|for|raise|[a-z_]+ = )", span[n])
        and re.match(r"\s+(return|self|raise|[a-z_]+ = )", span[n - 1])
    ]
    if not where:
        return None
    n = rng.choice(where)
    return [line[4:] if i == n else line for i, line in enumerate(span)]


def _replaced(rng, span, pattern, change):
    where = [n for n, line in enumerate(span) if re.search(pattern, line)]
    if not where:
        return None
    n = rng.choice(where)
    return [re.sub(pattern, change, line, count=1) if i == n else line for i, line in enumerate(span)]


CHANGES = (other_number, other_word, other_operator, line_dropped, line_added, lines_swapped, stepped_out)


# Reformatting of a whole text: the meaning stays.


def trailing_blanks(rng, name, text):
    """Blanks at line ends."""
    return "".join(line.rstrip("\n") + "  \n" for line in text.splitlines(True))


def windows_ends(rng, name, text):
    """CRLF line ends and a byte order mark."""
    return "\ufeff" + text.replace("\n", "\r\n")


def other_indent(rng, name, text):
    """Two blanks for four, or tabs."""
    if name.endswith((".md", ".yaml")):
        return None
    step = rng.choice(["  ", "\t"])
    return "".join(_reindented(line, step) for line in text.splitlines(True))


def _reindented(line, step):
    blanks = len(line) - len(line.lstrip(" "))
    return step * (blanks // 4) + " " * (blanks % 4) + line[blanks:]


def other_quotes(rng, name, text):
    """Single quotes for double ones where none stand inside."""
    if name.endswith((".md", ".yaml")):
        return None
    return re.sub(r'(?<!")"([^"\'\n\\]*)"(?!")', r"'\1'", text)


def blank_lines(rng, name, text):
    """Blank lines between statements at the margin."""
    return re.sub(r"\n(?=[A-Za-z@#])", "\n\n", text)


def calls_wrapped(rng, name, text):
    """A call of several arguments on one line is put on several, with a trailing comma."""
    if name.endswith((".md", ".yaml")):
        return None
    shape = re.compile(r"^( *)([\w.= ]+)\(([\w.]+(?:, [\w.]+)+)\)$", re.M)

    def wrapped(match):
        inner = "".join(f"{match[1]}    {part.strip()},\n" for part in match[3].split(","))
        return f"{match[1]}{match[2].strip()}(\n{inner}{match[1]})"

    return shape.sub(wrapped, text) if shape.search(text) else None


def lines_joined(rng, name, text):
    """What stood on several lines inside brackets is joined."""
    if name.endswith((".md", ".yaml")):
        return None
    return re.sub(r"([(\[{,])\n\s+(?=[\w\"'.)\]}(])", lambda m: m[1] + (" " if m[1] == "," else ""), text)


def prose_wrapped(rng, name, text):
    """Prose is wrapped at 60 characters."""
    if not name.endswith(".md"):
        return None
    return "\n".join("\n".join(textwrap.wrap(line, 60)) if line else "" for line in text.splitlines()) + "\n"


def aligned(rng, name, text):
    """Blanks around signs are doubled."""
    return re.sub(r" (=|==|\+|->) ", r"  \1  ", text)


REFORMATS = (
    trailing_blanks, windows_ends, other_indent, other_quotes, blank_lines, calls_wrapped, lines_joined,
    prose_wrapped, aligned,
)  # fmt: skip


def cases(seed):
    """(group, wanted alarm, name, cite lines, text before, files after) for spans."""
    rng = random.Random(seed)
    for name, text in sources(rng):
        lines = text.splitlines()
        for change in CHANGES:
            first, last = pick_span(rng, text)
            new = change(rng, lines[first:last])
            if new is not None and new != lines[first:last]:
                after = "\n".join([*lines[:first], *new, *lines[last:]]) + "\n"
                yield "changed: " + change.__name__, True, name, (first, last), text, {name: after}
        first, last = pick_span(rng, text)
        without = "\n".join([*lines[:first], *lines[last:]]) + "\n"
        yield "deleted: span", True, name, (first, last), text, {name: without}
        yield "deleted: file", True, name, (first, last), text, {}
        yield "renamed: file", True, name, (first, last), text, {"other_" + name: text}
        yield from moved(rng, name, text)
        for reformat in REFORMATS:
            after = reformat(rng, name, text)
            if after is not None and after != text:
                span = pick_span(rng, text)
                yield "reformatted: " + reformat.__name__, False, name, span, text, {name: after}


def moved(rng, name, text):
    """The span unchanged in another place."""
    lines = text.splitlines()
    first, last = pick_span(rng, text)
    span = lines[first:last]
    above = ["# one more line", "", "# and another", ""] * rng.randint(1, 12)
    yield "moved: lines above", False, name, (first, last), text, {name: "\n".join([*above, *lines]) + "\n"}
    rest = [*lines[:first], *lines[last:], "", *span]
    yield "moved: to the end", False, name, (first, last), text, {name: "\n".join(rest) + "\n"}
    yield "moved: other folder", False, name, (first, last), text, {"deep/er/" + name: text}
    outside = "\n".join([*lines, "", "# written below the span"]) + "\n"
    yield "unrelated change", False, name, (first, last), text, {name: outside}


def span_alarm(name, span, before, after):
    """Whether the check of the hooks raises an alarm for the files `after`."""
    cite = core.bind(Cite(name, f"{span[0] + 1}-{span[1]}"), before)
    with tempfile.TemporaryDirectory() as folder:
        for path, text in after.items():
            full = Path(folder, path)
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_bytes(text.encode("utf-8"))
        state, _ = freshness.cite(cite.path, cite.lines, cite.hash, True, folder)
    return state == "drifted"


def version_cases():
    """(group, wanted alarm, predicate, file name, version) around each lock file and manifest."""
    for name in LOCKS:
        for predicate, version, alarm in (
            ("left-pad>=1.2,<2", "2.0.1", True), ("left-pad==1.2.3", "1.2.4", True), ("left-pad<1.3", "1.10.0", True),
            ("left-pad>=1.2,<2", "1.10.0", False), ("left-pad>=1.2", "3.0.0", False), ("left-pad~=1.2", "1.9.9", False),
        ):
            group = "version raised: out of range" if alarm else "version raised: within range"
            yield group, alarm, predicate, name, version


def version_alarm(predicate, name, version):
    """Whether the check raises an alarm for a project whose file records that version."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_text(LOCKS[name].format(v=version), encoding="utf-8")
        entry = Entry("e", "t", Kind.PITFALL, Track.PERSONAL, (), versions=(predicate,))
        Path(folder, "derived").mkdir()
        Path(folder, "derived", "freshness.tsv").write_text("\n".join(core.compiled(entry)) + "\n", encoding="utf-8")
        state, reason, _, _ = freshness.check(folder, "e", "pitfall", folder, TODAY)
    return state == "drifted" and reason == "version"


def measure(seeds):
    """All cases; returns (rows by group, misses) with a row [cases, right]."""
    groups, misses = defaultdict(lambda: [0, 0]), []
    for group, wanted, name, span, before, after in (case for seed in seeds for case in cases(seed)):
        right = span_alarm(name, span, before, after) is wanted
        groups[group, wanted][0] += 1
        groups[group, wanted][1] += right
        if not right:
            misses.append(f"{group} {name}:{span[0] + 1}-{span[1]}")
    for group, wanted, predicate, name, version in version_cases():
        right = version_alarm(predicate, name, version) is wanted
        groups[group, wanted][0] += 1
        groups[group, wanted][1] += right
        if not right:
            misses.append(f"{group} {name} {predicate} {version}")
    return groups, misses


def main(arguments=None):
    """Print the table by kind of change, the misses, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[7, 8, 9])
    options = parser.parse_args(arguments)
    groups, misses = measure(options.seeds)
    print(f"{'case':<34}{'cases':>7}{'right':>7}")
    for (group, _), (count, right) in sorted(groups.items()):
        print(f"{group:<34}{count:>7}{right:>7}")
    for miss in misses:
        print(f"miss: {miss}")
    totals = {
        wanted: [sum(row[i] for (_, w), row in groups.items() if w is wanted) for i in (0, 1)]
        for wanted in (True, False)
    }
    (changes, found), (calm, silent) = totals[True], totals[False]
    print(json.dumps({
        "found": round(found / changes, 4), "false_alarms": round(1 - silent / calm, 4),
        "changes": changes, "moves_and_reformats": calm, "cases": changes + calm, "seeds": options.seeds,
    }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
