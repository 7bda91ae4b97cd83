"""Who calls a function: found by name, confirmed by what the called expression means where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    Attr,
    Call,
    Definition,
    DictOf,
    Either,
    Element,
    Expr,
    Param,
    SeqOf,
    Star,
    unchanged,
)
from promptlint.code.index import Class, Function, Module
from promptlint.codebase.program import MANY_FILES, called_name, reference_name
from promptlint.frozen import record, replace
from promptlint.link.values import NAME_MATCH, Hole, Instance, Routine, Type, Value, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

MAX_CALLERS = 40
BY_REFERENCE = frozenset({"by-reference"})


@record(frozen=True, slots=True, eq=False)
class Caller:
    """A call that may run the function; ``routine`` carries the receiver."""

    function: Function
    call: Call
    routine: Routine
    features: frozenset[str] = frozenset()


def of(ev: Evaluator, function: Function) -> list[Caller]:
    """The calls of ``function``, in file order, at most ``MAX_CALLERS``; callers in tests are left out."""
    known = ev.callers_cache.get(function)
    if known is not None:
        return known
    if ev.exhausted:
        return []
    ev.callers_cache[function] = []
    cycles = ev.cycles
    found = list(_search(ev, function))
    if ev.exhausted or (ev.depth and ev.cycles != cycles):
        del ev.callers_cache[function]  # asked for in the middle of something, and not all is found
    else:
        ev.callers_cache[function] = found
    return found


def _search(ev: Evaluator, function: Function) -> list[Caller]:
    names = {function.name}
    if function.name in ("__init__", "__post_init__", "__call__", "<lambda>"):
        names = set()
    if function.name == "__init__" and function.owner is not None:
        names = {function.owner.name, "__init__"} | {c.name for c in ev.program.subclasses(function.owner)}
    found: list[Caller] = list(_where_made(ev, function)) if function.name == "<lambda>" else []
    if function.name == "__init__" and function.owner is not None:
        found += _through_class(ev, function, function.owner)
    if function.name == "__call__" and function.owner is not None:
        from promptlint.link.calling import called

        found += islice(called.objects(ev, function, function.owner), MAX_CALLERS)
    for name in sorted(names):
        own = function.owner if name == "__init__" else None
        program = ev.program
        calls = program.base_constructor_calls(own) if own is not None else program.calls_named(name, function.module)
        for caller, call in calls:
            if len(found) >= MAX_CALLERS:
                return found
            known = match(ev, function, caller, call)
            if known is not None:
                found.append(known)
    if function.name in ("__init__", "<lambda>"):
        return found
    for running in _as_value(ev, function):
        if len(found) >= MAX_CALLERS:
            return found
        if all(known.call is not running.call for known in found):
            found.append(running)
    if not found and len(ev.program.project.files) <= MANY_FILES:
        found += islice(_through_values(ev, function), MAX_CALLERS)
    return found


def _as_value(ev: Evaluator, function: Function) -> Iterator[Caller]:
    """The calls of a function through what it is handed to or kept in."""
    from promptlint.link.calling import runs
    from promptlint.link.calling.carried import Carried

    carried = Carried(ev, function)
    for caller, call in ev.program.handed_over(function.name, function.module):
        yield from list(carried.by_name(caller, call, function.name)) or _by_reference(ev, function, caller, call)
    yield from runs.of_node(ev, function)
    if len(ev.program.project.files) <= MANY_FILES:
        yield from carried.kept()


def _through_values(ev: Evaluator, function: Function) -> Iterator[Caller]:
    """The calls of what a table of functions holds, or of what a function gives, where that is ``function``."""
    from promptlint.link.calling.carried import Carried

    carried = Carried(ev, function)
    for body in dict.fromkeys(_taking(ev, function)):
        for write in ev.summary(body).writes:
            if (
                reference_name(write.value) is None
                and meant(ev, function, ev.resolve(write.value, ev.generic(body))) is not None
            ):
                yield from carried.attribute(write.name, body.module)
        for call in ev.summary(body).calls:
            if reference_name(call.func) is None and not isinstance(call.func, (Attr, Param)):
                known = match(ev, function, body, call)
                if known is not None:
                    yield known


def _taking(ev: Evaluator, function: Function) -> Iterator[Function]:
    """The bodies that may take a function out of a table, or get it from another function."""
    from promptlint.link.calling import registered

    name, program = function.name, ev.program
    if function.owner is not None:
        for cls in (function.owner, *program.subclasses(function.owner)):
            taken = re.compile(rf"(?::|return)\s*self\.{name}\s*[,}}#\n]")
            if any(m.says(name) and m.matches(taken) for m in cls.methods.values() if m is not function):
                yield from cls.methods.values()
        return
    for home, table in registered.tables_of(ev, function):
        yield from _reading(ev, table, home, r"\s*(?:\[|:|\.(?:get|values|items)\b)")
    given = re.compile(rf"return\s[^\n]*\b{name}\b")
    held = rf"{name}(?<=[:\s]{name})(?<!def {name})\s*(?:[,}}#\n]|\Z)"
    for module in program.mentioning(name, held, function.module):
        for table, bound in ev.summary(module.body).names.items():
            if any(reference_name(part) == name for part in _elements(bound)):
                yield from _reading(ev, table, module)
        for other in module.functions:
            if other is not function and other.matches(given) and _gives(ev, other, name):
                yield from (caller for caller, _ in program.calls_named(other.name, module))


def _reading(ev: Evaluator, table: str, module: Module, how: str = r"\s*(?:\[|\.get\b)") -> Iterator[Function]:
    """The bodies that may take something out of a table at the top level of a module."""
    for user in ev.program.mentioning(table, rf"{table}(?<!\w{table}){how}", module):
        yield from (user.body, *(f for f in user.functions if f.says(table)))


def _elements(held: Expr) -> Iterator[Expr]:
    """The values of a table that is written where it is bound."""
    held = unchanged(held)
    if isinstance(held, DictOf):
        yield from (value for _, value in held.items)
    elif isinstance(held, SeqOf):
        yield from held.items


def _gives(ev: Evaluator, function: Function, name: str) -> bool:
    """Whether a function returns another one by its name."""
    ways = [w for r in ev.summary(function).returns for w in (r.options if isinstance(r, Either) else (r,))]
    return any(reference_name(way) == name for way in ways)


def _through_class(ev: Evaluator, function: Function, owner: Class) -> Iterator[Caller]:
    """The calls ``cls(...)`` in the alternative constructors of a class and of those below it."""
    for cls in (owner, *ev.program.subclasses(owner)):
        if ev.program.method(cls, "__init__") is not function:
            continue
        for method in cls.methods.values():
            if "classmethod" not in method.decorator_names or not method.parameters:
                continue
            for call in ev.summary(method).calls:
                if isinstance(call.func, Param) and call.func.name == method.parameters[0].name:
                    made = Instance(cls, ev.span(ev.generic(method), call), None)
                    yield Caller(method, call, Routine(function, None, made))


def _where_made(ev: Evaluator, function: Function) -> Iterator[Caller]:
    """The calls that are handed a lambda where it is written: each of them runs it."""
    parent = function.parent
    for call in ev.summary(parent).calls if parent is not None else ():
        for argument in (*call.args, *(value for _, value in call.keywords)):
            if isinstance(argument, Definition) and argument.node is function.node and parent is not None:
                run = replace(call, func=argument, args=(), keywords=())
                yield Caller(parent, run, Routine(function, None), BY_REFERENCE)


def nested(function: Function) -> Iterator[Function]:
    """The functions and lambdas that are written inside another one."""
    return (f for f in function.module.functions if f.parent is function)


def bound(routine: Routine, call: Call) -> dict[str, Expr]:
    """The plain arguments of a call by the parameters that they fill."""
    function = routine.function
    names = [p.name for p in function.parameters if p.kind == "positional"]
    names = names[1:] if function.is_method and routine.this is not None else names
    plain = [a for a in call.args if not isinstance(a, Star)] if not any(isinstance(a, Star) for a in call.args) else []
    return dict(zip(names, plain, strict=False)) | {k: v for k, v in call.keywords if k is not None}


def match(ev: Evaluator, function: Function, caller: Function, call: Call, frame: Frame | None = None) -> Caller | None:
    """``call`` as one that runs ``function``, by what the called expression means; ``None`` when it is not known to."""
    if _is_replaced(ev, function, caller, call):
        return None
    frame = frame or ev.generic(caller)
    value = ev.resolve(call.func, frame)
    for option in options(value):
        if isinstance(option, Routine) and same_method(ev, option.function, function):
            return Caller(caller, call, _aimed(option, function))
        if (
            isinstance(option, Type)
            and function.name == "__init__"
            and ev.program.method(option.cls, "__init__") is function
        ):
            return Caller(caller, call, Routine(function, None, Instance(option.cls, ev.span(frame, call), None)))
        if isinstance(option, Instance) and function.name == "__call__" and _is_called(ev, option, function):
            return Caller(caller, call, Routine(function, None, option))
        if isinstance(option, Routine) and _is_one_of_many(ev, call, function, frame):
            return Caller(caller, call, _aimed(option, function))
    if any(isinstance(o, Hole) for o in options(value)) and isinstance(call.func, Attr):
        from promptlint.link.classes.objects import by_name

        if function in by_name(ev, call):
            return Caller(caller, call, Routine(function, None, ev.generic(function).this), frozenset({NAME_MATCH}))
    return None


def _is_called(ev: Evaluator, made: Instance, function: Function) -> bool:
    """Whether a call of an object runs a ``__call__``: that of its class, or of one below that it may be of."""
    called = ev.program.method(made.cls, "__call__")
    return called is function or (called is not None and not made.exact and same_method(ev, called, function))


def _is_replaced(ev: Evaluator, function: Function, caller: Function, call: Call) -> bool:
    """Whether a method calls another on its own object, which no object of the other's class does: that has a method
    of its own in the caller's place, and does not call the one that it replaces."""
    cls = function.owner
    if cls is None or caller.owner is None or cls is caller.owner or not is_on_itself(caller, call):
        return False
    own = ev.program.method(cls, caller.name)
    if own is None or own is caller or not ev.program.is_below(cls, caller.owner):
        return False
    return not any(called_name(c) == caller.name for c in ev.summary(own).calls)


def is_on_itself(caller: Function, call: Call) -> bool:
    """``self.f()``: whether a method calls a method or an attribute of its own object."""
    this = unchanged(call.func.base) if isinstance(call.func, Attr) else None
    return isinstance(this, Param) and caller.is_method and this.name == caller.parameters[0].name


def _is_one_of_many(ev: Evaluator, call: Call, function: Function, frame: Frame) -> bool:
    """Whether a call is made on an object of a type with more implementations of the method than are told apart."""
    if not isinstance(call.func, Attr) or call.func.name != function.name or function.owner is None:
        return False
    return any(
        isinstance(o, Instance) and not o.exact and ev.program.is_below(function.owner, o.cls)
        for o in options(ev.resolve(call.func.base, frame))
    )


def same_method(ev: Evaluator, called: Function, wanted: Function) -> bool:
    """Whether a call of one runs the other: itself, or an override of what is called."""
    if called is wanted:
        return True
    if called.name != wanted.name or called.owner is None or wanted.owner is None:
        return False
    return ev.program.is_below(wanted.owner, called.owner)


def _aimed(routine: Routine, function: Function) -> Routine:
    if routine.function is function:
        return routine
    this = routine.this
    if isinstance(this, Instance) and function.owner is not None:
        this = Instance(function.owner, this.span, None, this.level, exact=False)
    return Routine(function, None, this, routine.preset)


def _by_reference(ev: Evaluator, function: Function, caller: Function, call: Call) -> Iterator[Caller]:
    """``to_thread(f, x)``, ``executor.submit(f, x)``: the rest of the arguments go to ``f``."""
    if isinstance(call.func, Attr) and call.func.name in ("get", "setdefault"):
        return  # what a dict gives where it holds nothing: the call of it stands elsewhere
    starts = tuple((k, v) for k, v in call.keywords if k in ("args", "kwargs"))
    ways = [(a, call.args[position + 1 :], call.keywords) for position, a in enumerate(call.args)]
    ways += [(v, (), starts) for k, v in call.keywords if k in ("target", "func", "fn", "callback", "function")]
    for argument, args, keywords in ways:
        if reference_name(argument) == function.name:
            routine = meant(ev, function, ev.resolve(argument, ev.generic(caller)))
            if routine is not None:
                yield Caller(caller, _handed(call, argument, args, keywords, function), routine, BY_REFERENCE)
                return


def meant(ev: Evaluator, function: Function, value: Value) -> Routine | None:
    """A value as the function that it may be; ``None`` when it is not known to be it."""
    ways = (o for o in options(value) if isinstance(o, Routine) and same_method(ev, o.function, function))
    return next((_aimed(way, function) for way in ways), None)


def _handed(
    call: Call, target: Expr, args: tuple[Expr, ...], keywords: tuple[tuple[str | None, Expr], ...], function: Function
) -> Call:
    """The call of ``target`` that ``call`` brings about; ``args=`` and ``kwargs=`` are what a thread starts with."""
    own = {p.name for p in function.parameters}
    rest: list[tuple[str | None, Expr]] = []
    for name, value in keywords:
        if name == "args" and name not in own:
            args = (*args, *(value.items if isinstance(value, SeqOf) else (Star(value.at, value),)))
        else:
            rest.append((None if name == "kwargs" and name not in own else name, value))
    loops = call.loops
    if call.rounds is not None:
        loops = (*loops, call.rounds)
        each = tuple(Element(value.at, value, call.rounds) for value in args)
        args = (Star(call.at, each[0]),) if (called_name(call) or "").startswith("starmap") and each else each
    return replace(call, func=target, args=args, keywords=tuple(rest), loops=loops)
