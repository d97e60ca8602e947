"""The quick way through a session finds exactly what the full way finds."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from experience_forge.core import scoring
from experience_forge.core.lazy import Pattern
from experience_forge.store import readers, scanning, session_signals

DATA = Path(os.environ.get("FORGE_DATA") or Path(__file__).resolve().parent.parent.parent / "shared" / "data")
SHARED = sorted(
    path for name in ("claude-code/*.jsonl", "specstory/*.md") for path in (DATA / "transcripts").glob(name)
)


def found(path, *, full):
    """Score, signals and rounds of one file."""
    explained = session_signals.of_file(path, full=full)
    rounds = [(episode.turns, episode.lines, episode.rework_rounds) for episode in explained.episodes]
    return scoring.score(explained.signals, explained.weights), explained.signals, rounds, explained.turns


@pytest.mark.skipif(not SHARED, reason=f"no shared transcripts below {DATA}")
@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.name)
def test_the_quick_way_finds_what_decoding_every_record_finds(path):
    """Score, signals, rounds of rework and turns of every shared session are the same, with no tolerance."""
    assert found(path, full=False) == found(path, full=True)


@pytest.mark.skipif(not SHARED, reason=f"no shared transcripts below {DATA}")
def test_the_scan_goes_the_same_way(tmp_path):
    """The score that a scan keeps is the one that `signals` explains, in one piece or resumed in the middle."""
    for path in SHARED[::6]:
        total = found(path, full=False)[0].total
        _, scanned, _ = scanning.read_one(str(path), "")
        assert scanned.score == total, path.name
        if path.suffix == ".jsonl":
            assert resumed(path, tmp_path).score == total, path.name


def resumed(path, folder):
    """The same file scanned in two halves, at the end of a line."""
    data = path.read_bytes()
    half = data.rfind(b"\n", 0, len(data) // 2) + 1
    copy = folder / path.name
    copy.write_bytes(data[:half])
    _, _, state = scanning.read_one(str(copy), "")
    copy.write_bytes(data)
    return scanning.read_one(str(copy), state)[1]


def test_a_hint_is_found_by_words_as_by_searching():
    """Looking hints up by the words of a prompt gives the cues that searching for each hint gives."""
    phrases = session_signals.detectors().phrases
    texts = [
        "no, that's not what i asked for. revert it and don't touch the config again",
        "从现在起都用中文回答，不要再改测试了，我说过多少次了",
        "why is it still broken? it doesn't work on the second page",
        "\u3000still\tbroken,no luck" + " and more" * 120 + " never do that again",
        "@src/app/a-long-path-with-names.ts " * 14 + "this is wrong, undo that" + " word" * 100,
        "",
        "?",
    ]
    from experience_forge.core.hints import FEW
    from experience_forge.core.phrases import Before

    before = Before(True, True, True, False, True, True)
    fresh = type(phrases)(session_signals.ruleset.load("phrases"))
    slow = [fresh.find(text, before) for text in texts]
    assert len(texts) < FEW
    for _ in range(FEW):
        fresh.find("warm up, please", before)
    assert [fresh.find(text, before) for text in texts] == slow
    assert [fresh.find(text, before) for text in texts] == slow


def test_a_call_that_is_no_json_is_a_damaged_line(tmp_path):
    """A command with an escape that JSON does not know ends no scan; its line is named."""
    call = '{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash",'
    bad = call + '"input":{"command":"dir C:\\x"}}]}}'
    good = '{"type":"user","message":{"role":"user","content":"show the folder"}}'
    path = tmp_path / "s.jsonl"
    path.write_text(f"{good}\n{bad}\n{good}\n", encoding="utf-8")
    explained = session_signals.of_file(path)
    assert explained.info.damaged == (2,) and explained.info.turns == 2


@pytest.mark.parametrize(
    "said", ["The Root Cause is the cache.", "The r\\u006fot cause is the cache.", "根本原因是缓存。"]
)
def test_an_explanation_within_a_turn_counts_in_any_writing(tmp_path, said):
    """An answer that names a cause after two failures counts though others follow, in any case, escaped or not."""
    lines = ['{"type":"user","message":{"role":"user","content":"make the tests pass"}}']
    head = '{"type":"assistant","message":{"role":"assistant","content":[{'
    for number in range(2):
        lines.append(head + f'"type":"tool_use","id":"t{number}","name":"Bash","input":{{"command":"pytest"}}}}]}}}}')
        result = f'"type":"tool_result","tool_use_id":"t{number}","is_error":true,"content":"1 failed"'
        lines.append('{"type":"user","message":{"role":"user","content":[{' + result + "}]}}")
    lines += [head + f'"type":"text","text":"{text}"}}]}}}}' for text in (said, "Now I mend it.")]
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [signal.kind.value for signal in session_signals.of_file(path).signals] == ["root-cause"]


@pytest.mark.parametrize(
    "pattern", ["^a|b", "^a|^b", "^(?:a|c)b", "^[|(]a|b", "^[]|]|b", r"^\(|b", "^a(?:b|^c)", "(?:^a|b)"]
)
def test_a_pattern_bound_to_the_beginning_finds_what_searching_finds(pattern):
    """Patterns that are tried at the beginning only are those that can match nowhere else."""
    compiled = re.compile(pattern)
    for text in ("a", "b", "xb", "xa", "ab", "|a", "]", "x]", "(", "x(", "abc", ""):
        found, wanted = Pattern(pattern).search(text), compiled.search(text)
        assert (found and found.span()) == (wanted and wanted.span()), text


THOUGHT = {"type": "thinking", "thinking": "a }] and \"}], [1] }, {", "signature": ""}
SAID = {"type": "text", "text": "see [this] {x}]: \"}], {\"type\": \"text\""}
READ = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a", "parts": [{"x": {"y": "z"}}]}}
EDIT = {"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": "/b", "new_string": "}]", "old": ""}}
RUN = {"type": "tool_use", "id": "t3", "name": "Bash", "input": {"command": 'echo "}]" | cat'}}
MANY = ([THOUGHT, EDIT], [THOUGHT, SAID, RUN], [READ, EDIT], [SAID, EDIT], [EDIT, RUN], [RUN, SAID], [THOUGHT], [READ])


@pytest.mark.parametrize("spaced", [True, False])
@pytest.mark.parametrize("parts", MANY, ids=lambda parts: "-".join(part["type"] for part in parts))
def test_a_message_of_several_parts_gives_all_of_them(tmp_path, parts, spaced):
    """No part of a message is passed over because of the one before it, whatever braces its texts hold."""
    separators = (", ", ": ") if spaced else (",", ":")
    records = [
        {"type": "user", "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "message": {"role": "assistant", "content": parts, "stop_reason": None}},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(record, separators=separators) + "\n" for record in records), encoding="utf-8")

    def told(full):
        events = readers.open_session(path, full=full).events()
        return [(event.kind, event.text, event.command, event.path) for event in events if event.tool != "Read"]

    assert told(full=False) == told(full=True)
