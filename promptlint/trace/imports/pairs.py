"""JSON Lines of requests with their responses, as programs and proxies log them, and OpenAI's batch files.

A record is a body, or has one in ``request`` (perhaps with ``url``, ``headers`` and ``body`` of its own) or ``body``;
the answer stands in ``response``, perhaps with ``status_code`` and ``body``. The time is the first that is found of
``timestamp``, ``time``, ``at``, ``created_at``, ``start_time``, and ``created`` in the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.trace.endpoints import kept, shown
from promptlint.trace.format import Exchange
from promptlint.trace.imports.common import answer, loaded, mapping, seconds, text
from promptlint.trace.parts import dumps

_BODIES = ("messages", "input", "contents", "prompt")
_TIMES = ("timestamp", "time", "at", "created_at", "start_time", "startTime", "requested_at", "ts")
_DURATIONS = ("duration", "latency", "elapsed", "response_time", "duration_ms", "latency_ms", "elapsed_ms")


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether there is the body of a request in a record."""
    return bool(_body(record))


def _body(record: Mapping[str, Any]) -> Mapping[str, Any]:
    asked = mapping(loaded(record.get("request")))
    for held in (asked.get("body"), asked.get("json"), asked, record.get("body"), record.get("payload"), record):
        body = mapping(loaded(held))
        if any(key in body for key in _BODIES):
            return body
    return {}


def exchanges(record: Mapping[str, Any]) -> Iterator[Exchange]:
    """The request of a record."""
    body = _body(record)
    asked, given = mapping(loaded(record.get("request"))), loaded(record.get("response"))
    inner = mapping(given)
    response = loaded(inner["body"]) if "body" in inner else given
    said = answer(response if response is not None else {"usage": record.get("usage")})
    status = next((s for s in (inner.get("status_code"), inner.get("status"), record.get("status")) if _code(s)), None)
    created = mapping(response).get("created", mapping(response).get("created_at"))
    times = (seconds(record.get(key, asked.get(key))) for key in _TIMES)
    at = next((time for time in times if time), None) or seconds(created) or 0.0
    lasted = next((_duration(record, key) for key in _DURATIONS if _duration(record, key) is not None), None)
    url = text(asked.get("url")) or text(record.get("url")) or text(record.get("endpoint")) or ""
    plain = body if body is not record else {k: v for k, v in body.items() if k not in ("response", "usage", "request")}
    yield Exchange(
        id=text(record.get("id")) or text(record.get("custom_id")) or said.response_id or "",
        at=at,
        endpoint=shown(url),
        api=None,
        body=dumps(plain),
        headers=kept({str(k): str(v) for k, v in mapping(asked.get("headers", record.get("headers"))).items()}),
        began=lasted,
        lasted=lasted,
        status=status,
        error=said.error,
        usage=said.usage,
        response_id=said.response_id,
    )


def _code(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600


def _duration(record: Mapping[str, Any], key: str) -> float | None:
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value / 1000 if key.endswith("_ms") else float(value)
