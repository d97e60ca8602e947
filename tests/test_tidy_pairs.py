"""Pairs of entries, candidates and clusters: what is the same, what stays apart, what is kept between runs."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
from pathlib import Path

import pytest
import yaml

from experience_forge.core import clusters, pairs
from experience_forge.model import Condition
from experience_forge.store import entries as stored_entries
from experience_forge.store import home, journal, relations, sketches, tidying
from helpers import entry
from test_tidy_commands import pool, pool_again

BENCHES = Path(__file__).parent / "benches"
sys.path.insert(0, str(BENCHES))

import _big_home  # noqa: E402
import tidy as bench  # noqa: E402


def own_pairs():
    """The pairs on which thresholds were chosen, in the form of the labelled set."""
    names = ("kind", "track", "domain", "title", "aliases", "applies_when", "sections", "guard")
    items = yaml.safe_load((Path(__file__).parent / "data" / "pairs_own.yaml").read_text(encoding="utf-8"))
    return [{**item, **{side: dict(zip(names, item[side], strict=False)) for side in "ab"}} for item in items]


def test_every_pair_of_the_own_set_is_judged_as_labelled():
    """On the pairs that thresholds were chosen on nothing is judged otherwise than labelled."""
    wanted = {"same": {"same"}, "contradiction": {"contradiction"},
              "sibling": {"sibling", "near", "other"}, "unrelated": {"sibling", "near", "other"}}
    items = own_pairs()
    judged = zip(items, bench.judged(items), strict=True)
    wrong = [(item["a"]["title"], label, what) for item, (label, _, what) in judged if what not in wanted[label]]
    assert wrong == []


def test_pairs_of_the_own_set_say_the_same_both_ways_round():
    """What a pair is does not depend on which entry comes first."""
    items = own_pairs()
    turned = [{**item, "a": item["b"], "b": item["a"]} for item in items]
    assert [what for *_, what in bench.judged(items)] == [what for *_, what in bench.judged(turned)]


def test_chinese_words_that_only_ask_for_something_name_no_subject():
    """一律 and 依赖用 tell no two rules apart; another tool, another verb or a forbidding word still does."""
    def preference(name, title, rule):
        return entry(name, title=title, aliases=(), language="zh", applies_when=(Condition(command="npm install *"),),
                     sections=(("rule", rule), ("why", "锁文件只有一份"), ("how", "pnpm add")))

    def relation(*two):
        return pairs.Judge(two, tidying.rules()).relation(0, 1).what

    first = preference("a", "装依赖用 pnpm", "装依赖用 pnpm，不用 npm。")
    assert relation(first, preference("b", "依赖安装一律 pnpm", "装依赖一律用 pnpm，不要用 npm。")) == "same"
    for number, (title, rule) in enumerate((
        ("装依赖不要用 pnpm", "装依赖不要用 pnpm。"), ("装依赖用 yarn", "装依赖用 yarn。"),
        ("发布包一律 pnpm", "发布包一律用 pnpm。"),
    )):
        assert relation(first, preference(f"c{number}", title, rule)) != "same", title


def test_labelled_pairs_stay_at_the_bars():
    """On the set that others labelled: duplicates at .95 and .80, no sibling merged, contradictions at .90 and .80."""
    path = Path(__file__).parent / "data" / "pairs.jsonl"
    if not path.exists():
        pytest.skip("tests/data/pairs.jsonl is not there")
    lines = path.read_text(encoding="utf-8").splitlines()
    found = bench.figures_of([json.loads(line) for line in lines if line.strip()])
    assert found["pairs_precision"] >= 0.95 and found["pairs_recall"] >= 0.80
    assert found["siblings_merged"] == 0
    assert found["contradictions_precision"] >= 0.90 and found["contradictions_recall"] >= 0.80


@pytest.mark.parametrize("least", [0.3, 0.5, 0.6, 0.8])
def test_the_join_finds_exactly_the_pairs_above_its_share(least):
    """The prefix-filter join returns the same pairs as comparing all sets with each other."""
    rng = random.Random(3)
    sets = [sorted(rng.sample(range(60), rng.randint(1, 18))) for _ in range(120)]
    sets += [sorted({*one[:-1], rng.randrange(60)}) for one in sets[:40]]
    sizes = [len(one) + rng.randint(0, 3) for one in sets]
    expected = set()
    for b in range(len(sets)):
        for a in range(b):
            common = len(set(sets[a]) & set(sets[b]))
            if common and common >= least * (sizes[a] + sizes[b] - common):
                expected.add((a, b))
    assert clusters.join(sets, sizes, least) == expected


def test_clusters_are_around_a_centre_and_never_chains():
    """A like B and B like C does not put A and C together unless both are like the centre; siblings are kept apart."""
    chain = {(0, 1): 0.5, (1, 2): 0.5, (2, 3): 0.5, (3, 4): 0.5}
    groups = clusters.clusters(chain, 8, lambda one, other: True)
    for group in groups:
        assert all((min(group[0], m), max(group[0], m)) in chain for m in group[1:])
    assert sorted(len(group) for group in groups) == [2, 3]
    star = {(0, 1): 0.5, (0, 2): 0.5}
    assert clusters.clusters(star, 8, lambda one, other: False) == [[0, 1]]
    assert clusters.clusters({(0, n): 0.5 for n in range(1, 20)}, 8, lambda a, b: True)[0][7:] == [7]


def test_a_paraphrase_is_a_candidate_in_a_large_library():
    """Among 400 others two wordings of one lesson are found by what they name, though they share few words."""
    found, _ = _big_home.entries(400, 0)
    all_entries = [*found, pool("one"), pool_again("two")]
    rules = tidying.rules()
    made = clusters.gathered([clusters.sketch_of(e, rules.contradictions.choices) for e in all_entries])
    assert (400, 401) in clusters.candidates(made)


def test_near_entries_come_with_what_they_are_to_each_other():
    """A draft is shown its nearest entries, the same one first."""
    others = [pool("one"), entry("two")]
    rules = tidying.rules()
    made = clusters.gathered([clusters.sketch_of(e, rules.contradictions.choices) for e in others])
    from experience_forge.core import tidy

    near = tidy.near(pool_again("draft"), others, made, rules, 3)
    assert [(other.id, relation.what) for other, relation in near] == [("one", pairs.SAME)]


def test_what_is_kept_between_runs_changes_no_plan(tmp_path):
    """A plan from kept sketches and relations is the plan made anew, also after an entry changed."""
    found, _ = _big_home.entries(220, 20)
    where = home.current()
    _big_home.fill(where, found)
    today = "2026-10-01"

    def plan():
        return tidying.plan(where, stored_entries.load_all(where), today)

    first, second = plan(), plan()
    assert first == second
    digests = [one.sha256 for one in stored_entries.load_all(where).deliverable()]
    assert relations.load(where, digests, tidying.rules_digest())
    assert relations.load(where, digests, "other rules") == {}
    for name in ("relations.json", "sketches.json"):
        (where.derived / name).unlink()
    assert plan() == first
    for name in ("relations.json", "sketches.json"):
        (where.derived / name).write_text('{"v": "1", "items": [', encoding="utf-8")
    assert plan() == first


def test_sketches_follow_changed_bytes():
    """An entry whose bytes changed gets a new sketch."""
    where = home.current()
    one = stored_entries.StoredEntry(pool(), where.root / "x", "personal/pool-dry.md", "a" * 64)
    choices = tidying.rules().contradictions.choices
    before = sketches.of(where, [one], choices, "r").words_of(0)
    changed = dataclasses.replace(one, entry=pool_again("pool-dry"), sha256="b" * 64)
    after = sketches.of(where, [changed], choices, "r").words_of(0)
    assert before != after and "replica" in after
    assert journal.read(where) == []
