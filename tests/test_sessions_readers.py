"""Readers: every form of a session becomes the same events, whatever is broken in it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experience_forge.core.lines import LONGEST_LINE
from experience_forge.errors import Invalid
from experience_forge.model import EventKind, Speaker
from experience_forge.store import readers
from helpers_sessions import Transcript, rework

DATA = Path(os.environ.get("FORGE_DATA") or Path(__file__).resolve().parent.parent.parent / "shared" / "data")


def events_of(path, **options):
    """All events of a file, and the session."""
    session = readers.open_session(path, **options)
    return list(session.events()), session


def prompts(events):
    """The texts of all prompts."""
    return [event.text for event in events if event.kind is EventKind.PROMPT]


@pytest.mark.parametrize("spaced", [False, True])
def test_both_spacings_of_keys_give_the_same_events(tmp_path, spaced):
    """The quick way knows records written with and without blanks."""
    events, session = events_of(rework(spaced=spaced).write(tmp_path / "s.jsonl"))
    assert prompts(events) == ["make the cart total right"]
    assert [event.path for event in events if event.path] == ["/home/dev/shop/cart.py"] * 3
    assert [event.failed for event in events if event.kind is EventKind.RESULT] == [True, True, False]
    assert session.info.turns == 1 and session.info.damaged == ()


def test_the_quick_way_and_the_full_way_agree(tmp_path):
    """What is passed over unseen holds nothing that a detector needs."""
    made = rework().thinking('a thought with "type":"text" in it').prompt("now the docs").answer("Done.")
    path = made.write(tmp_path / "s.jsonl")
    wanted = (EventKind.PROMPT, EventKind.CALL)
    quick = [(e.kind, e.line, e.turn, e.tool, e.path, e.command) for e in events_of(path)[0] if e.kind in wanted]
    full = [
        (e.kind, e.line, e.turn, e.tool, e.path, e.command) for e in events_of(path, full=True)[0] if e.kind in wanted
    ]
    assert quick == full


@pytest.mark.parametrize(
    "text",
    [
        "<command-name>/clear</command-name>",
        "<local-command-stdout>x</local-command-stdout>",
        "<system-reminder>x",
        "<bash-input>ls</bash-input>",
        "<task-notification>done",
        "<ide_selection>x",
        "[Request interrupted by user]",
    ],
)
def test_machine_records_are_no_turns(tmp_path, text):
    """Echoes, notifications and interrupt markers are not numbered."""
    path = Transcript().prompt("one").prompt(text).prompt("two").write(tmp_path / "s.jsonl")
    events, session = events_of(path)
    assert prompts(events) == ["one", "two"] and session.info.turns == 2


def test_meta_sidechain_and_summary_are_no_turns(tmp_path):
    """Records that the client made, and those of subagents, are not numbered."""
    made = Transcript().prompt("one").prompt("meta", isMeta=True).prompt("side", isSidechain=True)
    path = made.prompt("summary", isCompactSummary=True).prompt("two").write(tmp_path / "s.jsonl")
    assert prompts(events_of(path)[0]) == ["one", "two"]


def test_headless_runs_are_the_machines(tmp_path):
    """A prompt that a script sent is numbered, and nobody's words."""
    events, _ = events_of(Transcript().prompt("no, revert that", promptSource="sdk").write(tmp_path / "s.jsonl"))
    assert [event.speaker for event in events] == [Speaker.MACHINE]


def test_a_repeated_record_keeps_its_number_and_speaks_once(tmp_path):
    """A resumed session that holds a record twice does not make the person say it twice."""
    made = Transcript().prompt("no, revert that")
    made.records.append(dict(made.records[0]))
    events, session = events_of(made.write(tmp_path / "s.jsonl"))
    assert [event.speaker for event in events] == [Speaker.PERSON, Speaker.MACHINE] and session.info.turns == 2


def test_damaged_lines_are_named_and_the_rest_is_read(tmp_path):
    """Garbage, a cut record, another type and broken UTF-8 are named by line; what follows is read."""
    lines = [line.encode() for line in Transcript().prompt("one").prompt("two").lines()]
    bad = [b"not json", lines[0][:40], b"[1,2]", lines[0].replace(b"one", b"o\xffe")]
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([lines[0], *bad, lines[1]]) + b"\n")
    events, session = events_of(path)
    assert prompts(events)[0] == "one" and prompts(events)[-1] == "two"
    assert set(session.info.damaged) == {2, 3, 4, 5}


def test_a_torn_last_line_is_read_once_it_is_whole(tmp_path):
    """The line that the client is writing waits, and is not lost."""
    lines = Transcript().prompt("one").prompt("two").lines()
    path = tmp_path / "s.jsonl"
    path.write_text(lines[0] + "\n" + lines[1][:50], encoding="utf-8")
    events, session = events_of(path)
    assert prompts(events) == ["one"]
    path.write_text(lines[0] + "\n" + lines[1] + "\n", encoding="utf-8")
    assert prompts(events_of(path, position=session.position)[0]) == ["two"]


def test_reading_goes_on_where_it_stopped(tmp_path):
    """A position survives JSON, gives only what is new, and goes on numbering."""
    made = rework()
    path = made.write(tmp_path / "s.jsonl")
    _, session = events_of(path)
    stored = readers.Position.from_json(json.loads(json.dumps(session.position.to_json())))
    made.prompt("and now the docs").write(path)
    events, session = events_of(path, position=stored)
    assert prompts(events) == ["and now the docs"] and events[0].turn == 1
    assert events[0].line == len(made.records)


def test_another_file_at_the_same_path_is_read_anew(tmp_path):
    """A position is dropped when the file is shorter or begins differently."""
    path = rework("first").write(tmp_path / "s.jsonl")
    _, session = events_of(path)
    Transcript("second").prompt("other").write(path)
    assert prompts(events_of(path, position=session.position)[0]) == ["other"]


def test_a_line_of_many_megabytes_is_named_and_never_held(tmp_path):
    """A pasted binary is passed over; memory stays bounded and the next line is read."""
    first, last = (line.encode() for line in Transcript().prompt("one").prompt("two").lines())
    path = tmp_path / "s.jsonl"
    with path.open("wb") as file:
        file.write(first + b"\n" + b'{"type":"user","message":{"role":"user","content":"')
        for _ in range(LONGEST_LINE // (1 << 20) + 34):
            file.write(b"x" * (1 << 20))
        file.write(b'"}}\n' + last + b"\n")
    events, session = events_of(path)
    assert prompts(events) == ["one", "two"] and session.info.damaged == (2,)


def test_deep_nesting_is_a_damaged_line(tmp_path):
    """A record nested a hundred thousand deep neither crashes nor stops the reading."""
    deep = '{"type":"user","message":{"role":"user","content":' + "[" * 100_000 + "]" * 100_000 + "}}"
    path = tmp_path / "s.jsonl"
    path.write_text(deep + "\n" + Transcript().prompt("two").text(), encoding="utf-8")
    events, session = events_of(path)
    assert prompts(events) == ["two"] and session.info.damaged == (1,)


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path):
    """A file of no known format says so."""
    path = tmp_path / "x.txt"
    path.write_text("hello\n", encoding="utf-8")
    with pytest.raises(Invalid, match="known format"):
        readers.open_session(path)


HEADERS = ["_**User**_", "_**User (2026-01-02 03:04:05Z)**_"]
AGENTS = ["_**Assistant**_", "_**Agent (model x, mode Agent)**_", "_**Agent (model x 2026-01-02 03:04:05Z)**_"]


@pytest.mark.parametrize("user", HEADERS)
@pytest.mark.parametrize("agent", AGENTS)
def test_specstory_turn_headers_come_in_several_forms(tmp_path, user, agent):
    """Each public form of a header opens a turn, and tool blocks become calls."""
    tool = (
        '<tool-use data-tool-type="shell" data-tool-name="Bash">\n<details><summary>Tool use: **Bash** • Run command:'
        " make</summary>\n\n```bash\nmake\n```\n\n```\nmake: error: no rule\n```\n\n</details>\n</tool-use>"
    )
    parts = ["<!-- Generated by SpecStory -->", user, "fix it", "---", agent, tool, "Done.", "---", user, "thanks"]
    text = "\n\n".join(parts) + "\n"
    path = tmp_path / "s.md"
    path.write_text(text, encoding="utf-8")
    events, session = events_of(path)
    assert prompts(events) == ["fix it", "thanks"] and session.client == "specstory"
    result = next(event for event in events if event.kind is EventKind.RESULT)
    assert result.command == "make" and result.failed


def test_turns_are_counted_as_the_sample_folder_counts_them():
    """Every sample has as many turns as its SOURCES.md says."""
    folder = DATA / "transcripts"
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}")
    for line in (folder / "SOURCES.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 9 and cells[2] in ("claude-code", "specstory"):
            ending = "jsonl" if cells[2] == "claude-code" else "md"
            _, session = events_of(folder / cells[2] / f"{cells[1]}.{ending}")
            assert session.info.turns == int(cells[9]), cells[1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    [
        "type",
        "message",
        "uuid",
        "sessionId",
        "cwd",
        "timestamp",
        "isMeta",
        "isSidechain",
        "origin",
        "attachment",
        "subtype",
    ]
)
BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "tool_use", "tool_result", "thinking"]) | VALUES,
        "text": VALUES,
        "id": VALUES,
        "name": st.sampled_from(["Bash", "Edit", "Read"]) | VALUES,
        "input": VALUES,
        "tool_use_id": VALUES,
        "content": VALUES,
        "is_error": VALUES,
    },
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=6) | st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "system"]),
        "message": st.fixed_dictionaries({"role": VALUES, "content": st.lists(BLOCKS, max_size=3) | VALUES}) | VALUES,
    }
)
LINES = st.one_of(
    RECORDS.map(lambda record: json.dumps(record).encode()),
    RECORDS.map(lambda record: json.dumps(record, separators=(",", ":")).encode()[:-3]),
    st.binary(max_size=60),
    st.sampled_from(
        [b"", b"{", b"}", b"null", b'{"content":', b'{"type":"user"}', b"\x00" * 8, b"_**User**_", b"<tool-use>"]
    ),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=12), st.sampled_from(["claude", "specstory"]), st.booleans())
def test_no_input_breaks_a_reader(tmp_path, lines, form, full):
    """Broken records, wrong types, binary and torn lines: the good prompt at the end is always found."""
    if form == "claude":
        head, tail = b'{"type":"mode","sessionId":"s"}', Transcript().prompt("the good one").lines()[0].encode()
    else:
        head, tail = b"<!-- Generated by SpecStory -->", b"_**User**_\nthe good one"
    path = tmp_path / "fuzz"
    path.write_bytes(b"\n".join([head, *lines, tail]) + b"\n")
    events, _ = events_of(path, full=full)
    assert prompts(events)[-1].strip() == "the good one"
