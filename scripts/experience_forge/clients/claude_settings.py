"""Our entries in Claude Code's settings: hook groups and permission rules, known by their content.

A hook is ours when an argument holds `MARK`; a rule is ours when the installer recorded that it
added it, or, without a record, when it allows one of our harmless verbs by a launcher's path. What
others wrote keeps its bytes and its order; ours come last.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core import json_text
from ..errors import Invalid, Refused, Text
from ..store import files

MARK = "experience-forge hook v1"
ANY_MARK = "experience-forge hook v"
OLDEST_CLIENT = (2, 1, 139)
"""First client that starts a hook by `args`, without a shell (its changelog)."""

# The import is guarded because Python ends with 2 on a missing script, and the client takes 2 as
# "block this call": a removed skill folder would stop every tool of the user.
GUARD = (
    f"# {MARK}\nimport sys\nsys.path.insert(0,sys.argv[1])\n"
    "try:\n import hook; hook.main()\nexcept BaseException: pass\nsys.exit(0)"
)

ACTIONS = "Bash|Edit|Write|MultiEdit|NotebookEdit"
EVENTS: tuple[tuple[str, str, int], ...] = (
    ("SessionStart", "", 5),
    ("UserPromptSubmit", "", 5),
    ("PreToolUse", ACTIONS, 5),
    ("PostToolBatch", "", 5),
    ("Stop", "", 10),
    # The client cancels this event before 3 s unless the entry sets its own limit.
    ("SessionEnd", "", 20),
)
"""Event, matcher (empty: all), seconds until the client gives up on us."""

HARMLESS_VERBS = ("draft", "list", "projects", "recall", "score", "show", "signals", "status")
"""Verbs that change nothing that is loaded: they read, or fill the inbox. `scan` reads all sessions: not unasked."""
_ONCE_ALLOWED = ("scan",)

_OUR_RULE = re.compile(
    r"Bash\(.*[/\\]bin[/\\]experience-forge(?:\.cmd)?['\"]? (?:"
    + "|".join((*HARMLESS_VERBS, *_ONCE_ALLOWED)) + r")(?: \*)?\)\Z"
)
HOOKS = ("hooks",)
ALLOW = ("permissions", "allow")


@dataclass(frozen=True)
class Wanted:
    """What shall stand in the settings: one hook group an event, and allow rules."""

    hooks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rules: tuple[str, ...] = ()

    def snippet(self) -> str:
        """The same as a JSON text to be added by hand."""
        body: dict[str, Any] = {}
        if self.hooks:
            body["hooks"] = {event: [group] for event, group in self.hooks.items()}
        if self.rules:
            body["permissions"] = {"allow": list(self.rules)}
        return json.dumps(body, ensure_ascii=False, indent=2)


@dataclass(frozen=True)
class Trace:
    """What an edit left behind, so that the user's very bytes can be given back.

    `filled` are containers that stood there empty, with the blanks between their brackets: they stay
    when they are empty again, any other that we empty goes. `rules` are the rules that are ours.
    """

    existed: bool = True
    filled: tuple[tuple[tuple[str, ...], str], ...] = ()
    rules: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the record of the installation."""
        return {
            "existed": self.existed,
            "filled": [[list(path), inner] for path, inner in self.filled],
            "rules": list(self.rules),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any] | None) -> Trace | None:
        """The trace in a record; None when there is none."""
        if not isinstance(data, Mapping):
            return None
        return Trace(
            existed=bool(data.get("existed", True)),
            filled=tuple((tuple(map(str, path)), str(inner)) for path, inner in data.get("filled", ())),
            rules=tuple(map(str, data.get("rules", ()))),
        )


@dataclass(frozen=True)
class Edited:
    """Result of an edit: the text, its trace, and our groups that somebody had changed."""

    text: str
    trace: Trace
    changed_by_hand: tuple[Any, ...] = ()


def hook_groups(python: str, scripts: str) -> dict[str, dict[str, Any]]:
    """One group an event, in exec form.

    Args:
        python: absolute path of the base interpreter.
        scripts: absolute path of the folder that holds `hook.py`.
    """
    groups: dict[str, dict[str, Any]] = {}
    for event, matcher, seconds in EVENTS:
        handler = {
            "type": "command",
            "command": python,
            "args": ["-I", "-S", "-c", GUARD, scripts, event],
            "timeout": seconds,
        }
        groups[event] = {"matcher": matcher, "hooks": [handler]} if matcher else {"hooks": [handler]}
    return groups


def allow_rules(launcher: str) -> tuple[str, ...]:
    """One allow rule a harmless verb, by the launcher's full path as a shell writes it."""
    return tuple(f"Bash({shlex.quote(launcher)} {verb} *)" for verb in HARMLESS_VERBS)


def is_ours(handler: Any) -> bool:
    """Whether a hook handler was written by us, of any version."""
    if not isinstance(handler, Mapping):
        return False
    arguments = handler.get("args")
    return isinstance(arguments, list) and any(ANY_MARK in one for one in arguments if isinstance(one, str))


def is_our_rule(rule: Any) -> bool:
    """Whether a permission rule has the shape of those that we add."""
    return isinstance(rule, str) and _OUR_RULE.match(rule) is not None


def checked(text: str) -> dict[str, Any]:
    """The settings as data, when they have the shapes that an edit needs.

    Raises:
        Invalid: no plain JSON object, or `hooks`, an event, `permissions`, `allow` of a wrong type.
    """
    data = json_text.parse(text)
    hooks = data.get("hooks", {})
    if not isinstance(hooks, dict):
        raise Invalid(Text("errors_client.hooks_object"))
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise Invalid(Text("errors_client.hooks_list", event=event))
    permissions = data.get("permissions", {})
    if not isinstance(permissions, dict):
        raise Invalid(Text("errors_client.permissions_object"))
    if not isinstance(permissions.get("allow", []), list):
        raise Invalid(Text("errors_client.allow_list"))
    return data


def add(text: str, wanted: Wanted, before: Trace | None = None) -> Edited:
    """The text with exactly what is wanted of ours; what is there already stays as it is.

    Args:
        before: the trace of an earlier install in the same file, which is carried on.
    """
    checked(text)
    work = _Work(text, before or Trace())
    work.drop_hooks(keep=wanted.hooks)
    for event, group in wanted.hooks.items():
        if not work.holds(event):
            work.append_item((*HOOKS, event), group)
    work.drop_rules(keep=wanted.rules)
    rules_before = work.rules()
    for rule in wanted.rules:
        if rule not in work.rules():
            work.append_item(ALLOW, rule)
        # One that stands there without a record was added by hand from our snippet: it is ours too.
        if before is None or rule in before.rules or rule not in rules_before:
            work.own_rule(rule)
    work.tidy()
    return work.done()


def remove(text: str, before: Trace | None) -> Edited:
    """The text without anything of ours, and without the containers that only we needed."""
    checked(text)
    work = _Work(text, before or Trace())
    work.drop_hooks(keep={})
    work.drop_rules(keep=(), by_shape=before is None)
    work.tidy()
    return work.done()


class _Work:
    """One edit under way."""

    def __init__(self, text: str, trace: Trace) -> None:
        self.text, self.parked = json_text.park(text, ("hooks", "permissions"))
        self.trace = trace
        self.by_hand: list[Any] = []
        self.made: set[tuple[str, ...]] = set()
        self.touched: set[tuple[str, ...]] = set()

    def done(self) -> Edited:
        text = json_text.unpark(self.text, self.parked)
        json_text.parse(text)
        return Edited(text, self.trace, tuple(self.by_hand))

    def value(self, path: Sequence[str]) -> Any:
        at = json_text.find(self.text, path)
        return None if at is None else json.loads(self.text[at : json_text.end_of(self.text, at)])

    def rules(self) -> list[Any]:
        return self.value(ALLOW) or []

    def events(self) -> list[str]:
        at = json_text.find(self.text, HOOKS)
        return [] if at is None else [str(child.key) for child in json_text.children(self.text, at)]

    def holds(self, event: str) -> bool:
        return any(_ours_in(group) for group in self.value((*HOOKS, event)) or [])

    def own_rule(self, rule: str) -> None:
        if rule not in self.trace.rules:
            self.trace = replace(self.trace, rules=(*self.trace.rules, rule))

    def append_item(self, path: tuple[str, ...], item: Any) -> None:
        """Append to the list at `path`, which is made when it is missing."""
        for length in range(len(path)):
            parent, key = path[:length], path[length]
            if json_text.find(self.text, path[: length + 1]) is None:
                empty: Any = [] if length == len(path) - 1 else {}
                self._append(parent, key, empty)
                self.made.add(path[: length + 1])
        self._append(path, None, item)

    def _append(self, path: tuple[str, ...], key: str | None, value: Any) -> None:
        at = json_text.find(self.text, path)
        assert at is not None
        self.text, inner = json_text.append(self.text, at, key, value)
        known = {one for one, _ in self.trace.filled}
        if inner is not None and path not in self.made | self.touched and path not in known:
            self.trace = replace(self.trace, filled=(*self.trace.filled, (path, inner)))

    def drop_hooks(self, keep: Mapping[str, Mapping[str, Any]]) -> None:
        """Remove our groups; where one is wanted, the first of ours is brought up to date in place."""
        for event in self.events():
            path = (*HOOKS, event)
            wanted = keep.get(event)
            for index in reversed(range(len(self.value(path)))):
                group = self.value(path)[index]
                if not _ours_in(group):
                    continue
                if wanted is not None and _only_ours(group) and index == self._first_ours(path):
                    self._renew(path, index, group, wanted)
                else:
                    self._drop_group(path, index, group)

    def _first_ours(self, path: tuple[str, ...]) -> int:
        groups = self.value(path)
        return next(index for index, group in enumerate(groups) if _ours_in(group) and _only_ours(group))

    def _renew(self, path: tuple[str, ...], index: int, group: Any, wanted: Mapping[str, Any]) -> None:
        if group != wanted:
            at = json_text.find(self.text, path)
            assert at is not None
            self.text = json_text.replace(self.text, json_text.children(self.text, at)[index], wanted)

    def _drop_group(self, path: tuple[str, ...], index: int, group: Any) -> None:
        at = json_text.find(self.text, path)
        assert at is not None
        if _edited(group, path[-1]):
            self.by_hand.append(group)
        if _only_ours(group):
            self.touched.add(path)
            self.text = json_text.remove(self.text, at, index, self._inner(path))
            return
        # Somebody put a handler of theirs beside ours: theirs stays.
        child = json_text.children(self.text, at)[index]
        member = next(one for one in json_text.children(self.text, child.value) if one.key == "hooks")
        for place in reversed([n for n, handler in enumerate(group["hooks"]) if is_ours(handler)]):
            self.text = json_text.remove(self.text, member.value, place)

    def drop_rules(self, keep: Iterable[str], by_shape: bool = False) -> None:
        """Remove rules that we added and that are not wanted any more."""
        kept = set(keep)
        for index in reversed(range(len(self.rules()))):
            rule = self.rules()[index]
            ours = is_our_rule(rule) if by_shape else rule in self.trace.rules
            if ours and rule not in kept:
                at = json_text.find(self.text, ALLOW)
                assert at is not None
                self.text = json_text.remove(self.text, at, index, self._inner(ALLOW))
                self.touched.add(ALLOW)
        left = tuple(rule for rule in self.trace.rules if rule in kept)
        self.trace = replace(self.trace, rules=left)

    def tidy(self) -> None:
        """Remove the containers that we emptied, inner ones first, save those that were empty before us."""
        kept = dict(self.trace.filled)
        queue = sorted(self.touched, key=len, reverse=True)
        for path in queue:
            value = self.value(path)
            if value is None or value or path in kept:
                continue
            parent = path[:-1]
            at = json_text.find(self.text, parent)
            assert at is not None
            keys = [child.key for child in json_text.children(self.text, at)]
            self.text = json_text.remove(self.text, at, keys.index(path[-1]), self._inner(parent))
            if parent and parent not in queue:
                queue.append(parent)

    def _inner(self, path: tuple[str, ...]) -> str:
        return dict(self.trace.filled).get(path, "")


def _ours_in(group: Any) -> bool:
    handlers = group.get("hooks") if isinstance(group, Mapping) else None
    return isinstance(handlers, list) and any(is_ours(handler) for handler in handlers)


def _only_ours(group: Any) -> bool:
    return all(is_ours(handler) for handler in group["hooks"])


def _edited(group: Any, event: str) -> bool:
    """Whether a group of ours differs from every form that we write for its event."""
    for handler in group["hooks"]:
        if not is_ours(handler):
            continue
        arguments = handler["args"]
        usual = hook_groups(str(handler.get("command")), str(arguments[-2]) if len(arguments) > 1 else "")
        expected = usual.get(event, {})
        same_matcher = group.get("matcher", "") == expected.get("matcher", "")
        if handler not in expected.get("hooks", []) or not same_matcher:
            return True
    return False


def change_file(
    path: Path, edit: Callable[[str | None], Edited | None], *, lock: Path, dry_run: bool = False
) -> tuple[str | None, Edited | None]:
    """Edit a settings file under a lock, reading it anew before it is written.

    Args:
        edit: gets the text (None: no file), returns the result; None leaves the file alone.
        lock: our lock file; not beside the settings, since the client watches that folder.

    Returns the text before and the result. An empty new file that we had made is removed.

    Raises:
        Refused: not UTF-8, can't be read or written, or others kept changing it.
        Invalid: from `edit`.
    """
    for _ in range(3):
        if dry_run:
            before = _read(path)
            return before, edit(before)
        with files.locked(lock):
            before = _read(path)
            result = edit(before)
            if result is None or result.text == before:
                return before, result
            if _read(path) != before:
                continue
            _write(path, result)
            return before, result
    raise Refused(Text("errors_client.keeps_changing", path=path), Text("errors_client.close_client"))


def _write(path: Path, result: Edited) -> None:
    if not result.trace.existed and not json_text.parse(result.text):
        files.remove(path)
        return
    try:
        data = result.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused(Text("errors_client.not_unicode", path=path), Text("errors_client.other_folders")) from error
    files.write_whole(path, data)


def _read(path: Path) -> str | None:
    """The text with its byte order mark and line ends; None when there is no file."""
    if path.is_symlink() and not path.exists():
        raise Refused(Text("errors.dangling_link", path=path), Text("errors.mend_link"))
    try:
        return files.read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise Invalid(Text("errors_client.not_utf8", byte=error.start)) from error
