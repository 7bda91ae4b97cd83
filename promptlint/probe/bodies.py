"""The body that is sent for a request of the program: the same prompt, and as little output as the API allows."""

from __future__ import annotations

from typing import Any

from promptlint.probe.samples import Sample

SENDABLE = ("messages", "chat", "responses")
"""The APIs that the official SDKs of Anthropic and OpenAI speak."""

_OPTIONS = "prompt_cache_options"
_LEAST_OUTPUT = 16
"""Tokens of output below which OpenAI's APIs refuse a request, or a model that thinks has nothing to say."""


def minimal(sample: Sample) -> dict[str, Any]:
    """The body with the smallest answer: none at all where the provider has a form for that (prewarming)."""
    body = {key: value for key, value in sample.body.items() if key not in _DROPPED}
    match sample.wire.api:
        case "messages":
            return body | {"max_tokens": _claude(sample)}
        case "responses":
            return _responses(body, sample)
        case _:
            own = sample.facts.provider in ("openai", "azure_openai")
            name = "max_completion_tokens" if own or "max_completion_tokens" in body else "max_tokens"
            body.pop("max_tokens", None)
            return body | {name: _LEAST_OUTPUT if own else 1}


_DROPPED = ("stream", "stream_options", "background", "n", "diagnostics")


def _claude(sample: Sample) -> int:
    """0 prepares the cache and answers nothing, where that is allowed (Anthropic, "Prompt caching", tag A1)."""
    body = sample.body
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        return int(thinking.get("budget_tokens") or 1024) + 1
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    formatted = bool((body.get("output_config") or {}).get("format"))
    automatic = sample.wire.automatic is not None
    return 1 if forced or formatted or automatic or sample.facts.provider != "anthropic" else 0


def _responses(body: dict[str, Any], sample: Sample) -> dict[str, Any]:
    options = {k: v for k, v in (body.get(_OPTIONS) or {}).items() if k != "comparison_response_id"}
    if sample.facts.policy == "window" and sample.facts.provider == "openai":
        return body | {_OPTIONS: {**options, "prewarm": True}}
    return body | ({_OPTIONS: options} if options else {}) | {"max_output_tokens": _LEAST_OUTPUT}


def output(body: dict[str, Any]) -> int:
    """The most tokens that the answer to a minimal body can have."""
    if (body.get(_OPTIONS) or {}).get("prewarm"):
        return 0
    asked = [body.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    return max((value for value in asked if isinstance(value, int)), default=0)


_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control")
COUNTING = "/v1/messages/count_tokens"
"""Anthropic's route that counts the tokens of a prompt: free, and without a trace in any cache."""


def countable(sample: Sample) -> dict[str, Any] | None:
    """What Anthropic is asked to count of a request; ``None`` where no provider is."""
    if sample.wire.api != "messages" or sample.facts.provider != "anthropic":
        return None
    return {key: sample.body[key] for key in _COUNTED if key in sample.body}


def diagnosed(body: dict[str, Any], sample: Sample, before: str | None) -> dict[str, Any]:
    """The body asking the provider to compare it with the response called ``before``, where it does that.

    Anthropic wants to know from the first request on that a comparison will follow; OpenAI does not.
    """
    if sample.wire.api == "messages" and compares(sample):
        return body | {"diagnostics": {"previous_message_id": before}}
    if before and sample.wire.api == "responses" and compares(sample):
        return body | {_OPTIONS: {**(body.get(_OPTIONS) or {}), "comparison_response_id": before}}
    return body


def compares(sample: Sample) -> bool:
    """Whether the provider itself says what became of a prefix (``Facts.diagnostics``)."""
    if not sample.facts.diagnostics:
        return False
    return sample.wire.api == "messages" or (sample.wire.api == "responses" and sample.facts.policy == "window")
