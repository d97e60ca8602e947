"""Projections in a client's folders: what is written, what is left, and that everything goes again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experience_forge import cli, shared
from experience_forge.clients import claude_code, claude_doctor, claude_files
from experience_forge.core import changes, codec, managed_block
from experience_forge.model import Condition, Consent, Kind, Status, Track
from experience_forge.store import config, files, home, library, projects, proposals, templates
from helpers import confirm, entry, tree
from helpers_projection import entry as note
from recall_home import ask


@pytest.fixture
def client(own_home, monkeypatch, tmp_path):
    """An installed client folder, and a project as the working folder."""
    folder = own_home / ".claude"
    install(folder)
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    monkeypatch.chdir(project)
    return folder


def install(folder, where=None, hooks=True):
    skill = folder / "skills" / "experience-forge"
    skill.mkdir(parents=True)
    record = {"home": str(where or home.current().root), "hooks": hooks, "version": "0.1.0"}
    (skill / ".installed.json").write_text(json.dumps(record), encoding="utf-8")


def here():
    return projects.current(home.current()).id


def in_project(entry_id="billing-owns-prices", **fields):
    return entry(entry_id, track=Track.PROJECT, project=here(), **fields)


def read(folder, name):
    return claude_files.path_of(folder, name).read_text(encoding="utf-8")


def project():
    return claude_code.project(home.current())


def test_each_track_lands_where_it_is_loaded(client, tmp_path):
    """Profile, index, domain skill with its reference, and project block hold their entries with visible ids."""
    confirm(entry("one-profile", track=Track.PROFILE))
    confirm(entry("one-personal"))
    confirm(note(1, "zh", Track.DOMAIN, id="one-domain"))
    confirm(in_project("one-project"))
    changed = project()
    assert "[one-profile]" in read(client, "profile") and "Use pnpm, never npm." in read(client, "profile")
    assert "[one-personal]" in read(client, "index") and "Use pnpm, never npm." not in read(client, "index")
    skill = read(client, "domain/python")
    assert skill.startswith("---\nname: python-experience\ndescription: ") and "[one-domain]" in skill
    assert "**场景**" in read(client, "domain/python/one-domain")
    memory = (tmp_path / "shop" / "CLAUDE.md").read_text(encoding="utf-8")
    assert "[one-project]" in memory and memory.count("experience-forge:begin") == 1
    names = {change.path.name for change in changed}
    assert names >= {"reminder.md", "profile.md", "index.md", "SKILL.md", "CLAUDE.md"}
    assert project() == []


@pytest.mark.parametrize("state", ["pending", "edited", "revoked", "outdated", "unconfirmed"])
def test_only_confirmed_proven_unchanged_entries_are_projected(client, state):
    """Law 1: pending, edited, revoked, outdated and unconfirmed entries reach no file of a client."""
    one = entry(status=Status.OUTDATED if state == "outdated" else Status.ACTIVE)
    consent = Consent("dialog", "now", "pending") if state in ("pending", "revoked") else None
    applied = confirm(one, consent)
    if state == "revoked":
        library.revoke(home.current(), applied.record["seq"], "a program answered")
    if state == "edited":
        applied.paths[0].write_text(applied.paths[0].read_text("utf-8").replace("never npm", "always npm"), "utf-8")
    if state == "unconfirmed":
        for path in (home.current().journal).glob("*.jsonl"):
            path.unlink()
    project()
    assert not claude_files.path_of(client, "index").exists()
    assert b"use-pnpm" not in b"".join(tree(client).values())


def test_an_entry_that_goes_leaves_every_file(client, tmp_path):
    """Taking entries back rewrites or removes the files that held them; stale files of ours go."""
    applied = [confirm(note(1, "en", Track.DOMAIN)), confirm(entry()), confirm(in_project())]
    project()
    for done in applied:
        done.paths[0].unlink()
    project()
    left = [path for path in tree(client) if "rules" in path or "python" in path]
    assert left == ["rules/experience-forge/reminder.md"]
    assert not (tmp_path / "shop" / "CLAUDE.md").exists()


def test_a_domain_skill_gets_paths_only_when_all_its_entries_have_some(client):
    """`paths:` hides a skill until a file fits, so one entry without a path keeps it open."""
    path = (Condition(path="**/*.sql"),)
    confirm(note(1, "en", Track.DOMAIN, domain="database", applies_when=path))
    project()
    assert 'paths:\n  - "**/*.sql"\n---' in read(client, "domain/database")
    confirm(note(2, "en", Track.DOMAIN, domain="database", applies_when=(Condition(words="slow query"),)))
    project()
    assert "paths:" not in read(client, "domain/database")


def test_what_a_person_edited_or_wrote_is_left_and_reported(client, tmp_path):
    """Edited projections, foreign files in their place and edited blocks are not overwritten; the plan says so."""
    confirm(entry("one-profile", track=Track.PROFILE))
    confirm(in_project())
    project()
    profile, memory = claude_files.path_of(client, "profile"), tmp_path / "shop" / "CLAUDE.md"
    profile.write_text(read(client, "profile") + "mine\n", encoding="utf-8")
    index = claude_files.path_of(client, "index")
    index.write_text("# my own index\n", encoding="utf-8")
    memory.write_text(memory.read_text("utf-8").replace("never npm", "sometimes npm"), "utf-8")
    confirm(entry("one-personal"))
    confirm(entry("two-profile", track=Track.PROFILE))
    confirm(in_project("second"))
    project()
    assert "two-profile" not in profile.read_text("utf-8") and index.read_text("utf-8") == "# my own index\n"
    assert "sometimes npm" in memory.read_text("utf-8") and "[second]" in memory.read_text("utf-8")
    notes = {change.path.name: change.note for change in claude_code.plan(home.current()) if change.note}
    assert notes["profile.md"] == claude_files.EDITED and notes["index.md"] == claude_files.FOREIGN
    # doctor says the way out of each, for a block and for a whole file.
    keys = {str(one) for one in claude_doctor.projections(home.current())}
    assert any("projection_edited_file" in key for key in keys)
    assert any("projection_edited_block" in key for key in keys)
    assert "billing-owns-prices" in notes["CLAUDE.md"]
    memory.unlink()
    project()
    assert "never npm" in memory.read_text("utf-8")


def test_only_installs_that_name_this_home_are_written(client, own_home, monkeypatch):
    """A client folder whose record names another home, or none, is not touched; CLAUDE_CONFIG_DIR is honoured."""
    other = own_home / "other client"
    install(other, own_home / "another-home")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other))
    before = tree(other)
    confirm(entry())
    assert project() == [] and tree(other) == before and not (client / "rules").exists()
    listed = {"installs": [{"client_folder": str(client), "skill_folder": str(client / "skills/experience-forge")}]}
    (home.current().root / "install.json").write_text(json.dumps(listed), encoding="utf-8")
    project()
    assert (client / "rules").exists() and tree(other) == before


def test_a_home_that_was_made_up_reaches_no_client_folder(client, own_home, monkeypatch):
    """A record beside a home counts for nothing: only the one in the client's own folder says whose it is."""
    forged, skill = own_home / "forged", own_home / "forged-skill"
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(forged))
    skill.mkdir()
    (skill / ".installed.json").write_text(json.dumps({"home": str(forged), "hooks": True}), encoding="utf-8")
    confirm(entry())
    listed = {"installs": [{"client_folder": str(client), "skill_folder": str(skill)}]}
    (forged / "install.json").write_text(json.dumps(listed), encoding="utf-8")
    assert project() == [] and not (client / "rules").exists()


def test_uninstall_leaves_the_users_bytes(client, tmp_path):
    """F26: all our files go, and the user's own, with our blocks in them before, are the same to the byte."""
    memory = tmp_path / "shop" / "CLAUDE.md"
    memory.write_bytes("# 团队\r\n约定".encode())
    rules = client / "rules" / "mine.md"
    rules.parent.mkdir()
    rules.write_bytes(b"# mine\n")
    skill = client / "skills" / "go-experience" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_bytes(b"---\nname: go-experience\ndescription: mine\n---\n")
    before, team = tree(client), tree(tmp_path / "shop")
    for one in (entry(), entry("p", track=Track.PROFILE), note(1, "zh", Track.DOMAIN), in_project(), in_project("two")):
        confirm(one)
    project()
    assert tree(client) != before
    dry = claude_code.unproject(home.current(), dry_run=True)
    done = claude_code.unproject(home.current())
    assert [change.path for change in dry] == [change.path for change in done]
    assert tree(client) == before and tree(tmp_path / "shop") == team
    assert claude_code.unproject(home.current()) == []


def test_uninstall_keeps_a_copy_of_what_was_edited(client, tmp_path):
    """F26: an edited file or block goes too, and the note names the copy."""
    confirm(entry())
    confirm(in_project())
    project()
    index, memory = claude_files.path_of(client, "index"), tmp_path / "shop" / "CLAUDE.md"
    index.write_text(index.read_text("utf-8") + "my line\n", "utf-8")
    memory.write_text(memory.read_text("utf-8").replace("never npm", "my words") + "\nmine\n", "utf-8")
    notes = [change.note for change in claude_code.unproject(home.current()) if change.note]
    assert len(notes) == 2 and memory.read_bytes() == b"\nmine\n" and not index.exists()
    kept = b"".join(path.read_bytes() for path in (home.current().root / "kept").iterdir())
    assert b"my line" in kept and b"my words" in kept


@pytest.mark.skipif(os.name == "nt", reason="links need a right on Windows")
def test_links_of_a_dotfiles_folder_stay_links(client, tmp_path):
    """F5, F26: a linked CLAUDE.md is written through, and stays a link after our blocks are gone."""
    real, memory = tmp_path / "dotfiles.md", tmp_path / "shop" / "CLAUDE.md"
    real.write_bytes(b"# T\n")
    memory.symlink_to(real)
    confirm(in_project())
    project()
    assert memory.is_symlink() and b"billing-owns-prices" in real.read_bytes()
    claude_code.unproject(home.current())
    assert memory.is_symlink() and real.read_bytes() == b"# T\n"


def test_f12_a_file_that_changes_meanwhile_is_read_again(client, tmp_path, monkeypatch):
    """F12: an edit between our read and our write is kept, and our block comes to it."""
    memory = tmp_path / "shop" / "CLAUDE.md"
    memory.write_bytes(b"# T\n")
    confirm(in_project())
    original, calls = claude_files.block_change, []

    def racing(path, make):
        change = original(path, make)
        if path == memory and not calls:
            calls.append(1)
            memory.write_bytes(b"# T\nlate words\n")
        return change

    monkeypatch.setattr(claude_files, "block_change", racing)
    project()
    assert memory.read_bytes().startswith(b"# T\nlate words\n\n<!-- experience-forge:begin")


def test_the_project_file_is_the_users_choice(client, tmp_path):
    """CLAUDE.local.md by config; changing the choice moves the blocks."""
    confirm(in_project())
    project()
    config.change({"project_file": "CLAUDE.local.md"})
    project()
    assert "billing" in (tmp_path / "shop" / "CLAUDE.local.md").read_text("utf-8")
    assert not (tmp_path / "shop" / "CLAUDE.md").exists()


def test_a_project_is_cleaned_from_anywhere(client, tmp_path, monkeypatch):
    """Blocks are taken out of a project's file also when the command runs in another folder."""
    applied = confirm(in_project())
    project()
    monkeypatch.chdir(tmp_path)
    applied.paths[0].unlink()
    project()
    assert not (tmp_path / "shop" / "CLAUDE.md").exists()


def test_targets_show_what_a_draft_would_change(client, tmp_path):
    """For each track, the diff names the file and holds the new line, without our marks; nothing is written."""
    confirm(entry("older"))
    project()
    before = tree(client)
    drafts = {
        "index.md": entry("a-draft"), "profile.md": entry("a-draft", track=Track.PROFILE),
        "SKILL.md": note(1, "en", Track.DOMAIN, id="a-draft"), "CLAUDE.md": in_project("a-draft"),
    }  # fmt: skip
    for name, one in drafts.items():
        found = {path.name: text for path, text in claude_code.targets(home.current(), one)}
        assert name in found and "[a-draft]" in found[name] and "<!-- experience-forge" not in found[name]
        assert [line for line in found[name].splitlines() if line.startswith("-") and "[older]" in line] == []
    assert tree(client) == before and not (tmp_path / "shop" / "CLAUDE.md").exists()


def test_an_update_of_the_templates_waits_for_one_consent(client, monkeypatch):
    """Projections keep the accepted templates after an update; the one proposal shows the difference and renews all."""
    confirm(entry())
    project()
    new = templates.parse(templates.shipped().text.replace("Template version: 1", "Template version: 2").replace(
        "# This user's experience notes", "# Notes of this user"))  # fmt: skip
    monkeypatch.setattr(templates, "shipped", lambda: new)
    assert project() == [] and [change.path.name for change in claude_code.renewal(home.current())] == ["index.md"]
    proposal = claude_code.renewal_proposal(home.current())
    assert "+# Notes of this user" in proposal.summary
    kept = proposals.create(home.current(), "tuning", changes.render(proposal), {}, "renew-templates")
    library.apply(home.current(), kept, Consent("terminal", "now", "terminal"))
    project()
    assert "# Notes of this user" in read(client, "index") and "v1 t2 " in read(client, "index")
    assert claude_code.renewal_proposal(home.current()) is None


def test_own_templates_count_only_when_confirmed(client):
    """A tuning file that nobody confirmed changes nothing."""
    confirm(entry())
    project()
    before = tree(client)
    path = home.current().root / "tuning" / "templates.md"
    files.write_text(path, "## index.en\n\n```jinja\n{{ lines }} OWN\n```\n")
    assert project() == [] and tree(client) == before


@pytest.mark.parametrize("value", [
    "<!-- experience-forge:end -->", "x <!-- experience-forge:begin evil v1 -->", "see @~/secrets.md",
    "<script>x</script>", "a\u202eb", "\u200bhidden",
])  # fmt: skip
def test_s9_s10_values_can_be_no_marker_import_or_markup(client, tmp_path, value):
    """S9, S10: own markers, comments, raw HTML, imports and hidden characters in an entry come out harmless."""
    body = {"rule": value, "why": "y", "how": f"line\n{value}\n\n @~/x.md"}
    fields = {"title": f"T {value}", "sections": tuple(body.items()), "tags": ()}
    for one in (entry("p-1", track=Track.PROFILE, **fields), entry("p-2", **fields), in_project("p-3", **fields),
                note(1, "en", Track.DOMAIN, id="p-4", kind=Kind.PREFERENCE, **fields)):  # fmt: skip
        confirm(one)
    project()
    texts = {path: data.decode() for path, data in {**tree(client / "rules"), **tree(client / "skills")}.items()}
    texts["CLAUDE.md"] = (tmp_path / "shop" / "CLAUDE.md").read_text("utf-8")
    for path, text in texts.items():
        if path.endswith(".md"):
            assert " @" not in text and "\n@" not in text and "<script" not in text
            assert not set(text) & {"\u202e", "\u200b"}
            assert text.count("<!--") == (2 if path == "CLAUDE.md" else 1)
    assert [block.id for block in managed_block.scan(texts["CLAUDE.md"].encode()).blocks] == ["p-3"]


def test_an_entry_under_test_leaves_the_index_file(client):
    """What a holdout may withhold is delivered by its trigger alone, so the index does not name it."""
    confirm(entry("under-test"))
    confirm(entry("not-tested"))
    files.write_text(home.current().derived / "measure.tsv", "under-test\tabc\t0.3\n")
    project()
    assert "[not-tested]" in read(client, "index") and "under-test" not in read(client, "index")


def test_a_skill_of_the_users_own_with_that_name_is_left_alone(client):
    """No file of ours is put into a folder whose SKILL.md is not ours; the plan says so."""
    mine = client / "skills" / "python-experience" / "SKILL.md"
    mine.parent.mkdir()
    mine.write_text("---\nname: python-experience\ndescription: mine\n---\n", encoding="utf-8")
    confirm(note(1, "en", Track.DOMAIN))
    project()
    assert [path.name for path in mine.parent.rglob("*")] == ["SKILL.md"]
    assert [c.note for c in claude_code.plan(home.current()) if c.path == mine] == [claude_files.FOREIGN]


def test_things_that_are_no_files_are_reported(client, tmp_path):
    """F6: a folder in place of a file is left and named."""
    (tmp_path / "shop" / "CLAUDE.md").mkdir()
    claude_files.path_of(client, "index").mkdir(parents=True)
    confirm(in_project())
    confirm(entry())
    project()
    notes = [change.note for change in claude_code.plan(home.current()) if change.note]
    assert len(notes) == 2 and all("not a regular file" in text for text in notes)


def test_a_domain_skill_is_valid_by_the_format(client):
    """The generated skill passes the format's own validator."""
    validator = pytest.importorskip("skills_ref.validator")
    confirm(note(1, "zh", Track.DOMAIN, title='标题: "引号" #1'))
    project()
    assert validator.validate(claude_files.path_of(client, "domain/python").parent) == []


def test_an_uninstall_needs_no_packages():
    """What takes projections away imports the standard library and our own code alone."""
    scripts = Path(claude_files.__file__).resolve().parents[2]
    code = (f"import sys; sys.path.insert(0, {str(scripts)!r}); import experience_forge.clients.claude_files; "
            "print(sorted({'yaml', 'jinja2', 'frontmatter', 'rich'} & set(sys.modules)))")  # fmt: skip
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_draft_shows_every_loaded_file_that_it_would_change(client, capsys):
    """Law 1: a contradiction marks another entry's line; draft, review and --dry-run show it, confirm does just it."""
    trigger = {"applies_when": (Condition(command="pip install *"),)}
    texts = {"sections": (("rule", "Use Poetry to manage dependencies."), ("why", "So."), ("how", "So."))}
    confirm(entry("by-poetry", title="Dependencies by Poetry", aliases=("python 用 poetry",), track=Track.PROFILE,
                  **trigger, **texts))
    project()
    other = in_project("by-uv", title="uv manages our environments", aliases=("用 uv",), **trigger, sections=(
        ("rule", "Manage dependencies with uv."), ("why", "So."), ("how", "So.")))
    given = Path(home.current().root / "d.md")
    files.write_text(given, codec.render(other))
    assert cli.main(["draft", "--from", str(given), "--track", "project", "--json"]) == 0
    (draft,) = json.loads(capsys.readouterr().out)["drafts"]
    assert {Path(one["path"]).name for one in draft["targets"]} == {"profile.md", "CLAUDE.md"}
    marked = "(until you decide, [by-uv] counts where it applies)"
    assert marked in next(one["diff"] for one in draft["targets"] if one["path"].endswith("profile.md"))
    assert any("contradicts [by-poetry]" in warning for warning in draft["warnings"])
    assert cli.main(["confirm", draft["id"], "--digest", draft["digest"], "--dry-run", "--json"]) == 0
    dry = json.loads(capsys.readouterr().out)
    assert dry["targets"] == draft["targets"] and dry["warnings"] == draft["warnings"]
    assert cli.main(["review", draft["id"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["proposals"][0]["targets"] == draft["targets"]
    before = tree(client)
    where = home.current()
    shared.carry_out(where, proposals.load(where, draft["id"]), Consent("terminal", "now", "terminal"))
    changed = {name for name, data in tree(client).items() if before.get(name) != data}
    assert changed == {"rules/experience-forge/profile.md"} and marked in read(client, "profile")


def test_another_locale_of_the_shell_changes_nothing_that_is_loaded(client, monkeypatch):
    """The language of what a client loads stands from the first projection on, and only `language:` changes it."""
    monkeypatch.setenv("LANG", "C.UTF-8")
    confirm(entry())
    confirm(note(1, "en", Track.DOMAIN))
    project()
    before = tree(client)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert claude_code.plan(home.current()) == [] and project() == [] and tree(client) == before
    (home.current().root / "language").unlink()
    assert claude_code.plan(home.current()) == [] and project() == [], "of an older home: as its reminder is"
    config.change({"language": "zh"})
    assert {change.path.name for change in project()} >= {"reminder.md", "index.md", "SKILL.md"}


@pytest.mark.parametrize("kind", ["file", "block"])
def test_a_projection_edited_by_hand_is_told_once_and_shown(kind, client, tmp_path, capsys):
    """Words that the client loads and nobody confirmed here: one notice, a diff, and a command to keep them."""
    one = entry("pnpm", track=Track.PROFILE) if kind == "file" else in_project("pnpm")
    confirm(one)
    shared.refresh(home.current())
    written = claude_files.path_of(client, "profile") if kind == "file" else tmp_path / "shop" / "CLAUDE.md"
    text = written.read_text(encoding="utf-8")
    assert "systemMessage" not in (ask("SessionStart", source="startup") or {})
    written.write_text(text.replace("never npm", "sometimes npm"), encoding="utf-8")
    shared.refresh(home.current())
    told = ask("SessionStart", source="startup", session_id="s2")["systemMessage"]
    assert str(written) in told and "doctor" in told
    assert "systemMessage" not in (ask("SessionStart", source="startup", session_id="s3") or {})
    # What else stands in the file of a project is its user's, and no news.
    written.write_text("my own line\n" + written.read_text(encoding="utf-8"), encoding="utf-8")
    assert ("systemMessage" in (ask("SessionStart", source="startup", session_id="s4") or {})) is (kind == "file")
    capsys.readouterr()
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "sometimes npm" in shown and "never npm" in shown and "draft --revise" in " ".join(shown.split())
