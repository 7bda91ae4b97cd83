"""OpenAI's Responses API, with prewarming and its own diagnosis of misses.

Source: the types of openai 3.57.0 (``Response``, ``PromptCacheDiagnostics``, ``ResponseStreamEvent``) and the guides
"Prompt caching" and "Prompt cache diagnostics" (tags O1 to O3 of providers.toml).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.emulator.chat import error
from tests.emulator.faults import ApiError, Fault
from tests.emulator.reply import Accepted, Body, Reply, bare, said, same

__all__ = ["check", "error", "reply"]

LEAST_OUTPUT = 16
"""The smallest ``max_output_tokens`` that the API takes."""


def check(body: Body) -> None:
    """Raises ``ApiError`` for what is refused before anything is looked up."""
    for field in ("model", "input"):
        if field not in body:
            raise ApiError(400, "invalid_request_error", f"Missing required parameter: '{field}'.")
    if body.get("max_output_tokens", LEAST_OUTPUT) < LEAST_OUTPUT:
        message = "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
        raise ApiError(400, "invalid_request_error", message)


def reply(now: Accepted, earlier: Mapping[str, Accepted], fault: Fault) -> Reply:
    """A ``Response`` and its stream."""
    options = now.body.get("prompt_cache_options") or {}
    text, tokens = ("", 0) if options.get("prewarm") else said(now.body.get("max_output_tokens", 100))
    usage = _usage(now, tokens) | dict(fault.usage)
    usage = {name: value for name, value in usage.items() if value is not None}
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"id": f"msg_{now.id}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    response: Body = {
        "id": now.id,
        "object": "response",
        "created_at": int(now.call.at),
        "model": now.body["model"],
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": now.body.get("instructions"),
        "metadata": {},
        "output": [item] if text else [],
        "parallel_tool_calls": True,
        "tool_choice": now.body.get("tool_choice", "auto"),
        "tools": now.body.get("tools", []),
        "usage": usage,
    }
    if "comparison_response_id" in options:
        response["prompt_cache_diagnostics"] = diagnose(now, earlier, fault)
    events = [_event("response.created", response={**response, "status": "in_progress", "usage": None, "output": []})]
    if text:
        at = {"item_id": item["id"], "output_index": 0}
        begun = {**item, "status": "in_progress", "content": []}
        events.append(_event("response.output_item.added", output_index=0, item=begun))
        events.append(_event("response.content_part.added", content_index=0, part={**part, "text": ""}, **at))
        for number, word in enumerate(text.split()):
            piece = f" {word}" if number else word
            events.append(_event("response.output_text.delta", content_index=0, delta=piece, logprobs=[], **at))
        events.append(_event("response.output_text.done", content_index=0, text=text, logprobs=[], **at))
        events.append(_event("response.content_part.done", content_index=0, part=part, **at))
        events.append(_event("response.output_item.done", output_index=0, item=item))
    events.append(_event("response.completed", response=response))
    return Reply(response, [(event["type"], event | {"sequence_number": i}) for i, event in enumerate(events)])


def _event(kind: str, **fields: Any) -> Body:
    return {"type": kind, **fields}


def _usage(now: Accepted, output: int) -> dict[str, Any]:
    written = dict(now.outcome.written)
    details: dict[str, Any] = {"cached_tokens": now.outcome.read, "cache_write_tokens": sum(written.values())}
    if written:
        details["cache_write_tokens_details"] = {f"ttl_{ttl}_tokens": written.get(ttl, 0) for ttl in ("30m", "12h")}
    return {
        "input_tokens": now.outcome.total,
        "input_tokens_details": details,
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": now.outcome.total + output,
    }


_CHANGES = (
    ("model_changed", ("model",)),
    ("prompt_cache_key_changed", ("prompt_cache_key",)),
    ("service_tier_changed", ("service_tier",)),
    ("tools_changed", ("tools",)),
    ("text_format_changed", ("text", "format")),
    ("reasoning_effort_changed", ("reasoning", "effort")),
    ("verbosity_changed", ("text", "verbosity")),
)


def diagnose(now: Accepted, earlier: Mapping[str, Accepted], fault: Fault) -> Body | None:
    """What became of the prefix of the response that is named for comparison; ``None``: nothing was named."""
    name = now.body["prompt_cache_options"]["comparison_response_id"]
    if name is None:
        return None
    if fault.pending:
        return {"type": "unavailable"}
    before = earlier.get(name)
    if before is None:
        return {"type": "comparison_response_not_found"}
    reason = _reason(before.body, now.body)
    if reason is None:
        return {"type": "cache_hit"}
    return {
        "type": "cache_miss",
        "reason": reason,
        "cache_missed_tokens": max(0, before.cached - now.outcome.read),
        "comparison_reusable_tokens": before.cached,
    }


def _reason(before: Body, now: Body) -> str | None:
    one, other = bare(before), bare(now)
    for reason, path in _CHANGES:
        if not same(_at(one, path), _at(other, path)):
            return reason
    old, new = _items(one), _items(other)
    return None if same(old, new[: len(old)]) else "input_changed"


def _items(body: Body) -> list[Any]:
    given = body["input"]
    items = [bare({"role": "user", "content": given})] if isinstance(given, str) else given
    return [body.get("instructions"), *items]


def _at(body: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body
