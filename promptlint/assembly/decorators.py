"""Functions below a decorator of a library that puts them to use in a request: ``@agent.instructions``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.index import Function
from promptlint.link.values import External, Routine, Value, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator


def below(ev: Evaluator, client: External, method: str) -> Iterator[tuple[Routine, dict[str, Value]]]:
    """The functions that ``@client.method`` stands above, and the keyword arguments of the decorator."""
    for module in ev.program.mentioning(method):
        for function in module.functions:
            for node in function.decorators:
                called = node.func if isinstance(node, ast.Call) else node
                if not isinstance(called, ast.Attribute) or called.attr != method:
                    continue
                if _is(client, _receiver(ev, function, called.value)):
                    given = node.keywords if isinstance(node, ast.Call) else []
                    keywords = {k.arg: ev.ast_value(k.value, module) for k in given if k.arg is not None}
                    parent = _scope(function)
                    yield Routine(function, ev.generic(parent) if parent is not None else None), keywords


def part_of(ev: Evaluator, function: Function) -> str | None:
    """The part of a request that a function gives by a decorator of a client row: ``@dynamic_prompt``."""
    for node in function.decorators:
        name = ev.program.qualified(node.func if isinstance(node, ast.Call) else node, function.module)
        rows = ev.knowledge.clients.get(name or "", ())
        part = next((row.result for row in rows if row.result is not None), None)
        if part is not None:
            return part
    return None


def _receiver(ev: Evaluator, function: Function, node: ast.expr) -> Value | None:
    """What a decorator is a method of, in the scope of the function below it."""
    parent = _scope(function)
    if parent is None or not isinstance(node, ast.Name):
        return ev.ast_value(node, function.module)
    bound = ev.summary(parent).names.get(node.id)
    return ev.eval(bound, ev.generic(parent)) if bound is not None else ev.ast_value(node, function.module)


def _scope(function: Function) -> Function | None:
    """The function around another one."""
    parent = function.parent
    return parent if parent is not None and not isinstance(parent.node, ast.Module) else None


def _is(client: External, value: Value | None) -> bool:
    found = options(value) if value is not None else ()
    return any(isinstance(o, External) and (o.name, o.span) == (client.name, client.span) for o in found)
