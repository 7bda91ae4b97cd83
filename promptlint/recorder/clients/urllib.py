"""``urllib.request`` of the standard library: ``urlopen`` and openers of one's own."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from promptlint.recorder.clients.reading import overhear
from promptlint.recorder.flight import Flight, depart, inside, quietly, recording


def hook(module: ModuleType) -> None:
    """Changes ``OpenerDirector.open``."""
    original = module.OpenerDirector.open

    @wraps(original)
    def opening(self: Any, fullurl: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        flight = _depart(fullurl, data) if recording() else None
        if flight is None:
            return original(self, fullurl, data, *args, **kwargs)
        try:
            with inside():
                response = original(self, fullurl, data, *args, **kwargs)
        except BaseException as error:
            _refused(error, flight)
            raise
        _attach(response, flight)
        return response

    module.OpenerDirector.open = opening


@quietly
def _depart(url: Any, data: Any) -> Flight | None:
    if isinstance(url, str):
        return depart("POST" if data is not None else "GET", url, {}, data)
    body = url.data if data is None else data
    method = getattr(url, "method", None) or ("POST" if body is not None else "GET")
    return depart(method, url.full_url, dict(url.header_items()), body)


@quietly
def _attach(response: Any, flight: Flight) -> None:
    flight.answered(response.status, response.headers)
    overhear(response, flight)


@quietly
def _refused(error: BaseException, flight: Flight) -> None:
    """An HTTP error is an answer, whose body the program may still read; it is recorded without."""
    status = getattr(error, "code", None)
    if isinstance(status, int):
        flight.answered(status, getattr(error, "headers", None) or {})
    flight.ended(error)
