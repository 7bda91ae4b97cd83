"""What the formats have in common: times, bodies, and what answers say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from promptlint.trace.parts import dumps
from promptlint.trace.responses import Answer, understood
from promptlint.trace.sent import GUESSED, SESSION


def seconds(value: Any) -> float | None:
    """A time as unix seconds: a number of seconds, milliseconds or nanoseconds, or an ISO date; else ``None``."""
    if isinstance(value, str):
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            try:
                value = float(value)
            except ValueError:
                return None
        else:
            return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    for size, factor in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if value > size:
            return float(value / factor)
    return float(value)


def since(start: float | None, end: Any) -> float | None:
    """Seconds from a start to an end."""
    stop = seconds(end)
    return None if start is None or stop is None or stop < start else stop - start


def loaded(value: Any) -> Any:
    """The value of a field that may hold JSON as text."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def answer(response: Any) -> Answer:
    """What an answer says about itself: as JSON, as text of JSON, or as an event stream."""
    if response is None:
        return Answer()
    return understood((response if isinstance(response, str) else dumps(response)).encode("utf-8", "replace"), "")


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def text(value: Any) -> str | None:
    """The value if it is a text with something in it."""
    return value if isinstance(value, str) and value else None


def headers(session: str | None, guessed: bool = False) -> dict[str, str]:
    """Headers that say which conversation a request belongs to, and whether its cache markers are guesswork."""
    return ({SESSION: session} if session else {}) | ({GUESSED: "guessed"} if guessed else {})


def marked(body: dict[str, Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    """The body with a marker at its end, for formats that do not say where markers stood.

    Without one where usage says that nothing was read and nothing written: nobody asked for caching then.
    """
    told = [usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")]
    messages = body.get("messages")
    if all(value == 0 for value in told) or not isinstance(messages, list) or not messages:
        return body
    last = messages[-1]
    content = last.get("content") if isinstance(last, dict) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list) or not blocks or not isinstance(blocks[-1], dict):
        return body
    blocks = [*blocks[:-1], blocks[-1] | {"cache_control": {"type": "ephemeral"}}]
    return body | {"messages": [*messages[:-1], last | {"content": blocks}]}
