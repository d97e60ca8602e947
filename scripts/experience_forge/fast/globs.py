"""Path patterns: `**` any folders, `*` and `?` within a name, `[...]`, `{a,b}`. No `re`."""

from .system import WINDOWS


def matches(pattern: str, path: str, root: str = "") -> bool:
    """Whether a path fits a pattern.

    A pattern without a separator is matched against the last name; one that is not absolute
    against the path below `root`, or any tail of the path when it begins with `**/`.
    """
    path, root, pattern = path.replace("\\", "/"), root.replace("\\", "/").rstrip("/"), pattern.replace("\\", "/")
    if WINDOWS:
        path, root, pattern = path.lower(), root.lower(), pattern.lower()
    if pattern.startswith("./"):
        pattern = pattern[2:]
    if root and path.startswith(root + "/") and not pattern.startswith("/"):
        path = path[len(root) + 1:]
    for choice in expanded(pattern):
        if "/" not in choice:
            if _name(choice, path.rpartition("/")[2]):
                return True
        elif _folders(choice.strip("/").split("/"), path.strip("/").split("/")):
            return True
    return False


def expanded(pattern: str) -> list[str]:
    """The pattern with each `{a,b}` written out; at most 64 of them."""
    start = pattern.find("{")
    end = pattern.find("}", start)
    if start < 0 or end < 0:
        return [pattern]
    found = []
    for choice in pattern[start + 1:end].split(","):
        found.extend(expanded(pattern[:start] + choice + pattern[end + 1:]))
    return found[:64]


def key_of(pattern: str) -> str:
    """The prefilter key of a pattern: its last name, `*.ending`, a literal folder, or `*`."""
    choices = {_key(choice) for choice in expanded(pattern.replace("\\", "/").lower())}
    return choices.pop() if len(choices) == 1 else "*"


def keys_for(path: str) -> list[str]:
    """All keys under which a pattern for this path may stand."""
    names = [name for name in path.replace("\\", "/").lower().split("/") if name]
    if not names:
        return ["*"]
    keys = ["*", names[-1], *(name + "/" for name in names[:-1])]
    pieces = names[-1].split(".")
    keys.extend("*." + ".".join(pieces[index:]) for index in range(1, len(pieces)))
    return keys


def _key(pattern: str) -> str:
    names = [name for name in pattern.split("/") if name]
    last = names[-1] if names else "*"
    if _plain(last):
        return last
    if last.startswith("*.") and _plain(last[2:]):
        return last
    folders = [name for name in names[:-1] if _plain(name)]
    return max(folders, key=len) + "/" if folders else "*"


def _plain(name: str) -> bool:
    return not any(mark in name for mark in "*?[{")


def _folders(pattern: list[str], names: list[str]) -> bool:
    # Dynamic programming over both lists: a row of `**` can't blow up.
    reach = {0}
    for piece in pattern:
        if piece == "**":
            low = min(reach, default=len(names) + 1)
            reach = set(range(low, len(names) + 1))
        else:
            reach = {at + 1 for at in reach if at < len(names) and _name(piece, names[at])}
    return len(names) in reach


def _name(pattern: str, name: str) -> bool:
    return glob(pattern, name)


def glob(pattern: str, text: str) -> bool:
    """Whether the whole text fits `*`, `?` and `[...]`; linear in practice, no recursion."""
    p = t = 0
    star, mark = -1, 0
    while t < len(text):
        step = _one(pattern, p, text[t]) if p < len(pattern) and pattern[p] != "*" else 0
        if step:
            p, t = p + step, t + 1
        elif p < len(pattern) and pattern[p] == "*":
            star, mark, p = p, t, p + 1
        elif star >= 0:
            mark += 1
            p, t = star + 1, mark
        else:
            return False
    return all(rest == "*" for rest in pattern[p:])


def _one(pattern: str, at: int, character: str) -> int:
    """Length of the pattern's piece at `at` when it fits the character, else 0."""
    if pattern[at] == "?":
        return 1
    if pattern[at] == "[":
        end = pattern.find("]", at + 2)
        if end > 0:
            body = pattern[at + 1:end]
            negative = body[0] in "!^"
            body = body[1:] if negative else body
            return end + 1 - at if _in_class(body, character) is not negative else 0
    return 1 if pattern[at] == character else 0


def _in_class(body: str, character: str) -> bool:
    index = 0
    while index < len(body):
        if body[index + 1:index + 2] == "-" and index + 2 < len(body):
            if body[index] <= character <= body[index + 2]:
                return True
            index += 3
        else:
            if body[index] == character:
                return True
            index += 1
    return False
