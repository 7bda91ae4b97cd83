"""``botocore``, and with it boto3: Bedrock's Converse and InvokeModel. Each attempt goes through the HTTP session."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from promptlint.recorder.clients.reading import overhear
from promptlint.recorder.flight import Flight, Sending, depart, quietly, recording


def hook(module: ModuleType) -> None:
    """Changes ``botocore.httpsession.URLLib3Session.send``."""
    send = module.URLLib3Session.send

    @wraps(send)
    def sending(self: Any, request: Any) -> Any:
        flight = depart(request.method, request.url, _text(request.headers), request.body) if recording() else None
        if flight is None:
            return send(self, request)
        with Sending(flight):
            response = send(self, request)
        _attach(response, flight, request.stream_output)
        return response

    module.URLLib3Session.send = sending


def _text(headers: Any) -> dict[str, str]:
    """botocore has some values as bytes."""
    return {
        str(name): value.decode("latin-1") if isinstance(value, bytes) else str(value)
        for name, value in headers.items()
    }


@quietly
def _attach(response: Any, flight: Flight, stream: bool) -> None:
    flight.answered(response.status_code, response.headers)
    if stream:
        overhear(response.raw, flight)
    else:
        flight.fed(response.content)
        flight.ended()
