"""What git's files say of a folder, without starting git: project identity, branch, last commit messages."""

from . import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from collections.abc import Mapping
    from typing import Any

REMOTE_HEAD = '[remote "'
REFLOG_BYTES = 64 * 1024
_PORTS = {"ssh": ":22", "https": ":443", "http": ":80", "git": ":9418"}


class Project:
    """A project: `id` (12 hex digits), `name` to read, `root`, and `ids`, the id with earlier ones."""

    def __init__(self, ids: list[str], name: str, root: str, git: str, common: str) -> None:
        self.ids, self.name, self.root, self.git, self.common = ids, name, root, git, common
        self.id = ids[0]


def project(folder: str, aliases: "Mapping[str, list[str]] | None" = None) -> Project:
    """The project of a folder (DESIGN 6): by the remote, else git's common folder, else the folder.

    Args:
        folder: absolute path, `CLAUDE_PROJECT_DIR` or the working folder.
        aliases: more ids by id, for projects that moved (from the settings).
    """
    folder = system.realpath(folder)
    root, git = find(folder)
    places, url, common = [], "", ""
    if git:
        common = common_folder(git)
        url = normalised(remote(common))
        places = ["remote:" + url] if url else []
        places.append("git:" + _plain(system.realpath(common)))
    places.append("folder:" + _plain(root or folder))
    ids: list[str] = []
    for place in places:
        number = system.sha256(place.encode("utf-8", "surrogatepass"))[:12]
        ids.extend(one for one in [number, *(aliases or {}).get(number, ())] if one not in ids)
    last = url.rpartition("/")[2] if url else _plain(root or folder).rstrip("/").rpartition("/")[2]
    return Project(ids, last or "root", root or folder, git, common)


def folder_of(environ: "Mapping[str, str]", data: "Mapping[str, Any]") -> str:
    """Where a hook's project begins: `CLAUDE_PROJECT_DIR`, else the working folder of the call."""
    return environ.get("CLAUDE_PROJECT_DIR") or str(data.get("cwd") or "") or "."


def find(folder: str) -> tuple[str, str]:
    """The work tree's root above a folder and its git folder; two empty strings outside of one."""
    current = folder
    while True:
        dot = system.join(current, ".git")
        kind = system.kind(dot)
        if kind == "folder" and system.kind(system.join(dot, "HEAD")) == "file":
            return current, dot
        if kind == "file":
            text = (system.read_text(dot, 4096) or "").strip()
            if text.startswith("gitdir:"):
                return current, _from(current, text[7:].strip())
        above = system.parent(current)
        if above == current or not above:
            return "", ""
        current = above


def common_folder(git: str) -> str:
    """The folder that all worktrees of a repository share."""
    text = (system.read_text(system.join(git, "commondir"), 4096) or "").strip()
    return _from(git, text) if text else git


def remote(common: str) -> str:
    """The address of `origin`, else of the first remote; empty without one."""
    found: dict[str, str] = {}
    name = ""
    for line in (system.read_text(system.join(common, "config"), 1 << 18) or "").splitlines():
        line = line.strip()
        if line.startswith("["):
            name = line[len(REMOTE_HEAD):].partition('"')[0] if line.startswith(REMOTE_HEAD) else ""
        elif name:
            key, equals, value = line.partition("=")
            if equals and key.strip().lower() == "url":
                found.setdefault(name, value.strip().strip('"'))
    return found.get("origin") or next(iter(found.values()), "")


def normalised(url: str) -> str:
    """An address without scheme, credentials, default port and `.git`; ssh and https come out equal."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        host, colon, path = url.partition(":")
        # `git@host:path`; a local path (`C:\\x`, `/srv/x`, `../x`) has no host.
        if not colon or "/" in host or len(host) < 2:
            return _plain(url).rstrip("/").removesuffix(".git")
        rest = host + "/" + path.lstrip("/")
    host, _, path = rest.partition("/")
    host = host.rpartition("@")[2].lower()
    port = _PORTS.get(scheme.lower(), "")
    host = host.removesuffix(port) if port else host
    return (host + "/" + path.strip("/").removesuffix(".git")).rstrip("/")


def branch(git: str) -> str:
    """The name of the checked-out branch; empty when the head is detached."""
    text = (system.read_text(system.join(git, "HEAD"), 4096) or "").strip()
    return text[len("ref: refs/heads/"):] if text.startswith("ref: refs/heads/") else ""


def messages(git: str, count: int = 5) -> list[str]:
    """The subjects of the last commits made here, newest first, from the log of the head."""
    data = system.read(system.join(git, "logs", "HEAD"), 4 * 1024 * 1024) or b""
    found = []
    for line in reversed(data[-REFLOG_BYTES:].decode("utf-8", "replace").splitlines()):
        action, colon, subject = line.partition("\t")[2].partition(": ")
        if colon and action.startswith(("commit", "cherry-pick", "merge")) and subject not in found:
            found.append(subject)
            if len(found) == count:
                break
    return found


def _from(base: str, path: str) -> str:
    absolute = path.startswith("/") or path[1:3] in (":\\", ":/")
    return path if absolute else system.join(base, path)


def _plain(path: str) -> str:
    path = path.replace("\\", "/")
    return path.lower() if system.WINDOWS else path
