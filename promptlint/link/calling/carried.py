"""Functions that are handed on as values, and objects that are called like one: where what holds them is called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from operator import is_
from typing import TYPE_CHECKING

from promptlint.code.expression import Call, Either, Expr, Free, Param, unchanged
from promptlint.code.index import Class, Function, Module
from promptlint.codebase.program import reference_name
from promptlint.link.calling import callers
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
                            yield from self.parameter(body, parameter.name, routine)
                for write in self.ev.summary(body).writes:
                    if reference_name(write.value) == name:
                        yield from self.attribute(write.name, module)

    def attribute(self, name: str, near: Module, of: Class | None = None, routine: Routine | None = None) -> Found:
        """The calls of what is stored under an attribute, and of what that is handed on to.

        Methods of the class ``of`` which it is an attribute call ``routine`` there, be its value known or not.
        """
        if (near, name) in self.seen:
            return
        self.seen.add((near, name))
        for caller, call in self.ev.program.calls_named(name, near):
            if (found := callers.match(self.ev, self.function, caller, call)) is not None:
                yield found
            elif routine is not None and of is not None and caller.owner is of and callers.is_on_itself(caller, call):
                yield callers.Caller(caller, call, routine, callers.BY_REFERENCE)
        for caller, call in self.ev.program.handed_over(name, near):
            yield from self.by_name(caller, call, name)

    def made(self, maker: Function, made: Call, routine: Routine) -> Found:
        """The calls of the object that a call gives, where it stands and in the functions that get it from there."""
        if (maker, str(made.at)) in self.seen:
            return
        self.seen.add((maker, str(made.at)))

        def is_it(held: Expr) -> bool:
            ways = (unchanged(w) for w in (held.options if isinstance(held, Either) else (held,)))
            return any(isinstance(way, Call) and way.at == made.at for way in ways)

        yield from self._within(maker, is_it, routine)
        summary = self.ev.summary(maker)
        for name, bound in summary.names.items() if maker is maker.module.body else ():
            if is_it(bound):
                yield from self.attribute(name, maker.module)
        if any(map(is_it, summary.returns)):
            for user, use in self.ev.program.calls_named(maker.name, maker.module):
                if callers.match(self.ev, maker, user, use) is not None:
                    yield from self.made(user, use, routine)

    def _handed(self, caller: Function, call: Call, is_it: Callable[[Expr], bool], routine: Routine) -> Found:
        for option in options(self.ev.resolve(call.func, self.ev.generic(caller))):
            taker = option if isinstance(option, Routine) else None
            if isinstance(option, Type) and (init := self.ev.program.method(option.cls, "__init__")) is not None:
                taker = Routine(init, None, option)
            given = callers.bound(taker, call) if taker is not None else {k: v for k, v in call.keywords if k}
            for name, argument in given.items():
                if taker is not None and is_it(argument):
                    yield from self.parameter(taker.function, name, routine)
                elif isinstance(option, Type) and is_it(argument):  # a record, which keeps what it is given
                    yield from self.attribute(name, option.cls.module)

    def parameter(self, taker: Function, name: str, routine: Routine) -> Found:
        """The calls of what a function is given as a parameter."""
        if (taker, name) in self.seen:
            return
        self.seen.add((taker, name))

        def is_it(argument: Expr) -> bool:
            ways = argument.options if isinstance(argument, Either) else (argument,)
            return any(isinstance(held := unchanged(w), (Param, Free)) and held.name == name for w in ways)

        yield from self._within(taker, is_it, routine)

    def _within(self, holder: Function, is_it: Callable[[Expr], bool], routine: Routine) -> Found:
        """What a function, and those inside it, do with what they hold."""
        for body in (holder, *callers.nested(holder)):
            for call in self.ev.summary(body).calls:
                if is_it(call.func):
                    yield callers.Caller(body, call, routine, callers.BY_REFERENCE)
                elif any(is_it(argument) for argument in (*call.args, *(v for _, v in call.keywords))):
                    yield from self._handed(body, call, is_it, routine)
            for write in self.ev.summary(body).writes:
                if is_it(write.value):
                    yield from self.attribute(write.name, holder.module, holder.owner, routine)
