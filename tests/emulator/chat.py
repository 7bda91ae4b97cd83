"""OpenAI's Chat Completions, and DeepSeek's and Gemini's, which count hits in fields of their own.

Source: the types of openai 3.57.0 (``ChatCompletion``, ``CompletionUsage``), the guide "Prompt caching" and DeepSeek's
"Context caching" (tags O1, O3, D1 of providers.toml).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptlint.probe import canned
from promptlint.probe.canned import Body, Reply
from tests.emulator.faults import ApiError, Fault
from tests.emulator.reply import Accepted, reported, said


def check(body: Body) -> None:
    """Raises ``ApiError`` for what is refused before anything is looked up."""
    for field in ("model", "messages"):
        if field not in body:
            raise ApiError(400, "invalid_request_error", f"Missing required parameter: '{field}'.")
    if "prewarm" in body.get("prompt_cache_options", {}):
        raise ApiError(400, "invalid_request_error", "Unknown parameter: 'prompt_cache_options.prewarm'.")


def reply(now: Accepted, earlier: Mapping[str, Accepted], fault: Fault) -> Reply:
    """A ``ChatCompletion`` and its chunks."""
    limit = now.body.get("max_completion_tokens") or now.body.get("max_tokens") or 100
    text, tokens = said(limit)
    usage = reported(_usage(now, tokens), fault)
    return canned.completion(now.body, now.id, text, usage, "length" if tokens == limit else "stop", int(now.call.at))


def _usage(now: Accepted, output: int) -> dict[str, Any]:
    counts = {
        "prompt_tokens": now.outcome.total,
        "completion_tokens": output,
        "total_tokens": now.outcome.total + output,
    }
    if now.body["model"].startswith("deepseek"):
        return counts | {
            "prompt_cache_hit_tokens": now.outcome.read,
            "prompt_cache_miss_tokens": now.outcome.total - now.outcome.read,
        }
    if now.body["model"].startswith("gemini"):
        return counts | {"cached_content_token_count": now.outcome.read}
    written = now.outcome.stored
    details = {"cached_tokens": now.outcome.read, "audio_tokens": 0}
    return counts | {"prompt_tokens_details": details | ({"cache_write_tokens": written} if written else {})}


def error(status: int, kind: str, message: str) -> Body:
    """``{"error": {...}}``."""
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
    kind = "invalid_request_error" if kind == "not_found_error" else "server_error" if kind == "api_error" else kind
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
