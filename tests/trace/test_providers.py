"""One conversation at every provider, in the bodies of each API: sound it hits, with a clock in front it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptlint.trace.explain import Cause
from promptlint.trace.texts import Change
from tests.trace.traces import MARK, RULES, Trace, dialogue

D = dialogue(6)
LONG = RULES * 4

Make = Callable[[str, list[str]], dict[str, Any]]


def messages(model: str, **other: Any) -> Make:
    def make(system: str, turns: list[str]) -> dict[str, Any]:
        roles = ("user", "assistant")
        talk = [{"role": roles[n % 2], "content": text} for n, text in enumerate(turns)]
        return {"model": model, "max_tokens": 9, "system": system, "messages": talk} | other

    return make


def chat(model: str, **other: Any) -> Make:
    def make(system: str, turns: list[str]) -> dict[str, Any]:
        body = messages(model)(system, turns)
        return {"model": model, "messages": [{"role": "system", "content": system}, *body["messages"]]} | other

    return make


def responses(model: str, **other: Any) -> Make:
    def make(system: str, turns: list[str]) -> dict[str, Any]:
        kinds = ("input_text", "output_text")
        talk = [
            {"role": ("user", "assistant")[n % 2], "content": [{"type": kinds[n % 2], "text": text}]}
            for n, text in enumerate(turns)
        ]
        return {"model": model, "instructions": system, "input": talk} | other

    return make


def converse(model: str) -> Make:
    point = {"cachePoint": {"type": "default"}}

    def make(system: str, turns: list[str]) -> dict[str, Any]:
        contents: list[list[dict[str, Any]]] = [[{"text": text}] for text in turns]
        contents[-1].append(point)
        talk = [{"role": ("user", "assistant")[n % 2], "content": content} for n, content in enumerate(contents)]
        return {"model": model, "system": [{"text": system}, point], "messages": talk}

    return make


def generate(model: str) -> Make:
    def make(system: str, turns: list[str]) -> dict[str, Any]:
        talk = [{"role": ("user", "model")[n % 2], "parts": [{"text": text}]} for n, text in enumerate(turns)]
        return {"model": model, "systemInstruction": {"parts": [{"text": system}]}, "contents": talk}

    return make


PROVIDERS: dict[str, tuple[str, str, Make]] = {
    "claude, automatic": ("anthropic", "messages", messages("claude-opus-5", **MARK)),
    "claude on bedrock": ("bedrock_anthropic", "converse", converse("anthropic.claude-sonnet-5-v1:0")),
    "gpt-6 responses": ("openai", "responses", responses("gpt-6-sol")),
    "gpt-6 chat": ("openai", "chat", chat("gpt-6-sol")),
    "gpt-4o": ("openai", "chat", chat("gpt-4o")),
    "azure": ("azure_openai", "chat", chat("gpt-5.2")),
    "gemini": ("gemini", "generate", generate("gemini-3.1-pro-preview")),
    "deepseek": ("deepseek", "chat", chat("deepseek-v4-flash")),
    "mistral": ("mistral", "chat", chat("mistral-large-latest", prompt_cache_key="k")),
    "groq": ("groq", "chat", chat("openai/gpt-oss-120b")),
    "vllm": ("vllm", "chat", chat("qwen3")),
    "llama.cpp": ("llama_cpp", "chat", chat("local")),
}


def sent(name: str, system: Callable[[int], str]) -> Trace:
    provider, api, make = PROVIDERS[name]
    trace = Trace(provider)
    for turn in range(1, 6):
        trace.send(make(system(turn), D[: 2 * turn - 1]), api)
    return trace


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_sound_conversation(name: str) -> None:
    verdicts = sent(name, lambda turn: LONG).judged()
    assert [verdict.cause for verdict in verdicts] == [Cause.FIRST, *[Cause.HIT] * 4]
    assert all(verdict.read > 0 for verdict in verdicts[1:])
    for verdict in verdicts:
        assert verdict.predicted is not None
        slack = max(0.02 * verdict.sent.total, verdict.sent.facts.granularity)
        assert abs(verdict.predicted.read - (verdict.sent.usage.read or 0)) <= slack


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_clock_in_front(name: str) -> None:
    verdicts = sent(name, lambda turn: f"It is 2025-11-30 10:0{turn}:11. {LONG}").judged()
    assert [verdict.cause for verdict in verdicts] == [Cause.FIRST, *[Change.CLOCK] * 4]
    assert all(verdict.lost > 0.8 * verdict.sent.total for verdict in verdicts[1:])
