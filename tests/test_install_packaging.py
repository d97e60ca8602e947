"""The repository is skill, plugin and marketplace at once, and a wheel that finds its data."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from experience_forge import __version__
from experience_forge.clients import claude_settings
from experience_forge.installer import skill
from experience_forge.installer.texts import Voice
from install_helpers import ROOT


def test_plugin_carries_the_skill_alone():
    """The plugin has the root skill and no hooks: hooks come with install.py only, so nothing runs twice."""
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    assert plugin["skills"] == ["./"] and "hooks" not in plugin and not (ROOT / "hooks").exists()
    assert plugin["version"] == __version__
    assert market["plugins"][0]["source"] == "./" and market["plugins"][0]["name"] == plugin["name"]
    assert not (ROOT / "skills").exists() and not (ROOT / "CLAUDE.md").exists()


def test_requirements_are_pinned_with_hashes():
    """Every package of the private environment has one version and hashes, and pyproject's are among them."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    names = re.findall(r"^([a-z0-9-]+)==[0-9.]+ \\$", text, re.MULTILINE)
    assert {"pyyaml", "python-frontmatter", "jinja2", "rich"} <= set(names)
    assert "--hash=sha256:" in text and "index-url" not in text and "://" not in text


def test_harmless_verbs_exist_and_confirm_is_none():
    """Each verb with an allow rule is a command; none that changes loaded bytes is among them."""
    from experience_forge import cli

    assert set(claude_settings.HARMLESS_VERBS) <= set(cli.verbs())
    assert not {"confirm", "review", "forget", "restore", "discard"} & set(claude_settings.HARMLESS_VERBS)


def test_texts_of_the_installer():
    """Both languages have every text, with the same fields."""
    voice = Voice(ROOT / "rules")
    for name, texts in voice._texts.items():
        fields = [set(re.findall(r"{(\w+)[:}]", texts[language])) for language in ("en", "zh")]
        assert fields[0] == fields[1] and all(texts.values()), name
    folder = ROOT / "scripts" / "experience_forge" / "installer"
    source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    for name in re.findall(r'\.(?:line|talk|ask|text)\(\s*"(\w+)"', source):
        assert name in voice._texts, name


def test_the_copy_holds_what_runs():
    """What install.py copies has every part that runs, and neither tests nor plugin files."""
    names = {path.relative_to(ROOT).as_posix() for path in skill.parts(ROOT)}
    for name in ("SKILL.md", "templates.md", "install.py", "requirements.txt", "scripts/hook.py", "scripts/forge.py"):
        assert name in names
    assert not any(name.startswith(("tests/", ".claude-plugin/", "evals/")) for name in names)


def test_wheel(tmp_path):
    """A wheel in a fresh environment finds its rules and templates from anywhere."""
    build = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if build.returncode and "hatchling" in build.stderr:
        pytest.skip("the build backend can't be had: " + build.stderr.strip().splitlines()[-1])
    assert build.returncode == 0, build.stderr
    (wheel,) = tmp_path.glob("*.whl")
    fresh = tmp_path / "fresh"
    # The packages of the test environment serve: what is checked is where the data lies.
    venv.create(fresh, with_pip=False)
    site = next(fresh.glob("lib/python*/site-packages")) if os.name != "nt" else fresh / "Lib" / "site-packages"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)], check=True
    )
    own = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    python = fresh / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    environ = {**os.environ, "PYTHONPATH": str(own), "EXPERIENCE_FORGE_HOME": str(tmp_path / "home")}
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from experience_forge.store import ruleset, home, templates\n"
        "assert sys.argv[1] in str(home.skill_folder()), home.skill_folder()\n"
        "ruleset.load('scoring'); templates.shipped(); print(len(ruleset.messages('zh')))"
    )
    command = [str(python), "-c", code, str(site)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environ, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50
