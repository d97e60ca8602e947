"""The conversation of `install.py`: one screen, one answer, then the work."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import __version__, wording
from ..clients import ancestry, claude_files, claude_settings
from ..errors import EXIT_INTERRUPTED, EXIT_NEEDS_CONSENT, EXIT_REFUSED, ForgeError, Text, Usage, told
from ..fast import home as fast_home
from ..report import open_streams, silence_broken_streams
from ..store import installs
from ..store.home import Home
from ..usage import Parser
from . import machine, preview, removal, target, work
from .target import Target
from .texts import Voice, can_ask, language

EPILOG = """examples:
  python3 install.py                     show what it will do, ask once, do it
  python3 install.py --yes --hooks       no question, with hooks
  python3 install.py --dry-run           every change, your files as a diff, nothing is written
  python3 install.py --demo              the whole loop in a throw-away home
  python3 install.py --uninstall         take everything of ours away; your entries stay

Without a terminal nothing is asked: --yes is needed, and hooks only come with --hooks.
CLAUDE_CONFIG_DIR and EXPERIENCE_FORGE_HOME are honoured.

exit codes: 0 done, 1 refused or a part is left for you, 2 usage, 4 needs an answer, 130 interrupted"""


def parser() -> Parser:
    """The arguments of install.py."""
    made = Parser(
        prog="install.py", description="Installs experience-forge for Claude Code.", epilog=EPILOG, allow_abbrev=False,
    )
    add = made.add_argument
    add("--yes", action="store_true", help="start without asking")
    add("--hooks", dest="hooks", action="store_true", default=None, help="wire the hooks")
    add("--no-hooks", dest="hooks", action="store_false", help="no hooks: the skill works when you call it")
    add("--no-rules", action="store_true", help="offer no permission rules")
    add("--project", metavar="DIR", nargs="?", const=".",
        help="install into DIR/.claude instead of your own client folder; without DIR the present folder")
    add("--dry-run", action="store_true", help="print every change as a diff and write nothing")
    add("--verbose", action="store_true", help="with --dry-run: list every new file, not only their number")
    add("--uninstall", action="store_true", help="take everything of ours away; entries stay")
    add("--purge", action="store_true", help="with --uninstall: also the entries, after a question")
    add("--scan", dest="scan", action="store_true", default=None, help="look through the sessions afterwards")
    add("--no-scan", dest="scan", action="store_false", help="do not ask to look through the sessions")
    add("--demo", action="store_true", help="show the whole loop in a throw-away home")
    add("--version", action="version", version=f"experience-forge {__version__}")
    return made


def main(source: str, arguments: Sequence[str]) -> int:
    """Run the installer of the skill in the folder `source`; returns an exit code."""
    open_streams()
    with wording.speaking(lambda: language(os.environ)):
        try:
            return _bounded(source, arguments)
        except BrokenPipeError:
            # The reader left (`| head`): there is nobody to say anything to.
            return 0
        finally:
            silence_broken_streams()


def _bounded(source: str, arguments: Sequence[str]) -> int:
    try:
        options = parser().parse_args(arguments)
        voice = Voice(Path(source) / "rules")
        if options.demo:
            from .demo import run as demo

            return int(demo(Path(source), voice))
        if options.purge and not options.uninstall:
            raise Usage(Text("errors_install.purge"), Text("errors.see", command="install.py --help"))
        if options.uninstall:
            return _uninstall(Path(source), options, voice)
        return _install(Path(source), options, voice)
    except ForgeError as error:
        _tell(error.what, error.hint)
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        _tell(str(error), told(Text("errors_install.system")))
        return EXIT_REFUSED
    except (KeyboardInterrupt, EOFError):
        sys.stderr.write("\n" + told(Text("errors_install.interrupted")) + "\n")
        return EXIT_INTERRUPTED


def _tell(what: str, hint: str) -> None:
    lines = [f"install.py: {what}", *([told(Text("errors.hint", hint=hint))] if hint else [])]
    sys.stderr.write("\n".join(lines) + "\n")


def _install(source: Path, options: argparse.Namespace, voice: Voice) -> int:
    hooks = can_ask() if options.hooks is None else options.hooks
    place = target.make(source, options.project, hooks, not options.no_rules)
    if not _nothing_missing(voice):
        return EXIT_REFUSED
    _screen(place, voice, asked_for_hooks=hooks)
    if options.dry_run:
        print(preview.preview(place, voice, options.verbose))
        return 0
    if not options.yes:
        answer = _start(place, voice)
        if answer is None:
            return EXIT_NEEDS_CONSENT
        if answer == "no":
            voice.line("nothing_done")
            return EXIT_REFUSED
        if answer == "without":
            place = target.make_without_hooks(place)
    whole = work.Installer(place, voice).install()
    wired = place.hooks and bool(installs.of(place.home, place.skill).get("hooks"))
    without = "installed_too_old" if place.client_too_old else "installed_without_hooks"
    oldest = ".".join(map(str, claude_settings.OLDEST_CLIENT))
    without = "installed_hooks_elsewhere" if target.hooks_elsewhere(place) else without
    without = "installed_hooks_missing" if place.hooks else without
    name = "installed_with_hooks" if wired else without
    voice.line(name, launcher=place.launcher, oldest=oldest, settings=place.settings)
    voice.line("say_words")
    _scan(place, options.scan, voice)
    return 0 if whole else EXIT_REFUSED


def _nothing_missing(voice: Voice) -> bool:
    missing = machine.missing_part()
    if missing is None:
        return True
    voice.talk("part_missing", part=missing[0], python=sys.executable, command=missing[1])
    return False


def _screen(place: Target, voice: Voice, asked_for_hooks: bool) -> None:
    """Everything that will be done, on one screen."""
    client = place.client
    voice.line("screen_title", version=__version__)
    if client is None:
        voice.line("no_client")
    else:
        voice.line("client", path=client.path, version=client.version or "?")
    print()
    voice.line("screen_venv", path=place.venv)
    voice.line("screen_skill", path=place.skill)
    voice.line("screen_command", path=place.launcher)
    rules_folder = place.client_folder / "rules" / "experience-forge"
    voice.line("screen_rules_elsewhere" if place.given_elsewhere else "screen_rules", path=rules_folder)
    if place.hooks:
        events = ", ".join(event for event, _, _ in claude_settings.EVENTS)
        voice.line("screen_hooks", path=place.settings, events=events)
    elif place.client_too_old and asked_for_hooks:
        oldest = ".".join(map(str, claude_settings.OLDEST_CLIENT))
        voice.line("screen_too_old", version=client.version if client else "?", oldest=oldest)
    elif asked_for_hooks:
        voice.line("screen_hooks_elsewhere")
    else:
        voice.line("screen_no_hooks")
    if place.rules:
        verbs = claude_settings.HARMLESS_VERBS
        voice.line("screen_permissions", count=len(verbs), launcher=place.launcher, verbs="|".join(verbs))
    print()
    voice.line("screen_end")
    if os.environ.get("SUDO_USER"):
        voice.talk("sudo", user=os.environ["SUDO_USER"])


def _start(place: Target, voice: Voice) -> str | None:
    """`yes`, `without` (hooks), `no`; None without a terminal."""
    answer = voice.ask("start_with_hooks" if place.hooks else "start")
    if answer is None:
        voice.talk("needs_yes")
        return None
    if answer in ("", "y", "yes", "是", "好"):
        return "yes"
    if answer in ("w", "without") and place.hooks:
        return "without"
    return "no"


def _scan(place: Target, wanted: bool | None, voice: Voice) -> None:
    """Look through the sessions on this machine, once the user said so, and show the few best."""
    sessions = Path(fast_home.client_folder()) / "projects"
    if wanted is False or not any(sessions.glob("*/*.jsonl")):
        return
    if wanted is None:
        answer = voice.ask("may_scan", path=sessions)
        if answer not in ("y", "yes", "是", "好"):
            if answer is None:
                voice.line("scan_later", launcher=place.launcher)
            return
    voice.line("scanning")
    subprocess.run([*launch(place.launcher), "scan", "--limit", "3"], stdin=subprocess.DEVNULL, check=False)


def launch(launcher: str) -> list[str]:
    """The launcher as a command that this system can start."""
    return [launcher + ".cmd"] if os.name == "nt" else [launcher]


def _uninstall(source: Path, options: argparse.Namespace, voice: Voice) -> int:
    place = target.make(source, options.project, False, False, gone_too=True)
    only = place.skill if options.project else None
    if options.dry_run:
        _what_goes(place, voice, only, options.purge)
        return 0
    above = ancestry.client_above(os.environ) if options.purge else ""
    if above:
        voice.talk("purge_below", client=above)
        return EXIT_NEEDS_CONSENT
    count, there = removal.entries_in(place.home) if options.purge else 0, place.home.exists()
    if options.purge and not options.yes:
        if can_ask():
            _what_goes(place, voice, only, options.purge)
        answer = voice.ask("may_purge", path=place.home, count=count)
        if answer is None:
            voice.talk("purge_needs_yes", path=place.home, count=count)
            return EXIT_NEEDS_CONSENT
        if answer not in ("purge",):
            voice.line("nothing_done")
            return EXIT_REFUSED
    elif not options.yes and can_ask():
        _what_goes(place, voice, only, options.purge)
        if voice.ask("may_uninstall") not in ("y", "yes", "是", "好"):
            voice.line("nothing_done")
            return EXIT_REFUSED
    whole = removal.uninstall(place, voice, only, options.purge)
    if options.purge and there and not (place.home / "entries").exists():
        voice.line("purged", path=place.home, count=count)
    if (place.home / "entries").exists():
        voice.line("entries_stay", path=place.home)
    return 0 if whole else EXIT_REFUSED


def _what_goes(place: Target, voice: Voice, only: Path | None, purge: bool) -> None:
    """Everything that an uninstall takes away, and what stays."""
    every = installs.known(place.home)
    chosen = [one for one in every if only is None or one["skill_folder"] == str(only)]
    last = len(chosen) == len(every)
    if chosen:
        voice.line("uninstall_title")
    for number, one in enumerate(chosen, 1):
        name = "would_remove_clone" if one.get("in_place") else "would_remove"
        voice.line(name, path=one["skill_folder"], settings=one["settings"])
        folder = Path(str(one["client_folder"]))
        blocks = last and number == len(chosen)
        for change in claude_files.unproject(Home(place.home), folder, blocks=blocks, dry_run=True):
            whole = folder in change.path.parents
            voice.line("would_remove_file" if whole else "would_remove_blocks", path=change.path)
    if chosen and last:
        voice.line("would_remove_machinery", path=place.home)
    voice.line("entries_stay" if not purge else "would_purge", path=place.home)
