"""Words, error signatures, shell words, path patterns and JSON of the hooks."""

from __future__ import annotations

import json
import random

import pytest

from experience_forge.fast import globs, minijson, shellwords, signature, tokens


@pytest.mark.parametrize(("text", "wanted"), [
    ("容器启动", ["容器", "器启", "启动"]),
    ("getUserName", ["getusername", "get", "user", "name"]),
    ("vm.max_map_count", ["vm", "maxmapcount", "max", "map", "count"]),
    ("TS2345 and E0308", ["ts2345", "e0308"]),
    ("升级到 ESLint 9", ["升级", "级到", "eslint", "lint", "eslint9"]),
    ("stopped running settings", ["stop", "run", "set"]),
    ("\x1b[31mred\x1b[0m", ["red"]),
    ("/usr/lib/python3/site-packages/yaml.py", ["yaml", "py"]),
    ("HTTP 413 at 10:22 line 88", ["http", "413", "line"]),
])
def test_words_of_a_text(text, wanted):
    """Chinese gives bigrams, identifiers their parts, codes stay, numbers and paths go."""
    found = tokens.terms(text)
    assert [word for word in wanted if word not in found] == []


def test_the_end_of_a_long_text_counts():
    """A trace ends with its error: of a long text the beginning and the end are read."""
    found = tokens.terms("head " + "filler " * 5000 + "ZephyrError")
    assert "head" in found and "zephyrerror" in found


@pytest.mark.parametrize(("first", "second"), [
    ("/a/b/run.sh: line 12: gunicorn: command not found", "/x/y/z.sh: line 7: gunicorn: command not found"),
    ("2026-01-02T10:00:00Z ERROR TS2345 at src/a.ts:10:5", "2025-11-12T11:30:09Z ERROR TS2345 at lib/b.ts:99:1"),
    ("\x1b[1;31mModuleNotFoundError\x1b[0m: No module named 'yaml'", "ModuleNotFoundError: No module named 'yaml'"),
    ("commit 3f2a91c0de failed hook PGBOUNCER_3", "commit 77aa01bc2e failed hook PGBOUNCER_17"),
    ("无法加载文件 C:\\a\\b\\npm.ps1，因为禁止运行脚本", "无法加载文件 D:\\x\\y\\pnpm.ps1，因为禁止运行脚本"),
])
def test_a_signature_survives_other_paths_lines_times_and_hashes(first, second):
    """Two prints of one error have one signature."""
    assert set(signature.words(tokens.without_ansi(first))) == set(signature.words(tokens.without_ansi(second)))


@pytest.mark.parametrize("code", ["TS2345", "ENOENT", "E0308", "ModuleNotFoundError", "0x80370102", "CS0246"])
def test_a_signature_keeps_codes_and_class_names(code):
    """What names an error stays."""
    assert code.lower() in signature.words(f"error {code}: something in /a/b/c.py:12")


def test_a_sibling_with_another_name_is_not_the_same_error():
    """The quoted name tells siblings of one error class apart."""
    weights = signature.background(["ModuleNotFoundError: No module named 'x'"] * 3 + ["TypeError: x"] * 40)
    pairs, share = signature.compiled("ModuleNotFoundError: No module named 'distutils'", weights)
    assert signature.share_seen(pairs, signature.lines_of("ModuleNotFoundError: No module named 'distutils'")) == 1
    assert signature.share_seen(pairs, signature.lines_of("ModuleNotFoundError: No module named 'myapp'")) < share


def test_every_match_shows_an_anchor():
    """The prefilter loses no match: whatever words carry the share, one key of the segment is among them."""
    rnd = random.Random(3)
    for _ in range(400):
        pairs = {f"w{n}": rnd.choice((1.0, 2.5, 4.0, 6.0, 12.0)) for n in range(rnd.randint(1, 9))}
        share = rnd.choice((0.62, 0.8, 1.0))
        ordinary = frozenset(word for word in pairs if rnd.random() < 0.6)
        keys = set(signature.anchors(pairs, share, ordinary))
        seen = [word for word in pairs if rnd.random() < 0.75]
        if sum(pairs[word] for word in seen) < share * sum(pairs.values()):
            continue
        partners = sorted(word for word in seen if "~" + word in keys)
        shown = set(seen) | {f"{a}+{b}" for a in partners for b in partners if a < b}
        assert shown & keys, (pairs, share, ordinary, keys, seen)


@pytest.mark.parametrize(("line", "wanted"), [
    ("cd x && FOO=1 npm i", [["cd", "x"], ["npm", "i"]]),
    ("a | b; c & d || e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
    ("x=$(git push origin)", [["git", "push", "origin"]]),
    ("echo \"a $(npm run b)\"", [["npm", "run", "b"], ["echo", "a $(npm run b)"]]),
    ("`npm ci`", [["npm", "ci"], ["`npm ci`"]]),
    ("bash -c 'npm install left-pad'", [["bash", "-c", "npm install left-pad"], ["npm", "install", "left-pad"]]),
    ("bash -lc \"cd a && npm t\"", [["bash", "-lc", "cd a && npm t"], ["cd", "a"], ["npm", "t"]]),
    ("if true; then npm i; fi", [["true"], ["npm", "i"]]),
    ("for f in *; do rm $f; done", [["rm", "$f"]]),
    ("npm i 2>&1 >/dev/null | tail -3", [["npm", "i"], ["tail", "-3"]]),
    ("(cd a; npm t)", [["cd", "a"], ["npm", "t"]]),
    ("echo a#b # npm install", [["echo", "a#b"]]),
    ("npm \\\n  install", [["npm", "install"]]),
])
def test_the_simple_commands_of_a_line(line, wanted):
    """Each simple command of a line is found, nested ones too, redirections and comments left out."""
    assert shellwords.commands(line) == wanted


@pytest.mark.parametrize("line", [
    "echo 'npm install'", "grep \"npm install\" README.md", "git commit -m 'npm install is gone'",
    "cat <<'EOF' > notes\nnpm install\nEOF", "cat <<-EOF\n\tnpm install\n\tEOF",
    "git commit -m \"$(cat <<'EOF'\nDon't npm install\nnpm install\nEOF\n)\"", "echo $((npm + install))",
])
def test_quoted_text_and_heredocs_are_no_commands(line):
    """Words inside quotes or a here-document never match a command pattern."""
    assert not any(shellwords.matches("npm install *", words) for words in shellwords.commands(line))


@pytest.mark.parametrize("line", [
    "npm install", "npm install x", "/usr/bin/npm install x", "sudo -u bob npm install", "FOO=1 npm install",
    "env A=1 timeout 5 npm install", "true && npm install", "echo x | xargs npm install", "eval 'npm install'",
    "sh -c 'cd a; npm install'", "git commit -m \"$(cat <<'EOF'\nit's done\nEOF\n)\" && npm install y",
])
def test_a_pattern_finds_its_command_in_any_dress(line):
    """`npm install *` matches wherever the command runs."""
    assert any(shellwords.matches("npm install *", words) for words in shellwords.commands(line))
    keys = shellwords.keys_for(shellwords.commands(line))
    assert shellwords.key_of("npm install *") in keys


def test_a_pattern_needs_a_word_boundary():
    """`npm install *` is not `npm installx`, and a pattern without `*` is the whole command."""
    assert not shellwords.matches("npm install *", ["npm", "installx"])
    assert not shellwords.matches("npm", ["npm", "i"]) and shellwords.matches("npm", ["npm"])
    assert shellwords.matches("npm install:*", ["npm", "install", "x"])


def test_a_hostile_line_ends():
    """Deep nesting and open quotes neither hang nor raise."""
    for line in ("$(" * 5000, "'" * 4999, "\"$(" * 3000, "bash -c '" * 400, "((((" * 3000, "<<" * 4000, "\\"):
        shellwords.commands(line)


@pytest.mark.parametrize(("pattern", "path", "fits"), [
    ("*.sql", "/p/db/a.sql", True), ("db/**/*.sql", "/p/db/x/y/a.sql", True), ("db/*.sql", "/p/db/x/a.sql", False),
    ("**/migrations/**", "/p/app/migrations/1.py", True), ("src/*.{ts,tsx}", "/p/src/a.tsx", True),
    ("package.json", "/p/sub/package.json", True), ("./src/a.py", "/p/src/a.py", True), ("[a-c]*.py", "/p/b1.py", True),
    ("[!a-c]*.py", "/p/b1.py", False), ("/p/src/?.py", "/p/src/a.py", True), ("src/**", "/other/src/a", False),
    ("**", "/p/a", True),
])
def test_path_patterns(pattern, path, fits):
    """Globs match below the project's root; a pattern's key is among the path's keys whenever it fits."""
    assert globs.matches(pattern, path, "/p") is fits
    if fits:
        assert globs.key_of(pattern) in globs.keys_for(path)


def test_a_hostile_pattern_ends():
    """Many stars take no exponential time."""
    assert not globs.matches("a*" * 60 + "b", "/p/" + "a" * 200, "/p")
    assert not globs.matches("**/" * 40 + "zz", "/p/" + "a/" * 80, "/p")


def test_small_json_reads_and_writes_what_json_does():
    """The hooks' JSON agrees with the standard library, odd texts included."""
    value = {"a": [1, 2.5, True, False, None, "中\n\"\\\u2028"], "b": {"c": "\x00\x1f"}}
    assert minijson.loads(json.dumps(value)) == value
    assert json.loads(minijson.dumps(value)) == value
    for broken in ("{", "[1,]", "nul", "{} x", ""):
        with pytest.raises(ValueError):
            minijson.loads(broken)
