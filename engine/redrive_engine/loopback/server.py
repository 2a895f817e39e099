"""A server on this machine alone, which answers as an OpenAI-compatible provider would."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self, cast

import anyio

from redrive_engine.loopback.chat import completion, error_of, events, request_of
from redrive_engine.models import Model, ModelRequest, ModelTrouble, connected
from redrive_events import Json, ModelReplied, digest

PATH: Final = "/v1/chat/completions"
_STATUS: Final[Mapping[str, int]] = {
    "timeout": 504,
    "rate_limited": 429,
    "refused": 400,
    "broken": 502,
    "unavailable": 503,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one request; what is not set is as it should be.

    ``first_byte_s`` is how long nothing comes, ``body`` what comes in place of a reply, and ``cut_bytes`` how much of
    the answer comes before the connection breaks.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    first_byte_s: float = 0.0
    cut_bytes: int | None = None


class Loopback:
    """Serves ``model`` while it is open as a context manager; ``url`` is what a client takes for its base URL.

    ``faults`` are by request, counted from 1. The turn that the model is asked for is the number of different requests
    so far: one that is asked again, word for word, is the same turn. So one server serves one run, or several alike.
    """

    def __init__(self, model: Model, *, faults: Mapping[int, Fault] | None = None) -> None:
        self.model, self.faults = model, dict(faults or {})
        self.requests: list[Json] = []
        self.keys: list[str] = []
        self.closing = threading.Event()
        self._turns: dict[str, int] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Listen on a free port, in a thread of its own."""
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="loopback", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, also on clients that wait."""
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def heard(self, asked: Json, key: str) -> Fault:
        """Note a request; what goes wrong with it."""
        with self._lock:
            self.requests.append(asked)
            self.keys.append(key)
            return self.faults.get(len(self.requests), Fault())

    def reply(self, asked: Json) -> ModelReplied:
        """What the model says to a request."""
        with self._lock:
            turn = self._turns.setdefault(digest(asked["messages"]), len(self._turns) + 1)
        return anyio.run(_answer, self.model, request_of(asked, turn))


async def _answer(model: Model, request: ModelRequest) -> ModelReplied:
    async with connected(model) as ready:
        return await ready.ask(request)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, loopback: Loopback) -> None:
        self.loopback = loopback
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Nothing: who wants to know what came asks the server."""

    def do_POST(self) -> None:
        """One request, answered whole, in pieces, or not as it should be."""
        loopback = cast("_Server", self.server).loopback
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = loopback.heard(asked, self.headers.get("Authorization", "")) if self.path == PATH else Fault(404)
        self.close_connection = True
        if loopback.closing.wait(fault.first_byte_s):
            return
        status, headers, body = self._answer(loopback, asked, fault)
        try:
            self._send(status, {**headers, **fault.headers}, body[: fault.cut_bytes], whole=fault.cut_bytes is None)
        except OSError:
            return  # the client has gone

    def _answer(self, loopback: Loopback, asked: Json, fault: Fault) -> tuple[int, dict[str, str], bytes]:
        kind = {"Content-Type": "text/event-stream" if asked.get("stream") else "application/json"}
        if fault.body is not None:
            return fault.status, kind, fault.body
        if fault.status != 200:
            return fault.status, {"Content-Type": "application/json"}, error_of(str(fault.status))
        try:
            reply = loopback.reply(asked)
        except ModelTrouble as trouble:
            after = trouble.retry_after_ms
            said = {} if after is None else {"retry-after-ms": str(after)}
            return _STATUS[trouble.kind], {"Content-Type": "application/json", **said}, error_of(trouble.kind)
        if asked.get("stream"):
            return 200, kind, b"".join(events(reply, asked))
        return 200, kind, completion(reply, asked)

    def _send(self, status: int, headers: Mapping[str, str], body: bytes, *, whole: bool) -> None:
        """In chunks, so that a client sees whether the answer came to its end."""
        self.send_response(status)
        for name, value in {**headers, "Transfer-Encoding": "chunked", "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))
        if whole:
            self.wfile.write(b"0\r\n\r\n")
