"""What an answer says about itself: usage, id, text. Whole JSON answers, event streams, and AWS's binary event streams.

Of a stream, the usage is put together from its events, as the vendors' SDKs do it: later fields replace earlier ones.
Standard library only.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """``usage`` is the provider's object as it came. ``error`` is what the provider says went wrong. ``done``: the last
    event of a stream said that it was the last.
    """

    usage: Mapping[str, Any] | None = None
    response_id: str | None = None
    text: str | None = None
    error: str | None = None
    done: bool = False


_DELTAS = ("content_block_delta", "response.output_text.delta")


def understood(data: bytes, content_type: str) -> Answer:
    """What the bytes of an answer say, whatever of it has come; nothing where they cannot be read."""
    usage: dict[str, Any] = {}
    names: list[str] = []
    texts: list[str] = []
    error: str | None = None
    for event in _events(data, content_type):
        if event.get("type") in _DELTAS:  # nearly all of a stream, and no more than text
            delta = event.get("delta")
            said = delta.get("text") if isinstance(delta, dict) else delta
            texts += [said] if isinstance(said, str) else []
            continue
        for part in _parts(event):
            usage |= _usage(part)
            names += [name for key in ("id", "responseId") if (name := part.get(key)) and isinstance(name, str)]
        texts += _texts(event)
        error = _error(event) or error
    return Answer(
        usage or None,
        names[0] if names else None,
        "".join(texts) if texts else None,
        error,
        data.rstrip().endswith(b"[DONE]"),
    )


def _events(data: bytes, content_type: str) -> Iterator[dict[str, Any]]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/vnd.amazon.eventstream":
        yield from _frames(data)
        return
    text = data.decode("utf-8", "replace").lstrip("\ufeff")
    if kind == "text/event-stream" or text.startswith(("data:", "event:", ":")):
        yield from _streamed(text)
        return
    found = list(_objects(text))
    if not found:  # one object a line: Ollama
        for line in text.splitlines():
            found += _objects(line)
    yield from found


_DATA = re.compile(r"^data:(.*(?:\ndata:.*)*)", re.MULTILINE)
"""The data of one event, which may stand on several lines."""


def _streamed(text: str) -> Iterator[dict[str, Any]]:
    """The events of a stream. Its last one may be cut, and one of them may be no JSON ("[DONE]")."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = [data.replace("\ndata:", "\n") for data in _DATA.findall(text) if data != " [DONE]"]
    whole = _objects(f"[{','.join(found)}]")  # at once is four times as fast
    if len(whole) == len(found):
        yield from whole
    else:
        for event in found:
            yield from _objects(event)


def _objects(text: str) -> list[dict[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return []
    items = document if isinstance(document, list) else [document]  # Gemini streams one long list
    return [item for item in items if isinstance(item, dict)]


def _frames(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON payloads of AWS's event stream: lengths, headers, payload, checksum."""
    at = 0
    while at + 16 <= len(data):
        total, headers = struct.unpack_from(">II", data, at)
        if total < 16 or headers > total - 16:
            return
        payload = data[at + 12 + headers : at + total - 4]
        for event in _objects(payload.decode("utf-8", "replace")):
            inner = event.get("bytes")
            if isinstance(inner, str):  # InvokeModel: an event of the model's own vendor
                try:
                    yield from _objects(base64.b64decode(inner).decode("utf-8", "replace"))
                except (binascii.Error, ValueError):
                    yield event
            else:
                yield event
        at += total


def _parts(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Where usage and ids stand: the event itself, and the message or response that it carries."""
    yield event
    for key in ("message", "response", "metadata", "x_groq"):
        if isinstance(event.get(key), dict):
            yield event[key]


def _usage(part: dict[str, Any]) -> dict[str, Any]:
    for key in ("usage", "usageMetadata", "timings", "amazon-bedrock-invocationMetrics"):
        if isinstance(part.get(key), dict) and (key != "timings" or "usage" not in part):
            return {name: value for name, value in part[key].items() if value is not None}
    if "prompt_eval_count" in part:  # Ollama
        return {key: value for key, value in part.items() if key.endswith(("_count", "_duration"))}
    return {}


def _texts(event: dict[str, Any]) -> Iterator[str]:
    """The text that an answer or event adds, in the forms of the APIs."""
    delta = event.get("delta") or _dig(event, "contentBlockDelta", "delta")
    if isinstance(delta, dict) and isinstance(delta.get("text"), str):
        yield delta["text"]
    for choice in _list(event.get("choices")):
        said = _dig(choice, "delta", "content") or _dig(choice, "message", "content") or _dig(choice, "text")
        yield from [said] if isinstance(said, str) else _blocks(said)
    for candidate in _list(event.get("candidates")):
        yield from _blocks(_dig(candidate, "content", "parts"))
    for item in _list(event.get("output")):
        yield from _blocks(_dig(item, "content"))
    yield from _blocks(_dig(event, "output", "message", "content"))
    message = event.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), str):
        yield message["content"]  # Ollama
    content = event.get("content")
    yield from [content] if isinstance(content, str) else _blocks(content)


def _blocks(blocks: Any) -> Iterator[str]:
    for block in _list(blocks):
        if isinstance(block, dict) and isinstance(block.get("text"), str) and not block.get("thought"):
            yield block["text"]


def _error(event: dict[str, Any]) -> str | None:
    found = event.get("error") or _dig(event, "response", "error")
    if isinstance(found, dict):
        kind, message = found.get("type") or found.get("code") or found.get("status"), found.get("message")
        return ": ".join(str(part) for part in (kind, message) if part) or json.dumps(found)
    return found if isinstance(found, str) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dig(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
