"""The HTTP side: routes, keys, models, faults, and the caches behind them."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from promptlint import provider, simulator
from promptlint.probe.canned import Body, Reply
from promptlint.trace import wire
from tests.emulator import chat, gemini, messages, responses
from tests.emulator.faults import KINDS, ApiError, Fault
from tests.emulator.reply import Accepted, Dialect

_DIALECTS: dict[str, tuple[str, Dialect]] = {
    "/messages": ("messages", messages),
    "/chat/completions": ("chat", chat),
    "/responses": ("responses", responses),
    ":generateContent": ("generate", gemini),
    gemini.OBJECTS: ("generate", gemini),
}


_OWNERS = {"messages": "anthropic", "generate": "gemini"}
"""Whose models the APIs of one vendor serve; the others serve many vendors'."""


@dataclass(frozen=True)
class Received:
    """One request as it came in, whatever became of it; ``at`` in seconds of the emulator's clock."""

    path: str
    headers: dict[str, str]
    body: Body
    at: float
    status: int


@dataclass
class Vendor:
    """A running emulator.

    ``received`` lists all requests, ``accepted`` those that were answered. ``key`` is the only valid key, ``None``
    takes any. ``clock`` tells the time of a request, so that lifetimes can end without waiting. ``keep`` is what each
    further request gets once the ``plan`` is used up. ``finer`` are the tokens that Anthropic's tokenizer makes for one
    of ours, ``counted`` the bodies that it was asked to count.
    """

    url: str
    clock: Callable[[], float]
    key: str | None = None
    finer: float = 1.0
    received: list[Received] = field(default_factory=list)
    counted: list[Body] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    plan: deque[Fault] = field(default_factory=deque)
    keep: Fault = field(default_factory=Fault)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def openai(self) -> str:
        """What an OpenAI client takes as its base URL; Anthropic's takes ``url``."""
        return f"{self.url}/v1"

    def then(self, *faults: Fault) -> None:
        """Plans how the next requests are answered, one after the other."""
        self.plan.extend(faults)

    def reset(self) -> None:
        """Forgets every request and everything that was planned."""
        self.received.clear()
        self.accepted.clear()
        self.counted.clear()
        self.finer = 1.0
        self.plan.clear()
        self.keep = Fault()

    def answer(self, path: str, headers: dict[str, str], body: Body) -> tuple[Fault, Reply]:
        """Counts one request. Raises ``ApiError``."""
        if path.partition("?")[0].endswith("/messages/count_tokens"):
            return Fault(), self._counted(headers, body)
        with self.lock:
            fault = self.plan.popleft() if self.plan else self.keep
            at = self.clock()
            status = 200
            try:
                api, dialect = dialect_of(path)
                if fault.status:
                    raise ApiError(fault.status, *KINDS[fault.status])
                return fault, self._count(api, dialect, path, headers, body, at, fault)
            except ApiError as error:
                status = error.status
                error.fault = fault
                raise
            finally:
                self.received.append(Received(path, headers, body, at, status))

    def _counted(self, headers: dict[str, str], body: Body) -> Reply:
        self._admit("messages", headers)
        known = provider.facts("anthropic", body["model"])
        total = sum(len(block.tokens) for block in wire.call(wire.parse(body, "messages", known), known).blocks)
        self.counted.append(body)
        return Reply({"input_tokens": round(total * self.finer)}, [])

    def _admit(self, api: str, headers: dict[str, str]) -> None:
        sent = next((headers[name] for name in ("x-api-key", "x-goog-api-key") if headers.get(name)), "")
        sent = sent or headers.get("authorization", "").removeprefix("Bearer ")
        if not sent or self.key not in (None, sent):
            raise ApiError(401, "authentication_error", "invalid x-api-key" if api == "messages" else "Incorrect key.")

    def _count(
        self, api: str, dialect: Dialect, path: str, headers: dict[str, str], body: Body, at: float, fault: Fault
    ) -> Reply:
        self._admit(api, headers)
        dialect.check(body)
        model = (wire.model(body, path) or "").removeprefix("models/")
        name = provider.identify(api=None, base_url=None, model=model)
        if name == provider.UNKNOWN or name != _OWNERS.get(api, name) or (name == "anthropic" and api != "messages"):
            raise ApiError(404, "not_found_error", f"model: {model}")
        known = provider.facts(name, model)
        parsed = wire.parse(body | {"model": model}, api, known)
        if parsed.misplaced:
            raise ApiError(400, "invalid_request_error", f"{parsed.misplaced[0]}: Extra inputs are not permitted")
        call = wire.call(parsed, known, at, begins=fault.delay, lasts=fault.delay)
        number = f"{len(self.accepted) + 1:06}"
        if path.endswith(gemini.OBJECTS):
            call = replace(call, creates=f"cachedContents/{number}")
        before = [] if fault.cold else [other.call for other in self.accepted if other.api == api]
        outcome = simulator.predict([*before, call], known)[-1]
        if api == "messages" and self.finer != 1.0:
            outcome = _in_finer_tokens(outcome, self.finer)
        if outcome.refused:
            raise ApiError(400, "invalid_request_error", outcome.refused)
        prefix = {"messages": "msg_", "chat": "chatcmpl-", "responses": "resp_"}.get(api, "")
        now = Accepted(prefix + number, api, body, call, outcome)
        reply = dialect.reply(now, {other.id: other for other in self.accepted}, fault)
        self.accepted.append(now)
        return reply


def _in_finer_tokens(outcome: simulator.Outcome, finer: float) -> simulator.Outcome:
    written = tuple((ttl, round(tokens * finer)) for ttl, tokens in outcome.written)
    read, total = round(outcome.read * finer), round(outcome.total * finer)
    return replace(outcome, read=read, written=written, uncached=total - read - sum(n for _, n in written))


def dialect_of(path: str) -> tuple[str, Dialect]:
    """The API behind a path, whatever stands before it. Raises ``ApiError``."""
    for ending, found in _DIALECTS.items():
        if path.partition("?")[0].endswith(ending):
            return found
    raise ApiError(404, "not_found_error", f"no such route: {path}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    vendor: Vendor

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            try:
                body = json.loads(raw)
            except ValueError:
                raise ApiError(400, "invalid_request_error", "The body is not valid JSON.") from None
            fault, reply = self.vendor.answer(self.path, headers, body)
        except ApiError as error:
            self._error(error)
            return
        time.sleep(fault.delay)
        try:
            if body.get("stream"):
                self._stream(reply, fault)
            else:
                self._whole(reply.body, fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _error(self, error: ApiError) -> None:
        path = self.path.partition("?")[0]
        dialect = next((found for ending, (_, found) in _DIALECTS.items() if path.endswith(ending)), chat)
        time.sleep(error.fault.delay)
        body = dialect.error(error.status, error.kind, error.message)
        self._send(error.status, json.dumps(body).encode(), error.fault.headers)

    def _whole(self, body: Body, fault: Fault) -> None:
        data = json.dumps(body).encode()
        if fault.cut is None:
            self._send(200, data, fault.headers)
            return
        self._head(200, {"content-type": "application/json", "content-length": str(len(data)), **fault.headers})
        self.wfile.write(data[: len(data) // 2])
        self.close_connection = True

    def _stream(self, reply: Reply, fault: Fault) -> None:
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **fault.headers})
        for number, (name, data) in enumerate(reply.events):
            if number == fault.cut:
                self.close_connection = True
                return
            named = f"event: {name}\n" if name else ""
            self._chunk(f"{named}data: {json.dumps(data)}\n\n".encode())
        if not reply.events[-1][0]:
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _send(self, status: int, data: bytes, headers: Any) -> None:
        self._head(status, {"content-type": "application/json", "content-length": str(len(data)), **headers})
        self.wfile.write(data)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("request-id", "req_emulated")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: tests read ``Vendor.received``."""


@contextmanager
def emulator(key: str | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Vendor]:
    """Both vendors' APIs on one free port of this machine."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    vendor = Vendor(f"http://127.0.0.1:{server.server_address[1]}", clock, key)
    handler.vendor = vendor  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield vendor
    finally:
        server.shutdown()
        server.server_close()
