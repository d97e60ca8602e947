"""A large text is read in portions and its repeated stretches once, with the findings of the whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experience_forge.core import portions, redact
from experience_forge.store import redaction, redaction_pool
from install_helpers import ROOT
from redaction_texts import PIECES, materials
from terminal import hear_signals

KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq1xkd0Zk3F+yw8cM2rZ1Hh\n" * 900
SECRETS = (
    "DB_PASSWORD=Xy7!kk2@hQ\n",
    "token: ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + "\n",
    "mail bob.miller@firm.co.uk or call +49 170 1234567\n",
    "密码是 Zk9!mmQ2x，手机 13900001234\n",
)


@pytest.fixture(scope="module")
def rules():
    return redaction.rules()


class Reader:
    """Reads portions here, and knows what it was asked to read."""

    def __init__(self, rules, count):
        self.rules, self.texts = rules, []
        self.readers = redact.Readers(count, self.read)

    def read(self, texts, gates):
        self.texts += texts
        return [list(redact.find_in(text, self.rules, gates)) for text in texts]


def whole(text, rules):
    """What is found when nothing is divided."""
    gates = frozenset(gate for gate in rules.gates if gate in text)
    found = [*redact.pem.find(text), *redact.find_in(text, rules, gates)]
    return tuple(redact._merged(redact._unmarked(text, found)))


def made(seed, size):
    """Lines of every material and pieces of the rules, with secrets among them."""
    chars = random.Random(seed)
    lines = "".join(text for _, text in materials(20_000)).split("\n")
    parts = []
    while size > 0:
        one = chars.choice((chars.choice(lines)[:400] + "\n", chars.choice(SECRETS), chars.choice(PIECES) * 3))
        parts.append(one)
        size -= len(one)
    return "".join(parts)


@pytest.mark.parametrize("seed", range(6))
def test_a_divided_text_has_the_findings_of_the_whole(seed, rules, monkeypatch):
    """Cut at places of no meaning, each portion keeps what begins in it, with what stands around it."""
    text = made(seed, 260_000)
    monkeypatch.setattr(portions, "LARGE", 30_000)
    reader = Reader(rules, 9 + seed)
    spans = redact.redact(text, rules, b"k", reader.readers).spans
    assert spans == whole(text, rules)
    assert len(spans) > 500
    assert len(reader.texts) > 5


def test_what_comes_again_is_read_once(rules, monkeypatch):
    """A page that stands in a text a hundred times, with other pages between, is read once, and found each time."""
    page, other = made(20, 6_000) + "\n", made(21, 30_000) + "\n"
    text = page * 50 + other + page * 30 + other + "end of it"
    monkeypatch.setattr(portions, "LARGE", 50_000)
    reader = Reader(rules, 1)
    spans = redact.redact(text, rules, b"k", reader.readers).spans
    assert spans == whole(text, rules)
    assert sum(map(len, reader.texts)) < len(text) / 2


def test_a_repeated_text_that_changes_is_read_where_it_does(rules, monkeypatch):
    """A secret in one of many equal pages is found, and stays out of the others."""
    page = made(22, 5_000).replace("AKIA", "") + "\n"
    secret = "aws key AKIA" + "Q3EGRT5YUIOPLKJH" + "\n"
    text = page * 40 + secret + page * 40
    monkeypatch.setattr(portions, "LARGE", 50_000)
    done = redact.redact(text, rules, b"k", Reader(rules, 3).readers)
    assert done.spans == whole(text, rules)
    assert sum(text[start:end].startswith("AKIA") for start, end, _ in done.spans) == 1


def test_a_private_key_longer_than_a_portion_goes_whole(rules, monkeypatch):
    """A private key is looked for in the whole text, whatever the cuts."""
    monkeypatch.setattr(portions, "LARGE", 15_000)
    text = "x = 1\n" * 3000 + KEY + "-----END RSA PRIVATE KEY-----\n" + "y = 2\n" * 3000
    done = redact.redact(text, rules, b"k", Reader(rules, 5).readers)
    assert done.counts == {"private-key": 1}
    assert "MIIEpAIBAAKC" not in done.text


def test_a_rule_with_a_gate_sees_the_whole_text(rules, monkeypatch):
    """A form that counts only in a text that names its service counts in every portion of it."""
    monkeypatch.setattr(portions, "LARGE", 15_000)
    token = "1/" + "1204567890123456" + ":" + "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
    text = "Asana export\n" + "plain words\n" * 5000 + f"pat {token}\n"
    done = redact.redact(text, rules, b"k", Reader(rules, 4).readers)
    assert token not in done.text


def test_a_large_text_is_cleaned_in_several_processes(rules):
    """What is written of a text of two megabytes has the marks that one process would have made."""
    if redaction_pool.readers(redaction.rules) is None:
        pytest.skip(f"one processor or no fork ({sys.platform}): a large text is read in this process")
    text = made(23, 2_000_000)
    cleaned, counts = redaction.clean(text)
    assert sum(counts.values()) == len(whole(text, rules))
    assert cleaned == redact.redact(text, rules, redaction.key()).text


@pytest.mark.skipif(sys.platform != "linux", reason="there are no forks that read a large text")
@pytest.mark.parametrize("moment", [0, 0.02, 0.3])
def test_an_interrupt_is_said_in_one_line(moment, tmp_path, monkeypatch):
    """Ctrl-C during a large text ends every process at once, and no traceback of theirs is shown."""
    if redaction_pool.readers(redaction.rules) is None:
        pytest.skip("one processor: a large text is read in this process")
    monkeypatch.setenv("EXPERIENCE_FORGE_HOME", str(tmp_path / "home"))
    large = tmp_path / "large.txt"
    large.write_text("".join(f"mail user{number}@firm{number}.net\n" for number in range(400_000)), encoding="utf-8")
    command = [sys.executable, str(ROOT / "scripts" / "forge.py"), "redact", str(large)]
    run = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=hear_signals
    )
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    until = time.monotonic() + 60
    while not (read := children.read_text("ascii")) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(moment)
    os.killpg(run.pid, signal.SIGINT)
    said = run.communicate(timeout=60)[1].decode("utf-8")
    assert (run.returncode, len(said.strip().splitlines())) == (130, 1), said
    assert not any(Path(f"/proc/{child}").exists() for child in read.split())
