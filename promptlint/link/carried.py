"""Functions that are handed on as values: where a parameter or an attribute that holds one is called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from operator import is_
from typing import TYPE_CHECKING

from promptlint.code.expression import Call, Either, Expr, Free, Param, unchanged
from promptlint.code.index import Function, Module
from promptlint.codebase.program import reference_name
from promptlint.link import callers
from promptlint.link.values import Routine, Type, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

Found = Iterator[callers.Caller]


class Carried:
    """The search for the calls of one function through what holds it; each place is looked at once."""

    def __init__(self, ev: Evaluator, function: Function) -> None:
        self.ev, self.function = ev, function
        self.seen: set[tuple[object, str]] = set()

    def by_name(self, caller: Function, call: Call, name: str) -> Found:
        """What the project does with the function that ``call`` hands on under ``name``."""
        frame = self.ev.generic(caller)
        for argument in (*call.args, *(value for _, value in call.keywords)):
            if reference_name(argument) != name:
                continue
            if (routine := callers.meant(self.ev, self.function, self.ev.resolve(argument, frame))) is not None:
                yield from self._handed(caller, call, partial(is_, argument), routine)

    def kept(self) -> Found:
        """The calls of what it is assigned to: an attribute, or a parameter as its default."""
        name = self.function.name
        for module in self.ev.program.mentioning(name, rf"=\s*{name}\s*(?:[,)#\n]|\Z)", self.function.module):
            for body in (b for b in (module.body, *module.functions) if b is not self.function and b.says(name)):
                for parameter in body.parameters:
                    if isinstance(parameter.default, ast.Name) and parameter.default.id == name:
                        value = self.ev.ast_value(parameter.default, module)
                        if (routine := callers.meant(self.ev, self.function, value)) is not None:
                            yield from self._parameter(body, parameter.name, routine)
                for write in self.ev.summary(body).writes:
                    if reference_name(write.value) == name:
                        yield from self.attribute(write.name, module)

    def attribute(self, name: str, near: Module) -> Found:
        """The calls of what is stored under an attribute, and of what that is handed on to."""
        if (near, name) in self.seen:
            return
        self.seen.add((near, name))
        for caller, call in self.ev.program.calls_named(name, near):
            if (found := callers.match(self.ev, self.function, caller, call)) is not None:
                yield found
        for caller, call in self.ev.program.handed_over(name, near):
            yield from self.by_name(caller, call, name)

    def _handed(self, caller: Function, call: Call, is_it: Callable[[Expr], bool], routine: Routine) -> Found:
        for option in options(self.ev.resolve(call.func, self.ev.generic(caller))):
            taker = option if isinstance(option, Routine) else None
            if isinstance(option, Type) and (init := self.ev.program.method(option.cls, "__init__")) is not None:
                taker = Routine(init, None, option)
            given = callers.bound(taker, call) if taker is not None else {k: v for k, v in call.keywords if k}
            for name, argument in given.items():
                if taker is not None and is_it(argument):
                    yield from self._parameter(taker.function, name, routine)
                elif isinstance(option, Type) and is_it(argument):  # a record, which keeps what it is given
                    yield from self.attribute(name, option.cls.module)

    def _parameter(self, taker: Function, name: str, routine: Routine) -> Found:
        if (taker, name) in self.seen:
            return
        self.seen.add((taker, name))

        def is_it(argument: Expr) -> bool:
            ways = argument.options if isinstance(argument, Either) else (argument,)
            return any(isinstance(held := unchanged(w), (Param, Free)) and held.name == name for w in ways)

        for body in (taker, *callers.nested(taker)):
            for call in self.ev.summary(body).calls:
                if is_it(call.func):
                    yield callers.Caller(body, call, routine, callers.BY_REFERENCE)
                elif any(is_it(argument) for argument in (*call.args, *(v for _, v in call.keywords))):
                    yield from self._handed(body, call, is_it, routine)
            for write in self.ev.summary(body).writes:
                if is_it(write.value):
                    yield from self.attribute(write.name, taker.module)
