"""Gemini's generateContent and cache objects: what is refused, and how is counted.

Source: the types of google-genai 3.6.1 (``GenerateContentResponse``, ``CachedContent``) and the page "Context caching"
(tags G1, V1 of providers.toml).
"""

from __future__ import annotations

from collections.abc import Mapping

from promptlint.probe import canned
from promptlint.probe.canned import Body, Reply
from tests.emulator.faults import ApiError, Fault
from tests.emulator.reply import Accepted, reported, said

OBJECTS = "/cachedContents"
"""How the path ends over which objects are made."""


def check(body: Body) -> None:
    """Raises ``ApiError`` for what is refused before anything is looked up."""
    if "contents" not in body:
        raise ApiError(400, "invalid_request_error", "contents is not specified")


def reply(now: Accepted, earlier: Mapping[str, Accepted], fault: Fault) -> Reply:
    """A ``GenerateContentResponse``, or the ``CachedContent`` that was made."""
    if now.call.creates:
        counted = {"totalTokenCount": now.outcome.total}
        return Reply({"name": now.call.creates, "model": now.body["model"], "usageMetadata": counted})
    text, tokens = said(100)
    counts = {"promptTokenCount": now.outcome.total, "candidatesTokenCount": tokens}
    read = {"cachedContentTokenCount": now.outcome.read} if now.outcome.read else {}
    whole = counts | {"totalTokenCount": now.outcome.total + tokens} | read
    return canned.generated(now.body, now.id, text, reported(whole, fault))


def error(status: int, kind: str, message: str) -> Body:
    """``{"error": {...}}``."""
    names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
    return {"error": {"code": status, "message": message, "status": names.get(status, "INTERNAL")}}
