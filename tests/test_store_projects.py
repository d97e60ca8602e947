"""Project identity: a project keeps its entries when it gets a remote or moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from experience_forge.clients import claude_files
from experience_forge.errors import Refused, Text
from experience_forge.store import files, home, installs, projects
from experience_forge.store.projects import Project


def repository(folder, remote=""):
    """A git folder made of its files alone."""
    git = folder / ".git"
    git.mkdir(parents=True, exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    text = f'[remote "origin"]\n\turl = {remote}\n' if remote else "[core]\n"
    (git / "config").write_text(text, encoding="utf-8")
    return folder


def test_a_project_that_gets_a_remote_keeps_its_earlier_id(tmp_path):
    """The id of the git folder stays an alias of the id by remote."""
    here = home.current()
    folder = repository(tmp_path / "shop")
    before = projects.current(here, str(folder))
    projects.record(here, before)
    repository(folder, "git@github.com:team/shop.git")
    after = projects.current(here, str(folder))
    assert after.id != before.id and before.id in after.ids


def test_a_recorded_project_that_moves_keeps_all_its_ids(tmp_path):
    """After a move the remote finds it again, with the ids of its earlier place."""
    here = home.current()
    folder = repository(tmp_path / "shop", "https://token@github.com/team/shop.git")
    projects.record(here, projects.current(here, str(folder)))
    first = projects.all(here)[0]
    moved = folder.rename(tmp_path / "shop-moved")
    found = projects.current(here, str(moved))
    assert found.id == first.id and set(first.ids) <= set(found.ids)


def test_ssh_and_https_are_the_same_project(tmp_path):
    """Two clones of one remote, by ssh and by https with credentials, are one project."""
    one = projects.current(home.current(), str(repository(tmp_path / "a", "ssh://git@github.com:22/team/shop.git")))
    two = projects.current(home.current(), str(repository(tmp_path / "b", "https://me:secret@github.com/team/shop")))
    assert one.id == two.id


def test_a_damaged_list_of_projects_counts_as_empty(tmp_path):
    """A broken projects.json stops nothing, and recording makes it anew."""
    here = home.current()
    here.root.mkdir(parents=True)
    (here.root / "projects.json").write_text("{broken", encoding="utf-8")
    project = projects.current(here, str(tmp_path))
    projects.record(here, project)
    assert [p.id for p in projects.all(here)] == [project.id]


@pytest.mark.parametrize("write", ["project", "install", "blocks"])
def test_a_record_that_cannot_be_read_is_not_written_over(own_home, monkeypatch, write):
    """A record of several things is left alone when reading it fails: what is written would hold one of them only."""
    here = home.current()
    projects.record(here, Project("one", "One", "/one", ("one",)))
    installs.put(here.root, {"skill_folder": "/one"})
    claude_files.keep_block_files(here, [Path("/one/CLAUDE.md")])
    names = {"project": "projects.json", "install": "install.json", "blocks": "projections.json"}
    before = (here.root / names[write]).read_bytes()
    read = files.read_text

    def failing(path, *rest, **named):
        if path.name == names[write]:
            raise Refused(Text("errors.no_project", project="x")) from PermissionError(13, "no")
        return read(path, *rest, **named)

    monkeypatch.setattr(files, "read_text", failing)
    calls = {
        "project": lambda: projects.record(here, Project("two", "Two", "/two", ("two",))),
        "install": lambda: installs.put(here.root, {"skill_folder": "/two"}),
        "blocks": lambda: claude_files.keep_block_files(here, [Path("/two/CLAUDE.md")]),
    }
    with pytest.raises(Refused):
        calls[write]()
    assert (here.root / names[write]).read_bytes() == before
