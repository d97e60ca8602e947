"""An Ollama server as an encoder: the only module that opens a connection, and only when configured."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import Refused, Text

DEFAULT_URL = "http://127.0.0.1:11434"
DEFAULT_MODEL = "nomic-embed-text-v2-moe"
BATCH = 32
CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 60.0
MAX_CHARACTERS = 1500
"""The model reads 512 tokens; what is longer is cut here, in the middle of nothing that matters."""
MAX_ANSWER = 64 * 1024 * 1024
PREFIXES = {"nomic-embed-text": ("search_document: ", "search_query: ")}
"""By the beginning of the model's name: what goes before a stored text and before a query."""


@dataclass(frozen=True)
class Server:
    """Where the server is and which model it is to use."""

    url: str = DEFAULT_URL
    model: str = DEFAULT_MODEL

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """One vector for each text, all of one length.

        Args:
            query: the texts are questions rather than stored ones: some models want another prefix.

        Raises:
            Refused: when the server is away, has no such model, or answers nonsense.
        """
        document, question = next((pair for name, pair in PREFIXES.items() if self.model.startswith(name)), ("", ""))
        prefix = question if query else document
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            part = [prefix + text[:MAX_CHARACTERS] for text in texts[start:start + BATCH]]
            vectors += self._vectors(part)
        if len({len(vector) for vector in vectors}) > 1:
            raise Refused(Text("errors_client.lengths", url=self.url), Text("errors_client.check_model"))
        return vectors

    def _vectors(self, texts: Sequence[str]) -> list[list[float]]:
        answer = self._post("/api/embed", {"model": self.model, "input": list(texts), "truncate": True})
        found = answer.get("embeddings")
        if not isinstance(found, list) or len(found) != len(texts):
            raise Refused(Text("errors_client.no_vectors", url=self.url), Text("errors_client.no_vectors_hint"))
        try:
            return [[float(value) for value in vector] for vector in found]
        except (TypeError, ValueError) as error:
            raise Refused(Text("errors_client.no_numbers", url=self.url), Text("errors_client.check_server")) from error

    def _post(self, path: str, body: dict[str, object]) -> dict[str, object]:
        parts = urllib.parse.urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(Text("errors_client.no_address", url=self.url), Text("errors_client.set_url"))
        # Not urllib.request: a proxy of the environment must not get the user's notes.
        connection = kind(parts.hostname, parts.port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
            if connection.sock is not None:
                connection.sock.settimeout(ANSWER_SECONDS)
            data = json.dumps(body).encode("utf-8")
            connection.request("POST", parts.path.rstrip("/") + path, data, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            text = reply.read(MAX_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            cause = str(error) or type(error).__name__
            hint = Text("errors_client.start_server")
            raise Refused(Text("errors_client.no_answer", url=self.url, cause=cause), hint) from error
        finally:
            connection.close()
        return self._checked(reply.status, text)

    def _checked(self, status: int, text: bytes) -> dict[str, object]:
        try:
            answer = json.loads(text.decode("utf-8"))
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise Refused(
                Text("errors_client.no_json", url=self.url, status=status), Text("errors_client.check_address")
            )
        if status != 200:
            raise Refused(
                Text("errors.field_reason", field=self.url, reason=answer.get("error") or f"HTTP {status}"),
                Text("errors_client.pull", model=self.model),
            )
        return answer
