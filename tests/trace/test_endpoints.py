"""Requests to language models are told from all others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptlint import provider
from promptlint.trace.endpoints import kept, recognise, shown, vendor

MESSAGES = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
AWS = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash"
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


@pytest.mark.parametrize(
    ("address", "body", "api"),
    [
        ("https://api.anthropic.com/v1/messages", MESSAGES, "messages"),
        ("https://api.anthropic.com/v1/messages?beta=true", MESSAGES, "messages"),
        ("https://x-aiplatform.googleapis.com/v1/p/models/claude-sonnet-4-5:streamRawPredict", MESSAGES, "messages"),
        ("http://127.0.0.1:8080/v1/chat/completions", MESSAGES, "chat"),
        ("https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", MESSAGES, "chat"),
        ("https://api.openai.com/v1/responses", {"model": "m", "input": "hi"}, "responses"),
        (f"{AWS}/converse-stream", {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, "converse"),
        (f"{AWS}/invoke", {"anthropic_version": "bedrock-2023-05-31", "messages": []}, "invoke"),
        (f"{GOOGLE}:streamGenerateContent?alt=sse", CONTENTS, "generate"),
        ("http://localhost:11434/api/chat", MESSAGES, "chat"),
        ("http://localhost:8000/v1/completions", {"model": "m", "prompt": "hi"}, "completions"),
        # addresses that say nothing
        ("https://gateway.example/llm", MESSAGES, "chat"),
        ("https://gateway.example/llm", {**MESSAGES, "system": "s", "max_tokens": 9}, "messages"),
        ("https://gateway.example/llm", CONTENTS, "generate"),
        ("https://gateway.example/llm", {"model": "m", "input": [{"role": "user", "content": "hi"}]}, "responses"),
        # no request to a model, or none that has a prompt cache
        ("https://api.anthropic.com/v1/messages/count_tokens", MESSAGES, None),
        ("https://api.anthropic.com/v1/messages/batches", {"requests": [{"params": MESSAGES}]}, None),
        ("https://api.openai.com/v1/responses/input_tokens", {"model": "m", "input": "hi"}, None),
        ("https://api.openai.com/v1/embeddings", {"model": "m", "input": ["hi"]}, None),
        ("https://api.openai.com/v1/images/generations", {"model": "m", "prompt": "a cat"}, None),
        ("https://api.twilio.com/2010-04-01/Accounts/AC/v1/messages", {"to": "+1", "text": "hi"}, None),
        ("https://gateway.example/embed", {"model": "m", "input": ["hi", "ho"]}, None),
        ("https://slack.example/api/chat", {"channel": "c", "text": "hi"}, None),
        ("https://queue.example/send", {"messages": [{"role": "r", "content": "c"}]}, None),
        ("https://queue.example/send", {"messages": [{"id": 1}, {"id": 2}], "model": "m"}, None),
        ("https://graph.example/v1", {"query": '{ "messages" }', "model": "m"}, None),
        ("https://[bad/v1/messages", MESSAGES, None),
    ],
)
def test_requests_are_recognised(address: str, body: Any, api: str | None) -> None:
    assert recognise(address, json.dumps(body)) == api


def test_bodies_that_are_no_json_are_no_requests_where_the_address_says_nothing() -> None:
    assert recognise("https://gateway.example/llm", '"messages"' + "[" * 100_000) is None
    assert recognise("https://gateway.example/llm", '["messages"]') is None


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    assert shown("https://me:pw@host:8080/v1/messages?key=abc&alt=sse&beta=true#x") == (
        "https://host:8080/v1/messages?alt=sse&beta=true"
    )


def test_only_listed_headers_are_kept() -> None:
    given = {"X-Api-Key": "s", "Authorization": "Bearer s", "Cookie": "s", "Anthropic-Beta": "b", "X-Own": "s"}
    assert kept(given) == {"anthropic-beta": "b"}


HOSTS = [
    *("api.anthropic.com", "api.openai.com", "eu.api.openai.com", "openrouter.ai", "api.groq.com", "api.deepseek.com"),
    *("api.x.ai", "api.mistral.ai", "api.moonshot.cn", "api.fireworks.ai", "api.together.xyz", "localhost:8000"),
    *("generativelanguage.googleapis.com", "bedrock-runtime.us-east-1.amazonaws.com", "me.openai.azure.com"),
    *("notopenai.com", "openai.com.evil.example", "gateway.example", "[::1", ""),
]


@pytest.mark.parametrize("host", HOSTS)
def test_the_guess_of_the_recorder_is_the_readers(host: str) -> None:
    address = f"https://{host}/v1/chat/completions"
    guess = vendor(address)
    if guess is not None:
        assert guess == provider.identify(api=None, base_url=address, model=None)
    assert (guess is not None) == (host in HOSTS[:11] or host.startswith("generative"))
