"""Gemini: cache objects that are made by a call of their own, beside the automatic cache for all other requests.

``Call.creates`` stores its blocks under a name, billed once at the input price and then by token and hour; a call that
``uses`` the name reads all of it in front of its own blocks. The API refuses an object below the minimum, one that has
expired, and a use together with system text or tools of the request's own.

Source: Google, "Context caching" (V1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptlint.provider import Facts
from promptlint.simulator import blocks as automatic
from promptlint.simulator.exchange import Call, Outcome, flat, ordered, refusal

LIFETIME = 3600.0
"""Seconds that an object lives unless ``Call.parameters`` has another "ttl" ("600s")."""


@dataclass(frozen=True, slots=True)
class _Object:
    tokens: int
    model: str
    ready: float
    expires: float


def predict(calls: Sequence[Call], facts: Facts) -> list[Outcome]:
    """The outcome of each call, in order."""
    made: dict[str, _Object] = {}
    others = [call for call in calls if not (call.creates or call.uses)]
    plain = iter(automatic.predict(others, facts) if facts.trigger == "automatic" else map(_uncached, others))
    return [_object(call, made, facts) if call.creates or call.uses else next(plain) for call in calls]


def _uncached(call: Call) -> Outcome:
    return Outcome(0, len(flat(call.blocks)), why="only what is in a cache object is cached")


def _object(call: Call, made: dict[str, _Object], facts: Facts) -> Outcome:
    size = len(flat(ordered(call, facts)))
    model = call.parameters.get("model", facts.model or "")
    if call.creates:
        if size < facts.minimum:
            return refusal(f"Cached content is too small: {size:,} tokens, and the minimum is {facts.minimum:,}")
        asked = call.parameters.get("ttl")
        seconds = float(asked.removesuffix("s")) if asked else LIFETIME
        made[call.creates] = _Object(size, model, call.at + call.begins, call.at + seconds)
        return Outcome(0, size, why=f"stored as {call.creates}", storage=size * seconds / 3600)
    if problem := clash(call, facts):
        return refusal(problem)
    found = made.get(call.uses or "")
    if found is None or not found.ready < call.at < found.expires:
        return refusal(f"no cache object {call.uses} at this time")
    if found.model != model:
        return refusal(f"the cache object {call.uses} belongs to {found.model or 'another model'}")
    return Outcome(found.tokens, size, why=f"reads the cache object {call.uses}")


_REGIONS = {"system_instruction": "system", "tools": "tools"}
"""Where in the prompt what cannot stand beside an object is found; other names are parameters."""


def clash(call: Call, facts: Facts) -> str:
    """Why the API refuses a request that uses an object, whichever it is; "" when it does not."""
    present = {block.region for block in call.blocks}
    told = [name for name in facts.object_conflicts if name in call.parameters or _REGIONS.get(name) in present]
    return f"CachedContent can not be used with GenerateContent request setting {', '.join(told)}" if told else ""
