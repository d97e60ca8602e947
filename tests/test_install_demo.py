"""install.py --demo: the whole loop in a throw-away home."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import pytest

from install_helpers import ROOT, Machine

DEMO = ROOT / "examples" / "demo"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")


def test_without_a_terminal_it_stops_at_the_question(tmp_path):
    """Without a terminal: signals, score and draft are shown, exit 4, the draft is kept, the way on is named."""
    machine = Machine(tmp_path / "home")
    machine.extra["TMPDIR"] = str(tmp_path)
    before = machine.snapshot()
    done = machine.run("--demo")
    assert done.returncode == 4, done.stdout + done.stderr
    for kind in ("rework", "correction", "preference", "root-cause"):
        assert kind in done.stdout
    assert "Score 11" in done.stdout and "utf-8-sig" in done.stdout
    tail = "\n".join(done.stdout.splitlines()[-6:])
    assert "bin/experience-forge review" in tail and "rm -r" in tail
    kept = list(tmp_path.glob("experience-forge-demo-*/home/.local/share/experience-forge/proposals/*.md"))
    assert len(kept) == 1
    assert machine.snapshot() == before


@pytest.fixture(scope="module")
def yes(tmp_path_factory):
    """What the demo shows to somebody who says yes."""
    return on_terminal(tmp_path_factory.mktemp("yes"), b"y\n")[1]


def test_with_a_yes_the_next_session_gets_it(tmp_path):
    """With y on a terminal the entry is written, all three hooks hand it over, and the home is removed."""
    code, shown, seconds = on_terminal(tmp_path, b"y\n")
    assert code == 0, shown
    handed = shown[shown.index("== 5.") :]
    for event in ("SessionStart", "UserPromptSubmit", "PostToolBatch"):
        part = handed[handed.index(f"  {event}") :]
        assert "csv-for-excel-utf-8-sig" in part.split("\n\r\n")[0] or "csv-for-excel-utf-8-sig" in part[:700], event
    assert list(tmp_path.glob("experience-forge-demo-*")) == []
    assert seconds < 60


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_readme_shows_what_the_demo_prints(readme, yes):
    """Each line of the walk-through's demo stands in the demo's real output, but for what `…` leaves out."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    block = next(b for b in re.findall(r"```text\n(.*?)```", text, re.DOTALL) if b.startswith("$ experience-forge"))
    # Table rows are compared by their words: their gaps depend on the width.
    shown = " ".join(re.sub(r"/\S*?experience-forge-demo-\w+/home", "~", yes).split())
    for line in block.splitlines():
        for part in re.split("…", line.replace("signals session.jsonl", "signals …")):
            assert " ".join(part.split()) in shown, line


def test_with_a_no_nothing_is_written(tmp_path):
    """With n nothing is written and the draft is kept."""
    code, shown, _ = on_terminal(tmp_path, b"n\n")
    assert code == 4
    assert "You did not say yes" in shown and "in a terminal to be asked" not in shown
    assert "takes up to a minute" in shown.partition("== 1.")[0]
    assert shown.count("aliases:") == 1, "the text stands there once, at the question"
    assert "(~/.claude/projects" in shown
    (home,) = tmp_path.glob("experience-forge-demo-*/home/.local/share/experience-forge")
    assert list(home.glob("entries/**/*.md")) == [] and list(home.glob("proposals/*.md"))


def test_the_session_is_machine_neutral():
    """The bundled session was recorded by the real client and names no folder of the machine it was recorded on."""
    text = (DEMO / "session.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    assert any(record.get("version") == "2.1.332" for record in records)
    assert set(re.findall(r'"(?:cwd|file_path|filePath)": "(/[^"]*)"', text)) <= {"/home/dev/project", *(
        f"/home/dev/project/{name}" for name in ("export.py", "test_export.py"))}  # fmt: skip
    for place in (tempfile.gettempdir() + "/", "/usr/", "pyenv", str(ROOT), os.path.expanduser("~") + "/"):
        assert place not in text
    said = json.loads((DEMO / "scenario.json").read_text(encoding="utf-8"))
    prompts = [record["message"]["content"] for record in records if record.get("promptSource") == "typed"]
    assert [step["prompt"] for step in said["steps"]] == prompts


def test_prepared_says_that_it_was_prepared():
    """The draft's prose says in its first lines that it was prepared, and quotes the user to the letter."""
    text = (DEMO / "prepared.md").read_text(encoding="utf-8")
    assert "Prepared for the demo" in text[:400] and "事先准备" in text[:400]
    quote = next(line.split("quote: ")[1] for line in text.splitlines() if "quote: " in line)
    assert quote in json.loads((DEMO / "scenario.json").read_text(encoding="utf-8"))["steps"][1]["prompt"]


def on_terminal(tmp_path: Path, answer: bytes):
    """Run the demo on a pseudo-terminal and answer its question; exit code, screen, seconds."""
    import pty

    machine = Machine(tmp_path / "home")
    machine.extra["TMPDIR"] = str(tmp_path)
    begun = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {**machine.environ(), "COLUMNS": "200"}
        os.execve(sys.executable, [sys.executable, str(ROOT / "install.py"), "--demo"], environment)
    shown, answered = b"", False
    try:
        while data := os.read(terminal, 65536):
            shown += data
            if not answered and b"[y/N]" in shown:
                os.write(terminal, answer)
                answered = True
    except OSError:
        pass
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, shown.decode("utf-8", "replace"), time.monotonic() - begun
