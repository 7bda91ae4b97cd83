"""A request body as the blocks that the simulator takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from promptlint.provider import Facts
from promptlint.simulator import Block, Call
from tests.emulator.reply import Body, bare

_TEXT = ("model", "messages", "input", "instructions", "system", "tools", "max_tokens", "stream", "diagnostics")


def rendered(api: str, body: Body, facts: Facts) -> Call:
    """The blocks of a body with ids for their tokens, four characters each, and its parameters."""
    blocks = [Block("tools", _ids(tool), marker=_marker(tool)) for tool in body.get("tools", [])]
    if api == "messages":
        blocks += [Block("system", _ids(part), marker=_marker(part)) for part in _parts(body.get("system", []))]
    if body.get("instructions"):
        blocks.append(Block("system", _ids(body["instructions"])))
    items = body["messages"] if "messages" in body else body["input"]
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        role = item.get("role", "user")
        region = "system" if role in ("system", "developer") else "messages"
        for part in _parts(item.get("content", [item])):
            blocks.append(Block(region, _ids(part), part.get("type", "text"), role, _marker(part)))
    own = body.get("cache_control")
    return Call(
        tuple(blocks), parameters=dict(_parameters(body)), automatic=None if own is None else own.get("ttl", "")
    )


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _ids(part: Any) -> tuple[int, ...]:
    text = part if isinstance(part, str) else part["text"] if "text" in part else json.dumps(bare(part))
    data = text.encode()
    return tuple(int.from_bytes(data[i : i + 4], "big") for i in range(0, len(data), 4))


def _marker(part: Any) -> str | None:
    mark = part.get("cache_control", part.get("prompt_cache_breakpoint")) if isinstance(part, dict) else None
    return None if mark is None else mark.get("ttl", "")


def _parameters(body: Body) -> Iterator[tuple[str, str]]:
    yield "model", body["model"]
    for name, value in body.items():
        if name not in _TEXT:
            yield name, json.dumps(value) if not isinstance(value, str) else value
            if isinstance(value, dict):
                yield from ((f"{name}.{key}", str(inner)) for key, inner in value.items())
