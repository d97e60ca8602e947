"""Conditions, and the outcome of an opportunity."""

from __future__ import annotations

import inspect

import pytest

from experience_forge.core import conditions, history, judge
from experience_forge.core.steps import steps_of
from experience_forge.model import Condition, Episode, Event, EventKind, Speaker
from experience_forge.store import condition_rules

LISTS = condition_rules.lexicon()


class Session:
    """Builds events line by line."""

    def __init__(self):
        self.events, self.line, self.turn = [], 0, -1

    def prompt(self, text, speaker=Speaker.PERSON):
        self.line, self.turn = self.line + 1, self.turn + 1
        self.events.append(Event(EventKind.PROMPT, self.line, self.turn, speaker, text))
        return self.line

    def run(self, command, output="", failed=False, denied=False, path="", tool="Bash"):
        self.line += 2
        ident = f"c{self.line}"
        self.events.append(Event(
            EventKind.CALL, self.line - 1, self.turn, Speaker.MODEL, tool=tool, call_id=ident, command=command,
            path=path,
        ))  # fmt: skip
        self.events.append(Event(
            EventKind.RESULT, self.line, self.turn, Speaker.TOOL, output, tool=tool, call_id=ident, command=command,
            path=path, failed=failed, denied=denied,
        ))  # fmt: skip
        return self.line - 1

    def edit(self, path, output="", failed=False):
        return self.run("", output, failed, path=path, tool="Edit")


def judged(session, fails, trigger, **more):
    made = conditions.matchers([Condition(**one) for one in fails], condition_rules.weights())
    return judge.judge(steps_of(session.events), made, trigger, **more)


NPM = {"error": "EACCES: permission denied, mkdir '/usr/lib/node_modules'"}


def test_the_same_error_after_the_trigger_is_bad_with_its_line():
    """Bad: the error signature came back with another path, behind a pipe that hides the failure."""
    session = Session()
    session.prompt("install it")
    trigger = session.run("npm install x", "npm ERR! EACCES: permission denied, mkdir '/usr/lib/node_modules/x'", True)
    session.run("ls", "a b")
    again = session.run("npm install y | tail -3", "EACCES: permission denied, mkdir '/usr/lib/node_modules/y'")
    assert judged(session, [NPM], trigger) == judge.Judged("bad", "came_back", again + 1)


def test_the_result_of_the_triggering_call_is_not_held_against_the_entry():
    """The entry arrives together with that result: only later steps count."""
    session = Session()
    trigger = session.run("npm install x", "EACCES: permission denied, mkdir '/usr/lib/node_modules'", True)
    session.run("sudo npm install x", "added 3 packages")
    assert judged(session, [NPM], trigger).outcome == "good"


def test_a_session_that_ended_at_the_trigger_is_unknown_not_good():
    """Nothing followed in which the failure could have shown itself."""
    session = Session()
    session.prompt("go")
    trigger = session.run("npm install x", "added 3 packages")
    assert judged(session, [NPM], trigger) == judge.Judged("unknown", "nothing_followed")


def test_a_correction_by_words_needs_a_later_prompt_of_the_person():
    """Words are looked for in what the person says, not in machine text; silence is unknown."""
    session = Session()
    trigger = session.run("git push", "ok")
    session.prompt("<task-notification> use rebase, not merge", Speaker.MACHINE)
    assert judged(session, [{"words": "rebase merge"}], trigger).outcome == "unknown"
    said = session.prompt("I told you: rebase, do not merge")
    assert judged(session, [{"words": "rebase merge"}], trigger) == judge.Judged("bad", "came_back", said)
    other = Session()
    trigger = other.run("git push", "ok")
    last = other.prompt("thanks, next task")
    assert judged(other, [{"words": "rebase merge"}], trigger) == judge.Judged("good", "did_not_come_back", last)


def test_words_in_chinese_are_found_in_a_longer_sentence():
    """Bigrams: the corrected words need not stand next to each other."""
    session = Session()
    trigger = session.run("git push", "ok")
    session.prompt("又忘了，提交之前要先跑测试")
    assert judged(session, [{"words": "提交 测试"}], trigger).outcome == "bad"


def test_a_forbidden_command_is_found_inside_a_longer_line():
    """`cd x && pip install -U hermes` holds the forbidden command; a quoted mention does not."""
    session = Session()
    trigger = session.run("hermes update", "Already up to date")
    session.run("echo 'pip install -U hermes'")
    assert judged(session, [{"command": "pip install -U hermes*"}], trigger).outcome == "good"
    session.run("cd /x && pip install -U hermes==2")
    assert judged(session, [{"command": "pip install -U hermes*"}], trigger).outcome == "bad"


def test_command_and_error_must_hold_at_the_same_call():
    """All parts of one condition belong together."""
    fails = [{"command": "pytest *", "error": "ModuleNotFoundError: No module named 'yaml'"}]
    session = Session()
    trigger = session.run("pip install pyyaml", "ok")
    session.run("python x.py", "ModuleNotFoundError: No module named 'yaml'", True)
    session.run("pytest -q", "3 passed")
    assert judged(session, fails, trigger).outcome == "good"
    session.run("pytest -q", "E   ModuleNotFoundError: No module named 'yaml'", True)
    assert judged(session, fails, trigger).outcome == "bad"


def test_reading_a_file_that_mentions_the_error_is_not_the_error():
    """What the model reads (or our own command prints) is no outcome."""
    session = Session()
    trigger = session.run("npm install x", "added 1 package")
    session.run("", "EACCES: permission denied, mkdir '/usr/lib/node_modules'", path="docs/faq.md", tool="Read")
    session.run("experience-forge show npm-eacces", "EACCES: permission denied, mkdir '/usr/lib/node_modules'")
    session.run("/home/u/.local/share/experience-forge/bin/experience-forge show x", NPM["error"])
    session.run("ls", "a")
    assert judged(session, [NPM], trigger).outcome == "good"


def test_a_command_that_only_shows_things_is_believed_about_itself_alone():
    """A diff that holds the error text is no error; what the program itself complains of is."""
    session = Session()
    trigger = session.run("npm install x", "added 1 package")
    session.run("git diff src", "+  throw new Error('EACCES: permission denied, mkdir /usr/lib/node_modules')")
    assert judged(session, [NPM], trigger).outcome == "good"
    session.run("cat /root/x", "cat: /root/x: Permission denied")
    assert judged(session, [{"error": "Permission denied"}], trigger).outcome == "bad"


def test_a_path_condition_is_about_what_is_written():
    """Reading the file is no edit; beside a command pattern a word of the command may be the path."""
    session = Session()
    trigger = session.run("npm install x", "added 1 package")
    session.run("", "text", path="/p/src/a.ts", tool="Read")
    session.edit("/p/docs/b.md", "ok")
    assert judged(session, [{"path": "src/*.ts"}], trigger).outcome == "good"
    session.run("rm -f src/a.ts", "")
    assert judged(session, [{"command": "rm *", "path": "src/*.ts"}], trigger).outcome == "bad"
    session.edit("/p/src/a.ts", "ok")
    assert judged(session, [{"path": "**/src/*.ts"}], trigger).outcome == "bad"


def test_a_refused_call_says_nothing():
    """The text of a denial is no tool output."""
    session = Session()
    trigger = session.run("npm install x", "added 1 package")
    session.run("npm install y", NPM["error"], failed=True, denied=True)
    assert judged(session, [NPM], trigger).outcome == "unknown"


def test_damaged_lines_after_the_trigger_make_a_good_outcome_unknown():
    """The failure may hide in a torn line; a failure that is seen stays bad."""
    session = Session()
    trigger = session.run("npm install x", "ok")
    session.run("ls", "a")
    assert judged(session, [NPM], trigger, damaged=[trigger - 1]).outcome == "good"
    assert judged(session, [NPM], trigger, damaged=[99]) == judge.Judged("unknown", "damaged_lines", 99)


@pytest.mark.parametrize(("fails", "trigger", "reason"), [
    ([], 1, "no_falsifier"), ([{"error": "FAIL"}], 1, "no_falsifier"), ([{"words": "the of"}], 1, "no_falsifier"),
    ([NPM], 0, "no_trigger_line"),
    ([NPM], 500, "no_trigger_line"),
])  # fmt: skip
def test_what_can_not_be_judged_says_why(fails, trigger, reason):
    """Unknown has a reason each time."""
    session = Session()
    session.run("npm install x", "ok")
    assert judged(session, fails, trigger, last_line=2) == judge.Judged("unknown", reason)


def test_the_judge_can_not_see_the_arm():
    """Neither its arguments nor what it imports hold a coin."""
    source = inspect.getsource(judge)
    assert {"arm", "shown", "withheld", "coin", "ledger"}.isdisjoint(inspect.signature(judge.judge).parameters)
    assert not any(word in source for word in ("withheld", "holdout", "import coin", "eprocess"))


def test_history_gives_the_same_judgements_as_the_session_itself():
    """Kept words are enough: the outcome from the compact history equals that from the transcript."""
    session = Session()
    session.prompt("install, then rebase")
    first = session.run("npm install x", "npm ERR! EACCES: permission denied, mkdir '/usr/lib/node_modules'", True)
    session.edit("src/a.ts", "File has not been read yet", True)
    second = session.run("hermes update", "Already up to date.")
    session.run("make", "\n".join(["compiling"] * 50 + [NPM["error"]] + ["done"] * 50))
    session.prompt("不要 merge, rebase")
    kept = history.steps_from(history.history_lines(session.events, LISTS))
    for fails in ([NPM], [{"error": "Already up to date"}], [{"words": "rebase merge"}], [{"path": "src/*.ts"}]):
        made = conditions.matchers([Condition(**one) for one in fails], condition_rules.weights())
        for trigger in (first, second):
            live = judge.judge(steps_of(session.events), made, trigger)
            assert judge.judge(kept, made, trigger) == live, (fails, trigger)


def test_history_keeps_no_text_and_is_redacted_first():
    """Outputs and prompts are words only, after the redactor has seen them."""
    session = Session()
    session.prompt("my key is hunter2secret please")
    session.run("curl -H token=hunter2secret x", "error: bad token hunter2secret")
    lines = history.history_lines(session.events, LISTS, lambda text: text.replace("hunter2secret", "[gone]"))
    assert "hunter2secret" not in repr(lines)
    assert set(lines[0]) == {"l", "t", "w"}


def test_conditions_are_proposed_from_the_failing_command_and_its_error():
    """The error line is trigger and falsifier; a correction is a falsifier by its words."""
    episode = Episode(
        (1, 3), (1, 30), 2, "yes", paths=("src/app.py",),
        errors=("Traceback (most recent call last):\n  File '/a/b.py'\nModuleNotFoundError: No module named 'yaml'",),
        commands=("cd /x && python3 -m pytest tests -q",),
    )
    applies, fails = conditions.proposed(episode, LISTS, ["不对，要用 pyyaml 的 CSafeLoader"])
    assert applies == (Condition(error="ModuleNotFoundError: No module named 'yaml'"),)
    assert fails[0] == applies[0]
    assert fails[1].words == "pyyaml CSafeLoader"
    assert conditions.testable(applies, fails)


@pytest.mark.parametrize(("command", "pattern"), [
    ("cd /x && npm install --save left-pad 2>&1 | tail", "npm install *"), ("ls -la; cat x", ""),
    ("FOO=1 sudo docker compose up -d", "docker compose *"), ("./gradlew build", "gradlew *"),
    ("python3 -m pytest -q", "python3 -m pytest *"), ("git -C x push origin main", "git x *"),
])
def test_a_command_becomes_a_pattern_of_its_telling_words(command, pattern):
    """Everyday programs make no trigger."""
    assert conditions.pattern_of(command, LISTS) == pattern


def test_a_draft_without_a_usable_condition_can_not_be_tested():
    """Stop words, a lone star or an empty error are no claim."""
    assert not conditions.testable([Condition(words="the and")], [Condition(error="Error")])
    assert not conditions.testable([Condition(command="npm *")], [])
    assert not conditions.testable([Condition(command="*")], [Condition(command="npm *")])
