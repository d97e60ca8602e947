#!/usr/bin/env python3
"""Launcher of the command line: uses the private environment when there is one.

# /// script
# requires-python = ">=3.10"
# dependencies = ["pyyaml>=6.0", "python-frontmatter>=1.1", "jinja2>=3.1", "rich>=13.7"]
# ///
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))


def main():
    """Run the command line here, in the private environment, or say how to get one."""
    if sys.version_info < (3, 10):  # noqa: UP036 - an older one may be on the PATH
        sys.exit(f"experience-forge needs Python 3.10 or newer; this is {sys.version.split()[0]}")
    sys.path.insert(0, HERE)
    try:
        import frontmatter  # noqa: F401
        import jinja2  # noqa: F401
        import rich  # noqa: F401
        import yaml  # noqa: F401
    except ImportError:
        return in_private_environment()
    from experience_forge.cli import main as run

    return run()


def in_private_environment():
    """Start again with the Python of `<home>/venv`."""
    from experience_forge.fast.home import default_home

    home = default_home()
    python = os.path.join(home, "venv", *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))
    if not os.path.exists(python) or os.environ.get("EXPERIENCE_FORGE_STARTED"):
        install, script = os.path.join(os.path.dirname(HERE), "install.py"), os.path.join(HERE, "forge.py")
        from experience_forge.errors import Text
        from experience_forge.installer.texts import language
        from experience_forge.wording import shown

        hint = Text("errors.hint", hint=Text("errors_install.install_or_uv", install=install, script=script))
        for text in (Text("errors_install.environment_missing"), hint):
            sys.stderr.write(shown(text, language(os.environ)) + "\n")
        return 1
    command = [python, os.path.join(HERE, "forge.py"), *sys.argv[1:]]
    environment = dict(os.environ, EXPERIENCE_FORGE_STARTED="1")
    if os.name == "nt":
        return subprocess.call(command, env=environment)
    os.execve(python, command, environment)


if __name__ == "__main__":
    sys.exit(main())
