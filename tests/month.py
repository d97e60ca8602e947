"""A simulated month: generated sessions whose every hook call goes through the real dispatch."""

from __future__ import annotations

import json
import os
import random
from datetime import datetime, timezone

from experience_forge.fast import dispatch, system
from experience_forge.model import Condition, Guard, Kind
from experience_forge.store import config, derived, effects, outcomes
from experience_forge.store import home as homes
from helpers import confirm, entry

PITFALL = (
    ("scenario", "Installing packages."), ("symptom", "The installer stops."), ("root_cause", "The folder is root's."),
    ("right_action", "Use a prefix of your own."), ("rule", "Set a prefix before installing globally."),
)  # fmt: skip
EACCES = "npm ERR! EACCES: permission denied, mkdir '/usr/lib/node_modules/left-pad'"
COLUMN = "sqlite3.OperationalError: no such column: widget_owner"
ENTRIES = (
    ("npm-eacces", Condition(error="EACCES: permission denied, mkdir '/usr/lib/node_modules'"), None, {}),
    ("terraform-lock", Condition(command="terraform apply *"), Condition(error="Error acquiring the state lock"), {}),
    ("ledger-style", Condition(path="**/ledger/*.py"), Condition(words="ledger immutable"), {}),
    ("release-words", Condition(words="release checklist"), Condition(words="forgot changelog"), {}),
    ("widget-owner", Condition(error="OperationalError: no such column: widget_owner"), None, {"pinned": True}),
    ("force-push", Condition(command="git push --force *"), Condition(command="git push --force *"),
     {"guard": Guard.HOLD}),
)  # fmt: skip


def library():
    """Confirm the entries of the month and allow holdouts."""
    for name, applies, fails, more in ENTRIES:
        confirm(entry(
            name, title=f"About {name}", kind=Kind.PITFALL, sections=PITFALL, aliases=(), applies_when=(applies,),
            fails_when=(fails or applies,), **more,
        ))  # fmt: skip
    config.change({"measure": {"holdouts": True, "answered": True}})
    derived.rebuild(homes.current())


class Clock:
    """The month's time: some seconds pass with each record; hooks and client read the same clock."""

    def __init__(self):
        self.seconds = datetime(2026, 8, 1, 9, tzinfo=timezone.utc).timestamp()

    def tick(self, seconds=4.0):
        self.seconds += seconds

    def text(self, form="%Y-%m-%dT%H:%M:%SZ"):
        return datetime.fromtimestamp(self.seconds, timezone.utc).strftime(form)


class Client:
    """One session of the client: its record, and the hooks that it calls."""

    def __init__(self, folder, session, clock):
        self.clock = clock
        self.session, self.path = session, folder / f"{session}.jsonl"
        self.cwd, self.count, self.text = str(folder / "project"), 0, []
        self.said = []
        self.hook("SessionStart", source="startup")

    def record(self, **values):
        self.clock.tick()
        at = self.clock.text("%Y-%m-%dT%H:%M:%S.%fZ")
        self.count += 1
        common = {"sessionId": self.session, "isSidechain": False, "cwd": self.cwd, "timestamp": at}
        self.text.append(json.dumps({**common, "uuid": f"{self.session}-{self.count}", **values}))

    def hook(self, event, **given):
        """Call the hooks of an event; what they say goes into the record as the client writes it."""
        data = {"session_id": self.session, "transcript_path": str(self.path), "cwd": self.cwd,
                "hook_event_name": event, **given}
        environ = {"EXPERIENCE_FORGE_HOME": str(homes.current().root), "HOME": os.environ["HOME"]}
        raw = json.dumps(data).encode("utf-8")
        output = dispatch.answer(dispatch.Context(str(homes.current().root), event, environ, raw)) or {}
        specific = output.get("hookSpecificOutput", {})
        text = specific.get("additionalContext") or specific.get("permissionDecisionReason")
        if text:
            self.said.append((event, text))
        if specific.get("additionalContext"):
            self.record(type="attachment", attachment={
                "type": "hook_additional_context", "content": [text], "hookName": event, "hookEvent": event,
                "toolUseID": given.get("tool_use_id", event),
            })  # fmt: skip
        return specific

    def prompt(self, text):
        self.record(type="user", message={"role": "user", "content": text})
        self.hook("UserPromptSubmit", prompt=text)

    def run(self, command, output, failed=False):
        self.tool("Bash", {"command": command}, output, failed)

    def edit(self, path):
        self.tool("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "updated", False)

    def tool(self, name, given, output, failed):
        ident = f"toolu_{self.session}_{self.count}"
        call = {"type": "tool_use", "id": ident, "name": name, "input": given}
        self.record(type="assistant", message={"role": "assistant", "content": [call]})
        decision = self.hook("PreToolUse", tool_name=name, tool_input=given, tool_use_id=ident)
        if decision.get("permissionDecision") == "deny":
            output, failed = decision["permissionDecisionReason"], True
        result = {"type": "tool_result", "tool_use_id": ident, "content": output, "is_error": failed}
        self.record(type="user", message={"role": "user", "content": [result]})
        self.hook("PostToolBatch", tool_calls=[{
            "tool_name": name, "tool_input": given, "tool_use_id": ident, "tool_response": output,
        }])  # fmt: skip

    def close(self):
        self.record(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": "done"}]})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(self.text) + "\n", encoding="utf-8")
        os.utime(self.path, (self.clock.seconds, self.clock.seconds))
        self.clock.tick(43_200.0)

    def given(self, name):
        """Whether an entry was delivered into this session."""
        return any(name in text for _, text in self.said)


def one_session(folder, number, rng, clock):
    """A session with some of the triggers; what was delivered is mostly heeded."""
    client = Client(folder, f"month-{number:03}", clock)
    client.prompt("please look at the build")
    client.run("ls", "a b c")

    def again(name):
        return rng.random() < (0.1 if client.given(name) else 0.8)

    if rng.random() < 0.6:
        client.run("npm install -g left-pad", EACCES, True)
        client.run("npm install -g left-pad", EACCES if again("npm-eacces") else "added 1 package")
    if rng.random() < 0.5:
        client.run("terraform apply -auto-approve", "Apply complete")
        failed = again("terraform-lock")
        client.run("terraform plan", "Error: Error acquiring the state lock" if failed else "No changes", failed)
    if rng.random() < 0.3:
        client.edit(f"{client.cwd}/ledger/book.py")
        client.prompt("the ledger must stay immutable!" if again("ledger-style") else "thank you")
    if rng.random() < 0.3:
        client.prompt("run the release checklist now")
        client.prompt("you forgot the changelog" if again("release-words") else "fine, next")
    if rng.random() < 0.3:
        client.run("python app.py", COLUMN, True)
        client.run("python app.py", "ok")
    if rng.random() < 0.2:
        client.run("git push --force origin main", "forced update")
        client.run("git push --force origin main", "forced update")
    if rng.random() < 0.9:
        client.prompt("thanks, that is all")
    client.close()
    return client


def simulate(folder, sessions=60, seed=60):
    """Run the month with the worker after each session; transcripts go after it. Returns the figures."""
    from experience_forge.store import proofs

    rng, clock, home = random.Random(seed), Clock(), homes.current()
    library()
    real, system.now = system.now, clock.text
    try:
        for number in range(sessions):
            client = one_session(folder, number, rng, clock)
            proofs.catch_up(home)
            outcomes.catch_up(home, clock.seconds)
            if number % 2:
                client.path.unlink()
    finally:
        system.now = real
    before = count(home)
    for path in folder.glob("*.jsonl"):
        path.unlink()
    proofs.catch_up(home)
    outcomes.catch_up(home)
    after = count(home)
    return {**after, "sessions": sessions, "same_after_deletion": before == after, "seed": seed}


def count(home):
    """Exposures with and without proof, coins and what became of each."""
    ledgers = effects.ledgers(home)
    exposures = [one for ledger in ledgers for one in ledger.exposures]
    every = [one for ledger in ledgers for one in ledger.opportunities]
    coins = [one for one in every if one.coin == "new"]
    shown = {(one.session, one.entry) for one in exposures}
    right = [one for one in coins if ((one.session, one.entry) in shown) is (one.arm == "shown")]
    return {
        "exposures": len(exposures), "proved": sum(1 for one in exposures if one.proof),
        "opportunities": len(every), "coins": len(coins),
        "coins_accounted": sum(1 for one in right if one.outcome in ("bad", "good", "unknown") and not one.fault),
        "withheld": sum(1 for one in coins if one.arm == "withheld"),
        "unknown": sum(1 for one in coins if one.outcome == "unknown"),
        "faults": sum(len(ledger.faults) for ledger in ledgers),
    }
