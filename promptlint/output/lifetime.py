"""The one word shown to users for how long a segment's bytes stay the same."""

from __future__ import annotations

from enum import IntEnum

from promptlint.request import Axis, Cause, Kind, Segment

_OUTLIVES_TURNS = 3600.0
"""A clock of this granularity in seconds, or coarser, rarely ticks between two turns of one conversation."""


class Lifetime(IntEnum):
    """How long the bytes of a segment last, longest first."""

    CONSTANT = 0
    PROCESS = 1
    CONVERSATION = 2
    TURN = 3
    CALL = 4

    def __str__(self) -> str:
        return "constant" if self is Lifetime.CONSTANT else f"per {self.name.lower()}"


_OF_AXIS = {
    Axis.CALL: Lifetime.CALL,
    Axis.TURN: Lifetime.TURN,
    Axis.CONVERSATION: Lifetime.CONVERSATION,
    Axis.USER: Lifetime.CONVERSATION,
    Axis.PROCESS: Lifetime.PROCESS,
    Axis.HASH_SEED: Lifetime.PROCESS,
    Axis.MACHINE: Lifetime.PROCESS,
    Axis.DEPLOYMENT: Lifetime.PROCESS,
}


def _of_cause(cause: Cause) -> Lifetime:
    word = max((_OF_AXIS[axis] for axis in cause.axes), default=Lifetime.CONSTANT)
    coarse = cause.grain is not None and cause.grain >= _OUTLIVES_TURNS
    return min(word, Lifetime.CONVERSATION) if coarse else word


def lifetime(segment: Segment) -> Lifetime:
    """The shortest lifetime among the segment's causes; kept turns belong to their conversation."""
    floor = Lifetime.CONVERSATION if segment.kind is Kind.HISTORY else Lifetime.CONSTANT
    return max([floor, *map(_of_cause, segment.causes)])
