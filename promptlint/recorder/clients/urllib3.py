"""``urllib3``, used directly; under requests and botocore their own hooks speak."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from promptlint.recorder.clients.reading import overhear
from promptlint.recorder.flight import Flight, Sending, depart, quietly, recording


def hook(module: ModuleType) -> None:
    """Changes ``urllib3.connectionpool.HTTPConnectionPool.urlopen``."""
    urlopen = module.HTTPConnectionPool.urlopen

    @wraps(urlopen)
    def opening(self: Any, method: str, url: str, body: Any = None, headers: Any = None, **kwargs: Any) -> Any:
        flight = _depart(self, method, url, body, headers) if recording() else None
        if flight is None:
            return urlopen(self, method, url, body, headers, **kwargs)
        with Sending(flight):
            response = urlopen(self, method, url, body, headers, **kwargs)
        _attach(response, flight, kwargs.get("preload_content", True))
        return response

    module.HTTPConnectionPool.urlopen = opening


@quietly
def _depart(pool: Any, method: str, url: str, body: Any, headers: Any) -> Flight | None:
    address = url if "://" in url else f"{pool.scheme}://{pool.host}:{pool.port}{url}"
    return depart(method, address, headers or pool.headers or {}, body)


@quietly
def _attach(response: Any, flight: Flight, loaded: bool) -> None:
    flight.answered(response.status, response.headers, decoded=True)
    if loaded:
        flight.fed(response.data)
        flight.ended()
    else:
        overhear(response, flight)
