"""The optional encoder: off by default, an addition when it is there, no harm when it is away."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from experience_forge import cli
from experience_forge.clients import meaning, ollama
from experience_forge.errors import Refused
from experience_forge.fast import git
from experience_forge.model import Track
from experience_forge.store import config, home, projects, vectors
from helpers import entry
from recall_home import ask, fill, pitfall, said

TOPICS = {"zephyr": 0, "registry": 0, "锁": 0, "mutex": 0, "pnpm": 1, "包管理": 1, "installer": 1, "yaml": 2}


class Encoder(BaseHTTPRequestHandler):
    """Speaks Ollama's /api/embed; a text's vector counts the topics in it."""

    size = 4
    seen: list = []  # noqa: RUF012 - the server makes one handler a request; the test reads this

    def do_POST(self):
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Encoder.seen.append((self.path, body))
        if body["model"] == "missing":
            return self.answer(404, {"error": "model 'missing' not found, try pulling it first"})
        if body["model"] == "nonsense":
            return self.answer(200, {"embeddings": [["a"]]})
        return self.answer(200, {"model": body["model"], "embeddings": [self.vector(text) for text in body["input"]]})

    def vector(self, text):
        """One number a topic, and a constant."""
        found = [0.0] * (Encoder.size - 1) + [0.3]
        for word, topic in TOPICS.items():
            found[topic] += text.count(word)
        return found

    def answer(self, status, body):
        """Write a JSON answer."""
        data = json.dumps(body).encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server():
    """The address of a running encoder."""
    Encoder.seen, Encoder.size = [], 4
    running = HTTPServer(("127.0.0.1", 0), Encoder)
    threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    running.server_close()


def use(url, model=ollama.DEFAULT_MODEL):
    """Put the encoder into the settings."""
    config.change({"recall": {"embed": {"url": url, "model": model}}})


def recalled(capsys, text):
    """The JSON of `recall`."""
    assert cli.main(["recall", text, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_is_off_unless_configured(server, capsys):
    """Without the setting no connection is opened."""
    fill(entry(), pitfall())
    assert recalled(capsys, "zephyr")["meaning"] == "off" and Encoder.seen == []


def test_it_finds_what_shares_no_word(server, capsys):
    """A question in other words finds the entry of that meaning, with the prefixes that the model wants."""
    names = ("scenario", "symptom", "root_cause", "right_action", "rule")
    fill(entry(), pitfall(), pitfall("yaml-one", title="yaml", aliases=(), sections=tuple((n, "yaml") for n in names)))
    use(server)
    data = recalled(capsys, "mutex held")
    assert data["meaning"] == "used" and data["entries"][0]["id"] == "zephyr-lock"
    assert data["entries"][0]["cosine"] > 0.3
    path, body = Encoder.seen[0]
    assert path == "/api/embed" and all(text.startswith("search_document: ") for text in body["input"])
    assert Encoder.seen[-1][1]["input"] == ["search_query: mutex held"]


def test_vectors_are_made_once(server, capsys):
    """A second question embeds the question alone; a changed entry is embedded anew."""
    fill(entry(), pitfall())
    use(server)
    recalled(capsys, "mutex")
    Encoder.seen = []
    recalled(capsys, "mutex")
    assert [len(body["input"]) for _, body in Encoder.seen] == [1]
    fill(entry("third"))
    Encoder.seen = []
    recalled(capsys, "mutex")
    assert [len(body["input"]) for _, body in Encoder.seen] == [1, 1]


def test_another_model_or_dimension_is_not_mixed(server, capsys):
    """Vectors of another model go; a server that changes its dimension is not used, and says so."""
    where = fill(entry(), pitfall())
    use(server)
    recalled(capsys, "mutex")
    use(server, "other-model")
    assert vectors.load(where, "other-model") is None
    assert recalled(capsys, "mutex")["meaning"] == "used"
    Encoder.size = 6
    data = recalled(capsys, "zephyr registry")
    assert "dimensions" in data["meaning"] and data["entries"][0]["id"] == "zephyr-lock"


@pytest.mark.parametrize("model", ["missing", "nonsense"])
def test_a_server_that_fails_does_no_harm(server, capsys, model):
    """Everything works as before, and the reason is told."""
    fill(entry(), pitfall())
    use(server, model)
    data = recalled(capsys, "zephyr registry")
    assert data["entries"][0]["id"] == "zephyr-lock" and data["entries"][0]["cosine"] is None
    assert server in data["meaning"] and meaning.check()


def test_a_server_that_is_away_does_no_harm(capsys):
    """A closed port is told in a second, and recall answers."""
    fill(entry(), pitfall())
    use("http://127.0.0.1:9")
    data = recalled(capsys, "zephyr registry")
    assert data["entries"][0]["id"] == "zephyr-lock" and "no answer" in data["meaning"]
    assert "no answer" in meaning.check()


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "file:///etc/passwd"])
def test_only_a_web_address_is_taken(url):
    """Any other address is refused."""
    with pytest.raises(Refused):
        ollama.Server(url).embed(["x"])


def test_session_starts_get_it_through_a_file(server, tmp_path):
    """The worker computes what a start adds; the hook opens no connection and keeps to its scope."""
    foreign = pitfall("foreign", track=Track.PROJECT, project="0123456789ab", language="zh")
    where = fill(entry(), pitfall(), foreign)
    folder = tmp_path / "mutex"
    folder.mkdir()
    found = git.project(str(folder))
    projects.record(where, projects.Project(found.id, "mutex", str(folder), tuple(found.ids)))
    assert ask("SessionStart", source="startup", cwd=str(folder)) is None
    use(server)
    assert meaning.catch_up(where) == {"projects": 1}
    text = said(ask("SessionStart", source="startup", cwd=str(folder), session_id="s2"))
    assert "[zephyr-lock]" in text and "foreign" not in text
    config.change({"recall": {"embed": None}})
    meaning.catch_up(home.current())
    assert not (where.derived / meaning.STARTS).exists()
