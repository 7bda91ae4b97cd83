"""What is found under a key that is not known: what of the key it depends on."""

from __future__ import annotations

from promptlint.link import containers
from promptlint.link.values import CALL, Entry, Hole, Map, Origin
from promptlint.request import Axis, Carrier
from promptlint.span import Span

HERE = Span("app.py", 3)


def _key(kind: str, carrier: Carrier) -> Hole:
    axes = frozenset({Axis.CALL, Axis.TURN})
    return Hole("key", HERE, (Origin(kind, "the key", HERE, CALL, axes, carrier=carrier),))


def _kinds(held: Map, key: Hole) -> list[str]:
    return [origin.kind for origin in containers.item(held, key, HERE, "held[key]").origins()]


ANSWERS = Map({}, HERE, (Hole("answer", HERE), Hole("error", HERE)))
PROMPTS = Map({name: Entry(Hole(name, HERE), HERE) for name in ("first", "second")}, HERE)


def test_answer_under_the_number_of_its_request_does_not_count() -> None:
    assert _kinds(ANSWERS, _key("counter", Carrier.COUNTER)) == []


def test_number_tells_which_of_some_known_texts_it_is() -> None:
    assert _kinds(PROMPTS, _key("counter", Carrier.COUNTER)) == ["loop"]


def test_what_somebody_says_tells_which_of_what_was_put_there_it_is() -> None:
    assert _kinds(ANSWERS, _key("input", Carrier.PARAMETER)) == ["input"]
