"""Whether the hooks of an install can start: what they would load is loaded, as the client starts them.

A full disk can cut a compiled file of Python in half. Python then raises where the hook imports it, the hook ends
with 0 as it must, and nothing is ever said again until somebody looks.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60
_CHECK = """
import marshal, pathlib, sys
from importlib import util
sys.dont_write_bytecode = True
for source in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    compiled = pathlib.Path(util.cache_from_source(str(source)))
    if compiled.is_file():
        data = compiled.read_bytes()
        try:
            marshal.loads(data[16:]) if len(data) > 16 else None
        except Exception:
            print("compiled\\t" + str(compiled))
sys.path.insert(0, sys.argv[1])
try:
    import hook
    from experience_forge.fast import dispatch
except BaseException as error:
    print("import\\t" + type(error).__name__ + ": " + " ".join(str(error).split()))
print("checked\\t")
"""


@dataclass(frozen=True)
class Probe:
    """`damaged` compiled files, the `error` that ends a hook's start (empty: it starts), and whether we could look."""

    damaged: tuple[Path, ...]
    error: str
    looked: bool = True


def look(python: str, scripts: Path) -> Probe:
    """What the base interpreter `python` finds in the folder `scripts` of an install; it writes nothing."""
    lines = _run(python, ["-c", _CHECK, str(scripts)])
    found = [line.partition("\t") for line in lines]
    if not any(kind == "checked" for kind, _, _ in found):
        return Probe((), "", looked=False)
    damaged = tuple(Path(value) for kind, _, value in found if kind == "compiled")
    return Probe(damaged, next((value for kind, _, value in found if kind == "import"), ""))


def compile_all(python: str, scripts: Path, *, anew: bool = False) -> None:
    """Compile everything ahead: a user's PYTHONDONTWRITEBYTECODE would make each hook do it at every start.

    Args:
        anew: also what looks up to date, since the date of a cut file is right.
    """
    _run(python, ["-m", "compileall", "-q", *(["-f"] if anew else []), str(scripts)])


def _run(python: str, arguments: list[str]) -> list[str]:
    try:
        done = subprocess.run(
            [python, "-I", "-S", *arguments], capture_output=True, text=True, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.splitlines()
