"""The command line: finds the verb, parses, runs it, and turns errors into exit codes."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Sequence
from typing import Any

from . import __version__, commands, wording
from .core import layout
from .errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_USAGE, ForgeError, Refused, Text, Usage, told
from .fast import visible
from .report import Output, open_streams, silence_broken_streams
from .usage import Parser

DESCRIPTION = "Turns what a session taught into entries that you confirmed, and shows whether they help."
EXIT_CODES = (
    "exit codes: 0 done, 1 refused or failed as expected, 2 usage, 3 bug (log named), "
    "4 needs confirmation, 5 invalid data, 130 interrupted"
)
USAGE = "experience-forge <command> [options]"
MORE = "`experience-forge <command> --help` shows examples. --version prints the version."
GROUPS = (
    ("keep what a session taught", ("scan", "signals", "score", "draft", "review", "confirm", "discard")),
    ("look at what is kept", ("list", "show", "status", "recall", "digest", "projects")),
    ("see what it did", ("why", "log", "effect", "measure")),
    ("change it", ("move", "merge", "guard", "outdate", "tidy", "grow", "undo")),
    ("switch what speaks up", ("suggest", "on", "off", "tune")),
    ("look after it", ("doctor", "backup", "restore", "forget", "redact", "vet")),
)
"""All verbs that are for people, in the order in which one needs them."""
DISK = ("disk is full", "disk I/O error", "readonly database", "unable to open database")
"""What SQLite says when the disk failed, not we."""
QUOTED = re.compile(r"[A-Za-z0-9_+/=.\-]{12}|[^\W\d_]{2,}\W{0,3}[:=：＝是]|密|口令|令牌|passw", re.I)
"""What an error that quotes a secret has in it, and many another: whether the rules are worth loading."""
LONG = re.compile(r"(\S{120})\S{180,}(\S{60})")
"""A word that no id and hardly a path is: an error names its ends."""


def verbs() -> list[str]:
    """Names of all verbs: the modules of `commands`, `_` read as `-`, a trailing one dropped."""
    names = (module.name for module in pkgutil.iter_modules(commands.__path__))
    return sorted(name.rstrip("_").replace("_", "-") for name in names if not name.startswith("_"))


def command_module(verb: str) -> Any:
    """The module of one verb.

    Raises:
        Usage: when there is no such verb.
    """
    if verb not in verbs():
        raise Usage(Text("errors.no_command", verb=verb), Text("errors.see", command="experience-forge --help"))
    name = verb.replace("-", "_")
    try:
        return importlib.import_module(f".commands.{name}", __package__)
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.commands.{name}":
            raise
        return importlib.import_module(f".commands.{name}_", __package__)


def parser_of(verb: str) -> Parser:
    """The argument parser of one verb, with the flags that all verbs share."""
    module = command_module(verb)
    parser = Parser(
        prog=f"experience-forge {verb}",
        description=module.HELP,
        epilog=f"{getattr(module, 'EPILOG', '')}\n\n{EXIT_CODES}",
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document with schema_version")
    return parser


def overview(say: layout.Say | None = None) -> str:
    """The text of `experience-forge --help`, put into the user's language, or by `say`."""
    from . import helping

    say = say or helping.saying()
    told, width = say or str, helping.columns()
    parts = [told("usage: ") + told(USAGE), layout.help_text(DESCRIPTION, width, say)]
    for title, names in GROUPS:
        pairs = [(verb, told(command_module(verb).HELP)) for verb in names]
        parts.append("\n".join([told(f"{title}:"), *helping.rows(pairs, 12, width)]))
    parts += [layout.help_text(text, width, say) for text in (MORE, EXIT_CODES)]
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Never raises."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    with wording.speaking(_language):
        try:
            return _bounded(given)
        except BrokenPipeError:
            # The reader left (`| head`): there is nobody to say anything to.
            return 0
        finally:
            silence_broken_streams()


def _bounded(given: list[str]) -> int:
    """The error boundary: one command's exit code, whatever it raises."""
    as_json = "--json" in given
    try:
        code = _ended(given)
        # What can't be written is a failure of this command, not of the interpreter's end.
        sys.stdout.flush()
        return code
    except ForgeError as error:
        _tell(error, as_json)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("\n" + told(Text("errors.interrupted")) + "\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename:
            _tell(Refused(Text("errors.no_file", path=error.filename), Text("errors.check_path")), as_json)
            return Refused.exit_code
        cause = error.strerror or type(error).__name__
        what = Text("errors.system_at", path=error.filename, cause=cause) if error.filename else None
        _tell(Refused(what or Text("errors.system", cause=cause), Text("errors.check_disk")), as_json)
        return Refused.exit_code
    except Exception as error:
        if type(error).__module__ == "sqlite3" and any(word in str(error) for word in DISK):
            _tell(Refused(Text("errors.system", cause=error), Text("errors.check_disk")), as_json)
            return Refused.exit_code
        return _bug(error)


def _ended(given: list[str]) -> int:
    try:
        return _run(given)
    except SystemExit as stop:
        return int(stop.code or 0)


def _run(given: list[str]) -> int:
    if given[:1] == ["help"] and len(given) > 1:
        given = [given[1], "--help"]
    if not given or given[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if given else EXIT_USAGE
    if given[0] == "--version":
        print(f"experience-forge {__version__}")
        return 0
    module = command_module(given[0])
    namespace = parser_of(given[0]).parse_args(given[1:])
    from .store import config, home, receipts, ruleset

    home.check()
    language = config.language()
    dry = bool(getattr(namespace, "dry_run", False))
    out = Output(as_json=namespace.json, language=language, texts=ruleset.messages(language), dry_run=dry)
    code = int(module.run(namespace, out))
    if dry:
        out.talk(out.text("library.dry_run"))
    if given[0] != "worker":
        for undone in receipts.untold(home.current()):
            out.talk(out.text("confirm.undone", id=undone))
    return code


def _tell(error: ForgeError, as_json: bool) -> None:
    what, *faults = _clean([error.what, *error.faults])
    if as_json:
        Output(as_json=True).data({"error": {"what": what, "hint": error.hint, "faults": faults}})
    lines = [f"experience-forge: {what}", *(f"  - {fault}" for fault in faults)]
    if error.hint:
        lines.append(told(Text("errors.hint", hint=error.hint)))
    for line in lines:
        # An error may quote a hostile text: what hides in it is shown, not obeyed by the terminal.
        Output().talk(LONG.sub(r"\1…\2", visible.escape(line)))


def _clean(lines: list[str]) -> list[str]:
    """What an error says, without the secrets that it quotes from what was handed in."""
    if not any(map(QUOTED.search, lines)):
        return lines
    try:
        from .store import redaction

        return list(map(redaction.without_secrets, lines))
    except Exception:
        # An error must be told even when the rules can't be read.
        return lines


def _language() -> str:
    from .store import config

    return config.language()


def _bug(error: Exception) -> int:
    import platform
    import traceback

    from .store import home, log

    trace = traceback.format_exc()
    try:
        path = log.fault("bug", f"{__version__} python {platform.python_version()} {platform.platform()}\n{trace}")
        where = Text("errors.bug_log", path=path)
    except Exception:
        sys.stderr.write(trace)
        where = Text("errors.bug_no_log", path=home.current().logs)
    what = Text("errors.bug", kind=type(error).__name__, cause=error)
    sys.stderr.write(f"experience-forge: {told(what)}\n{told(Text('errors.hint', hint=where))}\n")
    return EXIT_BUG


if __name__ == "__main__":
    sys.exit(main())
