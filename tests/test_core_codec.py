"""The stored form of an entry: what it accepts, what it refuses, and that it survives a round trip."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experience_forge.core import changes, codec
from experience_forge.errors import Invalid
from experience_forge.model import SECTIONS, Cite, Condition, Guard, Kind, Provenance, Source, Status, Track
from helpers import entry

WHOLE = entry(
    "all-fields",
    kind=Kind.PITFALL,
    track=Track.DOMAIN,
    domain="python",
    status=Status.OUTDATED,
    status_reason="version passed",
    language="zh",
    sections=(
        ("scenario", "场景\n两行"),
        ("symptom", "error: x"),
        ("root_cause", "根因"),
        ("right_action", "---\n..."),
        ("rule", "先建 venv: 再装"),
    ),
    fails_when=(Condition(error="externally-managed-environment", command="pip install *"),),
    versions=("pip>=23",),
    tags=("pip",),
    cites=(Cite("a.py", "1-3", "ab"),),
    review="2027-01-01",
    guard=Guard.HOLD,
    pinned=True,
    origin="observed",
    sources=(Source("s", "2026-08-28", "他说“不对”", 12, Provenance.PERSON),),
    parents=("old-one",),
    revision=3,
    extra={"weight": 3, "nested": {"a": [1, True, None]}},
)


def test_an_entry_survives_a_round_trip():
    """Every field, unknown ones with their types too, comes back; equal entries have equal bytes."""
    text = codec.render(WHOLE)
    assert codec.parse(text) == WHOLE
    assert codec.render(codec.parse(text)) == text


WORDS = (
    st.text(
        st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029\u0085"),
        min_size=1,
        max_size=60,
    )
    .map(str.strip)
    .filter(bool)
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=WORDS, texts=st.lists(WORDS, min_size=5, max_size=5), alias=WORDS, part=WORDS, quote=WORDS)
def test_any_text_survives_a_round_trip(title, texts, alias, part, quote):
    """Whatever a user writes into an entry stands there again after reading, quotes, colons and dashes included."""
    one = entry(
        "any",
        title=title,
        kind=Kind.PITFALL,
        aliases=(alias,),
        applies_when=(Condition(words=part),),
        sources=(Source(quote=quote),),
        sections=tuple(zip(SECTIONS[Kind.PITFALL], texts, strict=True)),
    )
    assert codec.parse(codec.render(one)) == one


def test_all_faults_are_reported_at_once():
    """A bad entry is refused with every fault, each naming field, limit and value."""
    text = (
        "---\nid: A b\ntitle: " + "x" * 201 + "\nkind: pitfall\ntrack: moon\nreview: 2026-13-45\nrevision: 0\n"
        "applies_when: [{comand: x}]\ntags: [" + ",".join(f"t{n}" for n in range(25)) + "]\n---\n**Rule** one\ntwo\n"
    )
    with pytest.raises(Invalid) as caught:
        codec.parse(text)
    faults = "\n".join(caught.value.faults)
    for part in (
        "id:",
        "title: at most 200",
        "track: one of",
        "review: a date",
        "revision:",
        "comand",
        "tags: at most 20",
        "body: a pitfall needs",
        "rule: must be one line",
    ):
        assert part in faults


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("a: &x [1]\nb: *x", "aliases are not allowed"),
        ("id: a\nid: b", "'id' stands twice"),
        (
            "id: !!python/object/apply:os.system [x]\nq: !!python/object/apply:os.system [x]",
            "could not determine a constructor",
        ),
        ("id: [", "line"),
        ("- a\n- b", "no mapping"),
    ],
)
def test_hostile_yaml_is_refused_with_its_line(head, says):
    """Aliases, doubled keys, foreign tags and broken YAML are named, not guessed at."""
    with pytest.raises(Invalid) as caught:
        codec.parse(f"---\n{head}\n---\nbody\n")
    assert says in caught.value.what


def test_an_alias_bomb_takes_no_time():
    """Nine levels of aliases, which stand for millions of items, are refused at once."""
    levels = "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))
    begun = time.perf_counter()
    with pytest.raises(Invalid):
        codec.parse(f"---\na0: &a0 [x,x,x]\n{levels}\n---\nbody\n")
    assert time.perf_counter() - begun < 0.5


def test_values_stay_the_text_that_stands_there():
    """`no`, a date and a number in a known field are text, not False, a date object or 3."""
    text = codec.render(entry()).replace("title: Use pnpm in this repository (use-pnpm)", "title: no")
    assert codec.parse(text.replace("updated: '2026-08-28'", "updated: 2026-08-28")) == entry(title="no")


def test_a_byte_order_mark_and_windows_line_ends_are_read():
    """A file that an editor on Windows saved is the same entry."""
    text = codec.render(entry())
    assert codec.parse("\ufeff" + text.replace("\n", "\r\n")) == entry()


def test_a_body_over_the_limit_is_refused_with_the_limit():
    """A body of more than 64 KiB is refused, and the limit is named."""
    with pytest.raises(Invalid) as caught:
        codec.parse(codec.render(entry(sections=(("rule", "r"), ("why", "x" * 70_000), ("how", "h")))))
    assert "65536" in "\n".join(caught.value.faults)


@pytest.mark.parametrize("name", ["con", "nul", "com1"])
def test_device_names_of_windows_are_no_ids(name):
    """An id that is a device on Windows is refused on every system."""
    with pytest.raises(Invalid):
        codec.parse(codec.render(entry(name)))


def test_a_change_document_survives_a_round_trip():
    """The text of a change gives back what it writes, even when an entry holds the document's own marks."""
    tricky = entry(sections=(("rule", "r"), ("why", ">>> personal/x.md from new\n<<<\n\\<<<"), ("how", "---\nh")))
    change = changes.Change(
        "merge",
        "two into one",
        "r",
        "personal",
        "zh",
        "<<<\nsummary",
        {"entry": "a", "n": 3},
        (
            changes.Write("personal/use-pnpm.md", "", codec.render(tricky)),
            changes.Write("personal/old.md", "a" * 64, None),
            changes.Write("@skills/x-y/SKILL.md", "b" * 64, "text\n"),
        ),
    )
    assert changes.parse("merge", changes.render(change)) == change


def test_a_change_can_not_claim_to_be_another():
    """A text that says guard is refused when the inbox says move."""
    with pytest.raises(Invalid):
        changes.parse("move", changes.render(changes.Change("guard", "t")))


def test_a_file_of_a_change_that_can_not_be_read_refuses_the_whole():
    """A line that opens a file with an impossible place is a fault, never prose beside a removal."""
    good = changes.render(changes.Change("move", "t", writes=(changes.Write("personal/a.md", "a" * 64, None),)))
    with pytest.raises(Invalid):
        odd = ">>> domain/My Domain/a.md from new\nx\n<<<\n\n>>> personal"
        changes.parse("move", good.replace(">>> personal", odd))
    with pytest.raises(Invalid):
        changes.render(changes.Change("move", "t", writes=(changes.Write("domain/My Domain/a.md", "", "x\n"),)))
