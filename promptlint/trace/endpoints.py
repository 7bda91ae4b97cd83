"""Which HTTP exchange is a request to a language model, and of which API: told by its address and body.

Paths are those of the vendors' references (2026-11-29); what has the path of no known API is taken for one when its
body has the shape of one. Standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

_PATHS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("converse", re.compile(r"/model/[^/]+/converse(-stream)?$")),
    ("invoke", re.compile(r"/model/[^/]+/invoke(-with-response-stream)?$")),
    ("generate", re.compile(r":(generateContent|streamGenerateContent)$")),
    ("messages", re.compile(r":(rawPredict|streamRawPredict)$|/v1/messages$")),
    ("chat", re.compile(r"/chat/completions$|/v\d/chat$|/api/chat$")),
    ("responses", re.compile(r"/responses$")),
    ("completions", re.compile(r"/completions?$|/api/generate$")),
)
_NEEDED = {
    "converse": ('"messages"',),
    "invoke": ('"messages"', '"prompt"', '"inputText"'),
    "generate": ('"contents"',),
    "messages": ('"messages"',),
    "chat": ('"messages"', '"message"'),
    "responses": ('"input"', '"prompt"', '"previous_response_id"', '"conversation"'),
    "completions": ('"prompt"',),
}
"""What the body of each API holds: one of these."""

_OTHERS = re.compile(
    r"/(embeddings?|images?|audio|speech|moderations?|rerank|files?|batches|uploads?|tokenize|count_tokens|input_tokens"
    r"|apply-template|compact|cachedContents)\b|:(countTokens|embedContent|batchEmbedContents|predict)$|/embeddings$"
)
_LARGEST_GUESS = 1 << 24
"""Bytes of a body above which its shape is not looked at."""

HEADERS = (
    *("anthropic-beta", "anthropic-version", "openai-beta", "x-stainless-retry-count", "x-session-affinity"),
    *("x-grok-conv-id", "x-session-id", "x-initiator", "x-amzn-bedrock-performanceconfig-latency", "content-encoding"),
)
"""The request headers that a trace keeps: they decide about the request or about who serves it, and hold no secret."""

_PARAMETERS = ("alt", "api-version", "beta")

_VENDORS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"(^|\.){host}$"))
    for name, host in (
        ("openrouter", r"openrouter\.ai"),
        ("groq", r"groq\.com"),
        ("deepseek", r"deepseek\.com"),
        ("xai", r"x\.ai"),
        ("mistral", r"mistral\.ai"),
        ("moonshot", r"moonshot\.(ai|cn)"),
        ("fireworks", r"fireworks\.ai"),
        ("together", r"together\.(xyz|ai)"),
        ("gemini", r"generativelanguage\.googleapis\.com"),
        ("anthropic", r"anthropic\.com"),
        ("openai", r"openai\.com"),
    )
)
"""Whose hosts are whose. Those that serve several vendors' models are told by the reader, who knows more about models:
``knowledge/providers.toml`` cannot be read with the standard library of every Python that is recorded.
"""


def vendor(address: str) -> str | None:
    """The provider that an address belongs to, by its host; ``None`` where that is not enough to tell."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return None
    return next((name for name, pattern in _VENDORS if pattern.search(host)), None)


def recognise(address: str, body: str) -> str | None:
    """The API of a request with this address and body, as ``Exchange.api`` has it; ``None`` when it is none."""
    try:
        path = urlsplit(address).path.rstrip("/")
    except ValueError:
        return None
    if _OTHERS.search(path):
        return None
    for api, pattern in _PATHS:
        if pattern.search(path):
            return api if any(word in body for word in _NEEDED[api]) else None
    return _by_shape(body)


def _by_shape(body: str) -> str | None:
    if len(body) > _LARGEST_GUESS or not any(w in body for w in ('"messages"', '"contents"', '"input"')):
        return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    if _all(document.get("contents"), "parts"):
        return "generate"
    if _all(document.get("messages"), "role", "content"):
        if "anthropic_version" in document or ("system" in document and "max_tokens" in document):
            return "messages"
        return "chat" if "model" in document else None
    given = document.get("input")
    if "model" in document and ("instructions" in document or _all(given, "role", "content")):
        return "responses"
    return None


def _all(items: Any, *keys: str) -> bool:
    """A list of objects of which each has one of these keys at least."""
    return (
        isinstance(items, list)
        and bool(items)
        and all(isinstance(item, dict) and any(key in item for key in keys) for item in items)
    )


def shown(address: str) -> str:
    """The address without what may be secret: user, password, and parameters but a few."""
    url = urlsplit(address)
    kept = [(name, value) for name, value in parse_qsl(url.query) if name in _PARAMETERS]
    return urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, urlencode(kept), ""))


def kept(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of the headers that a trace keeps, their names in small letters."""
    named = {name.lower(): value for name, value in headers.items()}
    return {name: named[name] for name in HEADERS if name in named}
