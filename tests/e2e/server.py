"""A scripted model: answers the Messages API with prepared turns and keeps every request.

A *turn* is what the model "says" next: `say("text")`, `calls(bash("ls"))`, or a function that gets
the `Request` and returns a turn, for a reply that depends on what the client sent (a digest out of
an earlier tool result). `only_if(text, turn)` keeps a turn for the first request that holds the text,
`for_agent(text, turn)` for a subagent that was given the text. Requests that offer no tools (titles,
summaries) get a fixed answer and take no turn.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Turn = Any
"""A mapping with `text`, `tools`, `error`, `status`, `when` (text or predicate); or a function `Request -> mapping`."""

OUT_OF_TURNS = "(the script has no more turns)"


def say(text: str) -> Json:
    """A turn that ends with plain text."""
    return {"text": text}


def calls(*tools: Json, text: str = "") -> Json:
    """A turn that calls tools, all in one message (so in parallel)."""
    return {"text": text, "tools": list(tools)}


def tool(name: str, **values: Any) -> Json:
    """One tool call with its input."""
    return {"name": name, "input": values}


def bash(command: str, **values: Any) -> Json:
    """One call of the Bash tool."""
    return tool("Bash", command=command, **{"description": "Run a command", **values})


def only_if(text: str, turn: Json) -> Json:
    """The turn, kept for the first request that holds `text`."""
    return {**turn, "when": text}


def for_agent(text: str, turn: Json) -> Json:
    """The turn, kept for the subagent whose prompt holds `text`; its caller's requests hold it too, later on."""
    return {**turn, "when": lambda request: text in request.opening}


def texts_of(content: Any) -> Iterator[str]:
    """Every text of a message's content or a system value, tool results included."""
    if isinstance(content, str):
        yield content
        return
    for block in content or []:
        if block.get("type") == "text":
            yield block["text"]
        elif block.get("type") == "tool_result":
            yield from texts_of(block.get("content"))


@dataclass(frozen=True)
class Request:
    """One request of the client to the model."""

    path: str
    body: Json

    @property
    def offers_tools(self) -> bool:
        """Whether it is a step of the agent's loop, not a side request."""
        return any(offered.get("name") == "Bash" for offered in self.body.get("tools") or [])

    @property
    def text(self) -> str:
        """All that the model would have read, in order."""
        parts = [*texts_of(self.body.get("system"))]
        for message in self.body.get("messages", []):
            parts += texts_of(message["content"])
        return "\n".join(parts)

    @property
    def opening(self) -> str:
        """The text of the first message."""
        messages = self.body.get("messages") or [{"content": ""}]
        return "\n".join(texts_of(messages[0]["content"]))

    @property
    def results(self) -> list[Json]:
        """The tool results in it, oldest first; each with `text` added."""
        found = []
        for message in self.body.get("messages", []):
            if isinstance(message["content"], list):
                found += [block for block in message["content"] if block.get("type") == "tool_result"]
        return [{**block, "text": "\n".join(texts_of(block.get("content")))} for block in found]


class Server(ThreadingHTTPServer):
    """The scripted model on a free local port; a context manager. `requests` grows as it answers."""

    daemon_threads = True

    def __init__(self, *turns: Turn) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []
        self._turns = list(turns)
        self._lock = threading.Lock()

    def __enter__(self) -> Server:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        """What the client takes as ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def steps(self) -> list[Request]:
        """The requests of the agent's loop, without side requests."""
        return [request for request in self.requests if request.offers_tools]

    def add(self, *turns: Turn) -> None:
        """Queue further turns, for a session that is still running."""
        with self._lock:
            self._turns += turns

    def clear(self) -> None:
        """Forget the turns not yet played."""
        with self._lock:
            self._turns.clear()

    def reply(self, request: Request) -> Json:
        """Record the request and pick its turn."""
        with self._lock:
            self.requests.append(request)
            turn = self._pick(request)
        return turn(request) if isinstance(turn, Callable) else turn  # type: ignore[arg-type]

    def _pick(self, request: Request) -> Turn:
        if not request.offers_tools:
            return say("ok")
        whole = json.dumps(request.body, ensure_ascii=False)
        conditions = [turn.get("when") if isinstance(turn, dict) else None for turn in self._turns]
        for position, when in enumerate(conditions):
            if when is not None and (when(request) if callable(when) else when in whole):
                return self._turns.pop(position)
        if None in conditions:
            return self._turns.pop(conditions.index(None))
        return say(OUT_OF_TURNS)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up early is no fault of a test."""


def _message(turn: Json, model: str) -> Json:
    blocks: list[Json] = [{"type": "text", "text": turn["text"]}] if turn.get("text") else []
    for called in turn.get("tools", []):
        # Ids must differ between servers: the gate tells calls apart by them, as the real ones allow.
        blocks.append({"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", **called})
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if turn.get("tools") else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 1000,
            "output_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _stream(message: Json) -> Iterator[Json]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            self._send_json({"input_tokens": max(1, len(raw) // 4)})
        elif path == "/v1/messages":
            self._answer(Request(path, json.loads(raw or b"{}")))
        else:
            self._send_json({})

    def do_GET(self) -> None:
        self._send_json({"data": [], "has_more": False})

    do_HEAD = do_GET

    def _answer(self, request: Request) -> None:
        turn = self.server.reply(request)
        if "error" in turn:
            self._send_json({"type": "error", "error": turn["error"]}, turn.get("status", 400))
            return
        message = _message(turn, request.body.get("model", "scripted"))
        if not request.body.get("stream"):
            self._send_json(message)
            return
        events = ((event["type"], json.dumps(event, ensure_ascii=False)) for event in _stream(message))
        text = "".join(f"event: {name}\ndata: {data}\n\n" for name, data in events)
        self._send(text.encode("utf-8"), "text/event-stream", 200)

    def _send_json(self, data: Json, status: int = 200) -> None:
        self._send(json.dumps(data, ensure_ascii=False).encode("utf-8"), "application/json", status)

    def _send(self, payload: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def log_message(self, format: str, *values: object) -> None:
        """Silent: `Server.requests` is the log."""
