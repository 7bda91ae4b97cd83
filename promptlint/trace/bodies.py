"""Request bodies of the APIs, each read into its parts: tools, system text and messages.

Two ways to say the same are one part: text as a string or as the only block of a list. What the server leaves out of
the prompt (deferred tools, ids and states of Responses items) is left out here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptlint.trace.parts import Part, marker, stripped

Body = Mapping[str, Any]

_KINDS = {
    "input_text": "text",
    "output_text": "text",
    "image_url": "image",
    "input_image": "image",
    "input_file": "document",
    "file": "document",
    "function_call": "tool_use",
    "custom_tool_call": "tool_use",
    "functionCall": "tool_use",
    "function_call_output": "tool_result",
    "custom_tool_call_output": "tool_result",
    "functionResponse": "tool_result",
    "toolUse": "tool_use",
    "toolResult": "tool_result",
    "reasoning": "thinking",
    "reasoningContent": "thinking",
    "inlineData": "image",
    "inline_data": "image",
    "fileData": "document",
    "function_response": "tool_result",
    "images": "image",
}
_LEADERS = ("system", "developer")
_UNRENDERED = ("id", "status")
"""Fields of Responses items that the model does not get to see."""


def parts(body: Body, api: str) -> Iterator[Part]:
    """The parts of a body, region by region; nothing for an API that is not known."""
    reader = _READERS.get(api)
    return reader(body) if reader else iter(())


def shape(body: Body) -> str:
    """The API that a body of this shape belongs to; "" when it is none that is known here."""
    if "contents" in body:
        return "generate"
    if "input" in body:
        return "responses"
    if "prompt" in body:
        return "completions"
    messages = body.get("messages")
    if not isinstance(messages, list):
        return ""
    if "toolConfig" in body or "inferenceConfig" in body or _typeless(messages):
        return "converse"
    own = "anthropic_version" in body or "system" in body
    return "messages" if own or any(_get(tool, "input_schema") for tool in _list(body, "tools")) else "chat"


def _typeless(messages: Sequence[Any]) -> bool:
    blocks = (block for message in messages for block in _list(message, "content"))
    return any(isinstance(block, dict) and "type" not in block for block in blocks)


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any, key: str) -> list[Any]:
    found = _get(value, key)
    return found if isinstance(found, list) else []


def _messages(body: Body) -> Iterator[Part]:
    """Anthropic's Messages, on its own API, Bedrock's InvokeModel and elsewhere."""
    yield from _tools(body)
    yield from _content(body.get("system"), "system", "system", "system")
    for index, message in enumerate(_list(body, "messages")):
        yield from _message(message, f"messages[{index}]", "messages")


def _chat(body: Body) -> Iterator[Part]:
    """OpenAI's Chat Completions and what is compatible with it: leading system messages are the system text."""
    yield from _tools(body)
    yield from _content(body.get("system"), "system", "system", "system")  # gateways that mix the two
    leading = True
    for index, message in enumerate(_list(body, "messages")):
        leading = leading and _get(message, "role") in _LEADERS
        yield from _message(message, f"messages[{index}]", "system" if leading else "messages")


def _responses(body: Body) -> Iterator[Part]:
    """OpenAI's Responses."""
    yield from _tools(body)
    if stored := body.get("prompt"):
        yield Part("system", "prompt", "prompt", "system", stripped(stored))
    yield from _content(body.get("instructions"), "instructions", "system", "system")
    given = body.get("input")
    if isinstance(given, str):
        yield Part("messages", "input", "text", "user", given)
        return
    leading = True
    for index, item in enumerate(given if isinstance(given, list) else []):
        leading = leading and _get(item, "role") in _LEADERS
        yield from _item(item, f"input[{index}]", "system" if leading else "messages")


def _item(item: Any, path: str, region: str) -> Iterator[Part]:
    if not isinstance(item, dict) or _get(item, "role"):
        yield from _message(item, path, region)
        return
    kind = _KINDS.get(str(item.get("type")), str(item.get("type")))
    role = "tool" if kind.endswith(("result", "_output")) else "assistant"
    seen = item if kind in ("item_reference", "thinking") else {k: v for k, v in item.items() if k not in _UNRENDERED}
    marked = next((m for block in _list(item, "output") if (m := marker(block)) is not None), marker(item))
    yield Part(region, path, kind, role, _plain(stripped(seen), "output"), marked)


def _converse(body: Body) -> Iterator[Part]:
    """Bedrock's Converse: a cachePoint is a block of its own that closes what stands before it."""
    return _closed(_unclosed(body))


def _unclosed(body: Body) -> Iterator[Part]:
    for index, tool in enumerate(_list(body.get("toolConfig"), "tools")):
        yield replace(_block(tool, f"toolConfig.tools[{index}]", "tools", ""), kind="tool")
    yield from _content(body.get("system"), "system", "system", "system")
    for index, message in enumerate(_list(body, "messages")):
        yield from _message(message, f"messages[{index}]", "messages")


def _closed(parts: Iterator[Part]) -> Iterator[Part]:
    """The parts with each lone cachePoint as a marker on the one before it."""
    held: Part | None = None
    for part in parts:
        if part.value == {} and part.marker is not None:
            held = replace(held, marker=part.marker) if held else None
            continue
        if held:
            yield held
        held = part
    if held:
        yield held


def _generate(body: Body) -> Iterator[Part]:
    """Gemini's generateContent, in either spelling."""
    for index, tool in enumerate(_list(body, "tools")):
        declared = [(k, _list(tool, k)) for k in ("functionDeclarations", "function_declarations") if _list(tool, k)]
        for key, declarations in declared:
            for number, declaration in enumerate(declarations):
                yield Part("tools", f"tools[{index}].{key}[{number}]", "tool", "", declaration)
        if not declared:
            yield Part("tools", f"tools[{index}]", "tool", "", tool)
    for key in ("systemInstruction", "system_instruction"):
        yield from _contents(body.get(key), key, "system", "system")
    for index, content in enumerate(_list(body, "contents")):
        yield from _contents(content, f"contents[{index}]", "messages", str(_get(content, "role") or "user"))


def _contents(content: Any, path: str, region: str, role: str) -> Iterator[Part]:
    """A Content object of Gemini's: its parts."""
    if isinstance(content, str):
        yield Part(region, path, "text", role, content)
    for index, block in enumerate(_list(content, "parts")):
        yield _block(block, f"{path}.parts[{index}]", region, role)


def _completions(body: Body) -> Iterator[Part]:
    """A bare prompt: a text, several, or token ids."""
    yield from _content(body.get("system"), "system", "system", "system")
    prompt = body.get("prompt")
    if isinstance(prompt, list) and not all(isinstance(item, str) for item in prompt):
        yield Part("messages", "prompt", "tokens", "user", prompt)
    else:
        yield from _content(prompt, "prompt", "messages", "user")


def _tools(body: Body) -> Iterator[Part]:
    key = "functions" if "functions" in body and "tools" not in body else "tools"
    for index, tool in enumerate(_list(body, key)):
        if not _get(tool, "defer_loading"):
            yield Part("tools", f"{key}[{index}]", "tool", "", stripped(tool), marker(tool))
        elif marker(tool) is not None:  # no part of the prompt, but the API refuses it
            yield Part("tools", f"{key}[{index}]", "deferred tool", "", stripped(tool), marker(tool))


def _message(message: Any, path: str, region: str) -> Iterator[Part]:
    """The blocks of a message with a role: thinking first, then content, calls, and whatever else it carries."""
    if not isinstance(message, dict):
        yield Part(region, path, "text", "user", message)
        return
    role = str(message.get("role") or "user")
    for key in ("reasoning_content", "reasoning", "reasoning_details"):
        if message.get(key):
            yield Part(region, f"{path}.{key}", "thinking", role, message[key])
    if role in ("tool", "function"):
        value = _plain(stripped({k: v for k, v in message.items() if k != "role"}), "content")
        marks = (marker(block) for block in _list(message, "content"))
        yield Part(region, path, "tool_result", role, value, next((m for m in marks if m is not None), None))
        return
    yield from _content(message.get("content"), f"{path}.content", region, role)
    for index, use in enumerate(_list(message, "tool_calls")):
        yield Part(region, f"{path}.tool_calls[{index}]", "tool_use", role, use)
    for key, value in message.items():
        if key not in _OF_MESSAGES and value is not None:
            yield Part(region, f"{path}.{key}", _KINDS.get(str(key), str(key)), role, value)


_OF_MESSAGES = (
    *("role", "content", "tool_calls", "reasoning_content", "reasoning", "reasoning_details", "cache_control"),
    *("type", "id", "status"),
)


def _content(content: Any, path: str, region: str, role: str) -> Iterator[Part]:
    """Text, or a list of blocks."""
    if isinstance(content, list):
        for index, block in enumerate(content):
            yield _block(block, f"{path}[{index}]", region, role)
    elif content:
        yield _block(content, path, region, role)


def _block(block: Any, path: str, region: str, role: str) -> Part:
    if not isinstance(block, dict):
        return Part(region, path, "text", role, block)
    marked = marker(block)
    if block.get("type") == "text" and len(block) == 2 + (marked is not None) and "text" in block:
        return Part(region, f"{path}.text", "text", role, block["text"], marked)
    value = stripped(block)
    if "type" in value:
        kind = _KINDS.get(str(value["type"]), str(value["type"]))
        if kind == "text" and value.keys() <= {"type", "text"}:
            return Part(region, f"{path}.text", kind, role, value.get("text", ""), marked)
        return Part(region, path, kind, role, _plain(value, "content"), marked)
    kind = _only(value)
    if value.keys() == {"text"}:
        return Part(region, f"{path}.text", kind, role, value["text"], marked)
    return Part(region, path, kind, role, value, marked)


def _only(block: Mapping[str, Any]) -> str:
    """What a block is whose kind is the name of its field."""
    if block.get("thought"):
        return "thinking"
    name = next((str(key) for key in block if key not in ("thoughtSignature", "thought", "partMetadata")), "text")
    return _KINDS.get(name, name)


def _plain(value: Any, key: str) -> Any:
    """A result whose only block is a text, as if it had been sent as that text."""
    inner = _get(value, key)
    if isinstance(inner, list) and len(inner) == 1 and _get(inner[0], "type") in ("text", "input_text"):
        if inner[0].keys() == {"type", "text"}:
            return {**value, key: inner[0]["text"]}
    return value


def misplaced(body: Body) -> Iterator[str]:
    """Where cache markers stand that no API takes: on a message instead of one of its blocks."""
    for index, message in enumerate(_list(body, "messages")):
        if marker(message) is not None:
            yield f"messages[{index}].cache_control"


def _invoke(body: Body) -> Iterator[Part]:
    """Bedrock's InvokeModel: the body is the model's own."""
    own = shape(body)
    return _READERS[own](body) if own else iter(())


_READERS: dict[str, Callable[[Body], Iterator[Part]]] = {
    "messages": _messages,
    "chat": _chat,
    "responses": _responses,
    "converse": _converse,
    "invoke": _invoke,
    "generate": _generate,
    "completions": _completions,
}
