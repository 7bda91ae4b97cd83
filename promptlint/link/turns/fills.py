"""Lists that a loop fills until they are full, counted in elements or in their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlint.code.expression import (
    ORDERS,
    After,
    Binary,
    Call,
    Either,
    Expr,
    Global,
    Literal,
    LoopState,
    Mutate,
    Phi,
    Slice,
    Test,
    each_once,
)
from promptlint.link import containers
from promptlint.link.turns import mutations
from promptlint.link.turns.alike import runs_backwards
from promptlint.link.values import Base, Const, Edit, History, Many, Rest, Seq, Value, options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


LARGE_SUM = 32_000
"""Tokens or characters from which on a limit counts as one that is seldom reached."""


def cut_where_full(ev: Evaluator, state: LoopState, made: Value, frame: Frame) -> Value:
    """A list that a loop fills from the newest element on until something is full: it has lost the oldest ones."""
    full = any(isinstance(g.test, Test) and g.test.op in ORDERS for e in state.ends if e.leaves for g in e.guards)
    iterable = state.iterable
    if not full or iterable is None or not isinstance(made, Seq) or not _walks_back(iterable):
        return made
    source = containers.as_seq(ev, ev.eval(iterable, frame), ev.module_span(frame, state.at))
    if not mutations.is_sent(source.items) or not mutations.is_sent(made.items):
        return made
    what = f"the loop over {ev.snippet(frame, iterable.at, 40)}"
    return mutations.with_edit(made, Edit("window", ev.span(frame, iterable), what))


def _walks_back(iterable: Expr) -> bool:
    """Whether a loop begins with the last element: ``reversed(x)``, ``x[::-1]``."""
    if isinstance(iterable, Slice):
        return isinstance(iterable.step, Literal) and iterable.step.value == -1
    return isinstance(iterable, Call) and isinstance(iterable.func, Global) and iterable.func.name == "reversed"


def as_full(ev: Evaluator, node: Phi, made: Seq, frame: Frame) -> Seq:
    """A list that a loop fills until it is full: with the newest elements, when it starts with these."""
    if not any(isinstance(i, (Many, Rest, History, Base)) for i in made.items):
        return made
    full = next((t for t in _ends_of(node) if _measures(t, node)), None)
    if full is None:
        return made
    bounds = [o for p in full.parts if not _measured(p, node) for o in options(ev.eval(p, frame))]
    known = [o.value for o in bounds if isinstance(o, Const) and isinstance(o.value, int)]
    counted = _counts_elements(full, node)
    # A sum of tokens or characters near the size of a context is seldom reached.
    small = bool(known) and len(known) == len(bounds) and max(known) < LARGE_SUM
    newest_first = runs_backwards(node.state.iterable) or _fills_front(node.state.steps[node.name])
    what = "a loop that goes on while" if full.op in ("<", "<=") else "a loop that stops at"
    edit = Edit(
        "window" if newest_first else "cap",
        ev.module_span(frame, full.at),
        f"{what} {ev.snippet(frame, full.at)}",
        keeps=max(known, default=None) if counted else None,
        guard=None if counted or small else "threshold",
    )
    return mutations.with_edit(made, edit)


def _ends_of(node: Phi) -> Iterator[Test]:
    """The comparisons that end a loop which fills a list: in the head of ``while``, or on the way to a ``break``."""
    state = node.state
    if state.test is not None:
        yield from (test for test in _comparisons([state.test]) if not _drains(test, node))
    yield from _comparisons([g.test for end in state.ends if end.leaves for g in end.guards if g.test is not None])


def _drains(test: Test, node: Phi) -> bool:
    """Whether a loop goes on while there is more than a bound: one that takes away, and puts nothing in."""
    left, right = test.parts
    return (test.op in (">", ">=") and _measured(left, node)) or (test.op in ("<", "<=") and _measured(right, node))


def _comparisons(waiting: list[Expr]) -> Iterator[Test]:
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, Either):
            waiting += [n for n in (node.test, *node.options) if n is not None]
        elif isinstance(node, Test) and node.op in ORDERS | {"=="}:
            yield node


def _measures(test: Test, node: Phi) -> bool:
    """Whether a comparison asks how long the list is that ``node`` carries, or how much was added up for it."""
    return _counts_elements(test, node) or (test.op != "==" and any(_adds_up(p, node) for p in test.parts))


def _measured(part: Expr, node: Phi) -> bool:
    return _counts(part, node) or _adds_up(part, node)


def _counts_elements(test: Test, node: Phi) -> bool:
    return any(_counts(p, node) for p in test.parts)


def _counts(part: Expr, node: Phi) -> bool:
    """``len(...)`` of the list."""
    if not (isinstance(part, Call) and isinstance(part.func, Global) and part.func.name == "len" and part.args):
        return False
    return _carried(part.args[0], node.state) == node.name


def _adds_up(part: Expr, node: Phi) -> bool:
    """Whether a value is a sum that the loop keeps besides the list."""
    name = _carried(part.left if isinstance(part, Binary) and part.op == "+" else part, node.state)
    step = node.state.steps.get(name)
    while isinstance(step, Either):
        step = next((o for o in step.options if not isinstance(o, Phi)), step.options[0])
    return name != node.name and isinstance(step, Binary) and step.op == "+"


def _carried(node: Expr, state: LoopState) -> str:
    """The variable of the loop that an expression is a later state of."""
    while isinstance(node, (Mutate, After)):
        node = node.base if isinstance(node, Mutate) else node.before
    return node.name if isinstance(node, Phi) and node.state is state else ""


def _fills_front(step: Expr) -> bool:
    """Whether an iteration puts an element in front of what the list holds."""
    waiting = [step]
    for node in each_once(waiting):
        if isinstance(node, Either):
            waiting += node.options
        elif isinstance(node, After):
            waiting.append(node.before)
        elif isinstance(node, Mutate):
            first = node.args[0] if node.args else None
            if node.op == "appendleft" or (node.op == "insert" and isinstance(first, Literal) and first.value == 0):
                return True
            waiting.append(node.base)
    return False
