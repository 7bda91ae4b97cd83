"""What a call gives: of a function of the project, of a class, of what only its name speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    AfterLoop,
    Attr,
    Binary,
    Call,
    Either,
    Expr,
    Mutate,
    Param,
    Phi,
    SeqOf,
    Slice,
    Star,
    children,
)
from promptlint.code.index import Function
from promptlint.codebase.program import is_abstract
from promptlint.frozen import replace
from promptlint.link import effects, loops
from promptlint.link.classes import construction, objects
from promptlint.link.joining import join
from promptlint.link.libraries import externals, own, sinks
from promptlint.link.turns import rebuilt
from promptlint.link.values import (
    IMPORT,
    NAME_MATCH,
    Choice,
    Const,
    External,
    History,
    Hole,
    Instance,
    Map,
    Routine,
    Seq,
    Text,
    Type,
    Value,
    only,
    options,
)
from promptlint.span import Hop, Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def call(ev: Evaluator, func: Value, node: Call, frame: Frame) -> Value:
    """The result of calling ``func`` as ``node`` does."""
    if isinstance(func, Routine):
        return ev.invoke(func, node, frame)
    if isinstance(func, Type):
        return construction.construct(ev, func.cls, node, frame)
    if isinstance(func, External):
        return externals.call(ev, func, node, frame)
    if isinstance(func, Instance):
        method = ev.program.method(func.cls, "__call__")
        if method is not None:
            return ev.invoke(Routine(method, None, func), node, frame)
    if isinstance(func, Hole):
        found = objects.by_name(ev, node)
        if found:
            made = join(ev.invoke(Routine(f, None, ev.generic(f).this), node, frame) for f in found)
            return _by_name(_told_by(func, made), found, ev.span(frame, node))
        return externals.opaque(ev, node, frame)
    return Hole(ev.snippet(frame, node.at), ev.span(frame, node), ev.argument_origins(node, frame))


def _told_by(method: Hole, made: Value) -> Value:
    """What a method gives that says of its object what is not known by itself: it depends on which object it is."""
    vague = isinstance(made, Hole) and not made.deps
    several = isinstance(made, Choice) and all(isinstance(o, Const) for o in made.options)
    if not method.deps or not (vague or several):
        return made
    return Hole(made.name if isinstance(made, Hole) else method.name, method.span, method.deps)


def _by_name(made: Value, found: Sequence[Function], span: Span) -> Value:
    """A text that functions made which only their name, arguments and place in the project speak for."""
    step = Step(span, f"returned by {found[0].qualname}(), found by its name", hop=Hop.RETURNED)
    if isinstance(made, Hole):
        return replace(made, deps=externals.doubtful(made.deps, NAME_MATCH, step)) if made.deps else made
    if isinstance(made, Text) and made.origins():
        pieces = (p.with_deps(externals.doubtful(p.deps, NAME_MATCH, step)) if p.deps else p for p in made.pieces)
        return Text(tuple(pieces))
    return made


def invoke(ev: Evaluator, routine: Routine, node: Call, frame: Frame) -> Value:
    """Runs a function of the project on the arguments of ``node``."""
    function = routine.function
    span = ev.span(frame, node)
    if ev.knowledge.own_sinks or ev.knowledge.own_sources:
        told = _told(ev, routine, node, frame)
        if told is not None:
            return told
    if ev.replies(function):
        return externals.reply(ev, node, frame)
    wrapper = _decorated(ev, routine, node)
    if wrapper is not None:
        return ev.invoke(wrapper, node, frame)
    handed = _handed_on(ev, routine, node, frame)
    if handed is not None:
        return handed
    if isinstance(node.func, Attr) and isinstance(node.func.base, Call) and effects.returns_itself(ev, function):
        return ev.eval(node.func.base, frame)  # what a chain of calls leaves in an object counts where it is read
    target = ev.activation(routine, node, frame)
    if target is None:
        deps = externals.doubtful(ev.argument_origins(node, frame), "bound")
        return Hole(ev.snippet(frame, node.at), span, deps, features=frozenset({"bound"}))
    made, cut = ev.share(lambda: ev.result(target, function, span))
    made = objects.as_declared(ev, made, function, span)
    if cut and not isinstance(made, (Seq, Map, Instance)) and not (isinstance(made, External) and made.instance):
        made = externals.unfollowed(ev, made, node, frame)
    result = _made_of_turns(loops.settled(made, ev.summary(function)), target, span)
    if isinstance(result, (Seq, Map)) or result.origins():
        name = f"{function.name}()" if function.name != "<lambda>" else "a lambda"
        result = result.along(Step(span, f"returned by {name}", hop=Hop.RETURNED))
    return result


def _told(ev: Evaluator, routine: Routine, node: Call, frame: Frame) -> Value | None:
    """What a call gives of which a row of the user says what it does."""
    if sinks.own_row(ev, routine, node) is not None:
        return externals.reply(ev, node, frame)
    called = ".".join(reversed(sinks.chain(node.func)))
    row = own.row_for(ev.knowledge.own_sources, ev.program, routine.function, called)
    if row is None:
        return None
    shown = ev.snippet(frame, node.at, 50)
    return externals.source(row, ev.span(frame, node), frame.level_at(node.loops), shown)


def _handed_on(ev: Evaluator, routine: Routine, node: Call, frame: Frame) -> Value | None:
    """The nested data that a function got, when it only rebuilds it."""
    function = routine.function
    if function not in ev.rebuilt:
        recurs = any(getattr(c.func, "name", "") == function.name for c in ev.summary(function).calls)
        ev.rebuilt[function] = rebuilt.argument(function) if recurs else None
    position = ev.rebuilt[function]
    if position is None:
        return None
    position -= routine.this is not None and function.is_method and "staticmethod" not in function.decorator_names
    if not 0 <= position < len(node.args):
        return None
    given = ev.eval(node.args[position], frame)
    if not any(isinstance(o, (Map, Seq)) for o in options(given)):
        return None
    return join(replace(o, copied="deep") if isinstance(o, Seq) else o for o in options(given))


def _made_of_turns(result: Value, target: Frame, span: Span) -> Value:
    """The result of a call, which is where what it makes of the kept turns that it got has its origin."""
    if isinstance(result, Map) and result.entries.keys() & {"messages", "role"}:
        return result
    given = (o for a in target.arguments.values() if isinstance(a, Value) for o in options(a) if isinstance(o, Seq))
    return loops.made_here(result, span) if any(isinstance(i, History) for s in given for i in s.items) else result


def _decorated(ev: Evaluator, routine: Routine, node: Call) -> Routine | None:
    """What decorators of the project put in the place of a function."""
    decorators, frame = ev.decorators.get(routine.function, ((), None))
    if routine.bare or frame is None:
        return None
    value = replace(routine, bare=True)
    for decorator in reversed(decorators):
        value = _wrapped(ev, ev.eval(decorator, frame), value, node, frame) or value
    return value if value.function is not routine.function else None


def _wrapped(ev: Evaluator, decorator: Value, value: Routine, node: Call, frame: Frame) -> Routine | None:
    """What a decorator makes of a function: another one, or a method of an object that is called like one."""
    if isinstance(found := only(decorator, Routine), Routine):
        return only(ev.apply(found, (value,), node, frame), Routine)
    if isinstance(made := only(decorator, Instance), Instance):
        called = ev.program.method(made.cls, "__call__")
        found = Routine(called, None, made) if called is not None else None
        return only(ev.apply(found, (value,), node, frame), Routine) if found is not None else None
    if not isinstance(kind := only(decorator, Type), Type):
        return None
    init, called = (ev.program.method(kind.cls, name) for name in ("__init__", "__call__"))
    if init is None or called is None:
        return None
    wrapper = Instance(kind.cls, ev.span(frame, node), None, IMPORT)
    bare = Call(node.at, node.func, (), (), node.loops, node.guards)
    target = ev.activation(Routine(init, None, wrapper, ((value,), ())), bare, frame)
    return Routine(called, None, replace(wrapper, init=target)) if target is not None else None


def replies(ev: Evaluator, function: Function) -> bool:
    """Whether a function sends a request itself and returns what the model says: a wrapper of a client."""
    known = ev.replying.get(function)
    if known is None:
        ev.replying[function] = False
        summary = ev.summary(function)
        sends = any(sinks.row_for_shape(ev.knowledge, c) is not None for c in summary.calls)
        known = (sends or _family_replies(ev, function)) and not any(keeps_input(r) for r in summary.returns)
        known = known or sinks.sends_result(ev, function)
        ev.replying[function] = known
    return known


def _family_replies(ev: Evaluator, function: Function) -> bool:
    """Whether another implementation of the same method is a wrapper of a client."""
    root = ev.program.root_class(function)
    if root is None or (root is function.owner and not is_abstract(function)):
        return False
    return any(ev.replies(f) for f in ev.program.overrides(root, function.name) if f is not function)


def keeps_input(node: Expr, depth: int = 0) -> bool:
    """Whether a returned list is, or is made of, what the function was given."""
    if depth > 24:
        return False
    if isinstance(node, Param):
        return True
    if isinstance(node, (Slice, Mutate)):
        return keeps_input(node.base, depth + 1)
    if isinstance(node, (After, Phi)):
        return keeps_input(node.before, depth + 1)
    if isinstance(node, AfterLoop):
        return keeps_input(node.phi.before, depth + 1)
    if isinstance(node, (SeqOf, Binary, Either)):
        return any(keeps_input(c.value if isinstance(c, Star) else c, depth + 1) for c in children(node))
    return False
