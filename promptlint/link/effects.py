"""What a call leaves in what it was handed, and in the object that it was a method of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    Attr,
    Call,
    Expr,
    Field,
    Param,
    cell,
    unchanged,
)
from promptlint.code.index import Function
from promptlint.frozen import replace
from promptlint.link import externals, lent, objects, state
from promptlint.link.begun import run
from promptlint.link.values import (
    Const,
    External,
    Instance,
    Lazy,
    Routine,
    Text,
    Type,
    Value,
    join,
    only,
    options,
)

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def after(ev: Evaluator, node: After, frame: Frame) -> Value:
    """What a call leaves in one of its arguments, or in an attribute of its receiver."""
    before = ev.eval(node.before, frame)
    if isinstance(before, (Text, Const, Routine, Type, External)) and node.argument != "self":
        return before
    func = ev.eval(node.call.func, frame)
    results: list[Value] = []
    for option in options(func):
        if isinstance(option, Routine):
            results.append(_after_routine(ev, option, node, before, frame))
        elif isinstance(option, External) and option.name.endswith(".shuffle") and node.argument == 0:
            results.append(externals.shuffled(ev, option, node.call, before, frame))
    return join(results) if results else before


def _after_routine(ev: Evaluator, routine: Routine, node: After, before: Value, frame: Frame) -> Value:
    function = routine.function
    if function.module.body is function or len(ev.running) > 10 or function in ev.running:
        return before
    summary = ev.summary(function)
    parameters = list(function.parameters)
    bound = function.is_method and routine.this is not None
    if node.argument == "self":
        if not bound or "." in node.path:
            return before
        expr = summary.exit.get(f"{parameters[0].name}.{node.path}")
        if expr is None:
            return before
        target = ev.activation(routine, node.call, frame)
        if target is None:
            return before
        this = routine.this
        if isinstance(this, Instance):
            target.this = replace(this, overrides={**this.overrides, node.path: before})
            target.arguments[parameters[0].name] = target.this
        return run(ev, function, expr, target)
    if bound:
        parameters = parameters[1:]
    name: str | None
    if isinstance(node.argument, int):
        name = parameters[node.argument].name if node.argument < len(parameters) else None
    else:
        name = node.argument
    if name is None:
        return before
    expr = summary.exit.get(name)
    fields = {k[len(name) + 1 :]: e for k, e in summary.exit.items() if k.startswith(name + ".") and k.count(".") == 1}
    if expr is None and not fields:
        return before
    target = ev.activation(routine, node.call, frame)
    if target is None:
        return before
    target.arguments[name] = before
    result = run(ev, function, expr, target) if expr is not None else before
    if fields and isinstance(result, Instance) and len(fields) <= 6:
        # What a field holds then is looked at when somebody reads it.
        left = {k: Lazy(lambda e=e: run(ev, function, e, target)) for k, e in fields.items()}  # type: ignore[misc]
        result = replace(result, overrides={**result.overrides, **left})
    return result


def after_calls(ev: Evaluator, base: Instance, node: Field, frame: Frame) -> Value | None:
    """A member of a new object after some calls of its methods; ``None`` where more than these may change it."""
    if not base.exact or len(ev.running) > 10:
        return None
    maker = only(ev.eval(node.made.func, frame), Routine)
    if lent.may_be_kept(ev, maker.function) if maker is not None else cell(node.made) is not None:
        return None
    if base.init is not None and not _keeps_to_itself(ev, base.init.function):
        return None
    method = ev.program.method(base.cls, node.name)
    if method is None and objects.getter(ev, base, node.name) is not None:
        return None
    if method is None:
        return _after_calls(ev, base, node.name, node, frame)
    fields = {f for c in ev.program.mro(base.cls) for m in c.methods.values() for f in m.all_stored()}
    if not node.calls or not fields or _made_by(ev, node, frame) is None:
        return None

    def held(name: str) -> Lazy:
        span = ev.span(frame, node)
        return Lazy(lambda: _after_calls(ev, base, name, node, frame) or objects.attribute(ev, base, name, span, frame))

    filled = replace(base, overrides={**base.overrides, **{name: held(name) for name in sorted(fields)}})
    return objects.method(ev, filled, method, ev.span(frame, node), frame)


def _made_by(ev: Evaluator, node: Field, frame: Frame) -> list[tuple[Routine, Call]] | None:
    """The methods that the calls of a ``Field`` run; ``None`` where one is not known, or may hand the object on."""
    found = []
    for call in node.calls:
        routine = only(ev.eval(call.func, frame), Routine)
        if routine is None or routine.function in ev.running or not routine.function.is_method:
            return None
        if not _keeps_to_itself(ev, routine.function):
            return None
        found.append((routine, call))
    return found


def _after_calls(ev: Evaluator, base: Instance, name: str, node: Field, frame: Frame) -> Value | None:
    """An attribute after the calls of a ``Field``: under its guards, a call may have been made or not."""
    if _set_by_maker(ev, base, name):
        return None
    value = base.given(name) or state.initial(ev, base, name, base.span)
    for routine, call in _made_by(ev, node, frame) or ():
        this = routine.function.parameters[0].name
        expr = ev.summary(routine.function).exit.get(f"{this}.{name}")
        target = ev.activation(routine, call, frame) if expr is not None else None
        if expr is None:
            continue
        if target is None or value is None:
            return None
        target.this = replace(base, overrides={**base.overrides, name: value})
        target.arguments[this] = target.this
        result = run(ev, routine.function, expr, target)
        for guard in reversed(call.guards[len(node.made.guards) :]):
            result = ev.under(guard, result, value, frame)
        value = result
    return value


def _set_by_maker(ev: Evaluator, base: Instance, name: str) -> bool:
    """Whether the function that makes an object writes the attribute before it hands the object out."""
    maker = ev.program.function_at(base.span)
    if maker is None or not maker.stores(name):
        return False
    made = (unchanged(w.base) for w in ev.summary(maker).writes if w.name == name)
    return any(isinstance(m, Call) and maker.module.span(m.at) == base.span for m in made)


def _keeps_to_itself(ev: Evaluator, function: Function) -> bool:
    """Whether a method neither calls other methods of its object nor hands the object on."""
    if not function.is_method:
        return True
    this = function.parameters[0].name

    def is_this(node: Expr) -> bool:
        return isinstance(node, Param) and node.name == this

    return not any(
        (isinstance(c.func, Attr) and is_this(c.func.base))
        or any(is_this(a) for a in (*c.args, *(v for _, v in c.keywords)))
        for c in ev.summary(function).calls
    )
