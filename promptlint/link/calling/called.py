"""Objects that are called like functions: who holds one of a class that has ``__call__``, and calls it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from promptlint.code.expression import At, Call
from promptlint.code.index import Class, Function, Module
from promptlint.codebase.program import reference_name
from promptlint.link.calling import callers
from promptlint.link.calling.carried import Carried
from promptlint.link.values import SESSION, Instance, Routine, Type, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

MAX_MADE = 24
"""Places where objects of a class are made that are looked at."""


def objects(ev: Evaluator, function: Function, owner: Class) -> Iterator[callers.Caller]:
    """The calls of the objects that ``function`` is the ``__call__`` of, wherever the project keeps them."""
    family = [c for c in (owner, *ev.program.subclasses(owner)) if ev.program.method(c, "__call__") is function]
    span = function.module.span(At.start(function.node))
    routine = Routine(function, None, Instance(owner, span, None, SESSION, exact=False))
    carried = Carried(ev, function)
    for maker, call in islice(_making(ev, family), MAX_MADE):
        yield from carried.made(maker, call, routine)
    for cls in (*family, *ev.program.mro(owner)[1:]):
        for holder, name in _declared(ev, cls):
            if isinstance(holder, Module):
                yield from carried.attribute(name, holder)
            else:
                yield from carried.parameter(holder, name, routine)


def _making(ev: Evaluator, family: list[Class]) -> Iterator[tuple[Function, Call]]:
    """The calls that make an object of a family of classes, by the name of the class or out of a table of classes."""
    for cls in family:
        for maker, call in ev.program.calls_named(cls.name, cls.module):
            if _makes(ev, maker, call, family):
                yield maker, call
        for maker in dict.fromkeys(_near_tables(ev, cls)):
            for call in ev.summary(maker).calls:
                if reference_name(call.func) is None and _makes(ev, maker, call, family):
                    yield maker, call


def _makes(ev: Evaluator, maker: Function, call: Call, family: list[Class]) -> bool:
    made = options(ev.resolve(call.func, ev.generic(maker)))
    return any(isinstance(option, Type) and option.cls in family for option in made)


def _near_tables(ev: Evaluator, cls: Class) -> Iterator[Function]:
    """The functions beside one that a class is handed to, as to a table of classes: ``registry.add("fast", Fast)``."""
    for caller, call in ev.program.handed_over(cls.name, cls.module):
        for taker in (o.function for o in options(ev.resolve(call.func, ev.generic(caller))) if isinstance(o, Routine)):
            yield from taker.owner.methods.values() if taker.owner is not None else taker.module.functions


def _declared(ev: Evaluator, cls: Class) -> Iterator[tuple[Function | Module, str]]:
    """The parameters and fields that are declared to hold an object of a class."""
    for module in ev.program.mentioning(cls.name, rf":\s*[\"'\w\[.]*{cls.name}\b", cls.module):
        for function in module.functions:
            for parameter in function.parameters:
                if _names(ev, parameter.annotation, cls, module):
                    yield function, parameter.name
        for other in module.classes.values():
            yield from ((module, name) for name, (kind, _) in other.fields.items() if _names(ev, kind, cls, module))


def _names(ev: Evaluator, annotation: ast.expr | None, cls: Class, module: Module) -> bool:
    return annotation is not None and ev.program.class_named(annotation, module) is cls
