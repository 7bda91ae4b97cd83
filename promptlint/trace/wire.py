"""A request body as a provider reads it: its parts in wire order, its parameters, and the simulator's view of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from promptlint import tokens
from promptlint.provider import Facts
from promptlint.simulator import Block, Call
from promptlint.simulator.exchange import rendered
from promptlint.trace import bodies, parameters
from promptlint.trace.parts import Part


class BodyError(Exception):
    """A body that is no JSON object, or one of an API that is not known; the message says which."""


@dataclass(frozen=True, slots=True)
class Wire:
    """What one request puts in front of the model.

    ``parts`` stand in the order in which the provider reads them. ``parameters`` are all other fields by their paths,
    as text. ``automatic`` is the lifetime of a cache marker on the whole request, "" for the usual one. ``previous``
    names the stored response that the request continues (Responses), ``uses`` a cache object (Gemini). ``misplaced``
    are the paths of markers that no API takes where they stand.
    """

    api: str
    model: str | None
    parts: tuple[Part, ...]
    parameters: Mapping[str, str]
    automatic: str | None = None
    previous: str | None = None
    uses: str | None = None
    misplaced: tuple[str, ...] = ()


def load(text: str) -> dict[str, Any]:
    """The JSON object in a body. Raises ``BodyError``."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BodyError(f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise BodyError("the body is no JSON object")
    return body


def parse(body: Mapping[str, Any], api: str, facts: Facts, headers: Mapping[str, str] | None = None) -> Wire:
    """The request in a body of the API called ``api`` ("" = as its shape tells), at the provider of these facts.

    Raises ``BodyError`` when the shape tells nothing.
    """
    api = api or bodies.shape(body)
    if not api:
        raise BodyError("no known API has bodies of this shape")
    marks = bool(facts.marker or facts.converse_marker)  # a provider without markers of its own ignores those of others
    found = (part if marks or part.marker is None else replace(part, marker=None) for part in bodies.parts(body, api))
    asked = _text(body.get("model")) or _text(body.get("modelId")) or facts.model
    return Wire(
        api=api,
        model=asked,
        parts=tuple(sorted(found, key=lambda part: facts.order.index(part.region))),
        parameters=({"model": asked} if asked else {}) | parameters.flattened(body, headers or {}),
        automatic=parameters.automatic(body, facts),
        previous=_text(body.get("previous_response_id")),
        uses=_text(body.get("cachedContent") or body.get("cached_content")),
        misplaced=tuple(bodies.misplaced(body)),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def model(body: Mapping[str, Any], url: str) -> str | None:
    """The model that a request asks for: in its body, or in the path of its address (Gemini, Bedrock, Azure)."""
    named = _text(body.get("model")) or _text(body.get("modelId"))
    if named:
        return named
    steps = [unquote(step) for step in urlsplit(url).path.split("/")]
    for place in ("models", "model", "deployments"):
        if place in steps[:-1]:
            return steps[steps.index(place) + 1].partition(":generateContent")[0].partition(":stream")[0] or None
    return None


def call(
    wire: Wire,
    facts: Facts,
    at: float = 0.0,
    begins: float = 0.0,
    lasts: float = 0.0,
    answer: tuple[int, ...] = (),
) -> Call:
    """The request for the simulator, with token ids of its texts.

    ``at``, ``begins``, ``lasts`` and ``answer`` as in ``simulator.Call``. The ids are OpenAI's, which stand in for
    tokenizers that are not public: equal texts have equal ids, and numbers of tokens are near the vendor's.
    """
    shown = rendered(wire.parts, facts)
    blocks = (Block(p.region, tokens.ids(p.text, wire.model, facts.provider), p.kind, p.role, p.marker) for p in shown)
    decide = parameters.deciding(wire.parameters, facts)
    return Call(tuple(blocks), at, begins, lasts, decide, wire.automatic, answer, uses=wire.uses)
