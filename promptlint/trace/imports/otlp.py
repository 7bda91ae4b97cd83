"""OpenTelemetry spans as OTLP JSON: GenAI conventions from 1.37 on, and the older numbered attributes.

Each span with a ``gen_ai.operation.name`` that sends a prompt, or with ``gen_ai.prompt.0.role``, is a request. Source:
open-telemetry/semantic-conventions, docs/gen-ai (2026), and OpenLLMetry's attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.trace.format import Exchange, Frame
from promptlint.trace.imports.common import headers, loaded, mapping, marked, seconds, since, text
from promptlint.trace.parts import dumps

_OPERATIONS = ("chat", "generate_content", "text_completion", "completion", "responses", "invoke_model")
_PROVIDERS = {
    "aws.bedrock": "bedrock",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "az.ai.openai": "azure",
    "gcp.gemini": "gemini",
    "gcp.gen_ai": "gemini",
    "gcp.vertex_ai": "vertex",
    "vertex_ai": "vertex",
    "google": "gemini",
    "mistral_ai": "mistral",
    "x_ai": "xai",
    "moonshot_ai": "moonshot",
}
_PARAMETERS = ("temperature", "top_p", "top_k", "max_tokens", "seed", "frequency_penalty", "presence_penalty")


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record holds spans."""
    return "resourceSpans" in record or "resource_spans" in record or ("spanId" in record and "attributes" in record)


def exchanges(record: Mapping[str, Any]) -> Iterator[Exchange]:
    """The requests among the spans of a record."""
    for span in _spans(record):
        attributes = _attributes(span.get("attributes"))
        for event in span.get("events") or []:
            attributes |= {k: v for k, v in _attributes(event.get("attributes")).items() if k.startswith("gen_ai.")}
        if found := _exchange(span, attributes):
            yield found


def _spans(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "spanId" in record:
        yield record
    for resource in record.get("resourceSpans") or record.get("resource_spans") or []:
        for scope in resource.get("scopeSpans") or resource.get("scope_spans") or []:
            yield from scope.get("spans") or []


def _attributes(pairs: Any) -> dict[str, Any]:
    if isinstance(pairs, Mapping):
        return dict(pairs)
    return {
        str(pair["key"]): _value(pair.get("value"))
        for pair in pairs or []
        if isinstance(pair, Mapping) and "key" in pair
    }


def _value(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    for kind, inner in value.items():
        match kind:
            case "intValue":
                return int(inner)
            case "arrayValue":
                return [_value(item) for item in mapping(inner).get("values") or []]
            case "kvlistValue":
                return _attributes(mapping(inner).get("values"))
            case _:
                return inner
    return None


def _exchange(span: Mapping[str, Any], attributes: dict[str, Any]) -> Exchange | None:
    messages = _messages(attributes)
    operation = attributes.get("gen_ai.operation.name") or attributes.get("llm.request.type")
    if not messages or (operation is not None and operation not in _OPERATIONS):
        return None
    model = text(attributes.get("gen_ai.request.model")) or text(attributes.get("gen_ai.response.model"))
    body: dict[str, Any] = {"model": model} if model else {}
    if tools := loaded(attributes.get("gen_ai.tool.definitions")) or _numbered(attributes, "llm.request.functions"):
        body["tools"] = tools
    if system := loaded(attributes.get("gen_ai.system_instructions")):
        body["system"] = [_block(part) for part in system] if isinstance(system, list) else system
    body["messages"] = messages
    for name in _PARAMETERS:
        if (value := attributes.get(f"gen_ai.request.{name}")) is not None:
            body[name] = value
    usage = _usage(attributes)
    start = seconds(span.get("startTimeUnixNano")) or 0.0
    lasted = since(start, span.get("endTimeUnixNano"))
    first = attributes.get("gen_ai.response.time_to_first_chunk")
    failed = attributes.get("error.type")
    provider = str(attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system") or "").lower()
    session = text(attributes.get("gen_ai.conversation.id"))
    return Exchange(
        id=str(span.get("spanId") or ""),
        at=start,
        endpoint=_endpoint(attributes, provider),
        api="chat",
        body=dumps(marked(body, usage)),
        headers=headers(session, guessed=True),
        began=float(first) if isinstance(first, int | float) else lasted,
        lasted=lasted,
        status=200 if failed is None else int(failed) if str(failed).isdecimal() else 500,
        error=None if failed is None else str(failed),
        usage=usage or None,
        response_id=text(attributes.get("gen_ai.response.id")),
        stack=_stack(attributes),
    )


def _endpoint(attributes: Mapping[str, Any], provider: str) -> str:
    """The server's address; without one a name by which the provider is known."""
    if address := text(attributes.get("server.address")):
        port = attributes.get("server.port")
        return f"https://{address}" + (f":{port}" if port not in (None, 443, "443") else "")
    return _HOSTS.get(_PROVIDERS.get(provider, provider), "")


_HOSTS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "azure": "https://example.openai.azure.com",
    "bedrock": "https://bedrock-runtime.amazonaws.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "vertex": "https://aiplatform.googleapis.com",
    "mistral": "https://api.mistral.ai",
    "xai": "https://api.x.ai",
    "deepseek": "https://api.deepseek.com",
    "groq": "https://api.groq.com",
    "moonshot": "https://api.moonshot.ai",
}


def _stack(attributes: Mapping[str, Any]) -> tuple[Frame, ...]:
    file = attributes.get("code.file.path") or attributes.get("code.filepath")
    line = attributes.get("code.line.number") or attributes.get("code.lineno")
    name = attributes.get("code.function.name") or attributes.get("code.function")
    return (Frame(str(file), int(line), str(name or "?")),) if file and isinstance(line, int) else ()


def _messages(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = loaded(attributes.get("gen_ai.input.messages"))
    if isinstance(given, list):
        return [_message(message) for message in given if isinstance(message, Mapping)]
    numbered = _numbered(attributes, "gen_ai.prompt")
    return [{**message, "content": loaded(message.get("content"))} for message in numbered if "role" in message]


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    parts = message.get("parts")
    if not isinstance(parts, list):
        return dict(message)
    return {"role": message.get("role", "user"), "content": [_block(part) for part in parts]}


def _block(part: Any) -> Any:
    """A part of the conventions as a content block."""
    if not isinstance(part, Mapping):
        return {"type": "text", "text": part if isinstance(part, str) else dumps(part)}
    match part.get("type"):
        case "text":
            return {"type": "text", "text": part.get("content", "")}
        case "tool_call":
            use = {"id": part.get("id"), "name": part.get("name"), "input": part.get("arguments")}
            return {"type": "tool_use", **use}
        case "tool_call_response":
            result = part.get("response", part.get("result"))
            return {"type": "tool_result", "tool_use_id": part.get("id"), "content": result}
        case "reasoning":
            return {"type": "thinking", "thinking": part.get("content", "")}
        case _:
            return dict(part)


def _numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Lists that are written as numbered attributes: ``gen_ai.prompt.0.tool_calls.1.name``."""
    items: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if found := re.fullmatch(re.escape(prefix) + r"\.(\d+)\.(.+)", key):
            items.setdefault(int(found[1]), {})[found[2]] = value
    return [_nested(items[number]) for number in sorted(items)]


def _nested(fields: dict[str, Any]) -> dict[str, Any]:
    inner = {key.partition(".")[0] for key in fields if re.match(r"\w+\.\d+\.", key)}
    plain = {key: value for key, value in fields.items() if key.partition(".")[0] not in inner}
    return plain | {key: _numbered(fields, key) for key in sorted(inner)}


def _usage(attributes: Mapping[str, Any]) -> dict[str, int]:
    """Anthropic's form. Input tokens hold the cached ones by the conventions; where they are fewer, they cannot."""
    whole = _number(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    read = _number(attributes, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
    wrote = _number(attributes, "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens")
    output = _number(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
    if whole is None:
        return {}
    cached = (read or 0) + (wrote or 0)
    usage = {"input_tokens": whole - cached if whole >= cached else whole, "cache_read_input_tokens": read}
    usage |= {"cache_creation_input_tokens": wrote, "output_tokens": output}
    return {name: value for name, value in usage.items() if value is not None}


def _number(attributes: Mapping[str, Any], *names: str) -> int | None:
    return next((int(attributes[name]) for name in names if isinstance(attributes.get(name), int | float)), None)
