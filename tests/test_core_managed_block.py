"""Our blocks in a user's file: written only where nothing is in doubt, and taken out to the byte."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experience_forge.core import managed_block as mb

ONE = {"note-a": "- **A**: do a [note-a]"}
TWO = {**ONE, "note-b": "- **B**：做 b [note-b]"}


def written(data, wanted=ONE, known=()):
    edit = mb.update(data, wanted, known, "1")
    assert edit.refused == "", edit.refused
    return edit.data


def marker(name="note-a", text="- **A**: do a [note-a]", version=1, rest=None):
    tail = f" t1 g1 {mb.digest(text)}" if rest is None else rest
    return f"<!-- experience-forge:begin {name} v{version}{tail} -->\n{text}\n<!-- experience-forge:end -->\n"


TEXTS = {
    "empty": "", "one line": "# Team\n", "no final newline": "# Team", "blank end": "# Team\n\n\n", "only blank": "\n",
    "chinese": "# 团队约定\n用 pnpm。\n", "closed fence": "```sh\nls\n```\n", "tilde fence": "~~~\na\n~~~\nb",
    "fenced marker": "```\n" + marker("other") + "```\n", "comment": "<!-- note -->\ntext\n",
    "import": "@AGENTS.md\n", "front matter": "---\na: b\n---\nx\n", "indented": "    code\n\n- list\n",
    "teammate": "# T\n\n" + marker("their-note", "theirs") + "\nafter\n", "mention": "see `experience-forge:begin`\n",
    "code span": "write `<!--` to open\n", "trailing blanks": "a  \nb\t\n", "form feed": "a\x0cb\n",
    "separator": "a\u2028b\n",
}  # fmt: skip
ENDS = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}
MATRIX = [
    pytest.param((bom + text.replace("\n", end)).encode("utf-8"), id=f"{name}-{kind}{'-BOM' if bom else ''}")
    for (name, text), (kind, end), bom in itertools.product(TEXTS.items(), ENDS.items(), ("", "\ufeff"))
]


@pytest.mark.parametrize("data", MATRIX)
def test_f11_f26_adding_and_taking_out_leaves_the_users_bytes(data):
    """F11, F26: with any line ends, BOM or final-newline state, all bytes of the user's are there, before and after."""
    first = written(data)
    both = written(first, TWO)
    assert first.startswith(data) and both.startswith(data)
    assert data.endswith((b"\n", b"\r")) == both.endswith((b"\n", b"\r")) or not data.removeprefix(b"\xef\xbb\xbf")
    assert [block.id for block in mb.scan(both).blocks if block.id in TWO] == ["note-a", "note-b"]
    ours = both[len(data):]
    if b"\r\n" in data:
        assert b"\n" not in ours.replace(b"\r\n", b"")
    assert written(both, TWO) == both
    assert written(both, {}, TWO) == data
    assert written(written(both, {"note-b": TWO["note-b"]}, TWO), {}, TWO) == data
    assert written(written(both, ONE, TWO), {}, TWO) == data


REFUSED = {
    "only begin": marker().split("\n")[0] + "\ntext\n",
    "only end": "a\n<!-- experience-forge:end -->\n",
    "reversed": "<!-- experience-forge:end -->\nx\n" + marker().split("\n")[0] + "\n",
    "two pairs": marker() + "\n" + marker(),
    "nested": marker().split("\n")[0] + "\n" + marker("note-b") + "<!-- experience-forge:end -->\n",
    "begin in open fence": "```\n" + marker(),
    "open fence": "text\n```python\ncode\n",
    "open comment": "text\n<!-- not closed\n",
    "indented marker": "  " + marker(),
    "unreadable marker": "<!-- experience-forge:begin -->\nx\n<!-- experience-forge:end -->\n",
    "newer marker": marker(version=2),
    "end twice": marker() + "<!-- experience-forge:end -->\n",
    "begin with words": "<!-- experience-forge:begin note-a v1 and more -->\nx\n<!-- experience-forge:end -->\n",
}
RAW = {
    "UTF-16 LE": "# Team\n".encode("utf-16"), "UTF-16 BE": b"\xfe\xff" + "# T\n".encode("utf-16-be"),
    "UTF-16 without BOM": "# Team\n".encode("utf-16-le"), "GBK": "# 团队约定\n".encode("gbk"),
    "Latin-1": "# Équipe\n".encode("latin-1"), "torn": "# 团队".encode()[:-1], "NUL": b"# a\0\n",
}  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("name", REFUSED)
def test_f15_whatever_is_in_doubt_is_refused_untouched(name, end):
    """F15: markers that are not one clean pair, and places where ours would not be seen, are left with a reason."""
    data = REFUSED[name].replace("\n", end).encode("utf-8")
    for wanted, known in ((ONE, ()), ({}, TWO)):
        edit = mb.update(data, wanted, known, "1")
        assert edit.refused and edit.data == data


@pytest.mark.parametrize("name", RAW)
def test_f11_other_encodings_are_refused_untouched(name):
    """F11: UTF-16, GBK, Latin-1, torn and binary files are left, with the reason."""
    edit = mb.update(RAW[name], ONE, (), "1")
    assert "UTF-8" in edit.refused and edit.data == RAW[name]


def test_a_file_of_ours_goes_when_it_is_empty_again():
    """F26: a file that we made is taken away with its last block; one that was there empty stays."""
    made = written(None, TWO)
    assert mb.update(made, {}, TWO, "1").data is None
    one_left = written(made, {"note-b": TWO["note-b"]}, TWO)
    assert mb.update(one_left, {}, TWO, "1").data is None
    assert mb.update(written(None, ONE) + b"\nmine\n", {}, ONE, "1").data == b"\nmine\n"
    assert mb.update(written(b"", ONE), {}, ONE, "1").data == b""
    assert mb.update(None, {}, TWO, "1") == mb.Edit(None)
    swapped = written(written(None, ONE), {"note-b": "b"}, TWO)
    assert mb.update(swapped, {}, TWO, "1").data is None


def test_text_around_and_after_our_blocks_stays():
    """F26: what the user wrote before, between and behind our blocks survives their going."""
    data = written(b"# T\n", TWO)
    first, second = data.split(b"\n\n<!-- experience-forge:begin note-b")
    edited = b"top\n" + first + b"\nbetween\n\n<!-- experience-forge:begin note-b" + second + b"end"
    assert mb.update(edited, {}, TWO, "1").data == b"top\n# T\nbetween\nend"
    no_end = written(b"# T", ONE) + b"\nmore"
    assert mb.update(no_end, {}, ONE, "1").data == b"# T\nmore"
    squeezed = written(b"# T\n", ONE).replace(b"# T\n\n", b"# T\nmine\n")
    assert mb.update(squeezed, {}, ONE, "1").data == b"# T\nmine\n"


LINES = st.sampled_from((
    "# T", "", "text", "```", "~~~", "    code", "<!-- x -->", "<!--", "-->", "- a", "`<!--`", "\u2028", "约定",
    "<!-- experience-forge:end -->", "<!-- experience-forge:begin bad -->",
    "<!-- experience-forge:begin other v1 t1 g1 0123456789ab -->",
))  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(LINES, st.sampled_from(("\n", "\r\n", "\r"))), max_size=8), st.booleans(), st.booleans())
def test_any_text_is_refused_untouched_or_comes_back_to_the_byte(lines, final, bom):
    """F15, F26: whatever stands in a file, adding and taking out gives its bytes back, or nothing was touched."""
    text = "".join(line + end for line, end in lines)
    data = (("\ufeff" if bom else "") + (text if final else text.rstrip("\r\n"))).encode("utf-8")
    edit = mb.update(data, TWO, (), "1")
    if edit.refused:
        assert edit.data == data
        return
    assert edit.data.startswith(data) and mb.update(edit.data, TWO, (), "1").data == edit.data
    assert {"note-a", "note-b"} <= {block.id for block in mb.scan(edit.data).blocks}
    assert mb.update(edit.data, {}, TWO, "1").data == data


def test_an_edited_block_is_reported_and_left():
    """A block that a person changed is neither overwritten nor dropped, unless by force, which gives its text back."""
    data = written(b"# T\n", TWO).replace(b"do a", b"do c")
    for wanted in ({**TWO, "note-a": "- new"}, {}):
        edit = mb.update(data, wanted, TWO, "1")
        assert list(edit.edited) == ["note-a"] and b"do c" in edit.data
        assert (b"note-b" in edit.data) == bool(wanted)
    forced = mb.update(data, {}, TWO, "1", force=True)
    assert forced.data == b"# T\n" and "do c" in forced.edited["note-a"]
    assert mb.update(data, {"note-a": "- **A**: do c [note-a]"}, TWO, "1").edited == {}


def test_a_teammates_blocks_stay():
    """Blocks with ids that we do not know keep their bytes, whatever we add or take out."""
    theirs = (marker("their-note", "old text") + "\n" + marker("_more-aaaaaa", "3 more")).encode()
    data = written(theirs, ONE)
    assert data.startswith(theirs) and written(data, {}, ONE) == theirs


def test_an_old_marker_version_is_replaced_in_place():
    """F15, D13: a block of an older marker version is renewed where it stands, not appended again."""
    old = "# T\n\n" + marker(version=0, rest="") + "\ntail\n"
    new = written(old.encode())
    assert new.count(b"experience-forge:begin") == 1 and b" v1 t1 " in new and new.endswith(b"\ntail\n")


def test_line_ends_changed_by_git_are_no_edit():
    """A checkout with other line ends does not make our blocks or files look edited."""
    data = written(b"# T\r\n", TWO)
    assert not any(block.edited for block in mb.scan(data.replace(b"\r\n", b"\n")).blocks)
    assert mb.unstamp(mb.stamp("# a\n\nb\n", "1").replace(b"\n", b"\r\n"))[0] == "ours"


def test_files_of_ours_know_their_bytes():
    """A whole file carries its mark, behind front matter where there is some; a changed text shows."""
    for text in ("# notes\n- a\n", "---\nname: x\n---\n# notes\n", ""):
        data = mb.stamp(text, "3")
        assert mb.unstamp(data) == ("ours", "3", text)
        assert mb.unstamp(data + b"more\n")[0] == "edited"
    assert mb.unstamp(b"# mine\n")[0] == "foreign" and mb.unstamp("约定".encode("gbk"))[0] == "foreign"
    assert mb.stamp("---\nname: x\n---\nbody\n", "1").startswith(b"---\nname: x\n---\n<!-- experience-forge v1 t1 ")
