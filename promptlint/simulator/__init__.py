"""What a provider's cache does with a sequence of concrete requests: tokens read, written and uncached in each.

One module a family of caches; all are pure functions of the requests and the provider's facts. Findings, ``cost`` and
the tools that send requests share it. It is checked against real engines (benchmarks/engines) and against the worked
examples that vendors publish (tests/simulator).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from promptlint.provider import Facts, facts
from promptlint.simulator import blocks, markers, objects, slots, units, window
from promptlint.simulator.exchange import Block, Call, Outcome

__all__ = ["Block", "Call", "Outcome", "predict", "refused", "simulate"]

_FAMILIES: dict[str, Callable[[Sequence[Call], Facts], list[Outcome]]] = {
    "markers": markers.predict,
    "window": window.predict,
    "blocks": blocks.predict,
    "slots": slots.predict,
    "units": units.predict,
}


def simulate(requests: Sequence[Call], provider: str, model: str | None = None) -> list[Outcome]:
    """The outcome of each request at a provider, by the facts known for the model.

    A provider of which nothing is known caches nothing here, and each ``Outcome.why`` says so. Raises ``ValueError``
    when the requests are not in the order of their times.
    """
    return predict(requests, facts(provider, model))


def predict(requests: Sequence[Call], known: Facts) -> list[Outcome]:
    """The same for facts that are at hand (another block size, a lifetime of one's own). Raises ``ValueError``."""
    if any(later.at < earlier.at for earlier, later in pairwise(requests)):
        raise ValueError("requests must be in the order of their times")
    if not known.caches:
        return blocks.predict(requests, known)  # which says so, or that the API refuses what asks for it
    if known.object_conflicts:
        return objects.predict(requests, known)
    if known.policy == "markers" and known.trigger == "automatic" and not any(call.marked for call in requests):
        return _unmarked(requests, known)
    if known.policy not in _FAMILIES:
        why = f"nothing is known about caching at {known.provider}: counted as uncached"
        return [Outcome(0, sum(len(block.tokens) for block in call.blocks), why=why) for call in requests]
    return _FAMILIES[known.policy](requests, known)


def refused(call: Call, known: Facts) -> str:
    """Why the API does not take a request, whatever is stored there; "" when it may."""
    return objects.clash(call, known) if call.uses else predict([call], known)[-1].refused


def _unmarked(requests: Sequence[Call], known: Facts) -> list[Outcome]:
    """Qwen, MiniMax: automatic where no marker is set, at prices of its own."""
    if known.read_unmarked is None:
        return blocks.predict(requests, known)
    free = replace(known, write=())
    return [replace(outcome, unmarked=True) for outcome in blocks.predict(requests, free)]
