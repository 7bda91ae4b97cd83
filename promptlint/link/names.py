"""What a name means: at the top level of a module, around a function, in another module of the project."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptlint.code.expression import AfterLoop, Free, Import
from promptlint.code.index import Module
from promptlint.codebase.program import BUILTINS
from promptlint.link.kept import state
from promptlint.link.values import External, FilePath, Hole, Namespace, Value, text
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def global_value(ev: Evaluator, name: str, module: Module, span: Span, depth: int = 0) -> Value:
    """A name at the top level of ``module``; builtins are external."""
    override = ev.global_overrides.get((module, name))
    if override is not None:
        return override
    frame = ev.module_frame(module)
    summary = ev.summary(module.body)
    expr = summary.names.get(name)
    if expr is not None:
        return state.global_state(ev, module, name, expr, frame, span)
    if depth < 6:
        for level, target in module.stars:
            found = ev.program.star(module, level, target, name)
            if found is not None and (name in ev.summary(found.body).names or found.stars):
                value = ev.global_value(name, found, span, depth + 1)
                if not isinstance(value, Hole):
                    return value
    if name == "__file__":
        return FilePath(module.source.file, span)
    if name == "__name__":
        return text(module.name, span)
    if name == "__package__":
        return text(module.name if module.is_package else module.name.rpartition(".")[0], span)
    if name == "__doc__":
        return text(module.body.docstring, span)
    if name in BUILTINS:
        return External(f"builtins.{name}", span)
    return Hole(name, span)


def free(ev: Evaluator, node: Free, frame: Frame) -> Value:
    """A name of a function around this one, or what it holds ahead of the call that is looked at for its effect."""
    given = frame.arguments.get(node.name)
    if isinstance(given, Value):
        return given
    parent = frame.parent
    inner, function = frame.function, frame.function.parent
    while function is not None and not isinstance(function.node, ast.Module):
        if parent is None:
            parent = ev.generic(function)
        summary = ev.summary(function)
        if node.name in summary.names or function.parameter(node.name) is not None:
            expr = summary.scopes.get(inner.node, summary.names).get(node.name)
            if isinstance(expr, AfterLoop) and expr.phi.loop in parent.path_loops:
                expr = expr.phi  # it runs while the loop does
            if expr is not None:
                return ev.eval(expr, parent)
            return ev.parameter(parent, node.name)
        inner, function, parent = function, function.parent, parent.parent
    return Hole(node.name, ev.span(frame, node))


def imported(ev: Evaluator, name: str, module: Module, span: Span) -> Value:
    """What an absolute dotted name means, in the project or outside."""
    bound = _rebound(ev, name, module, span)
    if bound is not None:
        return bound
    found = ev.program.resolve(name, module)
    if found is None:
        return External(name, span)
    target, rest = found
    if not rest:
        return Namespace(target)
    head, _, tail = rest.partition(".")
    value = ev.member(target, head, span)
    for part in tail.split(".") if tail else ():
        value = ev.attribute(value, part, span, ev.module_frame(module))
    return value


def _rebound(ev: Evaluator, name: str, module: Module, span: Span) -> Value | None:
    """``package.name`` where the package binds the name of one of its submodules to something else."""
    package, _, last = name.rpartition(".")
    found = ev.program.find_module(package, module) if package else None
    if found is None or not found.is_package or found is module:
        return None
    expr = ev.summary(found.body).names.get(last)
    if expr is None or (isinstance(expr, Import) and expr.dotted == name):
        return None
    return ev.global_value(last, found, span)


def member(ev: Evaluator, module: Module, name: str, span: Span) -> Value:
    """A top-level name of a project module, or a submodule of a package."""
    if name in ev.summary(module.body).names:
        return ev.global_value(name, module, span)
    sub = ev.program.find_module(f"{module.name}.{name}", module) if module.is_package else None
    if sub is not None and sub is not module:
        return Namespace(sub)
    return ev.global_value(name, module, span)
