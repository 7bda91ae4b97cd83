"""What a call leaves in what it was handed, and in the object that it was a method of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    OUTER,
    After,
    Attr,
    Call,
    Clause,
    Expr,
    Field,
    LoopState,
    begun_as,
    cell,
    is_this,
    unchanged,
)
from promptlint.code.index import CONSTRUCTORS, Function
from promptlint.frozen import replace
from promptlint.link import loops
from promptlint.link.classes import objects
from promptlint.link.classes.leaving import left_by, run, under
from promptlint.link.joining import join
from promptlint.link.kept import lent, state
from promptlint.link.libraries import externals
from promptlint.link.values import Const, External, Instance, Item, Lazy, Routine, Seq, Text, Type, Value, only, options
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def after(ev: Evaluator, node: After, frame: Frame) -> Value:
    """What a call leaves in one of its arguments, or in an attribute of its receiver."""
    before = ev.eval(node.before, frame)
    if isinstance(before, (Text, Const, Routine, Type, External)) and node.argument not in ("self", OUTER):
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
    name = node.path if node.argument == OUTER else routine.given_as(node.argument)
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
    if not node.calls or _made_by(ev, node, frame) is None:
        return None
    span = ev.span(frame, node)
    filled = _filled(ev, base, span, frame, lambda name: _after_calls(ev, base, name, node, frame))
    return objects.method(ev, filled, method, span, frame) if filled is not base else None


def _filled(ev: Evaluator, base: Instance, span: Span, frame: Frame, held: Callable[[str], Value | None]) -> Instance:
    """An object whose attributes are what ``held`` says by their names, when somebody reads them."""
    fields = {f for c in ev.program.mro(base.cls) for m in c.methods.values() for f in m.all_stored()}

    def lazy(name: str) -> Lazy:
        return Lazy(lambda: held(name) or objects.attribute(ev, base, name, span, frame))

    return replace(base, overrides={**base.overrides, **{name: lazy(name) for name in sorted(fields)}})


def chained(ev: Evaluator, node: Expr, frame: Frame) -> Value:
    """An object that is made and filled in one chain of calls: ``Prompt().add(a).add(b)``, whose methods return it."""
    value = ev.eval(node, frame)
    if not isinstance(node, Call) or not isinstance(node.func, Attr) or not isinstance(value, Instance):
        return value
    base = chained(ev, node.func.base, frame)
    method = ev.program.method(value.cls, node.func.name)
    if not isinstance(base, Instance) or method is None or not _is_new(ev, node.func.base, base, frame):
        return value
    if not returns_itself(ev, method) or not _keeps_to_itself(ev, method):
        return value
    routine = Routine(method, None, base)

    def held(name: str) -> Value | None:
        return left_by(ev, routine, node, name, base.given(name) or state.initial(ev, base, name, base.span), frame)

    return _filled(ev, base, ev.span(frame, node), frame, held)


def _is_new(ev: Evaluator, node: Expr, made: Instance, frame: Frame) -> bool:
    """Whether an object was made where a chain of calls begins, and by a constructor that hands it to nobody."""
    if not made.exact or made.init is None or not _keeps_to_itself(ev, made.init.function):
        return False
    while isinstance(node, Call) and isinstance(node.func, Attr) and isinstance(node.func.base, Call):
        node = node.func.base
    return isinstance(node, Call) and ev.span(frame, node) == made.span


def returns_itself(ev: Evaluator, method: Function) -> bool:
    """Whether a method returns the object that it is called on, and nothing else."""
    returns = ev.summary(method).returns
    return (
        method.is_method
        and bool(returns)
        and all(is_this(way, method.parameters[0].name) for r in returns for way in begun_as(r))
    )


def _made_by(ev: Evaluator, node: Field, frame: Frame) -> list[tuple[Routine, Call]] | None:
    """The methods that the calls of a ``Field`` run; ``None`` where one is not known, or may hand the object on."""
    found: list[tuple[Routine, Call]] = []
    for call in node.calls:
        if isinstance(call.func, Attr) and isinstance(call.func.base, Call) and call.func.base is not node.made:
            earlier = next((r for r, c in found if c is call.func.base), None)
            if earlier is None or not returns_itself(ev, earlier.function):
                continue  # a method of something else
        routine = only(ev.eval(call.func, frame), Routine)
        if routine is None or routine.function in ev.running or not routine.function.is_method:
            return None
        if not _keeps_to_itself(ev, routine.function):
            return None
        found.append((routine, call))
    if isinstance(node.base, Call) and node.base is not node.made:
        returned = next((r for r, c in found if c is node.base), None)
        return found if returned is not None and returns_itself(ev, returned.function) else None
    return found


def _after_calls(ev: Evaluator, base: Instance, name: str, node: Field, frame: Frame) -> Value | None:
    """An attribute after the calls of a ``Field``: under its guards, a call may have been made or not."""
    if _set_by_maker(ev, base, name):
        return None
    value = base.given(name) or state.initial(ev, base, name, base.span)
    for routine, call in _made_by(ev, node, frame) or ():
        routine = replace(routine, this=base)
        rounds = [ev.summary(frame.function).loops.get(loop) for loop in call.loops[len(node.made.loops) :]]
        outermost = rounds[0] if rounds else None
        if rounds:
            left = _left_by_rounds(ev, routine, call, name, value, frame, rounds)
        else:
            left = left_by(ev, routine, call, name, value, frame)
        if left is None or value is None:
            return left
        tests = call.guards if outermost is None else outermost.guards
        value = under(ev, tests[len(node.made.guards) :], left, value, frame)
    return value


class _NotKnown(Exception):
    """One round of a loop leaves something in a list that cannot be told."""


def _left_by_rounds(
    ev: Evaluator,
    routine: Routine,
    call: Call,
    name: str,
    value: Value | None,
    frame: Frame,
    rounds: Sequence[LoopState | None],
) -> Value | None:
    """What a call in some loops, one inside the other, leaves in a list, with one element after the other."""
    clauses: list[Clause] = [(r.id, r.iterable, ()) for r in rounds if r is not None and r.iterable is not None]
    if len(clauses) < len(rounds) or rounds[0] is None or not isinstance(value, Seq):
        return None
    guards = call.guards[len(rounds[0].guards) :]
    tests = tuple(guard.test for guard in guards if guard.sense and guard.test is not None)
    clauses[-1] = (*clauses[-1][:2], tests)
    empty = replace(value, items=(), edits=())

    def add(inner: Frame) -> list[Item]:
        left = left_by(ev, routine, call, name, empty, inner)
        if not isinstance(left, Seq) or left.edits:
            raise _NotKnown
        return [i if len(tests) == len(guards) else i.maybe() for i in left.items]

    try:
        return loops.filled(ev, value, clauses, add, frame, ev.span(frame, call))
    except _NotKnown:
        return None


def _set_by_maker(ev: Evaluator, base: Instance, name: str) -> bool:
    """Whether the function that makes an object writes the attribute before it hands the object out."""
    maker = ev.program.function_at(base.span)
    if maker is None or not maker.stores(name):
        return False
    made = (unchanged(w.base) for w in ev.summary(maker).writes if w.name == name)
    return any(isinstance(m, Call) and maker.module.span(m.at) == base.span for m in made)


def _keeps_to_itself(ev: Evaluator, function: Function) -> bool:
    """Whether a method does not hand its object on, and calls other methods of it at most in filling it."""
    if not function.is_method:
        return True
    calls, this = ev.summary(function).calls, function.parameters[0].name
    own = [c for c in calls if isinstance(c.func, Attr) and is_this(c.func.base, this)]
    if own and len(own) < len(calls) and not returns_itself(ev, function):
        return False  # it loads or restores something: what that is, the state of the object tells better
    makes = function.name in CONSTRUCTORS
    handed = any(is_this(a, this) for c in calls for a in (*c.args, *(v for _, v in c.keywords)))
    return not handed and not (makes and own)
