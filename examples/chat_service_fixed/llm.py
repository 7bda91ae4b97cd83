"""Requests to the two providers."""

from __future__ import annotations

from functools import cache
from typing import Any

import anthropic
import openai

from .config import SETTINGS
from .prompts import ESTIMATE, MANUAL, ROUTER, SHEETS

FORM = {
    "name": "write_estimate",
    "description": "Hand over the finished estimate.",
    "input_schema": {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"type": "string"}, "description": "work and price, at most four"},
            "total": {"type": "string", "description": "sum with tax and currency"},
        },
        "required": ["items", "total"],
    },
}


@cache
def claude() -> anthropic.Anthropic:
    return anthropic.Anthropic()


@cache
def gpt() -> openai.OpenAI:
    return openai.OpenAI()


def reply(system: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
    """One step of the desk assistant."""
    return claude().messages.create(
        model=SETTINGS.model,
        max_tokens=SETTINGS.max_tokens,
        system=[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        messages=messages,
        tools=tools,
        cache_control={"type": "ephemeral"},
    )


def answer_from_sheets(question: str) -> str:
    """Answer from the data sheets alone."""
    blocks: list[dict[str, Any]] = []
    for title, sheet in SHEETS.items():
        block = {"type": "text", "text": f"## {title}\n{sheet}"}
        blocks.append(block)
    blocks[-1]["cache_control"] = {"type": "ephemeral"}
    response = claude().messages.create(
        model=SETTINGS.model,
        max_tokens=300,
        system=MANUAL,
        messages=[{"role": "user", "content": [*blocks, {"type": "text", "text": question}]}],
    )
    return text_of(response)


def estimate(complaint: str) -> str:
    """A price estimate for a complaint."""
    options = {
        "model": SETTINGS.model,
        "max_tokens": 500,
        "tools": [FORM],
        "tool_choice": {"type": "tool", "name": "write_estimate"},
        "system": [
            {"type": "text", "text": ESTIMATE},
            {"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ],
    }
    response = claude().messages.create(messages=[{"role": "user", "content": complaint}], **options)
    form = next(block.input for block in response.content if block.type == "tool_use")
    return "\n".join([*form["items"], f"Total: {form['total']}"])


def route(question: str) -> str:
    """Which of our services a question is for."""
    response = gpt().chat.completions.create(
        model=SETTINGS.router_model,
        messages=[{"role": "system", "content": ROUTER}, {"role": "user", "content": question}],
    )
    return (response.choices[0].message.content or "chat").strip()


def text_of(response: Any) -> str:
    return "".join(block.text for block in response.content if block.type == "text")
