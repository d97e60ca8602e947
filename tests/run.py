#!/usr/bin/env python3
"""Makes the test environment and runs tests, evaluations and benches in it.

python3 tests/run.py                     all tests that need no network beyond package installs
python3 tests/run.py tests/test_x.py -k name          some of them (arguments of pytest)
python3 tests/run.py eval signals|recall|redaction|poison --data DIR
python3 tests/run.py bench hooks|scan|effect|tidy|redaction|faults
python3 tests/run.py where experience-forge           path of the command in that environment
python3 tests/run.py python ARGS...                   the environment's Python
"""

import contextlib
import hashlib
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = Path(os.environ.get("EXPERIENCE_FORGE_TEST_ENV") or ROOT / ".env-tests")
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
LONGEST = 900
"""Seconds after which a lock was left behind; making the environment takes about one minute."""
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")


def main(arguments):
    """Dispatch; returns an exit code."""
    if sys.version_info < (3, 10):  # noqa: UP036 - whoever runs it may have an older one
        print("tests/run.py needs Python 3.10 or newer", file=sys.stderr)
        return 2
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    prepare()
    if arguments and arguments[0] == "where":
        name = arguments[1] if len(arguments) > 1 else "experience-forge"
        path = BIN / (name + (".exe" if os.name == "nt" else ""))
        if not path.exists():
            print(f"there is no {name} in {BIN}", file=sys.stderr)
            return 1
        print(path)
        return 0
    paths = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])
    environment = dict(os.environ, PYTHONPATH=paths, PYTHONUTF8="1")
    if arguments and arguments[0] == "python":
        return subprocess.call([str(PYTHON), *arguments[1:]], env=environment)
    if arguments and arguments[0] in ("eval", "bench"):
        return measure(arguments, environment)
    # All of them on several cores; some of them in one process, where `-s` and a debugger work.
    arguments = arguments or ["-n", str(min(8, os.cpu_count() or 1)), "--dist", "worksteal"]
    return subprocess.call([str(PYTHON), "-m", "pytest", *arguments], cwd=ROOT, env=environment)


def measure(arguments, environment):
    """Run `tests/evals/<name>.py` or `tests/benches/<name>.py` with the rest of the arguments."""
    folder = ROOT / "tests" / f"{arguments[0]}s" if arguments[0] == "eval" else ROOT / "tests" / "benches"
    names = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    if len(arguments) < 2 or arguments[1] not in names:
        print(f"usage: tests/run.py {arguments[0]} {'|'.join(names)} [options]", file=sys.stderr)
        return 2
    words = [word for argument in arguments[2:] for word in argument.split("=", 1)]
    data = words[words.index("--data") + 1] if "--data" in words[:-1] else "."
    if not os.path.exists(data):
        print(f"there is no {data}: --data takes a folder with the set", file=sys.stderr)
        return 2
    return subprocess.call([str(PYTHON), str(folder / f"{arguments[1]}.py"), *arguments[2:]], env=environment)


def prepare():
    """Make the environment, or bring it up to date when pyproject.toml has changed; one run at a time."""
    # Only what is installed decides: a changed lint rule must not rebuild the environment.
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[tool.hatch")[0]
    wanted = hashlib.sha256(project.encode("utf-8")).hexdigest()
    stamp = ENVIRONMENT / "stamp"
    if up_to_date(stamp, wanted):
        return
    with alone():
        if not up_to_date(stamp, wanted):
            make(stamp, wanted)


def up_to_date(stamp, wanted):
    """Whether the environment was made for what is wanted."""
    return PYTHON.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted


@contextlib.contextmanager
def alone():
    """Two runs that make the environment at once would empty each other's: the second one waits."""
    lock = ENVIRONMENT.with_name(ENVIRONMENT.name + ".lock")
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            try:
                if time.time() - lock.stat().st_mtime > LONGEST:
                    lock.rmdir()  # left by a run that was killed
            except FileNotFoundError:
                pass
            time.sleep(0.5)
    try:
        yield
    finally:
        lock.rmdir()


def make(stamp, wanted):
    """Make the environment anew."""
    print(f"preparing {ENVIRONMENT} ...", file=sys.stderr)
    try:
        venv.EnvBuilder(with_pip=True, clear=True).create(ENVIRONMENT)
        subprocess.check_call(
            [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f"{ROOT}[dev]"]
        )
    except subprocess.CalledProcessError as error:
        print(f"can't make the test environment: {error}", file=sys.stderr)
        print("hint: check that pip reaches a package index", file=sys.stderr)
        sys.exit(1)
    stamp.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
