"""Reads front matter that `codec.render` wrote, without a YAML parser: a library is read by the thousand.

Only what surely means in YAML what it means here is taken; for everything else the answer is None, and
the YAML parser reads it. Both give the same fields (`tests/test_core_written.py`).
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

_FOREIGN = re.compile("[^\n\x20-\x7e\u00a1-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\ud7ff\uf900-\ufefe\uff00-\uffef"
                      "\U00010000-\U0010ffff]")
"""Marks that YAML folds, refuses or takes for a line's end, and blanks that are none."""
_FIRST = r"(?!(?:null|Null|NULL)[,\]}\n])[A-Za-z0-9\u00a1-\U0010ffff]"
_PLAIN = rf"{_FIRST}(?:[^\n:#]|:(?=[^\s])|(?<=[^\s])#)*(?<! )"
_PLAIN_IN_FLOW = rf"{_FIRST}(?:[^\n:#,?\[\]{{}}]|:(?=[^\s,?\[\]{{}}])|(?<=[^\s])#)*(?<! )"
_QUOTED = r"'((?:[^'\n]|'')*)'|\"([^\"\\\n]*)\""
_LINE = re.compile(rf"([a-z_]+):(?: (?:{_QUOTED}|({_PLAIN})|\[(.*\])))?\n|- \{{(.*\}})\n")
_ITEM = re.compile(rf"(?:{_QUOTED}|({_PLAIN_IN_FLOW}))(?:, |\](?!.))")
_PART = re.compile(rf"([a-z]+): (?:{_QUOTED}|({_PLAIN_IN_FLOW}))(?:, |\}}(?!.))")


def split(text: str, known: Container[str]) -> tuple[dict[str, Any], str] | None:
    """Fields and body of a document in the written form; None when it is not surely one.

    Args:
        known: the names of fields; a document with another one is left to the YAML parser.
    """
    head, found, body = text.partition("\n---\n")
    if not found or not head.startswith("---\n") or "\r" in body or _FOREIGN.search(head):
        return None
    fields = _fields(head[4:] + "\n", known)
    return None if fields is None else (fields, body)


def _fields(head: str, known: Container[str]) -> dict[str, Any] | None:
    fields: dict[str, Any] = {}
    block: list[dict[str, str]] | None = None
    at = 0
    for match in _LINE.finditer(head):
        name, single, double, plain, flow, mapping = match.groups()
        if match.start() != at:
            return None
        at = match.end()
        if name is None:
            item = _mapping(mapping)
            if block is None or item is None:
                return None
            block.append(item)
            continue
        if name in fields or name not in known or block == []:
            return None
        block = None
        if plain is not None:
            fields[name] = plain
        elif flow is not None:
            items = _items(flow)
            if items is None:
                return None
            fields[name] = items
        elif match.lastindex == 1:
            fields[name] = block = []
        else:
            fields[name] = double if single is None else single.replace("''", "'")
    return fields if at == len(head) and block != [] else None


def _items(flow: str) -> list[str] | None:
    """The texts of a flow list, from behind its opening bracket to the closing one."""
    found = []
    at = 0
    for match in _ITEM.finditer(flow):
        single, double, plain = match.groups()
        if match.start() != at:
            return None
        at = match.end()
        found.append(plain if plain is not None else double if single is None else single.replace("''", "'"))
    return found if found and at == len(flow) and flow[at - 2:] != ", " else None


def _mapping(flow: str) -> dict[str, str] | None:
    """The fields of a flow mapping, from behind its opening brace to the closing one."""
    found: dict[str, str] = {}
    at = 0
    for match in _PART.finditer(flow):
        name, single, double, plain = match.groups()
        if match.start() != at or name in found:
            return None
        at = match.end()
        found[name] = plain if plain is not None else double if single is None else single.replace("''", "'")
    return found if found and at == len(flow) and flow[at - 2:] != ", " else None
