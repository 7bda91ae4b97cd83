"""The simulator equals llama.cpp: 200 random conversations, and the requests that people really send, over its API."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.engines.llama import Llama, compare, server
from promptlint.provider import facts
from promptlint.simulator import Block, Call
from promptlint.simulator.slots import predict


@pytest.mark.parametrize("slots", [1, 4])
def test_random_conversations(slots: int) -> None:
    requests, wrong = compare(100, slots, first=1000 * slots)
    assert requests > 800
    assert wrong == []


SYSTEM = "You are a careful assistant for the order desk of a small shop. Answer briefly. " * 12
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "Look up the weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    {
        "name": "find_order",
        "description": "Find an order by its number.",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    },
]
TURNS = [
    ("user", "What is the state of order 17? " * 6),
    ("assistant", "It left the warehouse. " * 6),
    ("user", "And of order 18? " * 6),
    ("assistant", "It waits for payment. " * 6),
    ("user", "Then cancel order 18, please."),
]
REORDERED = [{**TOOLS[0], "parameters": dict(reversed(TOOLS[0]["parameters"].items()))}, TOOLS[1]]
VARIANTS = {
    "identical": (SYSTEM, TOOLS, TURNS),
    "last message": (SYSTEM, TOOLS, [*TURNS[:-1], ("user", "Now ship order 18, please.")]),
    "one turn more": (SYSTEM, TOOLS, [*TURNS, ("assistant", "Done."), ("user", "Thanks. Anything open?")]),
    "first character of system": ("Z" + SYSTEM[1:], TOOLS, TURNS),
    "last character of system": (SYSTEM[:-2] + "!", TOOLS, TURNS),
    "tools reordered": (SYSTEM, TOOLS[::-1], TURNS),
    "keys of a schema reordered": (SYSTEM, REORDERED, TURNS),
    "one tool less": (SYSTEM, TOOLS[:1], TURNS),
    "oldest turns dropped": (SYSTEM, TOOLS, TURNS[2:]),
    "time in front": ("Now: 2026-11-01T10:00:01Z. " + SYSTEM, TOOLS, TURNS),
}
"""What people change between two requests: see the table in docs/engines.md."""


def body(variant: tuple[str, list[Any], list[Any]]) -> dict[str, Any]:
    system, tools, turns = variant
    messages = [("system", system), *turns]
    return {
        "model": "tiny",
        "max_tokens": 1,
        "tools": [{"type": "function", "function": tool} for tool in tools],
        "messages": [{"role": role, "content": text} for role, text in messages],
    }


def ids(llama: Llama, request: dict[str, Any]) -> tuple[int, ...]:
    """The prompt as the engine itself renders and tokenizes it."""
    prompt = llama.post("/apply-template", request)["prompt"]
    return tuple(llama.post("/tokenize", {"content": prompt, "parse_special": True})["tokens"])


def test_requests_over_the_chat_api() -> None:
    """Each variant behind the base request: the cached tokens that the usage reports are the predicted ones."""
    base = body(VARIANTS["identical"])
    with server(1) as llama:
        reported: list[dict[str, Any]] = []
        calls: list[Call] = []
        for variant in VARIANTS.values():
            for request in (base, body(variant)):
                reported.append(llama.post("/v1/chat/completions", request)["usage"])
                calls.append(Call((Block("messages", ids(llama, request)),), at=len(calls)))
    outcomes = predict(calls, facts("llama_cpp", None))
    assert [outcome.total for outcome in outcomes] == [usage["prompt_tokens"] for usage in reported]
    found = [usage["prompt_tokens_details"]["cached_tokens"] for usage in reported]
    assert [outcome.read for outcome in outcomes] == found
    after = dict(zip(VARIANTS, found[1::2], strict=True))
    assert after["time in front"] < after["last character of system"] < after["last message"] < after["identical"]
    assert after["tools reordered"] < 100
