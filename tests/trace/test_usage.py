"""Token counts of every provider in one form."""

from __future__ import annotations

from typing import Any

import pytest

from promptlint.provider import facts
from promptlint.trace.usage import Usage, reported

CASES: dict[str, tuple[str, str | None, dict[str, Any], Usage]] = {
    "anthropic counts cached tokens apart": (
        "anthropic",
        "claude-sonnet-5",
        {
            "input_tokens": 10,
            "cache_read_input_tokens": 2000,
            "cache_creation_input_tokens": 300,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
            "output_tokens": 7,
        },
        Usage(2310, 2000, (("5m", 100), ("1h", 200)), 7),
    ),
    "anthropic without the split": (
        "anthropic",
        None,
        {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 300, "output_tokens": 7},
        Usage(310, 0, (("", 300),), 7),
    ),
    "openai chat counts them as input": (
        "openai",
        "gpt-5",
        {"prompt_tokens": 2006, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1920}},
        Usage(2006, 1920, None, 3),
    ),
    "openai responses": (
        "openai",
        "gpt-6-sol",
        {
            "input_tokens": 2006,
            "output_tokens": 3,
            "input_tokens_details": {
                "cached_tokens": 0,
                "cache_write_tokens": 2000,
                "cache_write_tokens_details": {"ttl_30m_tokens": 2000, "ttl_12h_tokens": 0},
            },
        },
        Usage(2006, 0, (("30m", 2000),), 3),
    ),
    "converse": (
        "bedrock_anthropic",
        None,
        {
            "inputTokens": 5,
            "outputTokens": 2,
            "cacheReadInputTokens": 1000,
            "cacheWriteInputTokens": 50,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 20}, {"ttl": "5m", "inputTokens": 30}],
        },
        Usage(1055, 1000, (("1h", 20), ("5m", 30)), 2),
    ),
    "invoke answers in anthropic's form": (
        "bedrock_anthropic",
        None,
        {"input_tokens": 5, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 0, "output_tokens": 2},
        Usage(1005, 1000, (), 2),
    ),
    "gemini in the spelling of its SDK": (
        "gemini",
        None,
        {"prompt_token_count": 5000, "cached_content_token_count": 4096, "candidates_token_count": 9},
        Usage(5000, 4096, None, 9),
    ),
    "gemini over HTTP": (
        "gemini",
        None,
        {"promptTokenCount": 5000, "cachedContentTokenCount": 4096, "candidatesTokenCount": 9},
        Usage(5000, 4096, None, 9),
    ),
    "deepseek": (
        "deepseek",
        None,
        {"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36, "completion_tokens": 1},
        Usage(100, 64, None, 1),
    ),
    "claude through a gateway in openai's form": (
        "anthropic",
        None,
        {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens": 1},
        Usage(100, 64, None, 1),
    ),
    "nobody knows the provider": (
        "unknown",
        None,
        {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 0, "output_tokens": 1},
        Usage(100, 90, (), 1),
    ),
    "no cache fields": ("ollama", None, {"prompt_tokens": 100, "completion_tokens": 1}, Usage(100, None, None, 1)),
    "nothing": ("openai", None, {}, Usage()),
    "nonsense": ("openai", None, {"prompt_tokens": "many", "prompt_tokens_details": None}, Usage()),
}


@pytest.mark.parametrize(("provider", "model", "usage", "expected"), CASES.values(), ids=CASES.keys())
def test_counts(provider: str, model: str | None, usage: dict[str, Any], expected: Usage) -> None:
    assert reported(usage, facts(provider, model)) == expected


def test_what_is_left_is_uncached() -> None:
    usage = Usage(2310, 2000, (("5m", 100), ("1h", 200)))
    assert (usage.stored, usage.uncached) == (300, 10)
