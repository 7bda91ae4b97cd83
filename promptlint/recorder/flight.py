"""Requests under way: what the hooks of the HTTP libraries tell, and who gets the record when the answer has ended.

Every function here that a hook calls keeps its own troubles to itself: a recorder that fails leaves a gap in a trace,
never a trace in the program.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from promptlint.recorder import callsite
from promptlint.trace import endpoints, responses
from promptlint.trace.format import Exchange
from promptlint.trace.redaction import Redactor
from promptlint.trace.secrets import Masker, credentials

P = ParamSpec("P")
T = TypeVar("T")

STOPPED = "recording stopped before the answer had ended"
UNREAD = "the program did not read the answer to its end"
PROGRAM_ENDED = "the program ended before the answer did"

_LARGEST_ANSWER = 1 << 25
"""Bytes of an answer that are kept to find the usage in it."""

_REMEMBERED = 256
"""Requests among which an earlier attempt is looked for."""

_inside: ContextVar[bool] = ContextVar("promptlint_inside", default=False)
_recorders: tuple[Recorder, ...] = ()
_flying: dict[Flight, None] = {}
"""The requests under way, in the order of sending."""


def quietly(function: Callable[P, T]) -> Callable[P, T | None]:
    """The function with its exceptions swallowed; shown under PROMPTLINT_DEBUG=1."""

    @wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return function(*args, **kwargs)
        except Exception:
            if os.environ.get("PROMPTLINT_DEBUG") == "1":
                import traceback

                traceback.print_exc()
            return None

    return safe


class Recorder:
    """Hands the exchanges of this process to ``sink``, with secrets masked, and texts redacted if so wanted.

    ``key`` is for the hashes of masks and redacted texts: all that write one trace share it. ``root`` is the folder of
    the user's project.
    """

    def __init__(
        self, sink: Callable[[Exchange], object], *, root: str, key: bytes | None = None, redact: bool = False
    ) -> None:
        self.project = callsite.Project(root)
        self._sink = sink
        self._key = key or os.urandom(16)
        self._mask = Masker(self._key, os.environ)
        self._redactor = Redactor(self._key) if redact else None
        self._attempts: OrderedDict[int, tuple[str, bool]] = OrderedDict()
        """By request: the id of the last attempt, and whether it failed."""

    def start(self) -> None:
        """From now on, requests of all threads are recorded."""
        global _recorders
        callsite.follow(self.project)
        _recorders = (*_recorders, self)

    def stop(self) -> None:
        """Requests that are still under way are recorded as far as they have come."""
        global _recorders
        for flight in [flight for flight in list(_flying) if self in flight.recorders]:
            flight.ended(STOPPED)
        _recorders = tuple(recorder for recorder in _recorders if recorder is not self)
        callsite.forget(self.project)

    @quietly
    def earlier(self, attempt: int, name: str, counted: bool) -> str | None:
        """The attempt that this one repeats: the last one with the same bytes, if it failed or the SDK counts."""
        last, failed = self._attempts.get(attempt, (None, False))
        self._remember(attempt, name, failed=False)
        return last if failed or counted else None

    @quietly  # threads may meet here: a lock could be held for ever in a forked child
    def _remember(self, attempt: int, name: str, *, failed: bool) -> None:
        self._attempts[attempt] = (name, failed)
        self._attempts.move_to_end(attempt)
        while len(self._attempts) > _REMEMBERED:
            self._attempts.popitem(last=False)

    @quietly
    def record(self, exchange: Exchange, attempt: int, secrets: list[str]) -> None:
        """Writes an exchange, of which no text has been masked yet."""
        if exchange.error is not None or (exchange.status or 0) >= 400:
            self._remember(attempt, exchange.id, failed=True)
        fields = {name: getattr(exchange, name) for name in Exchange.__dataclass_fields__}
        for name in ("endpoint", "error", "response_id"):
            if fields[name] is not None:
                fields[name] = self._mask(fields[name], secrets)
        fields["headers"] = {name: self._mask(value, secrets) for name, value in exchange.headers.items()}
        redactor = self._redactor
        if redactor is None:
            fields["body"] = self._mask(exchange.body, secrets)
            fields["answer"] = exchange.answer and self._mask(exchange.answer, secrets)
            fields["usage"] = exchange.usage and self._masked(exchange.usage, secrets)
        else:
            fields["body"] = redactor.body(exchange.body)
            fields["answer"] = exchange.answer and redactor.text(exchange.answer)
            fields["usage"] = exchange.usage and redactor.usage(exchange.usage)
            fields["error"] = exchange.error and _kind_of(exchange.error)
            fields["redacted"] = redactor.name
        self._sink(Exchange(**fields))

    def _masked(self, value: Any, secrets: list[str]) -> Any:
        if isinstance(value, dict):
            return {name: self._masked(item, secrets) for name, item in value.items()}
        if isinstance(value, list):
            return [self._masked(item, secrets) for item in value]
        return self._mask(value, secrets) if isinstance(value, str) else value


class Flight:
    """One request under way. Its methods never raise; after ``ended`` they do nothing."""

    def __init__(self, api: str, address: str, headers: Mapping[str, str], body: str) -> None:
        self.recorders = _recorders
        self._sent = round(time.time(), 6)
        self._clock = time.perf_counter()
        self._api, self._address, self._body = api, address, body
        self._headers = endpoints.kept(headers)
        self._secrets = list(credentials(headers))
        self._stack = {recorder: callsite.stack(recorder.project) for recorder in self.recorders}
        self._attempt = hash((address, body))
        self._ids = {recorder: os.urandom(8).hex() for recorder in self.recorders}
        counted = self._headers.get("x-stainless-retry-count", "0") not in ("0", "")
        self._retry = {r: r.earlier(self._attempt, self._ids[r], counted) for r in self.recorders}
        self._status: int | None = None
        self._kind = self._encoding = ""
        self._began: float | None = None
        self._data: list[bytes] = []
        self._size = 0
        _flying[self] = None

    @quietly
    def answered(self, status: int, headers: Mapping[str, str], *, decoded: bool = False) -> None:
        """The head of the answer is there. ``decoded``: what is fed will not be compressed."""
        named = {name.lower(): value for name, value in headers.items()}
        self._status, self._kind = status, named.get("content-type", "")
        self._encoding = "" if decoded else named.get("content-encoding", "").lower()

    @quietly
    def fed(self, data: bytes) -> None:
        """Bytes of the answer's body."""
        if self._began is None and data:
            self._began = time.perf_counter() - self._clock
        if self._size < _LARGEST_ANSWER:
            self._data.append(bytes(data))
            self._size += len(data)

    @quietly
    def ended(self, error: str | BaseException | None = None, *, early: bool = False) -> None:
        """The answer has ended, or will not come. ``early``: the program closed it, maybe before its end."""
        try:
            del _flying[self]
        except KeyError:  # it has ended before, maybe in another thread just now
            return
        lasted = time.perf_counter() - self._clock
        answer = _understood(b"".join(self._data), self._encoding, self._kind) or responses.Answer()
        if isinstance(error, BaseException):
            error = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if early and not (error or answer.done or answer.usage) and (self._status or 0) < 400:
            error = UNREAD
        for recorder in self.recorders:
            recorder.record(
                Exchange(
                    id=self._ids[recorder],
                    at=self._sent,
                    endpoint=endpoints.shown(self._address),
                    api=self._api,
                    body=self._body,
                    provider=endpoints.vendor(self._address),
                    headers=self._headers,
                    began=None if self._began is None else round(self._began, 6),
                    lasted=round(lasted, 6),
                    status=self._status,
                    error=error or answer.error,
                    usage=answer.usage,
                    response_id=answer.response_id,
                    retry_of=self._retry[recorder],
                    answer=answer.text,
                    stack=self._stack[recorder],
                    pid=os.getpid(),
                    thread=threading.current_thread().name,
                ),
                self._attempt,
                self._secrets,
            )


class Sending:
    """While a library sends a request: those below it say nothing, as they send the same, and an exception ends it."""

    def __init__(self, flight: Flight) -> None:
        self._flight = flight

    def __enter__(self) -> None:
        self._token = _inside.set(True)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        _inside.reset(self._token)
        if error is not None:
            self._flight.ended(error)


class Hearing:
    """While a program takes the pieces of an answer: at their end, or where it takes no more, the request ends."""

    def __init__(self, flight: Flight) -> None:
        self._flight = flight

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GeneratorExit):  # read no further, and maybe never closed
            self._flight.ended(early=True)
        else:
            self._flight.ended(error)


def _kind_of(error: str) -> str:
    """An error without what may quote the request: our own words, or the name in front."""
    name = error.partition(":")[0]
    return error if error in (STOPPED, UNREAD, PROGRAM_ENDED) else name if name.isidentifier() else "error"


def recording() -> bool:
    """Whether anybody wants to know about a request that is made now, here."""
    return bool(_recorders) and not _inside.get()


@quietly
def depart(method: str, address: str, headers: Mapping[str, str], body: Any) -> Flight | None:
    """Takes notice of a request; ``None`` when it is none to a language model. ``body`` is what will be sent."""
    if method.upper() != "POST" or not body:
        return None
    if isinstance(body, str):
        text = body
    elif isinstance(body, bytes | bytearray | memoryview):
        text = _unpacked(bytes(body), _header(headers, "content-encoding")).decode("utf-8", "surrogateescape")
    else:
        return None
    api = endpoints.recognise(address, text)
    return Flight(api, address, headers, text) if api else None


def _header(headers: Mapping[str, str], wanted: str) -> str:
    return next((str(value).lower() for name, value in headers.items() if str(name).lower() == wanted), "")


@contextmanager
def inside() -> Iterator[None]:
    """While the library above does its work, those below it say nothing: they send the same request."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


@quietly
def _understood(data: bytes, encoding: str, kind: str) -> responses.Answer:
    return responses.understood(_unpacked(data, encoding), kind)


def _unpacked(data: bytes, encoding: str) -> bytes:
    """The bytes without their transfer encoding, as far as they go; as they are when it is not known here."""
    if encoding in ("gzip", "x-gzip") or (not encoding and data[:2] == b"\x1f\x8b"):
        return zlib.decompressobj(31).decompress(data)
    if encoding == "deflate":
        try:
            return zlib.decompressobj().decompress(data)
        except zlib.error:
            return zlib.decompressobj(-15).decompress(data)
    for name in {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard", "compression.zstd")}.get(encoding, ()):
        module = sys.modules.get(name)  # the program can decode it, or it would not have asked for it
        if module is not None:
            return _foreign(module, data)
    return data


def _foreign(module: Any, data: bytes) -> bytes:
    if hasattr(module, "ZstdDecompressor") and module.__name__ == "zstandard":
        return bytes(module.ZstdDecompressor().decompressobj().decompress(data))
    return bytes(module.decompress(data))


@atexit.register
def _last() -> None:
    for flight in list(_flying):
        flight.ended(PROGRAM_ENDED)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_flying.clear)
