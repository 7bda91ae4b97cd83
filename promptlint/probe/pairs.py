"""Two requests that should share a prefix: neighbours in a conversation, or the same request of another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from promptlint.finding import Scope
from promptlint.probe.samples import Sample
from promptlint.trace.parts import Part

_AKIN = 0.5
"""The part of a request's messages that the next turn of the same conversation holds, whatever became of the rest."""


class Relation(StrEnum):
    """What makes one of two requests the other's heir."""

    TURN = "turn"
    """The next turn of the same conversation: it should hold all of the one before."""
    RUN = "run"
    """The same request of another run of the same program."""
    OTHER = "conversation"
    """The first request of another conversation."""


@dataclass(frozen=True, slots=True)
class Pair:
    """``expected`` counts the leading parts of the first that the second should begin with, ``own`` the parts of the
    second that stand in their place.
    """

    first: Sample
    second: Sample
    relation: Relation
    expected: int
    own: int


def candidates(samples: Sequence[Sample], scope: Scope | None, in_messages: bool = False) -> list[Pair]:
    """The pairs of one call site that show what a finding of this scope says, the most telling kind first.

    Without a scope (no finding) every kind is of interest. Other conversations share tools and system text; with
    ``in_messages`` the finding is about what they should share behind that.
    """
    talks = conversations(samples)
    turns = [_turn(*two) for talk in talks for two in pairwise(talk)]
    runs = list(_across_runs(talks, in_messages))
    others = [_other(*two) for two in pairwise(talk[0] for talk in talks) if two[0].run == two[1].run]
    match scope:
        case Scope.TURN:
            return [*turns, *runs, *others]
        case Scope.CONVERSATION:
            return [*others, *runs]
        case Scope.PROCESS:
            apart = [pair for pair in others if pair.first.process != pair.second.process]
            return [*runs, *apart, *others]
        case _:
            return [*turns, *runs, *others]


def conversations(samples: Sequence[Sample]) -> list[list[Sample]]:
    """The requests of each conversation, in the order of sending."""
    talks: list[list[Sample]] = []
    for sample in sorted(samples, key=lambda s: (s.run, s.exchange.at)):
        heir = next((talk for talk in reversed(talks) if _continues(talk[-1], sample)), None)
        if heir is not None:
            heir.append(sample)
        else:
            talks.append([sample])
    return talks


def _continues(before: Sample, now: Sample) -> bool:
    if before.process != now.process:
        return False
    old, new = _texts(before), _texts(now)
    if old == new:
        return False  # the same question asked anew
    return bool(old) and len({*old}.intersection(new)) >= _AKIN * len({*old})


def _texts(sample: Sample) -> list[tuple[str, str]]:
    return [(part.role, part.text) for part in sample.wire.parts if part.region == "messages"]


def _turn(first: Sample, second: Sample) -> Pair:
    whole = len(first.wire.parts)
    return Pair(first, second, Relation.TURN, whole, whole)


def _other(first: Sample, second: Sample, relation: Relation = Relation.OTHER) -> Pair:
    return Pair(first, second, relation, _lead(first), _lead(second))


def _lead(sample: Sample) -> int:
    """The parts ahead of the messages; where there are none, the prompt is in the messages, and all count."""
    parts = sample.wire.parts
    return sum(part.region != "messages" for part in parts) or len(parts)


def _across_runs(talks: Sequence[Sequence[Sample]], in_messages: bool) -> Iterator[Pair]:
    """The requests of the first run beside those of each other one, by their places in it."""
    by_run: dict[int, list[Sample]] = defaultdict(list)
    for talk in talks:
        by_run[talk[0].run] += talk
    first, *rest = [by_run[run] for run in sorted(by_run)] or [[]]
    for other in rest:
        for one, two in zip(first, other, strict=False):
            turn = _turn(one, two)
            yield replace(turn, relation=Relation.RUN) if in_messages else _other(one, two, Relation.RUN)


def merged(pair: Pair) -> tuple[Part, ...]:
    """The second request as it would be if it began as it should."""
    return (*pair.first.wire.parts[: pair.expected], *pair.second.wire.parts[pair.own :])
