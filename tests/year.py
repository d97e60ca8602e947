"""A simulated year: drafts told again and again, projects that drift, sessions through the real hooks, tidied monthly.

Drafts go through `draft`, confirmations through the function behind `confirm`, tidying through `tidy
--apply`, deliveries through the hooks' own dispatch. Nothing but the clock is replaced.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
from collections import Counter
from pathlib import Path

from experience_forge import cli, shared
from experience_forge.core import tokens_estimate
from experience_forge.fast import system
from experience_forge.model import Consent
from experience_forge.store import derived, effects, entries, journal, outcomes, proofs, proposals
from experience_forge.store import home as homes
from month import Client, Clock

ALWAYS = ("reminder.md", "profile.md", "index.md")
TOOLS = ("npm", "pip", "docker", "kubectl", "terraform", "cargo", "mvn", "helm")
THINGS = ("cache", "lockfile", "proxy", "certificate", "schema", "volume", "quota", "migration", "runner", "registry",
          "timezone", "encoding", "token", "webhook", "replica")
SAID = {
    "scenario": ("{tool} runs on the {place} with a new {thing}.", "On the {place} the {thing} of {tool} was changed."),
    "root_cause": ("The {thing} of {tool} is kept per user, and {place} runs as another one.",
                   "{place} uses another user, whose {thing} for {tool} is empty."),
    "right_action": ("Set {flag} and make the {thing} anew before {tool} runs.",
                     "Make the {thing} anew, with {flag} set, then run {tool}."),
    "rule": ("Before {tool} on the {place}: {flag}, and a fresh {thing}.",
             "A fresh {thing} and {flag} come before {tool} on the {place}."),
    "title": ("{tool} fails on the {place} with a stale {thing}", "Stale {thing} breaks {tool} on the {place}"),
}
PLACES = ("build machine", "staging cluster", "laptop", "nightly job")
WISHES = (("Use pnpm for dependencies.", "Use yarn for dependencies.", "npm install *"),
          ("Answer in English.", "Answer in Chinese.", ""),
          ("Use single quotes in code.", "Use double quotes in code.", ""))


class Topic:
    """One lesson that comes up more than once; `words` say in which quarter its project is worked on."""

    def __init__(self, number, rng):
        self.number, self.rng = number, rng
        self.tool, self.thing = rng.choice(TOOLS), THINGS[number % len(THINGS)]
        self.place = PLACES[number % len(PLACES)]
        self.code = f"E{self.tool.upper()}{1000 + number}"
        self.flag = f"{self.tool.upper()}_{self.thing.upper()}_{number}=1"
        self.quarter = number % 4
        self.workflow, self.file = number % 5 == 1, f"conf-{number}.txt" if number % 7 == 3 else ""

    def draft(self):
        """The lesson as one more session would tell it."""
        values = {"tool": self.tool, "thing": self.thing, "place": self.place, "flag": self.flag}
        text = {name: self.rng.choice(forms).format(**values) for name, forms in SAID.items()}
        if self.workflow:
            return self._steps(text)
        error = self.error()
        cited = {"cites": [{"path": self.file, "lines": "1-3"}]} if self.file else {}
        return {
            **cited, "title": text.pop("title"), "kind": "pitfall", "track": "personal", **text, "symptom": error,
            "aliases": [f"{self.tool} 的 {self.thing} 失效（{self.code}）"], "applies_when": [{"error": error}],
            "fails_when": [{"error": error}], "signals": [{"kind": "rework", "quote": "again"}],
        }

    def _steps(self, text):
        title = f"How to renew the {self.thing} of {self.tool} on the {self.place}"
        return {
            "title": title, "kind": "workflow", "track": "personal",
            "when": f"A new {self.thing} is due on the {self.place}.", "steps": text["right_action"],
            "rule": text["rule"], "aliases": [f"{self.tool} 的 {self.thing} 更新步骤"],
            "applies_when": [{"command": f"{self.tool} renew-{self.thing} *"}],
            "fails_when": [{"error": self.error()}], "signals": [{"kind": "rework", "quote": "again"}],
        }

    def error(self):
        """What a session sees."""
        return f"{self.tool}: {self.code} {self.thing} is not valid"


def command(*arguments):
    """One command of ours with its JSON; its talk is kept away from the terminal."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([*arguments, "--json"])
    return code, json.loads(out.getvalue()) if out.getvalue() else {"error": err.getvalue()}


class Year:
    """The state of one run."""

    def __init__(self, folder, seed, months, drafts, sessions):
        self.folder, self.rng, self.clock = Path(folder), random.Random(seed), Clock()
        self.months, self.drafts, self.sessions = months, drafts, sessions
        self.topics = [Topic(number, self.rng) for number in range(max(4, drafts // 4))]
        self.home = homes.current()
        self.report, self.rows, self.said = [], [], Counter()

    def run(self):
        """The whole year; returns its figures."""
        real, real_now, before = system.now, journal.now, os.getcwd()
        project = self.folder / "project"
        project.mkdir(parents=True, exist_ok=True)
        for topic in self.topics:
            if topic.file:
                (project / topic.file).write_text(f"{topic.flag}\nmode = one\nlevel = 2\n", encoding="utf-8")
        os.chdir(project)
        system.now = journal.now = self.clock.text
        try:
            self._install()
            for month in range(self.months):
                self._month(month)
        finally:
            system.now, journal.now = real, real_now
            os.chdir(before)
        return self._figures()

    def _install(self):
        skill = Path.home() / ".claude" / "skills" / "experience-forge"
        skill.mkdir(parents=True, exist_ok=True)
        record = {"version": "0.1.0", "home": str(self.home.root), "python": sys.executable, "hooks": True}
        (skill / ".installed.json").write_text(json.dumps(record), encoding="utf-8")

    def _drift(self, month):
        """Files of the quarter that is over change: what was told about them may hold no more."""
        for topic in self.topics:
            if topic.file and topic.quarter == month * 4 // max(1, self.months) - 1 and topic.number % 2:
                text = f"{topic.flag.lower()} is gone\nevery value moved\nto another file\n"
                Path(topic.file).write_text(text, encoding="utf-8")

    def _month(self, month):
        self._drift(month)
        for part in range(4):
            for _ in range(self._share(self.drafts, month * 4 + part)):
                self._draft(month)
            for number in range(self._share(self.sessions, month * 4 + part)):
                self._session(month, part, number)
        self._tidy(month)
        self.rows.append(self._row(month))
        self.clock.seconds = max(self.clock.seconds, self.start() + (month + 1) * 30 * 86400)

    def start(self):
        """Seconds since 1970 at which the year began."""
        return Clock().seconds

    def _share(self, total, week):
        weeks = self.months * 4
        return total * (week + 1) // weeks - total * week // weeks

    def _topics_of(self, month):
        """What is worked on: each quarter has its projects, and a few lessons are of all times."""
        quarter = month * 4 // max(1, self.months)
        return [topic for topic in self.topics if topic.quarter == quarter or topic.number % 9 == 0]

    def _draft(self, month):
        if self.rng.random() < 0.06:
            given = self._wish()
        else:
            given = self.rng.choice(self._topics_of(month)).draft()
        path = self.folder / "draft.json"
        path.write_text(json.dumps(given), encoding="utf-8")
        code, made = command("draft", "--from", str(path))
        assert code == 0, made
        self._yes(made["drafts"][0]["id"])
        self.said["drafts"] += 1

    def _wish(self):
        one, other, trigger = self.rng.choice(WISHES)
        rule = one if self.rng.random() < 0.7 else other
        return {
            "title": rule.rstrip("."), "kind": "preference", "track": "profile", "rule": rule,
            "why": "The user said so.", "how": "Everywhere.", "aliases": [f"偏好：{rule}"],
            "signals": [{"kind": "preference", "quote": rule}],
            **({"applies_when": [{"command": trigger}]} if trigger else {}),
        }

    def _yes(self, proposal_id):
        proposal = proposals.load(self.home, proposal_id)
        return shared.carry_out(self.home, proposal, Consent("terminal", journal.now(), "terminal"))

    def _session(self, month, part, number):
        client = Client(self.folder / "sessions", f"y{month:02}-{part}-{number:02}", self.clock)
        client.prompt("please go on with the build")
        for topic in self.rng.sample(self._topics_of(month), min(2, len(self._topics_of(month)))):
            if topic.workflow:
                client.run(f"{topic.tool} renew-{topic.thing} now", "done")
                continue
            client.run(f"{topic.tool} run step", topic.error(), True)
            client.run(f"{topic.tool} run step", "ok")
        client.close()
        self.clock.seconds -= 43_200.0 - 3_600.0
        proofs.catch_up(self.home)
        outcomes.catch_up(self.home, self.clock.seconds)
        client.path.unlink()

    def _tidy(self, month):
        plan = command("tidy")[1]["steps"]
        for kind in ("merge", "widen", "outdated"):
            code, made = command("tidy", "--apply", "--kind", kind)
            for proposal in made["proposals"] if code == 0 else ():
                self._yes(proposal["id"])
                why = next((s["values"].get("detail") or f"share {s['values'].get('share')}" for s in plan
                            if s["id"] == proposal["step"]), "")
                self.report.append((month, kind, f"{proposal['title']}: {why}", proposal["step"]))
        for step in plan:
            if step["kind"] == "contradiction":
                self._decide(month, step)
            elif step["kind"] == "review":
                # Whoever is asked about a lesson of a project that is over says that it is.
                reason = "not used for a long time, the user said"
                code, made = command("outdate", step["entries"][0], "--reason", reason)
                if code == 0:
                    self._yes(made["proposal"]["id"])
                    self.report.append((month, "unused", step["values"]["title"], step["id"]))

    def _decide(self, month, step):
        active = {one.entry.id for one in entries.load_all(self.home).deliverable()}
        if not set(step["entries"]) <= active:
            return
        newest = max(step["entries"], key=lambda one: entries.get(self.home, one).entry.updated)
        code, made = command("tidy", "--apply", step["id"], "--keep", newest)
        if code == 0:
            self._yes(made["proposals"][0]["id"])
            self.report.append((month, "contradiction", step["values"]["class"], step["id"]))

    def _row(self, month):
        rules = Path.home() / ".claude" / "rules" / "experience-forge"
        text = sum(tokens_estimate.estimate((rules / name).read_text(encoding="utf-8"))
                   for name in ALWAYS if (rules / name).exists())
        library = entries.load_all(self.home)
        mine = [one for ledger in effects.ledgers(self.home) for one in ledger.exposures
                if ledger.session.startswith(f"y{month:02}-")]
        count = sum(self._share(self.sessions, month * 4 + part) for part in range(4))
        return {
            "month": month + 1, "active": len(library.deliverable()), "all": len(library.entries),
            "always_tokens": text, "sessions": count, "deliveries": len(mine),
            "deliveries_per_session": round(len(mine) / count, 2) if count else 0.0,
        }

    def _figures(self):
        kinds = Counter(kind for _, kind, _, _ in self.report)
        third = max(1, len(self.rows) // 4)

        def mean(rows):
            total = sum(row["sessions"] for row in rows)
            return round(sum(row["deliveries"] for row in rows) / total, 2) if total else 0.0

        return {
            "drafts": self.said["drafts"], "sessions": sum(row["sessions"] for row in self.rows),
            "always_tokens_worst": max(row["always_tokens"] for row in self.rows),
            "deliveries_by_quarter": [mean(self.rows[at:at + third]) for at in range(0, len(self.rows), third)],
            "merged": kinds["merge"] + kinds["widen"], "decided": kinds["contradiction"],
            "outdated": kinds["outdated"] + kinds["unused"], "active_at_end": self.rows[-1]["active"],
            "entries_at_end": self.rows[-1]["all"], "journal_faults": len(journal.check(self.home)),
        }


def simulate(folder, months=12, drafts=200, sessions=300, seed=2026):
    """Run a year; returns (figures, a row for each month, the report of what was tidied and why)."""
    year = Year(folder, seed, months, drafts, sessions)
    (Path(folder) / "sessions").mkdir(parents=True, exist_ok=True)
    derived.rebuild(homes.current())
    figures = year.run()
    return figures, year.rows, year.report
