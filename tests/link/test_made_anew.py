"""What of a kept turn is another value each time it is sent."""

from __future__ import annotations

from promptlint.assembly.replay import made_anew
from promptlint.link.values import CALL, Hole, Origin
from promptlint.request import Axis
from promptlint.span import Hop, Span, Step

HERE = Span("app.py", 3)


def _read(*steps: Step) -> Hole:
    clock = Origin("time", "time.time()", HERE, CALL, frozenset({Axis.CALL}), 1.0, steps)
    return Hole("stamp", HERE, (clock,))


def test_a_clock_that_is_read_for_each_request_is() -> None:
    assert made_anew(_read())
    assert made_anew(_read(Step(HERE, "returned by stamp()", hop=Hop.RETURNED)))


def test_what_was_put_under_the_key_of_a_call_is_not() -> None:
    assert not made_anew(_read(Step(HERE, "kept under a key", hop=Hop.ENTERED)))


def test_an_id_that_a_loop_makes_for_each_message_is() -> None:
    put = Step(HERE, "put under a key", hop=Hop.FILLED)
    made = Origin("random", "uuid.uuid4()", HERE, CALL, frozenset({Axis.CALL}), None, (put,))
    assert made_anew(Hole("id", HERE, (made,)))
    assert not made_anew(_read(put))
