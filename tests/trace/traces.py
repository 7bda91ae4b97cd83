"""Traces made for tests: bodies as programs send them, with the usage that the provider's cache would report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from promptlint import simulator
from promptlint.provider import Facts, facts
from promptlint.simulator import Call, Outcome
from promptlint.trace.analysis import Analysis, verdicts
from promptlint.trace.explain import Verdict
from promptlint.trace.format import Exchange, Frame
from promptlint.trace.tally import Tally
from promptlint.trace.wire import call, parse

URLS = {
    "messages": "https://api.anthropic.com/v1/messages",
    "chat": "https://api.openai.com/v1/chat/completions",
    "responses": "https://api.openai.com/v1/responses",
}
SITE = (Frame("app/chat.py", 12, "Chat.turn"), Frame("app/main.py", 40, "main"))
RULES = "".join(f"Rule {n}: answer the customer's question number {n} with care and in full.\n" for n in range(120))
"""About 2,000 tokens of constant text."""
TOOLS = [
    {
        "name": name,
        "description": f"{name} something in the shop. " * 20,
        "input_schema": {"type": "object", "properties": {}},
    }
    for name in ("find", "order", "cancel")
]
CLAUDE, GPT = "claude-sonnet-5", "gpt-5.2"
MARK = {"cache_control": {"type": "ephemeral"}}


@dataclass
class Trace:
    """Exchanges with one provider, and the calls that its cache has seen."""

    provider: str = "anthropic"
    exchanges: list[Exchange] = field(default_factory=list)
    calls: dict[str, list[Call]] = field(default_factory=dict)
    at: float = 1_764_460_000.0

    def send(
        self,
        body: Mapping[str, Any],
        api: str = "messages",
        gap: float = 10.0,
        began: float = 1.0,
        site: tuple[Frame, ...] = SITE,
        usage: Mapping[str, Any] | None = None,
        **other: Any,
    ) -> None:
        """Adds a request ``gap`` seconds after the last; without ``usage`` that which the cache would report."""
        self.at += gap
        known = facts(self.provider, body["model"])
        wire = parse(body, api, known)
        calls = self.calls.setdefault(body["model"], [])
        calls.append(call(wire, known, self.at, began, 2 * began))
        outcome = simulator.predict(calls, known)[-1]
        self.exchanges.append(
            Exchange(
                id=f"r{len(self.exchanges) + 1}",
                at=self.at,
                endpoint=URLS.get(api, ""),
                api=api,
                body=json.dumps(body),
                provider=self.provider,
                began=began,
                lasted=2 * began,
                status=400 if outcome.refused else 200,
                usage=usage or _usage(outcome, known),
                response_id=f"resp_{len(self.exchanges) + 1}",
                stack=site,
                **other,
            )
        )

    def judged(self) -> list[Verdict]:
        """The verdict on each request."""
        return list(verdicts(self.exchanges, Analysis((), Tally())))


def _usage(outcome: Outcome, known: Facts) -> dict[str, Any]:
    written = sum(tokens for _, tokens in outcome.written)
    if known.provider == "gemini":
        return {"promptTokenCount": outcome.total, "cachedContentTokenCount": outcome.read, "candidatesTokenCount": 20}
    if known.input_includes_cached is not False:
        details = {"cached_tokens": outcome.read, "cache_write_tokens": written}
        return {"prompt_tokens": outcome.total, "completion_tokens": 20, "prompt_tokens_details": details}
    return {
        "input_tokens": outcome.uncached,
        "cache_read_input_tokens": outcome.read,
        "cache_creation_input_tokens": written,
        "output_tokens": 20,
    }


def claude(system: str, turns: list[str], tools: list[Any] | None = None, **other: Any) -> dict[str, Any]:
    """A Messages body: user and assistant by turns, marked at the end of the system text and of the last message."""
    messages: list[dict[str, Any]] = []
    for number, text in enumerate(turns):
        block: dict[str, Any] = {"type": "text", "text": text}
        if number == len(turns) - 1:
            block |= MARK
        messages.append({"role": "assistant" if number % 2 else "user", "content": [block]})
    body = {"model": CLAUDE, "max_tokens": 100, "messages": messages, **other}
    if tools is not None:
        body["tools"] = tools
    return body | {"system": [{"type": "text", "text": system, **MARK}]}


def gpt(system: str, turns: list[str], **other: Any) -> dict[str, Any]:
    """A Chat Completions body."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(turns)]
    return {"model": GPT, "messages": [{"role": "system", "content": system}, *messages], **other}


def dialogue(turns: int) -> list[str]:
    """Texts of user and assistant by turns, ending with the user's."""
    return [
        f"Text {n} of this conversation, which is about the orders of customer {n}. " * 12 for n in range(2 * turns - 1)
    ]
