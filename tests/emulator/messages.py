"""Anthropic's Messages API: what it refuses, how it counts, and what it says about a miss.

Source: the types of anthropic 2.14.0 (``Message``, ``Diagnostics``, ``RawMessageStreamEvent``) and the pages "Prompt
caching", "Cache diagnostics" and "Errors" (tags A1, A7, A10 of providers.toml).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptlint.probe import canned
from promptlint.probe.canned import Body, Reply
from tests.emulator.faults import ApiError, Fault
from tests.emulator.reply import Accepted, bare, reported, said, same

_PROMPT = ("model", "speed", "tools", "system")
_OTHER = ("thinking", "tool_choice", "output_config", "context_management", "container")


def check(body: Body) -> None:
    """Raises ``ApiError`` for what is refused before anything is looked up."""
    for field in ("model", "messages", "max_tokens"):
        if field not in body:
            raise ApiError(400, "invalid_request_error", f"{field}: Field required")
    if body["max_tokens"] == 0:
        chosen = body.get("tool_choice", {}).get("type")
        for wrong, name in (
            (body.get("stream"), "stream"),
            (body.get("thinking", {}).get("type") == "enabled", "thinking"),
            (body.get("output_config", {}).get("format"), "output_config.format"),
            (chosen in ("tool", "any"), "tool_choice"),
        ):
            if wrong:
                raise _refused(f"max_tokens: 0 cannot be used with {name}")
    budget = body.get("thinking", {}).get("budget_tokens", 0)
    if budget and budget >= body["max_tokens"]:
        raise _refused("max_tokens must be greater than thinking.budget_tokens")


def _refused(message: str) -> ApiError:
    return ApiError(400, "invalid_request_error", message)


def reply(now: Accepted, earlier: Mapping[str, Accepted], fault: Fault) -> Reply:
    """A ``Message`` and its stream."""
    limit = now.body["max_tokens"]
    text, tokens = said(limit)
    stop = "max_tokens" if tokens == limit else "end_turn"
    usage = reported(_usage(now) | {"output_tokens": tokens}, fault)
    found = {"diagnostics": diagnose(now, earlier, fault)} if "diagnostics" in now.body else {}
    return canned.message(now.body, now.id, text, usage, stop, **found)


def _usage(now: Accepted) -> dict[str, Any]:
    written = dict(now.outcome.written)
    return {
        "input_tokens": now.outcome.uncached,
        "cache_creation_input_tokens": sum(written.values()),
        "cache_read_input_tokens": now.outcome.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written.get("5m", 0),
            "ephemeral_1h_input_tokens": written.get("1h", 0),
        },
        "service_tier": "standard",
    }


def diagnose(now: Accepted, earlier: Mapping[str, Accepted], fault: Fault) -> Body | None:
    """Why the prefix of the named request could not be reused; ``None`` where it was, or none was named."""
    name = now.body["diagnostics"].get("previous_message_id")
    if name is None:
        return None
    if fault.pending:
        return {"cache_miss_reason": None}
    before = earlier.get(name)
    if before is None:
        return {"cache_miss_reason": {"type": "previous_message_not_found"}}
    reason = _reason(before.body, now.body)
    if reason is None:
        return None
    if reason == "unavailable":
        return {"cache_miss_reason": {"type": reason}}
    missed = max(0, before.cached - now.outcome.read)
    return {"cache_miss_reason": {"type": reason, "cache_missed_input_tokens": missed}}


def _reason(before: Body, now: Body) -> str | None:
    one, other = bare(before), bare(now)
    for field in _PROMPT:
        if not same(one.get(field), other.get(field)):
            return "model_changed" if field == "speed" else f"{field}_changed"
    old, new = one["messages"], other["messages"]
    if not same(old, new[: len(old)]):
        return "messages_changed"
    return None if all(same(one.get(field), other.get(field)) for field in _OTHER) else "unavailable"


def error(status: int, kind: str, message: str) -> Body:
    """``{"type": "error", ...}``, as the page "Errors" has it."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_emulated"}
