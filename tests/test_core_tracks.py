"""Routing: the track follows the scope of effect, and the reason says why."""

from __future__ import annotations

import pytest

from experience_forge.core import tracks
from experience_forge.errors import Invalid
from experience_forge.model import Cite, Condition, Kind, Track
from experience_forge.store import ruleset
from helpers_projection import entry

RULES = tracks.rules_of(ruleset.load("tracks"))


def route(one, language="en", project="0123456789ab", chosen=None, name="shopfront"):
    return tracks.route(one, tracks.Context(RULES, project, name if project else "", chosen, language))


def plain(**fields):
    fields = {"applies_when": (), "tags": (), "title": "A note", "sections": (("rule", "Do it."),), **fields}
    return entry(1, **fields)


@pytest.mark.parametrize(
    ("fields", "track", "word"),
    [
        ({"cites": (Cite("src/a.py"),)}, Track.PROJECT, "cites"),
        ({"applies_when": (Condition(path="services/billing/**"),)}, Track.PROJECT, "services/billing"),
        ({"title": "In this repository, run make first"}, Track.PROJECT, "this repository"),
        ({"title": "shopfront needs its own port"}, Track.PROJECT, "shopfront"),
        ({"title": "本项目的迁移要先锁表"}, Track.PROJECT, "本项目"),
        ({"kind": Kind.PREFERENCE}, Track.PROFILE, "preference"),
        ({"kind": Kind.PREFERENCE, "title": "Use pytest in this project"}, Track.PROJECT, "this project"),
        ({"title": "pip refuses to install", "tags": ("python",)}, Track.DOMAIN, "Python"),
        ({"title": "数据库死锁"}, Track.DOMAIN, "databases"),
        ({"applies_when": (Condition(path="**/*.sql"),), "title": "SQL needs an index"}, Track.DOMAIN, "databases"),
        ({"title": "The installed tool claims its version is up to date"}, Track.PERSONAL, "tools and environment"),
        ({}, Track.PERSONAL, "no domain"),
    ],
)
def test_the_scope_of_effect_decides(fields, track, word):
    """Bound to a project, a lasting preference, a field of knowledge, else the user's own; with its reason."""
    found, _, reason = route(plain(**fields))
    assert (found, word in reason) == (track, True), reason


def test_outside_a_project_nothing_goes_into_one():
    """What is bound to a project stays personal where there is none, and says so."""
    track, _, reason = route(plain(cites=(Cite("a.py"),)), "zh", project="")
    assert track is Track.PERSONAL and "不在项目目录" in reason
    assert route(plain(), project="", chosen=Track.PROJECT)[0] is Track.PERSONAL


def test_the_user_may_override_and_is_told_what_the_rules_say():
    """A chosen track wins; the reason names the other one."""
    track, _, reason = route(plain(kind=Kind.PREFERENCE), "zh", chosen=Track.PERSONAL)
    assert track is Track.PERSONAL and "profile" in reason
    assert route(plain(kind=Kind.PREFERENCE), chosen=Track.PROFILE)[0] is Track.PROFILE
    assert route(plain(), chosen=Track.DOMAIN)[::2] == (
        Track.PERSONAL, "domain track, but no domain of the list fits: kept for you personally")  # fmt: skip


def test_a_stated_domain_of_the_list_wins_over_words():
    """The draft's own domain counts when it is on the list, and not when it is not."""
    assert route(plain(title="pip and python", domain="security"))[1] == "security"
    assert route(plain(title="pip and python wheel", domain="cooking"))[1] == "python"


def test_users_domains_extend_the_list():
    """New domains and more words for shipped ones; all faults at once."""
    own = {"games": {"name": "Games", "words": ["godot", "引擎"]}, "python": {"words": {"en": ["hatchling"]}}}
    rules = tracks.rules_of(ruleset.load("tracks"), own)
    context = tracks.Context(rules)
    assert tracks.route(plain(title="godot 引擎 crash"), context)[1] == "games"
    assert tracks.route(plain(title="hatchling and pip"), context)[:2] == (Track.DOMAIN, "python")
    with pytest.raises(Invalid) as caught:
        tracks.rules_of(ruleset.load("tracks"), {"Bad Name": {}, "x": {"words": "text"}, "y": 3})
    assert len(caught.value.faults) == 3


def test_every_domain_has_a_name_in_both_languages_and_near_ones_exist():
    """The shipped list holds together."""
    for name, domain in RULES.domains.items():
        assert domain.name("en") and domain.name("zh") and name in domain.words
        assert set(domain.near) <= set(RULES.domains) and domain.near and name not in domain.near


@pytest.mark.parametrize(("asked", "found"), [
    ("git", "git"), ("docker", "containers"), ("K8s", "containers"), ("容器", "containers"), ("nonsense", "nonsense"),
])
def test_a_domain_may_be_named_by_one_of_its_words(asked, found):
    """What the user names is what is meant, not what the text weighs; an unknown name stays as it is."""
    assert tracks.named(asked, RULES.domains) == found
    one = plain(title="Tag by git commit", domain=asked)
    assert tracks.domain_of(one, RULES) == (found if found != "nonsense" else "git")
