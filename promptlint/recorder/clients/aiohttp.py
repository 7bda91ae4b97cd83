"""``aiohttp``: OpenAI's SDK before 1.0, aiobotocore, LiteLLM, and what people write themselves."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from promptlint.recorder.flight import Flight, Sending, depart, quietly, recording

_flights: WeakKeyDictionary[Any, Flight] = WeakKeyDictionary()


def hook(module: ModuleType) -> None:
    """Changes ``ClientSession._request``, and ``close`` and ``release`` of the response."""
    original = module.ClientSession._request

    @wraps(original)
    async def requesting(self: Any, method: str, str_or_url: Any, **kwargs: Any) -> Any:
        flight = _depart(self, method, str_or_url, kwargs) if recording() else None
        if flight is None:
            return await original(self, method, str_or_url, **kwargs)
        with Sending(flight):
            response = await original(self, method, str_or_url, **kwargs)
        _attach(response, flight)
        return response

    module.ClientSession._request = requesting
    for name in ("close", "release"):
        setattr(module.ClientResponse, name, _closing(getattr(module.ClientResponse, name)))


def _closing(method: Any) -> Any:
    @wraps(method)
    def closed(self: Any) -> Any:
        try:
            return method(self)
        finally:
            flight = _flights.pop(self, None)
            if flight is not None:
                flight.ended(_failure(self), early=True)

    return closed


@quietly
def _failure(response: Any) -> BaseException | None:
    found: BaseException | None = response.content.exception()
    return found


@quietly
def _depart(session: Any, method: str, url: Any, kwargs: dict[str, Any]) -> Flight | None:
    body = kwargs.get("data")
    if kwargs.get("json") is not None:
        body = session.json_serialize(kwargs["json"])  # as aiohttp does again
    headers = {**getattr(session, "headers", {}), **(kwargs.get("headers") or {})}
    build = getattr(session, "_build_url", None)
    address = str(build(url)) if build is not None else str(url)
    return depart(method, address, headers, getattr(body, "_value", body))


@quietly
def _attach(response: Any, flight: Flight) -> None:
    """The reader of this response gets a class of its own: it has no room for more attributes."""
    flight.answered(response.status, response.headers, decoded=True)
    reader = response.content
    if reader.at_eof():
        flight.ended()
        return
    _flights[response] = flight
    base = type(reader)
    take = base._read_nowait_chunk

    def heard(self: Any, n: int) -> bytes:
        chunk: bytes = take(self, n)
        flight.fed(chunk)
        if self.at_eof():
            flight.ended()
        return chunk

    reader.__class__ = type(base.__name__, (base,), {"__slots__": (), "_read_nowait_chunk": heard})
    reader.on_eof(lambda: flight.ended() if reader.at_eof() else None)
