"""OpenAI's Responses API, with prewarming and its own diagnosis of misses.

Source: the types of openai 3.57.0 (``Response``, ``PromptCacheDiagnostics``, ``ResponseStreamEvent``) and the guides
"Prompt caching" and "Prompt cache diagnostics" (tags O1 to O3 of providers.toml).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptlint.probe import canned
from promptlint.probe.canned import Body, Reply
from tests.emulator.chat import error
from tests.emulator.faults import ApiError, Fault
from tests.emulator.reply import Accepted, bare, reported, said, same

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
    usage = reported(_usage(now, tokens), fault)
    asked = "comparison_response_id" in options
    found = {"prompt_cache_diagnostics": diagnose(now, earlier, fault)} if asked else {}
    return canned.response(now.body, now.id, text, usage, int(now.call.at), **found)


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
