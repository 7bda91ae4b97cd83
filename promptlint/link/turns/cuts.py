"""What runs only where turns are dropped: what it changes costs no more than the cut itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptlint.code.expression import Call, Guard, Mutate, Slice, called_name
from promptlint.link.calling import callers
from promptlint.link.kept.state import writer_level, writers
from promptlint.link.turns.guards import parts_of
from promptlint.link.values import CALL, name_of
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.code.index import Function
    from promptlint.link.evaluate import Evaluator

_DROPPING = frozenset(("pop", "popleft", "delitem", "delslice"))
MAX_UP = 4
"""Calls that are followed upwards to the test that decides about a cut."""


def cutting(ev: Evaluator, roots: Iterable[object]) -> frozenset[Function]:
    """The functions that drop turns of the lists ``roots``, and methods beside them that call these under a test."""
    # In an order that does not change: what is looked for first may use up what others would need.
    found = dict.fromkeys(f for root in roots for f in writers(ev, root) if _drops(ev, f, name_of(root)))
    asking = [
        caller.function
        for function in found
        for caller in callers.of(ev, function)
        if caller.call.guards and caller.function.owner is not None and caller.function.owner is function.owner
    ]
    return frozenset((*found, *asking))


def _drops(ev: Evaluator, function: Function, name: str) -> bool:
    """Whether a function leaves a part of what it found under a name."""
    left = (expr for path, expr in ev.summary(function).exit.items() if path.rpartition(".")[2] == name)
    return any(
        isinstance(p, Slice) or (isinstance(p, Mutate) and p.op in _DROPPING) for expr in left for p in parts_of(expr)
    )


def only_with_a_cut(ev: Evaluator, function: Function, place: Span, cutters: frozenset[Function]) -> bool:
    """Whether the code of ``function`` at ``place`` runs only where one of ``cutters`` has dropped turns."""
    if not cutters:
        return False
    names = frozenset(f.name for f in cutters)
    summary = ev.summary(function)
    here = [c.guards for c in summary.calls if function.module.span(c.at) == place]
    here += [w.guards for w in summary.writes if function.module.span(w.at) == place]
    if here and all(_follow_a_cut(ev, function, guards, names) for guards in here):
        return True
    return _is_called_with(ev, function, names, 0)


def _is_called_with(ev: Evaluator, function: Function, names: frozenset[str], depth: int) -> bool:
    if depth == MAX_UP or function.name in names:
        return False
    found = (c for c in callers.of(ev, function) if c.function is not function)
    calls = [c for c in found if writer_level(ev, c.function) == CALL and not _is_latched(c.function)]
    return bool(calls) and all(
        _follow_a_cut(ev, c.function, c.call.guards, names) or _is_called_with(ev, c.function, names, depth + 1)
        for c in calls
    )


def _is_latched(function: Function) -> bool:
    """Whether a function asks for a flag of its object and sets it: what it does is done once."""
    nodes = [n for n in ast.walk(function.module.syntax(function)) if isinstance(n, (ast.If, ast.Assign))]
    tests = [n.test.operand if isinstance(n.test, ast.UnaryOp) else n.test for n in nodes if isinstance(n, ast.If)]
    asked = {t.attr for t in tests if isinstance(t, ast.Attribute)}
    set_there = (n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant) and n.value.value)
    return any(isinstance(t, ast.Attribute) and t.attr in asked for n in set_there for t in n.targets)


def _follow_a_cut(ev: Evaluator, function: Function, guards: tuple[Guard, ...], names: frozenset[str]) -> bool:
    """Whether a test says that turns are dropped: it asks what dropped them, or lets through a call that does."""
    tests = [g for g in guards if g.test is not None and not g.error]
    asked = (p for g in tests if g.sense and g.test is not None for p in parts_of(g.test))
    if any(isinstance(p, Call) and called_name(p) in names for p in asked):
        return True
    beside = (c.guards for c in ev.summary(function).calls if called_name(c) in names)
    return any(any(o.test is g.test and o.sense is g.sense for o in other) for other in beside for g in tests)
