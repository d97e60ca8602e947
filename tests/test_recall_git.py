"""Project identity, branch and last commits, read from git's files."""

from __future__ import annotations

import subprocess

import pytest

from experience_forge.fast import git


def run(folder, *words):
    """Run git in a folder."""
    settings = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """A repository with two commits on a branch."""
    folder = tmp_path / "work"
    folder.mkdir()
    run(folder, "init")
    for text in ("first step", "修复登录表单"):
        run(folder, "commit", "--allow-empty", "-m", text)
    run(folder, "checkout", "-b", "feature/login")
    return folder


@pytest.mark.parametrize("url", [
    "git@example.org:acme/app.git", "ssh://git@example.org:22/acme/app.git", "https://example.org/acme/app",
    "https://user:secret@EXAMPLE.org:443/acme/app.git/", "http://example.org/acme/app.git", "git://example.org/acme/app",
])
def test_one_remote_in_any_dress_is_one_project(url):
    """Scheme, credentials, default port and `.git` do not matter."""
    assert git.normalised(url) == "example.org/acme/app"


@pytest.mark.parametrize("url", ["/srv/git/app.git", "../app", "C:\\git\\app"])
def test_a_local_remote_has_no_host(url):
    """A path stays a path."""
    assert git.normalised(url) == url.replace("\\", "/").removesuffix(".git")


def test_branch_and_last_messages(repository):
    """The branch's name and the last commits, newest first, without starting git."""
    found = git.project(str(repository))
    assert git.branch(found.git) == "feature/login"
    assert git.messages(found.git) == ["修复登录表单", "first step"]


def test_worktrees_and_folders_below_share_the_project(repository, tmp_path):
    """A worktree, and a folder below, have the id of the repository, and their own branch."""
    run(repository, "worktree", "add", str(tmp_path / "other"), "main")
    (repository / "a" / "b").mkdir(parents=True)
    ids = {git.project(str(path)).id for path in (repository, repository / "a" / "b", tmp_path / "other")}
    assert len(ids) == 1
    assert git.branch(git.project(str(tmp_path / "other")).git) == "main"


def test_a_remote_keeps_the_ids_before(repository):
    """When a project gets a remote, the id that it had stays among its ids."""
    before = git.project(str(repository))
    run(repository, "remote", "add", "origin", "git@example.org:acme/app.git")
    after = git.project(str(repository))
    assert after.id != before.id and before.id in after.ids and after.name == "app"


def test_a_moved_project_keeps_its_entries_by_the_settings(tmp_path):
    """Ids that the settings know for a project are among its ids."""
    found = git.project(str(tmp_path))
    assert git.project(str(tmp_path), {found.id: ["0123456789ab"]}).ids[:2] == [found.id, "0123456789ab"]


def test_outside_of_git_the_folder_is_the_project(tmp_path):
    """Twelve hex digits and a name to read; a link leads to the same project."""
    found = git.project(str(tmp_path))
    assert len(found.id) == 12 and found.name == tmp_path.name and not found.git
    (tmp_path.parent / "link").symlink_to(tmp_path)
    assert git.project(str(tmp_path.parent / "link")).id == found.id


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: ../nowhere", "x" * 9000])
def test_a_strange_git_file_does_no_harm(tmp_path, text):
    """A `.git` that leads nowhere leaves the folder a project."""
    (tmp_path / ".git").write_text(text, encoding="utf-8")
    found = git.project(str(tmp_path))
    assert len(found.id) == 12 and git.branch(found.git) == "" and git.messages(found.git) == []
