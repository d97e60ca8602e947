"""Tidy, merge, outdate: what the plan says, what its proposals change, and what a crash leaves."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest

from experience_forge import cli, shared, tidy_steps
from experience_forge.core import codec, growing, merging, projection, tidy
from experience_forge.core.changes import Change
from experience_forge.model import Condition, Consent, Guard, Kind, Source, Status, Track
from experience_forge.store import (
    backtest,
    config,
    entries,
    files,
    home,
    journal,
    ledger,
    library,
    proposals,
    templates,
    tidying,
    tuned,
)
from helpers import confirm, entry, tree
from helpers_sessions import Transcript
from test_store_library import dying_at


def said(rule, why="It was so."):
    """The sections of a preference."""
    return (("rule", rule), ("why", why), ("how", "As said."))


def pool(entry_id="pool-dry", **fields):
    """A pitfall of two wordings."""
    values = {
        "kind": Kind.PITFALL, "title": "Postgres connection pool runs dry under load",
        "aliases": ("数据库连接耗尽",),
        "applies_when": (Condition(error="remaining connection slots are reserved"),),
        "fails_when": (Condition(error="remaining connection slots are reserved"),),
        "sections": (
            ("scenario", "The API is scaled to ten pods."),
            ("symptom", "FATAL: remaining connection slots are reserved for superuser connections"),
            ("root_cause", "Each pod opens a pool of twenty; max_connections is a hundred."),
            ("right_action", "Put PgBouncer in transaction mode before it and shrink the pools."),
            ("rule", "Pool size times pods must stay under max_connections; use PgBouncer beyond that."),
        ),
    }
    return entry(entry_id, **{**values, **fields})


def pool_again(entry_id="pool-scaled", **fields):
    """The same one, told again."""
    values = {
        "title": "FATAL: remaining connection slots are reserved, after scaling out", "aliases": ("扩容后连不上库",),
        "applies_when": (
            Condition(error="FATAL: remaining connection slots are reserved"), Condition(words="pgbouncer pods")),
        "sections": (
            ("scenario", "More replicas of the service were started."),
            ("symptom", "New connections are refused by Postgres."),
            ("root_cause", "Sum of all pools goes past max_connections (100)."),
            ("right_action", "PgBouncer with transaction pooling, smaller pool per replica."),
            ("rule", "Multiply pool size by replicas before you scale; PgBouncer if it does not fit."),
        ),
    }
    return pool(entry_id, **{**values, **fields})


def run(capsys, *arguments):
    """A command's exit code and its JSON."""
    code = cli.main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def say_yes(proposal_id):
    """Confirm a proposal at a terminal."""
    where = home.current()
    proposal = proposals.load(where, proposal_id)
    return shared.carry_out(where, proposal, Consent("terminal", journal.now(), "terminal"))


def steps_of(capsys, kind):
    """The steps of one kind in today's plan."""
    return [step for step in run(capsys, "tidy")[1]["steps"] if step["kind"] == kind]


def test_two_wordings_are_merged_and_both_ids_lead_to_the_new_entry(capsys):
    """A merge keeps both parents as superseded, takes both triggers, and is taken back by one undo."""
    confirm(pool())
    confirm(pool_again())
    confirm(entry("other"))
    (step,) = steps_of(capsys, "merge")
    assert set(step["entries"]) == {"pool-dry", "pool-scaled"}
    before = {s.entry.id: s.sha256 for s in entries.load_all(home.current()).entries}

    code, made = run(capsys, "tidy", "--apply", step["id"])
    assert code == 0 and [p["change"] for p in made["proposals"]] == ["merge"]
    assert {s.entry.id: s.sha256 for s in entries.load_all(home.current()).entries} == before
    done = say_yes(made["proposals"][0]["id"])

    now = entries.load_all(home.current())
    new = next(s for s in now.entries if s.entry.parents)
    assert set(new.entry.parents) == {"pool-dry", "pool-scaled"} and new.deliverable
    assert {c.error or c.words for c in new.entry.applies_when} == {
        "remaining connection slots are reserved", "FATAL: remaining connection slots are reserved", "pgbouncer pods"}
    for parent in new.entry.parents:
        assert now.by_id()[parent].entry.status is Status.SUPERSEDED
        assert entries.heir(home.current(), parent).entry.id == new.entry.id
    assert steps_of(capsys, "merge") == []

    code, made = run(capsys, "undo", str(done.applied.record["seq"]))
    say_yes(made["proposal"]["id"])
    assert {s.entry.id: s.sha256 for s in entries.load_all(home.current()).entries} == before


def test_a_parents_id_leads_to_the_merged_entry_in_every_verb(capsys):
    """`log`, `effect`, `guard` and `move` take a merged id for its heir, say so, and show what the parent delivered."""
    digest = confirm(pool()).record["files"][0]["after"]
    confirm(pool_again())
    ledger.append(home.current(), "s1", {
        "what": "exposure", "entry": "pool-dry", "sha256": digest, "event": "PreToolUse", "place": "PreToolUse",
        "form": "remind", "characters": 9, "why": "words"})
    (step,) = steps_of(capsys, "merge")
    _, made = run(capsys, "tidy", "--apply", step["id"])
    say_yes(made["proposals"][0]["id"])
    heir = next(s.entry.id for s in entries.load_all(home.current()).entries if s.entry.parents)
    code, found = run(capsys, "log", "pool-dry")
    assert (code, found["entry"]) == (0, heir) and [one["entry"] for one in found["deliveries"]] == ["pool-dry"]
    assert run(capsys, "log", heir)[1] == found
    code, found = run(capsys, "effect", "pool-dry")
    assert (code, found["entry"], [one["entry"] for one in found["earlier"]]) == (0, heir, ["pool-dry"])
    for verb in (["log"], ["effect"], ["move", "--to", "project"]):
        assert cli.main([verb[0], "pool-dry", *verb[1:]]) == 0
        assert f"'pool-dry' was merged into '{heir}'." in capsys.readouterr().err
    (proposal,) = proposals.all(home.current())
    assert proposal.id == f"move-{heir}"[:64]


def test_siblings_with_other_errors_are_never_merged(capsys):
    """Two errors of one tool that differ by their code stay two entries, however alike the texts are."""
    for code in ("61", "65"):
        confirm(pool(f"class-file-{code}", title=f"Maven: unsupported class file major version {code}",
                     applies_when=(Condition(command="mvn *", error=f"Unsupported class file major version {code}"),)))
    assert steps_of(capsys, "merge") == []


def test_a_merge_that_loses_a_trigger_is_refused():
    """What fired in a kept session has to fire there after the merge; a lost place is named."""
    where = home.current()
    folder = backtest.folder(where)
    files.make_folder(folder)
    lines = [{"v": 1, "session": "s1", "client": "claude-code", "cwd": "/w", "started": "", "path": ""},
             {"l": 5, "t": 0, "c": "npm install left-pad", "r": 6}]
    files.write_text(folder / "s1.jsonl", "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    parent = entry("a", applies_when=(Condition(command="npm install *"),))
    without = entry("b", applies_when=(Condition(command="yarn add *"),))
    assert list(map(str, tidying.lost_fires(where, [parent], without))) == ["a: session s1 line 5"]
    assert tidying.lost_fires(where, [parent], parent) == []


def test_a_contradiction_waits_for_a_decision(capsys):
    """Two choices for one thing are shown with the narrower scope winning, and nothing happens without --keep."""
    trigger = {"applies_when": (Condition(command="pip install *"),)}
    confirm(entry("answer-en", track=Track.PROFILE, title="Dependencies by Poetry", aliases=("python 用 poetry",),
                  sections=said("Use Poetry to manage dependencies."), **trigger))
    confirm(entry("answer-uv", track=Track.PROJECT, project="p1", title="uv manages our environments",
                  aliases=("用 uv",), sections=said("Manage dependencies with uv."), **trigger))
    (step,) = steps_of(capsys, "contradiction")
    assert step["values"]["class"] == "choice" and step["values"]["wins"] == "answer-uv"
    assert cli.main(["tidy", "--apply", step["id"]]) == 1
    assert "--keep" in capsys.readouterr().err
    _, made = run(capsys, "tidy", "--apply", step["id"], "--keep", "answer-uv")
    say_yes(made["proposals"][0]["id"])
    stored = entries.get(home.current(), "answer-en")
    assert stored.entry.status is Status.OUTDATED and "answer-uv" in stored.entry.status_reason
    assert not stored.deliverable


def test_guard_that_lets_pass_and_guard_that_denies_are_put_to_the_user(capsys):
    """One entry lets an action pass that the other denies."""
    confirm(entry("apply-fine", guard=Guard.REMIND, title="terraform apply is fine", aliases=("可以 apply",),
                  sections=said("terraform apply may run without asking."),
                  applies_when=(Condition(command="terraform apply *"),)))
    confirm(entry("apply-never", guard=Guard.DENY, title="No terraform apply", aliases=("禁止 apply",),
                  sections=said("The agent must not run terraform apply."),
                  applies_when=(Condition(command="terraform apply *"),)))
    assert [step["values"]["class"] for step in steps_of(capsys, "contradiction")] == ["guard"]


def test_alike_in_two_projects_becomes_one_wider_entry(capsys):
    """An entry confirmed alike in two projects is proposed for a wider track, both as its parents."""
    confirm(pool("a", track=Track.PROJECT, project="p1"))
    confirm(pool_again("b", track=Track.PROJECT, project="p2"))
    (step,) = steps_of(capsys, "widen")
    _, made = run(capsys, "tidy", "--apply", step["id"])
    say_yes(made["proposals"][0]["id"])
    new = next(s.entry for s in entries.load_all(home.current()).entries if s.entry.parents)
    assert (new.track, new.project) == (Track.PERSONAL, "")


def test_what_the_user_called_general_is_proposed_for_a_wider_track(capsys):
    """A project entry whose words say that it holds everywhere is proposed for the user's own track."""
    confirm(entry("ask-first", track=Track.PROJECT, project="p1",
                  sources=(Source(session="s", quote="in all my projects ask before adding a package"),)))
    (step,) = steps_of(capsys, "widen")
    assert step["reason"] == "said_general"
    _, made = run(capsys, "tidy", "--apply", step["id"])
    say_yes(made["proposals"][0]["id"])
    assert entries.get(home.current(), "ask-first").entry.track is Track.PROFILE


def test_age_alone_marks_nothing_and_vital_entries_are_not_asked_about(capsys):
    """A workflow without a match for 90 days is put up for review; a pinned one and a preference are not."""
    workflow = {"kind": Kind.WORKFLOW, "sections": (("when", "x"), ("steps", "y"), ("rule", "z")),
                "created": "2020-01-01", "updated": "2020-01-01", "title": "Release the app", "aliases": ("发布应用",),
                "applies_when": (Condition(words="release the app"),), "fails_when": ()}
    confirm(entry("old-flow", **workflow))
    confirm(entry("vital-flow", **{**workflow, "pinned": True, "title": "Rotate keys",
                           "aliases": ("轮换密钥",), "applies_when": (Condition(words="keys leaked"),), "sections": (
        ("when", "keys leak"), ("steps", "rotate them"), ("rule", "rotate at once"))}))
    confirm(entry("old-wish", created="2020-01-01", updated="2020-01-01"))
    plan = run(capsys, "tidy")[1]["steps"]
    assert [(s["kind"], s["entries"]) for s in plan] == [("review", ["old-flow"])]
    _, made = run(capsys, "tidy", "--apply", plan[0]["id"])
    say_yes(made["proposals"][0]["id"])
    stored = entries.get(home.current(), "old-flow")
    assert stored.entry.status is Status.ACTIVE and stored.entry.review > journal.now()[:10]
    assert run(capsys, "tidy")[1]["steps"] == []


def test_outdate_keeps_the_text_and_stops_delivery(capsys):
    """What the user calls outdated is marked with the reason, kept, and given to no client."""
    confirm(entry())
    code, made = run(capsys, "outdate", "use-pnpm", "--reason", "we moved to bun")
    assert code == 0 and made["proposal"]["change"] == "status"
    say_yes(made["proposal"]["id"])
    stored = entries.get(home.current(), "use-pnpm")
    assert (stored.entry.status, stored.entry.status_reason) == (Status.OUTDATED, "we moved to bun")
    assert not stored.deliverable and stored.entry.sections == entry().sections


def test_dry_run_writes_nothing(capsys):
    """`--dry-run` prints the whole change and leaves the inbox as it is."""
    confirm(pool())
    confirm(pool_again())
    assert run(capsys, "tidy", "--apply", "--kind", "merge", "--dry-run")[0] == 0
    assert run(capsys, "merge", "pool-dry", "pool-scaled", "--dry-run")[0] == 0
    assert run(capsys, "outdate", "pool-dry", "--dry-run")[0] == 0
    assert proposals.all(home.current()) == []


def test_a_profile_line_is_taken_as_it_is_and_observed_ones_carry_their_count(capsys):
    """Of two profile lines the stated one's words stay; the summary says how often the other was seen."""
    stated = {"track": Track.PROFILE, "title": "Ask before adding a dependency", "aliases": ("加依赖前先问我",),
              "sections": said("Ask before adding a new npm dependency.", "Every package is a risk.")}
    observed = {**stated, "title": "Ask before you add a dependency",
                "sections": said("Ask me before adding npm dependencies.", "A package is a risk."),
                "origin": "observed",
                "sources": tuple(Source(session=f"s{n % 3}", at=f"2026-01-0{n + 1}") for n in range(4))}
    confirm(entry("seen", **observed))
    confirm(entry("said", **stated))
    (step,) = steps_of(capsys, "merge")
    _, made = run(capsys, "tidy", "--apply", step["id"])
    text = proposals.load(home.current(), made["proposals"][0]["id"]).text
    assert "seen: seen 4 times in 3 sessions, not tested" in text
    say_yes(made["proposals"][0]["id"])
    new = next(s.entry for s in entries.load_all(home.current()).entries if s.entry.parents)
    assert new.rule == "Ask before adding a new npm dependency." and new.origin == "stated"


@pytest.mark.parametrize("call", ["open", "write", "fsync", "close", "replace", "unlink"])
def test_a_kill_at_any_call_of_a_merge_leaves_old_or_new(call, capsys):
    """Whatever call a crash hits, after recovery all three files are as before, or all are as after."""
    where = home.current()
    for number in range(1, 90):
        one, two = f"a-{call}-{number}", f"b-{call}-{number}"
        confirm(pool(one))
        confirm(pool_again(two))
        _, made = run(capsys, "merge", one, two)
        proposal = proposals.load(where, made["proposal"]["id"])
        before = files.set_calls(dying_at(call, number))
        try:
            library.apply(where, proposal, Consent("terminal", "now", "terminal"))
            finished = True
        except KeyboardInterrupt:
            finished = False
        finally:
            files.set_calls(before)
        library.recover(where)
        states = {e: entries.find(where, e) for e in (one, two, f"{one}-merged")}
        new = states[f"{one}-merged"] is not None
        assert {states[e].entry.status for e in (one, two)} == {Status.SUPERSEDED if new else Status.ACTIVE}
        assert all(s is None or s.state == "confirmed" for s in states.values())
        assert new != (proposal.id in [p.id for p in proposals.all(where)])
        if finished:
            return
    raise AssertionError("the merge makes more than 90 such calls")


def test_a_merge_of_a_changed_parent_is_refused(capsys):
    """A proposal made before a parent changed does not overwrite the change."""
    confirm(pool())
    confirm(pool_again())
    _, made = run(capsys, "merge", "pool-dry", "pool-scaled")
    changed = dataclasses.replace(pool(), revision=2, updated="2026-09-01")
    confirm(changed)
    from experience_forge.errors import Refused

    with pytest.raises(Refused):
        say_yes(made["proposal"]["id"])
    assert codec.render(changed) == entries.get(home.current(), "pool-dry").path.read_text(encoding="utf-8")


def test_list_and_digest_know_states_and_last_deliveries(capsys):
    """`list` finds entries by state and last delivery, `digest` tells of the week, `status` counts one track."""
    confirm(pool())
    stored = confirm(entry("shown"))
    confirm(entry("gone", status=Status.OUTDATED, status_reason="old"))
    ledger.append(home.current(), "s1", {
        "what": "exposure", "entry": "shown", "sha256": stored.record["files"][0]["after"], "place": "prompt"})
    today = journal.now()[:10]

    def ids(*arguments):
        return {one["id"] for one in run(capsys, "list", *arguments)[1]["entries"]}

    assert ids("--state", "outdated") == {"gone"}
    assert ids("--delivered-since", today) == {"shown"}
    assert ids("--not-delivered-since", today) == {"pool-dry"}
    _, week = run(capsys, "digest")
    assert {one["id"] for one in week["saved"]} == {"pool-dry", "shown", "gone"}
    assert week["delivered"] == {"shown": 1} and week["sessions"] == 1
    assert run(capsys, "status", "--track", "profile")[1]["entries"]["personal"] == 0
    assert run(capsys, "status", "--track", "personal")[1]["entries"]["personal"] == 2


def test_a_merge_of_what_does_not_read_as_the_same_warns_with_the_share(capsys):
    """Unrelated entries are merged only with a warning that says how little they have in common."""
    confirm(entry("use-pnpm"))
    confirm(entry("tabs", title="Indent with tabs", aliases=("缩进用制表符",), sections=said("Indent with tabs."),
                  applies_when=(Condition(path="**/*.go"),), fails_when=()))
    code, made = run(capsys, "merge", "use-pnpm", "tabs")
    (warning,) = made["warnings"]
    assert code == 0 and "use-pnpm" in warning and "0.0" in warning
    assert proposals.load(home.current(), made["proposal"]["id"]).meta["warnings"] == [warning]
    confirm(pool())
    confirm(pool_again())
    assert run(capsys, "merge", "pool-dry", "pool-scaled")[1]["warnings"] == []


def test_entries_about_different_errors_are_not_merged_even_when_asked_to(capsys):
    """Error signatures that differ are two cases: `merge` refuses, and names them."""
    confirm(pool())
    confirm(pool("disk-full", title="Postgres stops: no space left on device", aliases=("磁盘满了",),
                 applies_when=(Condition(error="could not extend file: No space left on device"),)))
    assert cli.main(["merge", "pool-dry", "disk-full"]) == 1
    assert "different errors" in capsys.readouterr().err
    assert proposals.all(home.current()) == []


def test_a_merged_entry_fires_wherever_a_parent_fired(capsys):
    """In kept sessions the merge of two pitfalls fires in all places of both, by error, command and symptom."""
    where = home.current()
    confirm(pool())
    confirm(pool_again())
    folder = backtest.folder(where)
    files.make_folder(folder)
    shown = "FATAL: remaining connection slots are reserved for superuser connections"
    transcript = Transcript("s1").prompt("deploy").run("kubectl logs api", shown, failed=True)
    transcript.prompt("why do the pgbouncer pods fail?").run("kubectl get pods", "ok")
    path = transcript.write(where.root.parent / "s1.jsonl")
    backtest.refresh(where, [path])
    parents = [entries.get(where, name).entry for name in ("pool-dry", "pool-scaled")]
    fired = [tidying._fires(where, parent) for parent in parents]
    assert all(fired)
    _, merged = tidying.merged(where, ["pool-dry", "pool-scaled"])
    assert tidying._fires(where, merged) >= set().union(*fired)


def test_of_many_steps_one_that_is_proposed_already_is_left_out(capsys):
    """A second proposal for the same entry could never be confirmed after the first; what is left out is said."""
    for name in ("one", "two"):
        confirm(pool(name, title=f"About {name}", review="2020-01-01", aliases=(),
                     applies_when=(Condition(error=f"could not reach the {name}{name} host"),)))
    steps = [one["id"] for one in run(capsys, "tidy", "--kind", "review")[1]["steps"]]
    assert len(steps) == 2
    (first,) = run(capsys, "tidy", "--apply", steps[0])[1]["proposals"]
    _, made = run(capsys, "tidy", "--apply", "--kind", "review", "--together")
    assert [one["step"] for one in made["skipped"]] == [steps[0]] and first["id"] in made["skipped"][0]["what"]
    assert [one["step"] for one in made["proposals"]] == [steps[1]]


def test_a_parent_says_in_the_users_language_what_became_of_it(capsys):
    """The reason of a superseded entry is a sentence for the user, as all reasons are."""
    confirm(pool())
    confirm(pool_again())
    config.change({"language": "zh"})
    _, made = run(capsys, "merge", "pool-dry", "pool-scaled")
    say_yes(made["proposal"]["id"])
    assert entries.get(home.current(), "pool-scaled").entry.status_reason.startswith("已合并到 pool-dry")


def test_nobody_is_asked_about_a_proposal_that_does_not_fit_any_more(capsys):
    """What has changed since is said before the question, not after the answer."""
    confirm(entry("use-pnpm"))
    code, made = run(capsys, "outdate", "use-pnpm", "--reason", "no more")
    _, other = run(capsys, "outdate", "use-pnpm", "--reason", "another reason")
    assert code == 0
    say_yes(made["proposal"]["id"])
    code = cli.main(["confirm", other["proposal"]["id"], "--digest", other["proposal"]["digest"]])
    said_then = capsys.readouterr()
    assert code == 1 and "does not fit any more" in said_then.err and "change: status" not in said_then.out


def test_contradicting_lines_of_the_profile_are_marked_until_decided(own_home):
    """As soon as the second is confirmed both say so in the loaded file; after a decision neither does."""
    client = own_home / ".claude"
    skill = client / "skills" / "experience-forge"
    skill.mkdir(parents=True)
    record = {"version": "0.1.0", "home": str(home.current().root), "python": "python3", "hooks": True}
    (skill / ".installed.json").write_text(json.dumps(record), encoding="utf-8")
    trigger = {"applies_when": (Condition(command="pip install *"),), "track": Track.PROFILE}
    for name, title, alias, rule in (
        ("by-poetry", "Dependencies by Poetry", "python 用 poetry", "Use Poetry to manage dependencies."),
        ("by-uv", "uv manages our environments", "用 uv", "Manage dependencies with uv."),
    ):
        draft = proposals.create(home.current(), "draft", codec.render(
            entry(name, title=title, aliases=(alias,), sections=said(rule), **trigger)), {}, name)
        say_yes(draft.id)
    profile = client / "rules" / "experience-forge" / "profile.md"
    lines = [line for line in profile.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
    assert len(lines) == 2 and all("undecided" in line for line in lines)
    assert all(any(f"[{name}], undecided" in line for line in lines) for name in ("by-uv", "by-poetry"))
    where = home.current()
    plan = tidying.plan(where, entries.load_all(where), journal.now()[:10])
    (step,) = [s for s in plan.steps if s.kind == "contradiction"]
    assert cli.main(["tidy", "--apply", step.id, "--keep", "by-uv"]) == 0
    (proposal,) = proposals.all(home.current())
    say_yes(proposal.id)
    text = profile.read_text(encoding="utf-8")
    assert "by-uv" in text and "by-poetry" not in text and "undecided" not in text


def test_the_narrower_scope_is_named_in_the_profile_and_not_in_a_teams_file():
    """A profile line says which entry counts where it applies; a project's block does not name personal entries."""
    broad = entry("broad", track=Track.PROFILE, sections=said("Use Poetry."))
    narrow = entry("narrow", track=Track.PROJECT, project="p1", sections=said("Use uv."))
    settings = projection.Settings("en", "forge", False, {}, conflicts={
        "broad": [("gone", "-"), ("narrow", "narrow")], "narrow": [("broad", "narrow")]})
    text = projection.project([broad, narrow], settings, templates.shipped()).files["profile"]
    assert "Use Poetry. (until you decide, [narrow] counts where it applies)" in text
    assert "broad" not in projection.blocks([narrow], settings, templates.shipped())["narrow"]


def test_lines_of_the_index_name_a_contradiction_too():
    """A title can ask for what another forbids: both lines say that it is undecided, long titles as well."""
    long = "Never squash commits " + "in this or that repository " * 6
    mine = [entry("one", title="Always squash commits"), entry("two", title=long)]
    settings = projection.Settings("en", "forge", False, {}, conflicts={"one": [("two", "-")], "two": [("one", "-")]})
    lines = projection.project(mine, settings, templates.shipped()).files["index"].splitlines()
    one, two = (next(line for line in lines if line.startswith(f"- [{name}]")) for name in ("one", "two"))
    assert one.startswith("- [one] Always squash commits (contradicts [two], undecided: ask) — command")
    assert "… (contradicts [one], undecided: ask) — command" in two


def test_the_worker_keeps_the_plan_ready(capsys):
    """After a change the worker finds the contradictions of the whole library once, and then rests."""
    confirm(entry("one", sections=said("Always squash commits."), title="Always squash commits"))
    confirm(entry("two", sections=said("Never squash commits."), title="Never squash commits"))
    where = home.current()
    assert tidying.catch_up(where) == {"planned": True, "changed": True}
    assert set(tidying.conflicts(where)) == {"one", "two"}
    assert tidying.catch_up(where) == {"planned": False, "changed": False}


def test_two_open_drafts_never_claim_one_entry(capsys, tmp_path):
    """A second lesson with the same name gets its own id at once, and the same text again is the same draft."""
    for number in (1, 2, 1):
        path = tmp_path / "draft.md"
        given = entry("same-name", title="Use pnpm here", sections=said(f"Use pnpm for reason {number}."))
        path.write_text(codec.render(given), encoding="utf-8")
        run(capsys, "draft", "--from", str(path), "--track", "personal")
    found = {p.id: p.text.split("\nid: ")[1].split("\n")[0] for p in proposals.all(home.current())}
    assert found == {"same-name": "same-name", "same-name-2": "same-name-2"}
    for name in found:
        say_yes(name)
    assert {s.entry.id for s in entries.load_all(home.current()).entries} == set(found)


def moved_home(own_home):
    """A home with one entry for each kind of change, and a proposal of each."""
    where = home.current()
    confirm(entry("old", cites=()))
    confirm(entry("wide", track=Track.PROJECT, project="p1", origin="stated",
                  sources=(Source("s", "2026-01-01", "in all projects please"),)))
    confirm(entry("keep", track=Track.PROFILE))
    made = {"status": tidy_steps.outdate(where, "old", "gone", lambda name, **values: name)}
    step = tidy.Step("widen-x", "widen", ("wide",), "said_general", {"hint": "x", "title": "t"})
    (made["move"],) = tidy_steps.changes_of(where, step, lambda name, **values: name)
    text = "---\ndescription: text\n---\nbody\n"
    skill = growing.Grown("a-work-experience", "text", text, 1, 1, ("keep",), "command")
    made["grow"] = growing.change(skill, "", [], "en", "summary")
    wanted = {"scoring.weights.design": 1, "tuning.leave_out": ["tags"]}
    made["tuning"] = Change("tuning", "tune", "", "", "en", "x", {}, tuned.writes(where, wanted))
    return {kind: tidy_steps.propose(where, "", change) for kind, change in made.items()}


@pytest.mark.parametrize("kind", ["status", "move", "grow", "tuning"])
@pytest.mark.parametrize("call", ["write", "fsync", "replace", "unlink"])
def test_a_kill_at_any_call_of_a_plans_other_changes_leaves_old_or_new(kind, call, own_home, tmp_path):
    """Outdating, moving, growing, tuning: after recovery all is as before and the proposal open, or as after."""
    proposal = moved_home(own_home)[kind]
    root = home.current().root
    consent = Consent("terminal", "now", "terminal")

    def state(where):
        folders = ("entries", "tuning", "skills", "commands", "agents")
        return {name: data for name, data in tree(where.root).items() if name.split("/")[0] in folders}

    def copied(name):
        shutil.copytree(root, tmp_path / name)
        return home.Home(tmp_path / name)

    whole = copied("whole")
    before = state(whole)
    library.apply(whole, proposal, consent)
    after = state(whole)
    assert before != after
    for number in range(1, 90):
        where = copied(f"{number}")
        calls = files.set_calls(dying_at(call, number))
        try:
            library.apply(where, proposal, consent)
            finished = True
        except KeyboardInterrupt:
            finished = False
        finally:
            files.set_calls(calls)
        library.recover(where)
        assert state(where) in (before, after)
        assert (state(where) == before) == (proposal.id in [p.id for p in proposals.all(where)])
        assert journal.check(where) == []
        shutil.rmtree(where.root)
        if finished:
            return
    raise AssertionError("the change makes more than 90 such calls")


def test_a_dry_run_of_a_move_shows_what_every_loaded_file_loses_and_gets(capsys, own_home):
    """The file that loses the line and the one that gets it are both shown, none is written."""
    skill = own_home / ".claude" / "skills" / "experience-forge"
    skill.mkdir(parents=True)
    record = {"version": "0.1.0", "home": str(home.current().root), "python": "python3", "hooks": True}
    (skill / ".installed.json").write_text(json.dumps(record), encoding="utf-8")
    confirm(entry("wide", kind=Kind.PITFALL, track=Track.PERSONAL, sections=pool().sections))
    shared.refresh(home.current())
    text = (own_home / ".claude" / "rules" / "experience-forge" / "index.md").read_text(encoding="utf-8")
    assert "[wide]" in text
    base = tidying.base_of(home.current(), "wide")
    change = merging.moved(base, Track.PROFILE, "", "", "2026-09-09", "moved")
    shown = {target["path"].rpartition("/")[2]: target["diff"] for target in tidy_steps.targets(home.current(), change)}
    assert set(shown) == {"index.md", "profile.md"}
    assert "-- [wide]" in shown["index.md"] and "[wide]" in shown["profile.md"]
    assert (own_home / ".claude" / "rules" / "experience-forge" / "index.md").read_text(encoding="utf-8") == text


def test_all_steps_of_a_kind_can_be_confirmed_and_undone_as_one(capsys):
    """With --together the merges of a plan are one proposal, one confirmation, one undo."""
    confirm(pool())
    confirm(pool_again())
    for name in ("squash-one", "squash-two"):
        confirm(entry(name, title="Squash the commits of a branch", aliases=("合并提交",),
                      sections=said("Squash the commits of a branch before it is merged."),
                      applies_when=(Condition(command="git merge *"),)))
    before = {s.entry.id: s.sha256 for s in entries.load_all(home.current()).entries}
    _, made = run(capsys, "tidy", "--apply", "--kind", "merge", "--together")
    (proposal,) = made["proposals"]
    done = say_yes(proposal["id"])
    assert len([s for s in entries.load_all(home.current()).deliverable() if s.entry.parents]) == 2
    _, back = run(capsys, "undo", str(done.applied.record["seq"]))
    say_yes(back["proposal"]["id"])
    assert {s.entry.id: s.sha256 for s in entries.load_all(home.current()).entries} == before


def test_the_entry_to_keep_must_be_one_of_the_two(capsys):
    """Another id than those of the step is named as what it is."""
    confirm(entry("one", sections=said("Always squash commits."), title="Always squash commits"))
    confirm(entry("two", sections=said("Never squash commits."), title="Never squash commits"))
    (step,) = steps_of(capsys, "contradiction")
    assert cli.main(["tidy", "--apply", step["id"], "--keep", "nope"]) == 1
    assert "'nope' is neither" in capsys.readouterr().err


def test_what_was_only_observed_says_so_in_the_profile():
    """A stated line stands as it is; an observed one carries how often and in how many sessions it was seen."""
    seen = tuple(Source(f"s{number % 3}", "2026-01-01", "q") for number in range(4))
    stated = entry("stated", track=Track.PROFILE, sections=said("Use pnpm."), sources=seen)
    observed = entry("observed", track=Track.PROFILE, origin="observed", sections=said("Use tabs."), sources=seen)
    settings = projection.Settings("en", "forge", False, {})
    text = projection.project([stated, observed], settings, templates.shipped()).files["profile"]
    assert "Use tabs. (seen 4 times in 3 sessions, not tested)" in text and "Use pnpm. (seen" not in text
    zh = projection.project([dataclasses.replace(observed, language="zh")], settings, templates.shipped())
    assert "3 次会话里见过 4 次，未经检验" in zh.files["profile"]
    for language, mark in (("en", "Use tabs. (observed, not tested)"), ("zh", "Use tabs. （观察所得，未经检验）")):
        alone = dataclasses.replace(observed, language=language, sources=())
        assert mark in projection.project([alone], settings, templates.shipped()).files["profile"]


def test_the_digest_says_when_there_is_nothing(capsys):
    """An empty week ends in whole sentences, not in a heading with nothing under it."""
    assert cli.main(["digest"]) == 0
    shown = capsys.readouterr().out
    assert "delivered: nothing" in shown and "nothing is due" in shown and not shown.rstrip().endswith(":")


def test_the_list_is_filtered_by_track_project_domain_state_and_last_delivery(capsys):
    """Each filter keeps what it names and leaves out the rest; what was never delivered is not delivered since."""
    shown = confirm(entry("shown", track=Track.DOMAIN, domain="docker"))
    confirm(entry("quiet", track=Track.PROJECT, project="p1"))
    confirm(entry("gone", status=Status.OUTDATED, status_reason="x", track=Track.PROFILE))
    ledger.append(home.current(), "s1", {
        "what": "exposure", "entry": "shown", "sha256": shown.record["files"][0]["after"], "form": "remind",
        "at": "2026-08-01T00:00:00Z", "place": "x", "characters": 1})

    def found(*arguments):
        return {one["id"] for one in run(capsys, "list", *arguments)[1]["entries"]}

    assert found() == {"shown", "quiet"} and found("--all") == {"shown", "quiet", "gone"}
    assert found("--track", "domain") == {"shown"} and found("--domain", "docker") == {"shown"}
    assert found("--project", "p1") == {"quiet"} and found("--state", "outdated") == {"gone"}
    assert found("--delivered-since", "2026-07-01") == {"shown"} and found("--delivered-since", "2026-09-01") == set()
    assert found("--not-delivered-since", "2026-09-01") == {"shown", "quiet"}
