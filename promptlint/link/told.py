"""What a comment says of a call whose result is not known: ``lifetime[turn]``, ``tokens=6000``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.link.joining import join
from promptlint.link.values import IMPORT, SESSION, Hole, Origin, Value, options
from promptlint.request import Axis
from promptlint.span import Step

if TYPE_CHECKING:
    from promptlint.code.expression import Call
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

_TOKENS = "tokens="
_AXES = {
    "process": frozenset({Axis.PROCESS}),
    "conversation": frozenset({Axis.CONVERSATION}),
    "turn": frozenset({Axis.TURN, Axis.CALL}),
    "call": frozenset({Axis.TURN, Axis.CALL}),
}


def as_told(ev: Evaluator, value: Value, node: Call, frame: Frame) -> Value:
    """The result of a call, with the size and the lifetime that a comment on its line gives what is unknown of it."""
    span = ev.span(frame, node)
    hints = ev.hints_at(span)
    if not hints.keys() & {"tokens", "lifetime"} or not any(isinstance(o, Hole) for o in options(value)):
        return value
    size = frozenset({_TOKENS + hints["tokens"]}) if "tokens" in hints else frozenset()
    origin = _origin(ev, hints.get("lifetime", ""), node, frame)
    kept = hints.get("lifetime") == "constant"
    return join(
        replace(o, features=o.features | size, deps=o.deps or origin, persistent=o.persistent or kept)
        if isinstance(o, Hole)
        else o
        for o in options(value)
    )


def tokens(features: frozenset[str]) -> int | None:
    """The number of tokens that a comment gives, among the features of a hole."""
    told = next((f.removeprefix(_TOKENS) for f in features if f.startswith(_TOKENS)), "")
    return number(told)


def number(told: str) -> int | None:
    """A whole number as comments may write it (``6_000``)."""
    return int(told) if told.replace("_", "").isdecimal() else None


def _origin(ev: Evaluator, lifetime: str, node: Call, frame: Frame) -> tuple[Origin, ...]:
    axes = _AXES.get(lifetime)
    if axes is None:
        return ()
    span, shown = ev.span(frame, node), ev.snippet(frame, node.at, 50)
    level = {"process": IMPORT, "conversation": SESSION}.get(lifetime, frame.level_at(node.loops))
    step = Step(span, f"differs in every {lifetime}, as a comment says")
    return (Origin("state", shown, span, level, axes, None, (step,)),)
