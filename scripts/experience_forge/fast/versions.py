"""Versions as projects record them: predicates, lock files, manifests. Plain string search, no parser."""

import os

LOCKS = (
    "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "poetry.lock", "uv.lock", "pdm.lock", "Cargo.lock",
    "Gemfile.lock", "composer.lock", "go.mod", "requirements.txt", "Pipfile.lock",
)
MANIFESTS = ("package.json", "pyproject.toml", ".tool-versions", ".nvmrc", ".python-version", "go.mod")
MAX_BYTES = 8 << 20
_OPERATORS = (">=", "<=", "==", "!=", "~=", ">", "<", "=", "^", "~")


def parse(predicate: str) -> "tuple[str, list[tuple[str, tuple[int, ...]]]]":
    """`hermes>=0.19,<2` as (name, [(operator, numbers)]); no clauses when it can't be read."""
    cut = min((predicate.find(sign) for sign in _OPERATORS if sign in predicate), default=-1)
    if cut <= 0:
        return predicate.strip(), []
    clauses = []
    for part in predicate[cut:].replace(" ", "").split(","):
        sign = next((sign for sign in _OPERATORS if part.startswith(sign)), "")
        version = numbers(part[len(sign):])
        if not sign or not version:
            return predicate[:cut].strip(), []
        clauses.append((sign, version))
    return predicate[:cut].strip(), clauses


def numbers(version: str) -> "tuple[int, ...]":
    """`v1.20.3-rc1` as (1, 20, 3); empty when it holds no number in front."""
    result = []
    for part in version.strip().lstrip("vV^~=> ").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        result.append(int(digits[:9]))
        if digits != part:
            break
    return tuple(result)


def holds(predicate: str, version: str) -> "bool | None":
    """Whether a version fits a predicate; None when either can't be read."""
    _, clauses = parse(predicate)
    have = numbers(version)
    if not clauses or not have:
        return None
    return all(_fits(have, sign, want) for sign, want in clauses)


def _fits(have: "tuple[int, ...]", sign: str, want: "tuple[int, ...]") -> bool:
    size = max(len(have), len(want))
    left, right = have + (0,) * (size - len(have)), want + (0,) * (size - len(want))
    if sign in ("==", "="):
        return left[: len(want)] == want
    if sign == "!=":
        return left[: len(want)] != want
    if sign == "^":
        keep = next((n for n, part in enumerate(want) if part), len(want) - 1) + 1
        return left >= right and left[:keep] == want[:keep]
    if sign in ("~=", "~"):
        keep = max(1, len(want) - 1) if sign == "~=" else min(2, len(want))
        return left >= right and left[:keep] == want[:keep]
    return {">=": left >= right, "<=": left <= right, ">": left > right, "<": left < right}[sign]


def in_folder(folder: str, name: str) -> "tuple[str, str]":
    """(version, file name) of a package as the project's lock files, then manifests, record it."""
    for file_name in LOCKS + MANIFESTS:
        path = os.path.join(folder, file_name)
        try:
            if os.stat(path).st_size > MAX_BYTES:
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                version = in_text(file_name, file.read(), name)
        except OSError:
            continue
        if version:
            return version, file_name
    return "", ""


def in_text(file_name: str, text: str, name: str) -> str:
    """Version of a package in the text of a lock file or manifest; empty when it is not there."""
    if file_name == "package-lock.json":
        return _after(text, '"node_modules/%s": {' % name, '"version": "') or _after(
            text, '"%s": {' % name, '"version": "'
        )
    if file_name == "Pipfile.lock":
        return _after(text, '"%s": {' % name, '"version": "').lstrip("=")
    if file_name == "composer.lock":
        return _after(text, '"name": "%s"' % name, '"version": "')
    if file_name.endswith(".lock") and 'name = "%s"' % name in text:
        return _after(text, 'name = "%s"\n' % name, 'version = "')
    if file_name == "package.json":
        return _after(text, '"%s":' % name, '"', limit=8)
    if file_name in (".nvmrc", ".python-version"):
        ours = {".nvmrc": "node", ".python-version": "python"}[file_name]
        return text.strip() if name == ours else ""
    return _in_lines(file_name, text, name)


def _in_lines(file_name: str, text: str, name: str) -> str:
    for line in text.splitlines():
        plain = line.strip().strip("\"',").removeprefix("- ")
        low, wanted = plain.lower().replace("_", "-"), name.lower().replace("_", "-")
        if not low.startswith(wanted) and ("/" + wanted + "@") not in low and ('"%s@' % wanted) not in low:
            if file_name != "go.mod" or wanted not in low:
                continue
        version = _line_version(file_name, plain, low, wanted, text, line)
        if numbers(version):
            return version
    return ""


def _line_version(file_name: str, plain: str, low: str, wanted: str, text: str, line: str) -> str:
    rest = plain[len(wanted):]
    if file_name == "yarn.lock":
        if low.startswith(wanted + "@"):
            block = text[text.find(line):].split("\n\n")[0]
            return next((part.split()[1].strip("\"'") for part in block.splitlines() if " version" in part), "")
        return ""
    if file_name == "pnpm-lock.yaml":
        key = plain.strip("/'\":")
        return key[len(wanted) + 1:].split("(")[0] if key.lower().startswith(wanted + "@") else ""
    if file_name == "Gemfile.lock":
        return rest.strip(" ()") if rest.startswith(" (") else ""
    if file_name == "go.mod":
        words = plain.removeprefix("require ").split()
        if len(words) >= 2 and (words[0].lower() == wanted or words[0].lower().endswith("/" + wanted)):
            return words[1]
        return ""
    if rest[:1] not in ("=", ">", "<", "~", "!", " ", "[", "^"):
        return ""
    if rest.startswith("["):
        rest = rest.partition("]")[2]
    return rest.strip().lstrip("=<>~!^ \"'").split(";")[0].split(",")[0].strip(" \"'")


def _after(text: str, first: str, then: str, limit: int = 400) -> str:
    """The text between `then` and the next quote, `then` standing within `limit` behind `first`."""
    at = text.find(first)
    if at < 0:
        return ""
    at += len(first)
    start = text.find(then, at, at + limit)
    if start < 0:
        return ""
    start += len(then)
    end = min((place for place in (text.find('"', start), text.find("\n", start)) if place >= 0), default=-1)
    return text[start:end] if 0 <= end - start <= 60 else ""
