"""Functions and classes that a decorator of the project puts into a table: ``@register("name")``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Definition, Expr, Free, Param, within
from promptlint.code.index import Function, Module, terminal
from promptlint.link.frame import Frame
from promptlint.link.values import IMPORT, Routine, Type, Value

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

MAX_DECORATED = 24
MAX_LOOKED_AT = 60


def activations(ev: Evaluator, function: Function, left: Expr) -> list[Frame]:
    """The runs of a decorator that leaves what it decorates in ``left``: one for each definition that it stands above.

    Of a decorator with arguments, ``function`` is what it returns.
    """
    given = next(iter(function.parameters), None)
    if given is None or function.is_method or function.name == "<lambda>":
        return []
    kept = (n for n in within((left,), MAX_LOOKED_AT) if isinstance(n, (Param, Free)))
    if not any(n.name == given.name for n in kept):
        return []
    maker = _maker(ev, function)
    named = maker or function
    frames: list[Frame] = []
    for value, decorator, module in _decorated(ev, named):
        arguments = isinstance(decorator, ast.Call)
        if arguments is not (maker is not None) or len(frames) >= MAX_DECORATED:
            continue
        parent = _made(ev, maker, decorator, module) if maker is not None and isinstance(decorator, ast.Call) else None
        frames.append(Frame(function, IMPORT, {given.name: value}, parent=parent))
    return frames


def tables_of(ev: Evaluator, function: Function) -> Iterator[tuple[Module, str]]:
    """The names at the top level of modules under which a function is found that is decorated."""
    for decorator in function.decorators:
        found = _meant(ev, decorator, function.module)
        for body in found.module.functions if found is not None else ():
            if body is found or (body.parent is found and _maker(ev, body) is found):
                known = ev.summary(body.module.body).names
                yield from ((body.module, name) for name in ev.summary(body).exit if name in known)


def _maker(ev: Evaluator, function: Function) -> Function | None:
    """The function around another one that returns it."""
    outer = function.parent
    if outer is None or isinstance(outer.node, ast.Module):
        return None
    returned = ev.summary(outer).returns
    return outer if any(isinstance(r, Definition) and r.node is function.node for r in returned) else None


def _decorated(ev: Evaluator, decorator: Function) -> Iterator[tuple[Value, ast.expr, Module]]:
    """What stands below a decorator, with the decorator as it is written there."""
    name = decorator.name
    for module in ev.program.mentioning(name, rf"@(?:\w+\.)*{name}\b", decorator.module):
        for function in module.functions:
            for above in function.decorators:
                if _meant(ev, above, module) is decorator:
                    yield Routine(function, None, None, bare=True), above, module
        for cls in module.classes.values():
            for above in cls.node.decorator_list:
                if _meant(ev, above, module) is decorator:
                    yield Type(cls), above, module


def _meant(ev: Evaluator, decorator: ast.expr, module: Module) -> Function | None:
    """The function of the project that a decorator is, or that a call of one is."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = ev.program.qualified(node, module) if terminal(node) else None
    if name is None:
        return None
    found = ev.program.resolve(name, module) or (module, name)
    return next((f for f in found[0].functions if f.qualname == found[1]), None)


def _made(ev: Evaluator, maker: Function, decorator: ast.Call, module: Module) -> Frame:
    """The activation of a decorator with arguments."""
    names = [p.name for p in maker.parameters if p.kind == "positional"]
    given = dict(zip(names, decorator.args, strict=False)) | {k.arg: k.value for k in decorator.keywords if k.arg}
    return Frame(maker, IMPORT, {name: ev.ast_value(value, module) for name, value in given.items()})
