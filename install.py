#!/usr/bin/env python3
# -*- coding: utf-8 -*-
# ruff: noqa: UP009, UP031, UP036, RUF005
"""Installs experience-forge for Claude Code: `python3 install.py`, `--help` for more.

This file stays readable for every Python since 2.7, so that an old one can say what to do instead.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def newer_python():
    """The path of a Python >= 3.10 on this machine, or None; found by running it."""
    import glob
    import subprocess

    names = ["python3.%d" % minor for minor in range(20, 9, -1)] + ["python3", "python"]
    folders = os.environ.get("PATH", "").split(os.pathsep) + ["/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"]
    places = [os.path.join(folder, name) for name in names for folder in folders if folder]
    places += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")), reverse=True)
    for place in places:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            code = "import sys; sys.exit(0 if sys.version_info >= (3, 10) else 1)"
            try:
                with open(os.devnull, "wb") as nowhere:
                    if subprocess.call([place, "-I", "-c", code], stdout=nowhere, stderr=nowhere) == 0:
                        return place
            except OSError:
                continue
    return None


def too_old():
    """Say which one command helps."""
    found = newer_python()
    if found:
        command = '"%s" "%s"' % (found, os.path.join(HERE, "install.py"))
    elif sys.platform == "darwin":
        command = "brew install python@3.12"
    elif os.name == "nt":
        command = "winget install Python.Python.3.12"
    elif os.path.exists("/etc/debian_version"):
        command = "sudo apt install python3 python3-venv"
    elif os.path.exists("/etc/fedora-release"):
        command = "sudo dnf install python3.12"
    else:
        command = 'uv run --no-project --python 3.12 "%s"' % os.path.join(HERE, "install.py")
    sys.stderr.write(
        "experience-forge needs Python 3.10 or newer; this is %d.%d (%s).\nRun this instead:\n\n    %s\n\n"
        % (sys.version_info[0], sys.version_info[1], sys.executable, command)
    )
    return 1


def main():
    """Hand over to the installer of the package."""
    if sys.version_info < (3, 10):
        return too_old()
    # Modules of the current folder must not shadow the standard library's.
    sys.path[:] = [place for place in sys.path if place not in ("", HERE)]
    sys.path.insert(0, os.path.join(HERE, "scripts"))
    from experience_forge.installer.main import main as run

    return run(HERE, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
