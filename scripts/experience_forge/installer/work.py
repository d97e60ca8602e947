"""Installs: each step can be repeated, and a run that was cut is finished by the next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..clients import claude_settings
from ..clients.claude_settings import Edited, Trace
from ..errors import ForgeError
from ..store import files, installs
from . import environment, light, skill
from .steps import edit, hashes, kept_folder, one_at_a_time, run_inside, sweep, write_launchers
from .target import Target
from .texts import Voice

REFRESH = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from experience_forge import shared\nfrom experience_forge.store import home\n"
    "print('\\n'.join(str(path) for path in shared.refresh(home.current())))"
)


class Installer:
    """One run of the installer for one target."""

    def __init__(self, target: Target, voice: Voice) -> None:
        self.target = target
        self.voice = voice
        self.before = installs.of(target.home, target.skill)
        self.failed = False

    def install(self) -> bool:
        """Do everything; false when a part was left for the user to do (it was said which).

        Raises:
            Refused: when nothing could be installed, with what helps.
        """
        target = self.target
        files.make_folder(target.home)
        with one_at_a_time(target.home, self.voice):
            everything = installs.read(target.home)
            self.before = next((one for one in everything if one["skill_folder"] == str(target.skill)), {})
            sweep(target.settings, target.skill, target.client_folder)
            in_place = skill.check_target(target.source, target.skill, hashes(self.before), target.launcher)
            self._environment()
            manifest = {} if in_place else self._copy()
            self._compile()
            self._launcher()
            self._record(manifest, in_place)
            self._settings()
            if not target.project:
                self._one_set_of_hooks()
            self._projections()
        return not self.failed

    def _environment(self) -> None:
        target = self.target
        if target.borrowed or environment.is_current(target.venv, target.base, target.requirements):
            return
        self.voice.line("making_environment", path=target.venv)
        environment.make(target.venv, target.base, target.requirements)

    def _copy(self) -> dict[str, str]:
        target = self.target
        kept = kept_folder(target.home)
        with light.writes():
            manifest, edited = skill.copy(target.source, target.skill, hashes(self.before), kept, target.launcher)
        self._tell_kept(edited, kept)
        return manifest

    def _tell_kept(self, edited: list[str], kept: Path) -> None:
        for name in edited:
            self.voice.line("kept", name=name, path=kept / name)

    def _compile(self) -> None:
        cause = skill.compile_all(self.target.base, self.target.skill / "scripts")
        if cause:
            self.failed = True
            self.voice.talk("hooks_do_not_start", path=self.target.skill, cause=cause)

    def _launcher(self) -> None:
        write_launchers(self.target.launchers())

    def _record(self, manifest: Mapping[str, str], in_place: bool) -> None:
        target = self.target
        installs.put(target.home, {
            "client_folder": str(target.client_folder), "skill_folder": str(target.skill),
            "settings": str(target.settings), "project": target.project, "hooks": target.hooks,
            "python": target.base, "launcher": target.launcher, "version": __version__,
            "in_place": in_place, "files": dict(manifest), "trace": self.before.get("trace"),
        })  # fmt: skip
        # Last: from here on the hooks act.
        installs.write_mark(target.skill, target.mark())

    def _settings(self) -> None:
        target = self.target
        wanted = target.wanted()
        try:
            claude_settings.change_file(target.settings, self._with_trace, lock=target.settings_lock)
        except ForgeError as error:
            self.failed = True
            if target.hooks:
                self._without_hooks()
            name = "settings_left_alone_hooks" if target.hooks else "settings_left_alone"
            self.voice.talk(name, path=target.settings, reason=error.what)
            print(wanted.snippet(), flush=True)

    def _without_hooks(self) -> None:
        """Record that nothing was wired, so that nobody is told that it was."""
        installs.change(self.target.home, self.target.skill, {"hooks": False})
        installs.write_mark(self.target.skill, {**self.target.mark(), "hooks": False})

    def _with_trace(self, text: str | None) -> Edited | None:
        """The edit; its trace is on disk before the settings are, so that a cut run can be undone."""
        edited = edit(text, self.target.wanted(), Trace.from_json(self.before.get("trace")))
        if edited is not None:
            installs.change(self.target.home, self.target.skill, {"trace": edited.trace.as_json()})
        return edited

    def _one_set_of_hooks(self) -> None:
        """Take our hooks out of projects when the user's own settings have them: else each runs twice."""
        if not self.target.hooks:
            return
        for one in installs.known(self.target.home):
            if one.get("project") and one.get("hooks"):
                drop_hooks(self.target, one)
                self.voice.line("hooks_moved", path=one["settings"])

    def _projections(self) -> None:
        """Let the new code write the reminder, the rule files and the derived index."""
        done = run_inside(self.target, ["-c", REFRESH, str(self.target.skill / "scripts")])
        if done.returncode:
            self.failed = True
            last = (done.stderr.strip().splitlines() or ["?"])[-1]
            self.voice.talk("projection_failed", reason=last)


def drop_hooks(target: Target, one: Mapping[str, Any]) -> None:
    """Take the hooks of another install out of its settings, keeping its rules."""
    trace = Trace.from_json(one.get("trace"))
    rules = claude_settings.Wanted(rules=trace.rules if trace else ())
    path = Path(str(one["settings"]))

    def change(text: str | None) -> Edited | None:
        edited = edit(text, rules, trace)
        if edited is not None:
            installs.put(target.home, {**one, "hooks": False, "trace": edited.trace.as_json()})
        return edited

    claude_settings.change_file(path, change, lock=target.settings_lock)
    folder = Path(str(one["skill_folder"]))
    installs.write_mark(folder, {**installs.mark(folder), "hooks": False})
