"""``requests``: ``Session.send`` is what every request goes through, faked ones too."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from promptlint.recorder.clients.reading import overhear
from promptlint.recorder.flight import Flight, Sending, depart, quietly, recording


def hook(module: ModuleType) -> None:
    """Changes ``requests.sessions.Session.send``."""
    send = module.Session.send

    @wraps(send)
    def sending(self: Any, request: Any, **kwargs: Any) -> Any:
        flight = depart(request.method, request.url, request.headers, request.body) if recording() else None
        if flight is None:
            return send(self, request, **kwargs)
        with Sending(flight):
            response = send(self, request, **kwargs)
        _attach(response, flight, kwargs.get("stream", False))
        return response

    module.Session.send = sending


@quietly
def _attach(response: Any, flight: Flight, stream: bool) -> None:
    whole = not stream or response._content_consumed
    flight.answered(response.status_code, response.headers, decoded=True)
    if whole:
        flight.fed(response.content)
        flight.ended()
    else:
        overhear(response.raw, flight)
