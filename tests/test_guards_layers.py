"""Guards over the source itself: who may import whom, who may write files, what hooks may load."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scripts" / "experience_forge"
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.name != "__init__.py")

TOP = {
    "cli": 5, "report": 4, "shared": 4, "drafting": 4, "tidy_steps": 4, "usage": 4,
    "errors": 0, "wording": 0, "model": 0,
}
FOLDERS = {"commands": 5, "installer": 5, "store": 3, "clients": 3, "core": 2, "fast": 1}
MAY = {
    "cli": {"commands", "store", "report", "errors", "wording", "usage", "helping", "model", "shared"},
    "commands": {
        "shared", "drafting", "tidy_steps", "store", "clients", "core", "fast", "model", "errors", "wording", "report",
        "usage",
    },
    "installer": {
        "installer", "shared", "drafting", "store", "clients", "core", "fast", "model", "errors", "wording", "report",
        "usage",
    },
    "shared": {"store", "clients", "core", "fast", "model", "errors", "wording"},
    "drafting": {"store", "clients", "core", "fast", "model", "errors", "wording"},
    "tidy_steps": {"shared", "store", "clients", "core", "fast", "model", "errors", "wording"},
    "store": {"store", "core", "fast", "model", "errors", "wording"},
    "clients": {"clients", "store", "core", "fast", "model", "errors", "wording"},
    "core": {"core", "fast", "model", "errors"},
    "fast": {"fast"},
    "report": {"core", "errors", "fast", "model", "wording"},
    "model": set(),
    "usage": {"errors", "helping"},
    "helping": {"core", "wording"},
    "errors": {"wording"},
    "wording": set(),
}
"""The house's one way: cli -> commands -> shared -> {store, clients} -> core -> fast, model, errors."""

PURE_BANS = {"os", "pathlib", "time", "random", "secrets", "subprocess", "socket", "urllib", "shutil", "tempfile"}
NETWORK = {"socket", "urllib", "http", "ssl", "ftplib", "smtplib", "requests", "httpx", "aiohttp", "xmlrpc"}
HOOK_ALLOWED = {
    "sys", "os", "time", "json", "re", "hashlib", "fcntl", "msvcrt", "posix", "nt", "_json", "_sqlite3", "errno",
    "posixpath", "ntpath", "marshal", "subprocess", "__future__", "builtins", "_posixsubprocess", "_winapi", "_io",
    "_blake2", "_sha2", "_sha256", "_functools", "itertools", "_signal", "_thread",
}


def layer(path: Path) -> str:
    """The layer that a module belongs to."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


def own_imports(path: Path) -> set[str]:
    """Layers of this package that a module imports anywhere in it."""
    depth = len(path.relative_to(PACKAGE).parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = list(path.relative_to(PACKAGE).parts[: depth - node.level])
            names = [*base, *(node.module or "").split(".")] if node.module else base
            names = [name for name in names if name]
            found |= {names[0]} if names else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("experience_forge"):
            names = (node.module or "").split(".")[1:]
            found |= {names[0]} if names else {alias.name for alias in node.names}
    return found - {"__version__"}


def _running(tree: ast.AST):
    """All nodes but those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _running(node)


def foreign_imports(path: Path) -> set[str]:
    """Top-level names of other packages that a module imports."""
    found = set()
    for node in _running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
    return found - {"experience_forge"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_what_lies_below_it(path):
    """cli -> commands -> shared -> {store, clients} -> core -> fast and model; nothing imports upward."""
    here = layer(path)
    allowed = MAY[here] | ({"commands", "core", "fast"} if here == "cli" else set())
    found = own_imports(path)
    if here == "fast":
        # The Stop hook, once a turn, may load the detectors; it does so inside a function.
        found -= {"core", "model"} if path.stem in ("stop", "start", "coin") else set()
    if here == "commands":
        assert "commands" not in found, f"{path.name} imports another command"
    assert found <= allowed, f"{path.name} imports {sorted(found - allowed)}"


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) == "core"], ids=lambda p: p.stem)
def test_core_is_pure(path):
    """Core modules touch no file, clock, environment, network or randomness."""
    assert not foreign_imports(path) & PURE_BANS


def test_no_module_imports_a_network_module_outside_the_optional_extra():
    """Only the module of the optional extra can open a connection."""
    guilty = [p.name for p in MODULES if foreign_imports(p) & NETWORK and p.name != "ollama.py"]
    assert guilty == []


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) == "fast"], ids=lambda p: p.stem)
def test_hook_modules_import_only_the_allowed_standard_library(path):
    """What a hook loads is on the allow-list, wherever in the module the import stands."""
    assert foreign_imports(path) <= HOOK_ALLOWED


def test_only_one_module_writes_files():
    """Nothing outside store/files (and the hooks' append helper) opens a file for writing."""
    guilty = []
    for path in [*MODULES, ROOT / "scripts" / "hook.py", ROOT / "scripts" / "forge.py"]:
        if path.relative_to(ROOT / "scripts").as_posix() in WRITERS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _writes(node):
                guilty.append(f"{path.name}:{node.lineno}")
    assert guilty == []


WRITERS = {
    "experience_forge/store/files.py",
    "experience_forge/fast/spool.py",
    "experience_forge/fast/receipts.py",
}


def _writes(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("write_text", "write_bytes", "unlink", "rmtree", "copytree", "copyfile", "symlink_to"):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        return not (isinstance(owner, ast.Name) and owner.id in ("files", "_files"))
    if name == "open":
        modes = [a for a in node.args[1:2] if isinstance(a, ast.Constant)]
        modes += [k.value for k in node.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)]
        return any(isinstance(m.value, str) and set(m.value) & set("wax+") for m in modes)
    return False


def test_text_is_opened_with_its_encoding():
    """No open, read_text or write_text goes by the locale's encoding."""
    guilty = []
    for path in [*MODULES, *sorted((ROOT / "tests").rglob("*.py")), ROOT / "install.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _lacks_encoding(node):
                guilty.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert guilty == []


def _lacks_encoding(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    keywords = {k.arg for k in node.keywords}
    if name in ("read_text", "write_text") and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        ours = isinstance(owner, ast.Name) and owner.id in ("files", "self", "lab", "system")
        # read_text(encoding) and write_text(text, encoding) may also be given by place.
        given = len(node.args) > (0 if name == "read_text" else 1)
        return not ours and "encoding" not in keywords and not given
    if name == "open" and isinstance(node.func, ast.Name):
        mode = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else "r"
        return "b" not in str(mode) and "encoding" not in keywords
    return False


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolBatch", "SessionEnd"])
def test_a_hook_loads_no_module_outside_the_allow_list(event, own_home):
    """Running a hook loads the interpreter's own start modules, the allow-list and `fast`, nothing else."""
    code = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1])\n"
        "import hook; sys.argv = ['-c', sys.argv[1], sys.argv[2]]\n"
        "try: hook.main()\nexcept SystemExit: pass\n"
        "sys.stderr.write('\\n'.join(sorted(set(sys.modules) - before)))"
    )
    stdin = b'{"session_id":"s","hook_event_name":"%s","tool_name":"Bash","tool_input":{"command":"ls"},' \
        b'"prompt":"hello","cwd":"/tmp","source":"startup","tool_calls":[]}' % event.encode()
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT / "scripts"), event],
        input=stdin, capture_output=True, timeout=30, check=True, env={**os.environ, "HOME": str(own_home)},
    )
    loaded = set(run.stderr.decode().split())
    heavy = {"dataclasses", "pathlib", "logging", "argparse", "tempfile", "shutil", "socket", "typing", "yaml",
             "frontmatter", "jinja2", "rich", "inspect", "datetime", "sqlite3"}
    assert not loaded & heavy
    foreign = {m for m in loaded if m.startswith("experience_forge.") and not m.startswith("experience_forge.fast")}
    assert foreign == set()
