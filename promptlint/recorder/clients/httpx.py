"""``httpx``, and ``httpx2``, which has the same classes: the SDKs of Anthropic, OpenAI, Google, Mistral, Groq ...

``send`` is what every request goes through, with a real network or a faked one; the SDKs' retries come back to it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import wraps
from types import ModuleType
from typing import Any

from promptlint.recorder.flight import Flight, Hearing, Sending, depart, quietly, recording


def hook(module: ModuleType) -> None:
    """Changes ``Client.send`` and ``AsyncClient.send``."""
    streams = _streams(module)
    send, send_async = module.Client.send, module.AsyncClient.send

    @wraps(send)
    def sending(self: Any, request: Any, *args: Any, stream: bool = False, **kwargs: Any) -> Any:
        flight = _depart(request) if recording() else None
        if flight is None:
            return send(self, request, *args, stream=stream, **kwargs)
        with Sending(flight):
            response = send(self, request, *args, stream=True, **kwargs)
        _attach(response, flight, streams[0])
        if not stream:
            try:
                response.read()
            except BaseException:
                response.close()
                raise
        return response

    @wraps(send_async)
    async def sending_async(self: Any, request: Any, *args: Any, stream: bool = False, **kwargs: Any) -> Any:
        flight = _depart(request) if recording() else None
        if flight is None:
            return await send_async(self, request, *args, stream=stream, **kwargs)
        with Sending(flight):
            response = await send_async(self, request, *args, stream=True, **kwargs)
        _attach(response, flight, streams[1])
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response

    module.Client.send = sending
    module.AsyncClient.send = sending_async


@quietly
def _depart(request: Any) -> Flight | None:
    try:
        body = request.content
    except Exception:  # it is streamed from a file or generator
        return None
    return depart(request.method, str(request.url), request.headers, body)


def _attach(response: Any, flight: Flight, stream: type) -> None:
    """Lets the flight hear the body; ends it at once when the body is there, as in faked networks."""
    try:
        body = response.content
    except Exception:
        flight.answered(response.status_code, response.headers)
        response.stream = stream(response.stream, flight)
    else:
        flight.answered(response.status_code, response.headers, decoded=True)
        flight.fed(body)
        flight.ended()


def _streams(module: ModuleType) -> tuple[type, type]:
    """Streams of bytes that pass on another's and let a flight hear them."""

    class Heard(module.SyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any, flight: Flight) -> None:
            self._stream, self._flight = stream, flight

        def __iter__(self) -> Iterator[bytes]:
            with Hearing(self._flight):
                for chunk in self._stream:
                    self._flight.fed(chunk)
                    yield chunk

        def close(self) -> None:
            try:
                self._stream.close()
            finally:
                self._flight.ended(early=True)

    class HeardAsync(module.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any, flight: Flight) -> None:
            self._stream, self._flight = stream, flight

        async def __aiter__(self) -> AsyncIterator[bytes]:
            with Hearing(self._flight):
                async for chunk in self._stream:
                    self._flight.fed(chunk)
                    yield chunk

        async def aclose(self) -> None:
            try:
                await self._stream.aclose()
            finally:
                self._flight.ended(early=True)

    return Heard, HeardAsync
