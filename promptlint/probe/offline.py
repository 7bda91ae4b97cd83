"""What to expect of a pair of requests before anything is sent: where they part, and what the cache makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from promptlint import simulator
from promptlint.probe.pairs import Pair, Relation, merged
from promptlint.simulator import Call
from promptlint.trace import parameters, wire
from promptlint.trace.divergence import Divergence, compare

LEAST = 32
"""Tokens below which a loss is not told from the error of an estimate."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Tokens that the cache is expected to give: ``control`` to the first request sent again, ``pair`` to the second
    request, ``ideal`` to a second request that begins as it should. ``first`` and ``total`` are all tokens of the
    first and of the second request. ``why`` says it in the simulator's words.
    """

    difference: Divergence | None
    parameters: tuple[str, ...]
    first: int
    total: int
    control: int
    pair: int
    ideal: int
    why: str
    control_why: str
    refused: str = ""

    @property
    def lost(self) -> int:
        """Tokens that the second request should read and does not."""
        return max(0, self.ideal - self.pair)

    @property
    def breaks(self) -> bool:
        """Whether it loses so much that a count shows it."""
        return self.lost > margin(self.total)


def margin(total: int, granularity: int = 1) -> int:
    """Tokens by which two counts may differ and still be called equal."""
    return max(LEAST, total // 50, granularity)


def forecast(pair: Pair) -> Forecast:
    """The expectation for a pair, with token counts that stand in for the provider's."""
    first, second = pair.first, pair.second
    one = wire.call(first.wire, first.facts)
    other = wire.call(second.wire, second.facts, at=1.0)
    control = _after(one, replace(one, at=1.0), pair)
    found = _after(one, other, pair)
    sound = wire.call(replace(second.wire, parts=merged(pair), parameters=first.wire.parameters), second.facts, at=1.0)
    ideal = _after(one, sound, pair).read
    if pair.relation is Relation.TURN:
        ideal = max(ideal, control.read)
    changed = parameters.differing(
        parameters.deciding(first.wire.parameters, first.facts),
        parameters.deciding(second.wire.parameters, second.facts),
    )
    costly = tuple(name for name in changed if first.facts.invalidates(name))
    difference = compare(first.wire.parts[: pair.expected], second.wire.parts)
    total = found.total or control.total
    refused = found.refused or control.refused
    return Forecast(
        difference, costly, control.total, total, control.read, found.read, ideal, found.why, control.why, refused
    )


def _after(first: Call, second: Call, pair: Pair) -> simulator.Outcome:
    return simulator.predict([first, second], pair.second.facts)[1]
