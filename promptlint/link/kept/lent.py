"""Kept lists and dicts that a function hands out: who asks for one changes what is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    After,
    AfterLoop,
    Attr,
    Call,
    Expr,
    Free,
    Global,
    Mutate,
    Once,
    cell,
    each_once,
    earlier,
)
from promptlint.code.index import Function
from promptlint.code.merging import place_read
from promptlint.codebase.program import called_name
from promptlint.link.calling import callers
from promptlint.link.classes import objects
from promptlint.link.values import CALL, Base, Cell, Entry, Map, Seq, Value, options, owner
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

MAX_LENDERS = 8
MAX_BORROWERS = 24


def lenders(ev: Evaluator, functions: Iterable[Function], path: str, mentions: str) -> list[Function]:
    """The functions whose result is what lies under ``path``, or one cell of it, and not a copy.

    ``path`` may hold ``{this}`` for the first parameter; ``mentions`` is what such a function says in its text.
    """
    found: list[Function] = []
    for function in functions:
        if not function.is_lending or not function.says(mentions) or len(found) >= MAX_LENDERS:
            continue
        own = path.format(this=function.parameters[0].name) if function.is_method else path
        if own in _lent(ev, function):
            found.append(function)
    return found


def may_be_kept(ev: Evaluator, function: Function) -> bool:
    """Whether a function may return what a place or a cell holds, which is older than the call."""
    return function.is_lending and bool(_lent(ev, function))


def _lent(ev: Evaluator, function: Function) -> frozenset[str]:
    """The places whose content, or a cell of it, a function returns."""
    known = ev.lent.get(function)
    if known is None:
        known = ev.lent[function] = frozenset().union(*map(_places, ev.summary(function).returns))
    return known


def _places(result: Expr) -> set[str]:
    """The places whose content, or a cell of it, an expression is."""
    found: set[str] = set()
    waiting = [result]
    for node in each_once(waiting):
        if isinstance(node, (Attr, Global, Free)):
            place = place_read(node)
            if place is not None:
                found.add(place)
        elif (part := cell(node)) is not None:
            waiting.append(part[0])
        elif isinstance(node, Once):
            waiting.append(node.value)
        else:
            waiting.extend(earlier(node))
    return found


def borrowers(ev: Evaluator, lender: Function) -> Iterator[tuple[Function, Expr]]:
    """The functions that change what they get from ``lender``, each with what that is at their end."""
    if lender.name in objects.COMMON:
        # Too many calls have this name for a search in files that nothing else asked for.
        calls: Iterable[tuple[Function, Call]] = (
            (function, call)
            for module in ev.program.modules
            for function in module.called.get(lender.name, ())
            if function.is_editing
            for call in _calls_of(ev, function).get(lender.name, ())
        )
    else:
        calls = ev.program.calls_named(lender.name, lender.module)
    seen = 0
    for function, call in calls:
        changed = _changed(ev, function, call)
        if not changed or function is lender:
            continue
        seen += 1
        if seen > MAX_BORROWERS:
            return
        # Some state is being found out: what is not known of it for now is not to be remembered.
        frame = ev.new_frame(function, CALL, this=ev.generic(function).this)
        if callers.match(ev, lender, function, call, frame) is not None:
            for expr in changed:
                yield function, expr


def _calls_of(ev: Evaluator, function: Function) -> dict[str, list[Call]]:
    """The calls of a body by the name of what they call."""
    known = ev.calls_by_name.get(function)
    if known is None:
        known = ev.calls_by_name[function] = {}
        for call in ev.summary(function).calls:
            known.setdefault(called_name(call) or "", []).append(call)
    return known


def _changed(ev: Evaluator, function: Function, call: Call) -> list[Expr]:
    """What became of the result of a call that the body changes in place."""
    known = ev.borrowed.get(function)
    if known is None:
        known = ev.borrowed[function] = {}
        summary = ev.summary(function)
        changed = {id(v): v for v in summary.names.values() if not isinstance(v, Call)}
        for value in (*changed.values(), *summary.passing):
            for made in _borrowed_from(value):
                known.setdefault(made, []).append(value)
    return known.get(call, [])


def _borrowed_from(value: Expr) -> list[Call]:
    """The calls whose results something changed in place on the way to a value."""
    calls: list[Call] = []
    seen: set[tuple[Expr, bool]] = set()
    waiting = [(value, False)]
    while waiting:
        node, changed = waiting.pop()
        if (node, changed) in seen:
            continue
        seen.add((node, changed))
        if isinstance(node, Call) and changed:
            calls.append(node)
        if isinstance(node, AfterLoop) and not changed and node.phi.name in node.phi.state.steps:
            waiting.append((node.phi.state.steps[node.phi.name], False))
        waiting.extend((before, changed or isinstance(node, (Mutate, After))) for before in earlier(node))
    return calls


def inside(value: Value, root: object, span: Span) -> Value | None:
    """A changed cell as a part of what ``root`` holds; ``None`` where it is no part of it."""
    for option in options(value):
        if isinstance(option, Seq):
            place = next((i.root for i in option.items if isinstance(i, Base) and owner(i.root) == root), None)
        else:
            place = option.base if isinstance(option, Map) and owner(option.base) == root else None
        if place is None:
            continue
        whole: Value = option
        while isinstance(place, Cell):
            key, place = place.key, place.root
            whole = (
                Map({}, span, (whole,), base=place) if key is None else Map({key: Entry(whole, span)}, span, base=place)
            )
        return whole
    return None
