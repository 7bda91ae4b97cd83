"""What a constructor that makes an object and keeps it has put into it by calls of its methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, Either, Expr, Mutate, is_this, unchanged
from promptlint.code.index import CONSTRUCTORS, Function
from promptlint.link.classes.leaving import left_by, under
from promptlint.link.values import Instance, Routine, Value

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

_DEPTH = 2
"""How many methods lie between a constructor and the call of what it keeps (``self._add`` calls ``self.kept.add``)."""


def begun(ev: Evaluator, base: Instance, name: str, before: Value) -> Value:
    """The attribute of an object after the calls that the constructor which made it makes of its methods."""
    maker = base.init.maker if base.init is not None else None
    if maker is None or maker.function.name not in CONSTRUCTORS or not maker.function.is_method:
        return before
    if not any(m.stores(name) and m.name not in CONSTRUCTORS for m in _methods(ev, base)):
        return before
    this = maker.function.parameters[0].name
    made = (k for k, v in ev.summary(maker.function).exit.items() if _is_made_at(ev, maker, v, base))
    kept = next((k.removeprefix(f"{this}.") for k in made if k.startswith(f"{this}.")), None)
    return _filled(ev, base, name, before, maker, kept, _DEPTH) if kept is not None else before


def _methods(ev: Evaluator, base: Instance) -> list[Function]:
    return [m for c in ev.program.mro(base.cls) for m in c.methods.values() if m.is_method]


def _is_made_at(ev: Evaluator, maker: Frame, node: Expr, base: Instance) -> bool:
    """Whether a value is what the call that made ``base`` gave, whatever has been done to it since."""
    made = unchanged(node)
    while isinstance(made, Mutate):  # ``kept.add(x)`` may as well be a change of a set
        made = unchanged(made.base)
    if isinstance(made, Either):
        return all(_is_made_at(ev, maker, o, base) for o in made.options)
    return isinstance(made, Call) and ev.span(maker, made) == base.span


def _filled(ev: Evaluator, base: Instance, name: str, before: Value, frame: Frame, kept: str, depth: int) -> Value:
    """``before`` and what the calls in an activation, one after another, make of it; those in loops are left out."""
    value, this = before, frame.function.parameters[0].name
    for call in ev.summary(frame.function).calls:
        func = call.func
        if not isinstance(func, Attr) or call.loops:
            continue
        if is_this(func.base, this) and depth and isinstance(frame.this, Instance):
            own = ev.program.method(frame.this.cls, func.name)
            if own is None or not own.is_method or own in ev.running or not own.says(kept):
                continue
            target = ev.activation(Routine(own, None, frame.this), call, frame)
            result = _filled(ev, base, name, value, target, kept, depth - 1) if target is not None else value
        elif _is_made_at(ev, frame, func.base, base) or _is_field(func.base, this, kept):
            method = ev.program.method(base.cls, func.name)
            if method is None or not method.is_method or method in ev.running:
                continue
            result = left_by(ev, Routine(method, None, base), call, name, value, frame) or value
        else:
            continue
        if result is not value:
            value = under(ev, call.guards, result, value, frame)
    return value


def _is_field(node: Expr, this: str, kept: str) -> bool:
    return isinstance(node, Attr) and node.name == kept and is_this(node.base, this)
