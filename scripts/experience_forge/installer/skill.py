"""The skill folder of the client: a copy of the parts that run, and the launcher that calls it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..clients import hook_probe
from ..errors import Refused, Text
from ..fast.home import RECORD
from ..store import files

# No `.claude-plugin`: the client would load the folder as a plugin too, and list the skill twice.
PLACE_OF_COMMAND = b"<data home>/bin/experience-forge"
"""What SKILL.md writes for the command's full path, before it is installed."""

PARTS = (
    "SKILL.md", "templates.md", "install.py", "requirements.txt", "LICENSE", "CHANGELOG.md",
    "rules", "references", "scripts", "examples/demo",
)  # fmt: skip
NAME = "experience-forge"


@dataclass(frozen=True)
class Copy:
    """One file to be copied; `old` is None when there is none yet."""

    relative: str
    source: Path
    target: Path
    old: bytes | None
    new: bytes


def parts(source: Path) -> list[Path]:
    """All files of the skill below `source`, without caches, in a fixed order."""
    found: list[Path] = []
    for name in PARTS:
        path = source / name
        if path.is_file():
            found.append(path)
        elif path.is_dir():
            inner = (one for one in path.rglob("*") if one.is_file())
            found += [one for one in inner if "__pycache__" not in one.parts and one.suffix != ".pyc"]
    return sorted(found)


def hashes(source: Path, launcher: str) -> dict[str, str]:
    """Hash of each file of the skill as it is installed, by relative path."""
    names = {path: path.relative_to(source).as_posix() for path in parts(source)}
    return {name: files.sha256(as_installed(path, name, launcher)) for path, name in names.items()}


def as_installed(path: Path, relative: str, launcher: str) -> bytes:
    """The bytes of a file in the copy: SKILL.md names the command by its full path.

    The permission rules and the consent gate know the command by that path only, so a model that
    had to guess it would cost the user a dialog a call.
    """
    data = files.read_bytes(path)
    if relative != "SKILL.md":
        return data
    return data.replace(PLACE_OF_COMMAND, shlex.quote(launcher).encode("utf-8"))


def check_target(source: Path, target: Path, known: Mapping[str, str], launcher: str) -> bool:
    """Whether the skill is used where it stands (the clone itself); else the target may be written.

    Args:
        known: hashes of what an earlier install wrote, by relative path.

    Raises:
        Refused: when something of somebody else is in the way.
    """
    if target.exists() and os.path.realpath(target) == os.path.realpath(source):
        return True
    if target.is_symlink():
        where = os.path.realpath(target)
        ours = Path(where, "install.py").exists()
        hint = Text("errors_install.run_or_unlink", path=where) if ours else Text("errors_install.unlink")
        raise Refused(Text("errors_install.link", path=target, where=where), hint)
    if target.exists() and not target.is_dir():
        raise Refused(Text("errors_store.not_a_folder", path=target), Text("errors.move_aside"))
    if (target / ".git").exists():
        raise Refused(
            Text("errors_install.clone", path=target), Text("errors_install.run_there", path=target / "install.py")
        )
    if target.is_dir() and any(target.iterdir()) and not (_is_ours(target) or _left(source, target, known, launcher)):
        raise Refused(Text("errors_install.other_skill", path=target), Text("errors.move_aside"))
    return False


def changes(source: Path, target: Path, launcher: str) -> list[Copy]:
    """The files that a copy would add or change."""
    found = []
    for path in parts(source):
        relative = path.relative_to(source).as_posix()
        new = as_installed(path, relative, launcher)
        place = target / relative
        old = files.read_bytes(place) if place.is_file() else None
        if old != new:
            found.append(Copy(relative, path, place, old, new))
    return found


def copy(
    source: Path, target: Path, known: Mapping[str, str], kept: Path, launcher: str
) -> tuple[dict[str, str], list[str]]:
    """Bring the folder up to date, file by file.

    Args:
        known: hashes of what an earlier install wrote, by relative path.
        kept: folder that takes files which somebody edited since.

    Returns hashes of what is there now, and the names of the files that were kept.
    """
    edited = []
    for one in changes(source, target, launcher):
        was = known.get(one.relative)
        if one.old is not None and was is not None and files.sha256(one.old) != was:
            files.write_whole(kept / one.relative, one.old)
            edited.append(one.relative)
        files.write_whole(one.target, one.new, 0o755 if one.relative.endswith(("forge.py", "install.py")) else 0o644)
    now = hashes(source, launcher)
    for relative in sorted(set(known) - set(now)):
        edited += remove_file(target, relative, known[relative], kept)
    return now, edited


def remove_file(target: Path, relative: str, digest: str, kept: Path) -> list[str]:
    """Remove one file that we wrote, keeping a copy when somebody edited it; returns what was kept."""
    path = target / relative
    edited = []
    if path.is_file() and not path.is_symlink():
        data = files.read_bytes(path)
        if files.sha256(data) != digest:
            files.write_whole(kept / relative, data)
            edited = [relative]
        files.remove(path)
    prune(path.parent, target)
    return edited


def prune(folder: Path, top: Path) -> None:
    """Remove emptied folders from `folder` up to and with `top`, caches of Python with them."""
    while folder == top or top in folder.parents:
        cache = folder / "__pycache__"
        if cache.is_dir():
            # Python's own half-written ones end with a number.
            for compiled in cache.glob("*.pyc*"):
                files.remove(compiled)
            files.remove_empty_folder(cache)
        files.remove_empty_folder(folder)
        if folder.exists() or folder == top:
            return
        folder = folder.parent


def compile_all(python: str, scripts: Path) -> str:
    """Compile the package ahead; compiled files that a full disk cut go, so that Python reads the sources.

    Returns why the hooks would not start; empty when they do.
    """
    hook_probe.compile_all(python, scripts)
    probe = hook_probe.look(python, scripts)
    for path in probe.damaged:
        files.remove(path)
    return (hook_probe.look(python, scripts) if probe.damaged else probe).error


def launchers(home: Path, folders: Sequence[Path], venv_python: Path, base: str) -> dict[Path, str]:
    """The launcher files with their texts; the first is the one that rules and dialogs name.

    Args:
        folders: skill folders, at least one; the first that is there when the launcher starts is used.
    """
    shell = home / "bin" / NAME
    texts = {shell: _shell(home, folders, venv_python, base)}
    if os.name == "nt":
        texts[shell.with_suffix(".cmd")] = _batch(home, folders, venv_python)
    return texts


def launcher_path(home: Path) -> str:
    """How the launcher is called, the same in prompts, rules and the consent dialog."""
    path = home / "bin" / NAME
    return path.as_posix() if os.name == "nt" else str(path)


def _shell(home: Path, folders: Sequence[Path], venv_python: Path, base: str) -> str:
    python, names = shlex.quote(str(venv_python)), " ".join(shlex.quote(str(one)) for one in folders)
    again = f"  echo \"hint: run {_in_quotes(shlex.quote(base))} '$skill/install.py'\" >&2\n"
    return (
        "#!/bin/sh\n# experience-forge, written by install.py: this home, this environment, these skill folders.\n"
        f'[ -n "$EXPERIENCE_FORGE_HOME" ] || EXPERIENCE_FORGE_HOME={shlex.quote(str(home))}\n'
        "export EXPERIENCE_FORGE_HOME\n"
        f'for skill in {names}; do\n  [ ! -f "$skill/scripts/forge.py" ] || break\ndone\n'
        f'if [ ! -x {python} ] || [ ! -f "$skill/scripts/forge.py" ]; then\n'
        "  echo 'experience-forge: the installation is damaged' >&2\n"
        '  if [ -f "$skill/install.py" ]; then\n'
        f"  {again}  else\n"
        "    echo 'hint: run install.py of your copy of experience-forge again' >&2\n  fi\n  exit 1\nfi\n"
        f'exec {python} -I -X utf8 "$skill/scripts/forge.py" "$@"\n'
    )


def _in_quotes(text: str) -> str:
    """The text as it stands within a shell's double quotes."""
    return re.sub(r'([\\"$`])', r"\\\1", text)


def _batch(home: Path, folders: Sequence[Path], venv_python: Path) -> str:
    scripts = [str(one / "scripts" / "forge.py") for one in folders]
    lines = [
        "@echo off", "setlocal", "chcp 65001 >nul",
        f'if not defined EXPERIENCE_FORGE_HOME set "EXPERIENCE_FORGE_HOME={home}"',
        f'set "FORGE_SCRIPT={scripts[0]}"',
        *(f'if not exist "%FORGE_SCRIPT%" set "FORGE_SCRIPT={script}"' for script in scripts[1:]),
        f'"{venv_python}" -I -X utf8 "%FORGE_SCRIPT%" %*',
    ]  # fmt: skip
    return "\r\n".join(lines) + "\r\n"


def _left(source: Path, target: Path, known: Mapping[str, str], launcher: str) -> bool:
    """Whether a run that was cut left all that is there: files that we wrote, or were about to."""
    counted = (path for path in files.walked(target) if "__pycache__" not in path.parts and not _unfinished(path))
    names = {path.relative_to(target).as_posix(): path for path in counted}
    if names.keys() <= known.keys():
        return True
    ours = hashes(source, launcher)
    return all(name in known or ours.get(name) == files.sha256(files.read_bytes(path)) for name, path in names.items())


def _unfinished(path: Path) -> bool:
    return path.name.startswith(files.TEMP_MARK)


def _is_ours(target: Path) -> bool:
    if (target / RECORD).exists():
        return True
    try:
        head = files.read_text(target / "SKILL.md")[:2000]
    except (OSError, Refused):
        # A copy that was cut before SKILL.md came is ours when it holds our package.
        return (target / "scripts" / "experience_forge").is_dir()
    return f"name: {NAME}" in head
