"""The lifetime word: the shortest of a segment's causes, clocks judged by their grain."""

import pytest

from promptlint.finding import Region
from promptlint.output.lifetime import lifetime
from promptlint.request import Axis, Cause, Kind, Moment, Segment
from promptlint.span import Span
from promptlint.tokens import UNKNOWN

HERE = Span("a.py", 1)


def word(*axes: Axis, kind: Kind = Kind.TEXT, grain: float | None = None) -> str:
    causes = tuple(Cause("time", "x", HERE, Moment.CALL, frozenset({axis}), grain=grain) for axis in axes)
    return str(lifetime(Segment(Region.SYSTEM, kind, HERE, UNKNOWN, causes=causes)))


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ((), "constant"),
        ((Axis.DEPLOYMENT,), "per process"),
        ((Axis.HASH_SEED,), "per process"),
        ((Axis.USER, Axis.MACHINE), "per conversation"),
        ((Axis.CONVERSATION, Axis.TURN), "per turn"),
        ((Axis.CALL, Axis.TURN), "per call"),
    ],
)
def test_the_shortest_cause_decides(axes: tuple[Axis, ...], expected: str) -> None:
    assert word(*axes) == expected


def test_kept_turns_belong_to_their_conversation() -> None:
    assert word(kind=Kind.HISTORY) == "per conversation"
    assert word(Axis.PROCESS, kind=Kind.HISTORY) == "per conversation"
    assert word(Axis.TURN, kind=Kind.HISTORY) == "per turn"


@pytest.mark.parametrize(("grain", "expected"), [(1.0, "per call"), (60.0, "per call"), (3600.0, "per conversation")])
def test_a_coarse_clock_outlives_turns(grain: float, expected: str) -> None:
    assert word(Axis.CALL, grain=grain) == expected
