"""No path but a confirmed proposal changes what a client loads: by the imports, and by trying every command."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest

from experience_forge import cli, shared
from experience_forge.core import codec
from experience_forge.store import home, proposals
from helpers import confirm, entry, tree

PACKAGE = Path(__file__).resolve().parents[1] / "scripts" / "experience_forge"
CALLERS = {
    ("library", "apply"): {"shared.py"},
    ("library", "revoke"): {"store/settle.py"},
    ("library", "settle_proof"): {"store/settle.py"},
    ("shared", "carry_out"): {"commands/confirm.py", "commands/review.py"},
    ("claude_code", "project"): {"shared.py"},
    ("claude_files", "write"): {"clients/claude_code.py"},
    ("model", "Consent"): {"shared.py", "store/library.py", "commands/confirm.py", "commands/review.py"},
}
"""Who may use what changes entries, what a client loads, or what stands for a person's answer."""
ENTRY_WRITERS = {"store/library.py", "store/forgetting.py", "store/archive.py"}
"""Modules that write below `entries/`: the library; erasing and restoring, both a person's at a terminal."""
WRITERS = ("write_text", "write_whole", "append_line", "move", "remove")
TRIED = (
    (), ("use-pnpm",), ("open-draft",), ("use-pnpm", "--yes"), ("open-draft", "--yes"), ("--yes",), ("--all",),
    ("--from", "-"), ("--from", "-", "--track", "profile"), ("use-pnpm", "outdated", "--reason", "old"),
    ("use-pnpm", "deny"), ("use-pnpm", "--to", "profile"), ("1",), ("--json",),
)  # fmt: skip
"""Arguments given to every command; those that a command does not know end with a usage error."""
DRAFT = codec.render(entry("from-stdin"))


def sources():
    """`(path below the package, syntax tree)` of every module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def uses(module, name):
    """Modules that use `module.name` or import the name from the module, whatever they call it."""
    found = set()
    for path, syntax in sources():
        aliases = {module}
        for node in ast.walk(syntax):
            if isinstance(node, ast.ImportFrom):
                aliases |= {alias.asname or alias.name for alias in node.names if alias.name == module}
                if (node.module or "").rsplit(".", 1)[-1] == module and name in [alias.name for alias in node.names]:
                    found.add(path)
        for node in ast.walk(syntax):
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name):
                found |= {path} if node.value.id in aliases else set()
    return found


@pytest.mark.parametrize(("module", "name"), CALLERS)
def test_only_the_listed_modules_can_change_loaded_bytes(module, name):
    """Applying, undoing, proving, projecting and standing for a consent each have known users, and no others."""
    assert uses(module, name) <= CALLERS[module, name]


def names_entries(node, path):
    """Whether an expression leads to a file below `entries/`: `home.entries`, `library.path_of` and the like."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return isinstance(node, ast.Name) and node.id == "path_of" and path in ("store/library.py", "store/entries.py")
    owners = {"entries": ("home", "where"), "path_of": ("library", "entries")}
    return node.value.id in owners.get(node.attr, ())


def test_only_known_modules_write_below_entries():
    """A function that builds paths below `entries/` and writes files is in one of the listed modules."""
    found = set()
    for path, syntax in sources():
        for function in ast.walk(syntax):
            if isinstance(function, ast.FunctionDef):
                inside = list(ast.walk(function))
                writes = any(isinstance(node, ast.Attribute) and node.attr in WRITERS for node in inside)
                found |= {path} if writes and any(names_entries(node, path) for node in inside) else set()
    assert "store/library.py" in found
    assert found <= ENTRY_WRITERS


@pytest.fixture
def loaded(own_home, monkeypatch, tmp_path):
    """A session of a client with one entry in force and projected, and one open draft."""
    monkeypatch.chdir(tmp_path)
    confirm(entry())
    shared.refresh(home.current())
    proposals.create(home.current(), "draft", codec.render(entry("open-draft")), {}, "open-draft")
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "1")
    return own_home


def loaded_bytes(own_home):
    """Everything that counts: entries and all of the client's folder."""
    where = home.current()
    return {
        **{f"entries/{path}": data for path, data in tree(where.entries).items()},
        **({f"client/{path}": data for path, data in tree(own_home / ".claude").items()}),
    }


@pytest.mark.parametrize("verb", [verb for verb in cli.verbs() if verb != "confirm"])
def test_no_command_changes_loaded_bytes_without_consent(loaded, monkeypatch, capsys, verb):
    """Run by a model, whatever its arguments: entries and the client's folder keep every byte."""
    before = loaded_bytes(loaded)
    for arguments in TRIED:
        monkeypatch.setattr("sys.stdin", io.StringIO(DRAFT))
        cli.main([verb, *arguments])
        assert loaded_bytes(loaded) == before, f"{verb} {arguments}: {capsys.readouterr()}"
    capsys.readouterr()
