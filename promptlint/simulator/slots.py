"""llama.cpp's server, and Ollama: each slot keeps the tokens of its last request, one by one.

A request goes to the idle slot whose tokens begin like it, if they cover more than a tenth of it, else to the one not
used for longest; it reads what they have in common, and the last token of the prompt is always computed anew. With all
slots busy it waits for the first to be free. The server's store for the prompts that slots drop (``--cache-ram``) is
taken to be off; with it less is lost.

Source: llama.cpp, tools/server/server-context.cpp (``get_available_slot``), 2026; measured, see benchmarks/engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptlint.provider import Facts
from promptlint.simulator.exchange import Call, Outcome, ago, common, flat, ordered

SIMILARITY = 0.1
"""The part of a prompt that a slot must hold to be chosen for it (``--slot-prompt-similarity``)."""


@dataclass(slots=True)
class _Slot:
    tokens: tuple[int, ...] = ()
    busy: float = float("-inf")
    """Until when its last request runs."""


def predict(calls: Sequence[Call], facts: Facts, slots: int = 1) -> list[Outcome]:
    """The outcome of each call, in order, on a server with that many slots."""
    pool = [_Slot() for _ in range(slots)]
    lifetime = facts.lifetime()
    last: float | None = None
    outcomes = []
    for call in calls:
        if lifetime is not None and last is not None and call.at >= last + lifetime:
            pool = [_Slot() for _ in range(slots)]  # the model was unloaded
        outcomes.append(_one(call, flat(ordered(call, facts)), pool))
        last = call.at
    return outcomes


def _one(call: Call, tokens: tuple[int, ...], pool: Sequence[_Slot]) -> Outcome:
    idle = [slot for slot in pool if slot.busy < call.at]
    if not idle:
        idle = [min(pool, key=lambda slot: slot.busy)]
    shared = [common(slot.tokens, tokens) for slot in idle]
    best = max(shared)
    if tokens and best / len(tokens) > SIMILARITY:
        slot = idle[shared.index(best)]
        how = "reads what its slot last held"
    else:
        oldest = min(slot.busy for slot in idle)
        slot = [slot for slot in idle if slot.busy == oldest][-1]
        how = "no slot holds a prompt that begins like it" if any(s.tokens for s in pool) else "the first request"
    read = min(common(slot.tokens, tokens), max(0, len(tokens) - 1))
    start = max(call.at, slot.busy)
    waited = f" after waiting {ago(start - call.at)}" if start > call.at else ""
    slot.tokens, slot.busy = (*tokens, *call.answer[:-1]), start + call.lasts
    return Outcome(read, len(tokens) - read, why=how + waited)
