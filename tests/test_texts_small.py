"""Small texts that must say what is so, in both languages."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from pathlib import Path

import pytest

from experience_forge import cli, wording
from experience_forge.core import codec
from experience_forge.errors import Text
from experience_forge.model import Cite, Track
from experience_forge.store import config, files, home, journal, proposals, ruleset, templates
from helpers import entry

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(("language", "track", "said"), [
    ("en", Track.PROFILE, "Applies when: always loaded\n"),
    ("en", Track.PERSONAL, "Applies when: no condition is given\n"),
    ("zh", Track.PROFILE, "何时适用：常驻加载\n"), ("zh", Track.PROJECT, "何时适用：没有写明条件\n"),
])  # fmt: skip
def test_an_entry_without_conditions_says_so(language, track, said):
    """Only the profile is always loaded; elsewhere the short form says that no condition is given."""
    one = entry(applies_when=(), fails_when=(), language=language, track=track)
    assert said in templates.short_form(one)


def test_a_cited_file_that_is_missing_is_told_in_words(capsys):
    """No code of ours stands in a warning."""
    given = home.current().root / "d.md"
    files.write_text(given, codec.render(entry(cites=(Cite("src/nope.py"),))))
    assert cli.main(["draft", "--from", str(given), "--json"]) == 0
    warnings = json.loads(capsys.readouterr().out)["drafts"][0]["warnings"]
    assert any("src/nope.py: there is no such file" in one for one in warnings) and "no_file" not in str(warnings)


def test_an_empty_inbox_and_a_whole_score_are_told_in_words(capsys):
    """`none` has its Chinese word, and a score of 5.0 is 5."""
    config.change({"language": "zh", "suggest": {"threshold": 5.0}})
    assert cli.main(["discard", "nope"]) == 1
    assert "待确认的提案：无" in capsys.readouterr().err
    assert cli.main(["status"]) == 0
    said = capsys.readouterr().out
    assert "5.0" not in said and "分数达到 5 时" in said


def test_undo_of_a_discard_says_why_not(capsys):
    """A discarded text is not kept; undo says just that and what to do."""
    where = home.current()
    draft = proposals.create(where, "draft", codec.render(entry()), {}, "use-pnpm")
    proposals.discard(where, draft.id, "one-off")
    seq = str(journal.read(where)[-1]["seq"])
    assert cli.main(["undo", seq]) == 1
    said = capsys.readouterr().err
    assert "use-pnpm" in said and "not kept" in said and "experience-forge draft" in said


def test_an_eval_without_its_data_is_one_line(tmp_path):
    """No traceback for a folder that is not there."""
    command = [sys.executable, str(ROOT / "tests" / "run.py"), "eval", "recall", "--data", str(tmp_path / "nope")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "nope" in done.stderr


def test_one_of_a_thing_is_said_in_the_singular():
    """A count and its unit agree in English, in messages, errors and the installer's lines alike."""
    texts = ruleset.messages("en")
    for count, said in ((1, "and 1 file for good"), (2, "and 2 files for good")):
        assert said in wording.filled(texts["forget.question"], {"id": "use-pnpm", "count": count})
    assert str(Text("errors.no_candidate", count=1, number=3)) == "there is no number 3 among 1 candidate"
    assert wording.filled("{path!r}: {share:.2f} {{x}}", {"path": "a", "share": 0.5}) == "'a': 0.50 {x}"
    for language in ("en", "zh"):
        for name, text in ruleset.messages(language).items():
            specs = [spec for _, _, spec, _ in string.Formatter().parse(text) if spec and "|" in spec]
            assert all(language == "en" and spec.count("|") == 1 for spec in specs), name
