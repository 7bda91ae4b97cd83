"""Answers without a model, in the wire formats of the vendors: a body, and the same as the events of a stream.

The text means nothing; ids, stop reasons and usage are where clients look for them. Standard library only: it is used
inside the program that is probed. Source of the formats: the types of anthropic 2.14.0, openai 3.57.0, google-genai
3.6.1 and botocore 1.44.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]

TEXT = "Noted, thank you. Anything else?"
_NUMBERS: dict[str, Body] = {
    "messages": {"input_tokens": 1, "output_tokens": 1},
    "chat": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    "responses": {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    },
    "generate": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: ``events`` are the pairs of name and data that a stream of it consists of."""

    body: Body
    events: Sequence[tuple[str, Body]] = ()


def answer(api: str, body: Mapping[str, Any], name: str) -> Reply | None:
    """An answer to a request of an API as ``trace.endpoints`` calls them; ``None`` for one that has no form here.

    ``name`` becomes its id. Where the request asks for JSON, the text is an empty object.
    """
    text = "{}" if _wants_json(body) else TEXT
    form = _FORMS.get(api)
    return form(body, name, text) if form else None


def _wants_json(body: Mapping[str, Any]) -> bool:
    places = (
        body.get("response_format"),
        _inside(body, "text", "format"),
        _inside(body, "output_config", "format"),
        _inside(body, "generationConfig", "responseMimeType"),
    )
    return any("json" in str(place) for place in places if place)


def _inside(body: Any, *path: str) -> Any:
    for step in path:
        body = body.get(step) if isinstance(body, Mapping) else None
    return body


def message(body: Mapping[str, Any], name: str, text: str, usage: Body, stop: str = "end_turn", **more: Any) -> Reply:
    """A ``Message`` of Anthropic's."""
    whole: Body = {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "model"),
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }
    start = {**whole, "content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    events: list[Body] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    if text:
        events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        for word in _words(text):
            events.append({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}})
        events.append({"type": "content_block_stop", "index": 0})
    end = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": usage.get("output_tokens", 0)}})
    events.append({"type": "message_stop"})
    return Reply(whole, [(event["type"], event) for event in events])


def completion(body: Mapping[str, Any], name: str, text: str, usage: Body, stop: str = "stop", at: int = 0) -> Reply:
    """A ``ChatCompletion`` of OpenAI's; the usage comes in a chunk of its own where the request asks for it."""
    common = {"id": name, "created": at, "model": body.get("model", "model")}
    said = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": said, "finish_reason": stop, "logprobs": None}
    whole: Body = {**common, "object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta: Body, finish: str | None = None) -> Body:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        return {**common, "object": "chat.completion.chunk", "choices": choices}

    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"content": word}) for word in _words(text)]
    chunks.append(chunk({}, stop))
    if _inside(body, "stream_options", "include_usage"):
        chunks.append({**common, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    return Reply(whole, [("", event) for event in chunks])


def response(body: Mapping[str, Any], name: str, text: str, usage: Body, at: int = 0, **more: Any) -> Reply:
    """A ``Response`` of OpenAI's."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    whole: Body = {
        "id": name,
        "object": "response",
        "created_at": at,
        "model": body.get("model", "model"),
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "output": [item] if text else [],
        "parallel_tool_calls": True,
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "usage": usage,
        **more,
    }
    events: list[Body] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "usage": None, "output": []}}
    ]
    if text:
        at_item = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        begun = {**item, "status": "in_progress", "content": []}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": begun})
        events.append({"type": "response.content_part.added", "part": {**part, "text": ""}, **at_item})
        for word in _words(text):
            events.append({"type": "response.output_text.delta", "delta": word, "logprobs": [], **at_item})
        events.append({"type": "response.output_text.done", "text": text, "logprobs": [], **at_item})
        events.append({"type": "response.content_part.done", "part": part, **at_item})
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return Reply(whole, [(event["type"], event | {"sequence_number": i}) for i, event in enumerate(events)])


def generated(body: Mapping[str, Any], name: str, text: str, usage: Body) -> Reply:
    """A ``GenerateContentResponse`` of Gemini's."""
    said = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}
    whole: Body = {"candidates": [said], "usageMetadata": usage, "modelVersion": "model", "responseId": name}
    return Reply(whole, [("", whole)])


def _converse(body: Mapping[str, Any], name: str, text: str) -> Reply:
    said = {"message": {"role": "assistant", "content": [{"text": text}]}}
    counts = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    return Reply({"output": said, "stopReason": "end_turn", "usage": counts, "metrics": {"latencyMs": 1}})


def _completions(body: Mapping[str, Any], name: str, text: str) -> Reply:
    choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}
    whole: Body = {"id": name, "object": "text_completion", "created": 0, "model": body.get("model", "model")}
    whole |= {"choices": [choice], "usage": _NUMBERS["chat"]}
    return Reply(whole, [("", whole)])


def _words(text: str) -> list[str]:
    return [word if number == 0 else f" {word}" for number, word in enumerate(text.split(" "))] if text else []


_FORMS: dict[str, Callable[[Mapping[str, Any], str, str], Reply]] = {
    "messages": lambda body, name, text: message(body, f"msg_{name}", text, _NUMBERS["messages"]),
    "invoke": lambda body, name, text: message(body, f"msg_{name}", text, _NUMBERS["messages"]),
    "chat": lambda body, name, text: completion(body, f"chatcmpl-{name}", text, _NUMBERS["chat"]),
    "responses": lambda body, name, text: response(body, f"resp_{name}", text, _NUMBERS["responses"]),
    "generate": lambda body, name, text: generated(body, name, text, _NUMBERS["generate"]),
    "converse": _converse,
    "completions": _completions,
}
