"""Keys that send requests to where their prefix is kept, and salts that keep prefixes apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.finding import Confidence, Severity
from promptlint.gates.levels import (
    HOUR,
    assumed,
    certainty,
    keeps_history,
    per_call,
    per_conversation,
    reaches_minimum,
    shared_prefix,
)
from promptlint.request import Cause, Parameter, Request

KEY = "prompt_cache_key"
MAX_KEY = 64
"""Characters that a key may have (OpenAI)."""
BUSY = 15 * 60
"""Requests an hour with one prefix above which OpenAI spreads them over further machines (knowledge/providers.toml)."""
CHANGING = ("time", "random", "counter")
"""Causes that a key or a salt is never meant to follow."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """What is wrong with a key or salt: "long", "call", "conversation" or "missing"."""

    problem: str
    severity: Severity
    confidence: Confidence
    given: Parameter | None = None
    cause: Cause | None = None


def keyed(request: Request, name: str) -> Iterator[Keyed]:
    """The problem of the key or salt called ``name``, when it has one; nothing where there is nothing to share."""
    given, sure = request.parameters.get(name), certainty(request)
    if given is None:
        if name == KEY and _wants_key(request):
            busy = request.traffic is not None and request.traffic > BUSY
            yield Keyed("missing", Severity.WARNING if busy else Severity.INFO, sure if busy else Confidence.LOW)
        return
    if name == KEY and given.text is not None and len(given.text) > MAX_KEY and request.facts.routing == KEY:
        yield Keyed("long", Severity.ERROR, sure, given)
    enough = reaches_minimum(shared_prefix(request), request.facts)
    turns = keeps_history(request)
    if not turns and (request.reuse.repeats is None or assumed(request) or enough != "yes"):
        return
    causes = [c for c in given.causes if (c.grain or 0) < HOUR]
    cause = next((c for c in causes if c.kind in CHANGING and per_call(c)), None)
    if cause is not None:
        yield Keyed("call", Severity.ERROR if turns else Severity.WARNING, sure, given, cause)
        return
    cause = next((c for c in causes if per_conversation(c)), None)
    if cause is not None and enough == "yes":
        yield Keyed("conversation", Severity.INFO, sure, given, cause)


def _wants_key(request: Request) -> bool:
    """Whether many conversations go to a provider that spreads them over its machines without a key."""
    facts = request.facts
    if facts.routing != KEY or not facts.caches or request.open or facts.marker == "prompt_cache_breakpoint":
        return False
    return facts.model is not None and keeps_history(request) and request.reuse.repeats == "entry"
