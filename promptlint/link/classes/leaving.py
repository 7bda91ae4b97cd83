"""What a call of a method leaves in an attribute of its object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, Expr, Guard, is_this
from promptlint.code.index import Function
from promptlint.frozen import replace
from promptlint.link.values import Instance, Routine, Value

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

MAX_METHODS = 3
"""Methods of one object that call each other, and are followed."""


def left_by(
    ev: Evaluator, routine: Routine, call: Call, name: str, value: Value | None, frame: Frame, depth: int = 0
) -> Value | None:
    """What a call of a method leaves in an attribute of its object, which held ``value``; ``None``: not known."""
    method, base = routine.function, routine.this
    assert isinstance(base, Instance)
    summary, this = ev.summary(method), method.parameters[0].name
    expr = summary.exit.get(f"{this}.{name}")
    ways = summary.calls if expr is None else ()
    own = [c for c in ways if isinstance(c.func, Attr) and is_this(c.func.base, this)]
    if expr is None and not own:
        return value
    target = ev.activation(routine, call, frame) if value is not None and depth < MAX_METHODS else None
    if target is None or value is None:
        return None
    if expr is not None:
        target.this = replace(base, overrides={**base.overrides, name: value})
        target.arguments[this] = target.this
        return run(ev, method, expr, target)
    for inner in own:
        assert isinstance(inner.func, Attr)
        called = ev.program.method(base.cls, inner.func.name)
        if called is None or not called.is_method or called in ev.running:
            continue
        left = left_by(ev, Routine(called, None, base), inner, name, value, target, depth + 1)
        if left is None:
            return None
        value = under(ev, inner.guards, left, value, target)
    return value


def under(ev: Evaluator, guards: Sequence[Guard], left: Value, before: Value, frame: Frame) -> Value:
    """What is in the place of ``before`` where something that leaves ``left`` there stands under some guards."""
    for guard in reversed(guards):
        left = ev.under(guard, left, before, frame)
    return left


def run(ev: Evaluator, function: Function, expr: Expr, target: Frame) -> Value:
    """What ``expr`` of a function is in one activation of it, which counts as running meanwhile."""
    ev.running.append(function)
    try:
        return ev.eval(expr, target)
    finally:
        ev.running.pop()
