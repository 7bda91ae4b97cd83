"""Langfuse's observations of the type GENERATION: exports as JSON or JSON Lines, and answers of its API.

``input`` is a list of messages, or an object with messages, tools and more; ``modelParameters`` are parameters.
``usageDetails`` counts each kind of token apart: what is named for the cache is read or written, ``input`` the rest,
as Langfuse's own integrations store it; where ``total`` says otherwise, that decides. Source: Langfuse's API reference
(Observation) and "Model Usage & Cost Tracking" (2026).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.trace.format import Exchange
from promptlint.trace.imports.common import headers, loaded, mapping, marked, seconds, since, text
from promptlint.trace.parts import dumps

_READ = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read", "cached_tokens", "input_cached")
_WRITTEN = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write", "cache_write_tokens")


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is an observation."""
    return {"traceId", "startTime"} <= record.keys() or {"trace_id", "start_time", "type"} <= record.keys()


def exchanges(record: Mapping[str, Any]) -> Iterator[Exchange]:
    """The request of a generation; nothing of other observations."""

    def field(camel: str, snake: str) -> Any:
        return loaded(record.get(camel, record.get(snake)))

    given = loaded(record.get("input"))
    if str(record.get("type", "GENERATION")).upper() != "GENERATION" or not given:
        return
    body: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    if not body:
        body["messages"] = given if isinstance(given, list) else [{"role": "user", "content": given}]
    model = text(field("model", "provided_model_name")) or text(field("providedModelName", "model_id")) or ""
    parameters = {k: loaded(v) for k, v in mapping(field("modelParameters", "model_parameters")).items()}
    usage = _usage(mapping(field("usageDetails", "usage_details")), mapping(record.get("usage")))
    start = seconds(field("startTime", "start_time")) or 0.0
    failed = record.get("level") == "ERROR"
    session = text(field("sessionId", "session_id"))
    whole = {"model": model} | parameters | body
    marks = "cache_control" in dumps(whole)
    yield Exchange(
        id=text(record.get("id")) or "",
        at=start,
        endpoint="",
        api=None,
        body=dumps(whole if marks else marked(whole, usage)),
        headers=headers(session, guessed=not marks),
        began=since(start, field("completionStartTime", "completion_start_time"))
        or since(start, field("endTime", "end_time")),
        lasted=since(start, field("endTime", "end_time")),
        status=500 if failed else 200,
        error=text(field("statusMessage", "status_message")) if failed else None,
        usage=usage or None,
    )


def _usage(details: Mapping[str, Any], older: Mapping[str, Any]) -> dict[str, int]:
    """Anthropic's form: input without what was read or written."""
    counts = {k: v for k, v in (details or older).items() if isinstance(v, int)}
    rest = next((counts[k] for k in ("input", "input_tokens", "prompt_tokens", "promptTokens") if k in counts), None)
    if rest is None:
        return {}
    read = next((counts[k] for k in _READ if k in counts), None)
    wrote = next((counts[k] for k in _WRITTEN if k in counts), None)
    output = next(
        (counts[k] for k in ("output", "output_tokens", "completion_tokens", "completionTokens") if k in counts), 0
    )
    cached = (read or 0) + (wrote or 0)
    if cached and counts.get("total") == rest + output:  # the cached ones were counted as input, too
        rest -= cached
    usage = {"input_tokens": rest, "cache_read_input_tokens": read, "cache_creation_input_tokens": wrote}
    return {name: value for name, value in (usage | {"output_tokens": output}).items() if value is not None}
