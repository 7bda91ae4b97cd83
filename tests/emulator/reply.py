"""What the dialects have in common: a request that was counted, the words of answers, and prompts without markers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from promptlint.probe import canned
from promptlint.probe.canned import Body, Reply
from promptlint.simulator import Call, Outcome
from tests.emulator.faults import Fault


@dataclass(frozen=True)
class Accepted:
    """A request that was answered, and how its prompt was counted."""

    id: str
    api: str
    body: Body
    call: Call
    outcome: Outcome

    @property
    def cached(self) -> int:
        """Tokens that are in the cache after it: a repeat would read no more."""
        return self.outcome.read + sum(tokens for _, tokens in self.outcome.written)


class Dialect(Protocol):
    """One wire format: checks a request, and words the answer to it."""

    def check(self, body: Body) -> None:
        """Raises ``ApiError`` for a body that the API refuses whatever is cached."""

    def reply(self, now: Accepted, earlier: Mapping[str, Accepted], fault: Fault) -> Reply:
        """The answer; ``earlier`` requests by the ids of their responses, for diagnostics."""

    def error(self, status: int, kind: str, message: str) -> Body:
        """The body of an error."""


def said(limit: int) -> tuple[str, int]:
    """The text of the answer and its tokens: the same words for everybody, as many as are allowed."""
    words = canned.TEXT.split()[: max(0, limit)]
    return " ".join(words), len(words)


def reported(usage: Body, fault: Fault) -> Body:
    """The usage with what a fault puts in its place."""
    return {name: value for name, value in {**usage, **fault.usage}.items() if value is not None}


_MARKERS = ("cache_control", "prompt_cache_breakpoint")


def bare(value: Any) -> Any:
    """The same without cache markers, which are no part of the prompt; a text stands for the block that holds it."""
    if isinstance(value, dict):
        kept = {key: bare(item) for key, item in value.items() if key not in _MARKERS}
        for key in ("content", "system"):
            if isinstance(kept.get(key), str):
                kept[key] = [{"type": "text", "text": kept[key]}]
        return kept
    return [bare(item) for item in value] if isinstance(value, list) else value


def same(one: Any, other: Any) -> bool:
    """Whether two parts of bare bodies are equal on the wire, where the order of keys counts."""
    return json.dumps(one) == json.dumps(other)
