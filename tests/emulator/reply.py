"""What a dialect hands to the server: one JSON body, and the same as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from promptlint.simulator import Call, Outcome
from tests.emulator.faults import Fault

Body = dict[str, Any]


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


@dataclass(frozen=True)
class Reply:
    """An answer: ``events`` are the pairs of name and data that a stream of it consists of."""

    body: Body
    events: Sequence[tuple[str, Body]]


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
    words = ("Noted,", "thank", "you.", "Anything", "else?")[: max(0, limit)]
    return " ".join(words), len(words)


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
