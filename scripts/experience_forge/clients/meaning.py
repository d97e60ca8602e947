"""Similarity of meaning, for the command line and session starts: off unless `recall.embed` is set.

    recall:
      embed: {url: "http://127.0.0.1:11434", model: nomic-embed-text-v2-moe}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core import recall
from ..errors import ForgeError, Refused, Text
from ..fast import git, tokens
from ..store import config, files, projects, vectors
from ..store.home import Home
from ..store.vectors import Stored
from .ollama import DEFAULT_MODEL, DEFAULT_URL, Server

STARTS = "meaning.json"
"""What a session start adds: `{project id: {entry id: cosine}}`, since a hook opens no connection."""
NEAREST = 10


def server() -> Server | None:
    """The configured server; None when the extra is off."""
    wanted = config.load()["recall"].get("embed")
    if not wanted:
        return None
    values = wanted if isinstance(wanted, dict) else {}
    return Server(str(values.get("url") or DEFAULT_URL), str(values.get("model") or DEFAULT_MODEL))


def cosines(home: Home, text: str) -> tuple[dict[str, float] | None, str]:
    """Similarity of a query to every entry by id, and `used`, `off`, or the reason why there is none.

    Makes missing vectors first. Never raises: without the server everything works as before.
    """
    try:
        where = server()
        if where is None:
            return None, "off"
        vectors.sync(home, where.model, where.embed)
        stored = vectors.load(home, where.model)
        if stored is None:
            return None, f"no vectors of {where.model}"
        return _similar(stored, where.embed([text], query=True)[0], text), "used"
    except ForgeError as error:
        return None, error.what


def check() -> str:
    """Why the configured server can't be used; empty when it can, or when the extra is off."""
    try:
        where = server()
        if where is not None:
            where.embed(["ping"])
    except ForgeError as error:
        return error.what
    return ""


def catch_up(home: Home) -> dict[str, Any]:
    """Compute what session starts of the known projects add; for the worker. Returns `projects` or why not."""
    where = server()
    if where is None:
        if (home.derived / STARTS).exists():
            files.remove(home.derived / STARTS)
        return {"projects": 0}
    vectors.sync(home, where.model, where.embed)
    stored = vectors.load(home, where.model)
    known = [project for project in projects.all(home) if project.root and Path(project.root).is_dir()]
    found: dict[str, dict[str, float]] = {}
    if stored is not None and known:
        texts = [_start_text(project.name, project.root) for project in known]
        for project, text, vector in zip(known, texts, where.embed(texts, query=True), strict=True):
            near = _similar(stored, vector, text)
            best = sorted(near.items(), key=lambda one: -one[1])[:NEAREST]
            found[project.id] = {name: round(value, 4) for name, value in best if value > 0}
    files.make_folder(home.derived)
    files.write_text(home.derived / STARTS, json.dumps(found, ensure_ascii=False))
    return {"projects": len(found)}


def _similar(stored: Stored, vector: Sequence[float], text: str) -> dict[str, float]:
    if len(vector) != stored.dimension:
        raise Refused(
            Text("errors_client.dimensions", given=len(vector), kept=stored.dimension),
            Text("errors_client.remove_vectors"),
        )
    language = "zh" if any(tokens.is_cjk(mark) for mark in text) else "en"
    same = [values for name, values in stored.vectors.items() if stored.languages[name] == language]
    # One or two vectors have no mean worth taking away: it would leave nothing of them.
    mean = recall.mean_of(same) if len(same) > 2 else [0.0] * stored.dimension
    query = recall.unit([value - middle for value, middle in zip(vector, mean, strict=True)])
    documents = recall.centred(stored.vectors, stored.languages)
    return {name: recall.cosine(query, values) for name, values in documents.items()}


def _start_text(name: str, root: str) -> str:
    found = git.project(root)
    words = [name]
    if found.git:
        words += [git.branch(found.git), *git.messages(found.git)]
    return "\n".join(words)
