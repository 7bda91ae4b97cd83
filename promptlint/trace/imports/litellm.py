"""LiteLLM's logs: the ``StandardLoggingPayload`` of its callbacks, one a line, and rows of the proxy's spend logs.

``messages`` and ``model_parameters`` are the request in OpenAI's form, as it was given to LiteLLM. Source: LiteLLM,
"StandardLoggingPayload Specification", and ``litellm.types.utils`` 1.110.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptlint import provider
from promptlint.trace.format import Exchange
from promptlint.trace.imports.common import answer, headers, loaded, mapping, seconds, since, text
from promptlint.trace.parts import dumps

_INNER = "standard_logging_object"


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is such a payload, carries one, or is a row of the spend logs."""
    return _INNER in record or ("call_type" in record and "startTime" in record)


def exchanges(record: Mapping[str, Any]) -> Iterator[Exchange]:
    """The request of a record, unless it is of a kind that sends no prompt."""
    log = mapping(record.get(_INNER, record))
    kind = str(log.get("call_type") or "completion")
    asked = mapping(loaded(log.get("proxy_server_request")))
    asked = mapping(loaded(asked.get("body"))) or asked
    messages = loaded(log.get("messages")) or asked.get("messages") or asked.get("input")
    if not messages or "embed" in kind or "image" in kind or "moderation" in kind:
        return
    parameters = {
        k: v for k, v in mapping(loaded(log.get("model_parameters"))).items() if k not in ("messages", "input")
    }
    held = "input" if "responses" in kind else "messages"
    rest = {k: v for k, v in asked.items() if k not in ("messages", "input", "model", "metadata")}
    vendor, model = text(log.get("custom_llm_provider")), text(log.get("model")) or ""
    model = model.removeprefix(f"{vendor}/")
    address = text(log.get("api_base")) or ""
    found = provider.identify(api=None, base_url=address, model=f"{vendor}/{model}" if vendor else model)
    response = loaded(log.get("response"))
    said = answer(response)
    start = seconds(log.get("startTime")) or 0.0
    failed = log.get("status") == "failure"
    details = mapping(log.get("error_information"))
    code = str(details.get("error_code") or "")
    yield Exchange(
        id=text(log.get("id")) or text(log.get("request_id")) or "",
        at=start,
        endpoint=address,
        api="responses" if held == "input" else "chat",
        body=dumps({"model": model, held: messages, **rest, **parameters}),
        provider=None if found == provider.UNKNOWN else found,
        headers=headers(text(log.get("session_id"))),
        began=since(start, log.get("completionStartTime")) or since(start, log.get("endTime")),
        lasted=since(start, log.get("endTime")),
        status=(int(code) if code.isdecimal() else 500) if failed else 200,
        error=text(log.get("error_str")) if failed else None,
        usage=said.usage or _sums(log),
        response_id=said.response_id,
    )


def _sums(log: Mapping[str, Any]) -> dict[str, Any] | None:
    """Tokens of the payload itself, and of the usage object that its metadata may have."""
    whole = mapping(mapping(log.get("metadata")).get("usage_object"))
    if whole:
        return dict(whole)
    names = ("prompt_tokens", "completion_tokens")
    return {name: log[name] for name in names if isinstance(log.get(name), int)} or None
