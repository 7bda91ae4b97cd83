"""DeepSeek: stored in units, each of which a request reads wholly or not at all.

Units end where an earlier request or its answer ended, and where two earlier requests stopped being equal; of those
that a request begins with it reads the longest. The provider also stores at fixed steps that it does not publish: they
are left out, so a hit can be larger than this says.

Source: DeepSeek, API docs, "Context Caching" (D1).
"""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.provider import Facts
from promptlint.simulator.exchange import Call, Entry, Outcome, ago, common, flat, ordered


def predict(calls: Sequence[Call], facts: Facts) -> list[Outcome]:
    """The outcome of each call, in order."""
    units: dict[tuple[int, ...], Entry] = {}
    seen: list[tuple[int, ...]] = []
    outcomes = []
    for call in calls:
        tokens = flat(ordered(call, facts))
        outcomes.append(_one(call, tokens, units, facts))
        ready = call.at + call.begins
        ends = [tokens, (*tokens, *call.answer)] + [tokens[: common(tokens, other)] for other in seen]
        for end in ends:
            if len(end) >= facts.granularity and end not in units:
                units[end] = Entry(ready, call.at, facts.lifetime())
        seen.append(tokens)
    return outcomes


def _one(call: Call, tokens: tuple[int, ...], units: dict[tuple[int, ...], Entry], facts: Facts) -> Outcome:
    fitting = [unit for unit in units if unit == tokens[: len(unit)]]
    read = max((unit for unit in fitting if units[unit].alive(call.at)), key=len, default=())
    if read:
        why = f"reads a unit of {len(read):,} tokens, last used {ago(call.at - units[read].used)} before"
        units[read].used = call.at
    elif fitting:
        why = "sent before the response that stores the same prefix had begun"
    else:
        why = "no stored unit is the beginning of this request" if units else "the first request"
    return Outcome(len(read), len(tokens) - len(read), why=why)
