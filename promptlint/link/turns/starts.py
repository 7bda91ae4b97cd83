"""Where a slice begins: whether that keeps the end of a list and drops what is older, and how much is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    ORDERS,
    AfterLoop,
    Binary,
    Call,
    Comp,
    Either,
    Element,
    Expr,
    Literal,
    LoopState,
    Phi,
    Slice,
    Test,
    is_negative,
)
from promptlint.code.expression import Item as ItemOf
from promptlint.link.turns.alike import calls, runs_backwards
from promptlint.link.values import Const, Routine, Value, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

MAX_CALLS = 2
"""Functions that are followed, one from the other, to see how a place in a list is found."""


@dataclass(frozen=True, slots=True)
class Tail:
    """What a slice keeps that drops the beginning."""

    keeps: int | None
    """How many elements, or characters, where that is known."""
    counted: bool
    """Told by a number or by the length of the list; a place that a loop looked for is not."""


def number(ev: Evaluator, node: Expr | None, frame: Frame) -> int | None:
    """The whole number that an expression is, on one way at least."""
    value: Value | None = ev.eval(node, frame) if node is not None else None
    for option in options(value) if value is not None else ():
        if isinstance(option, Const) and isinstance(option.value, int) and not isinstance(option.value, bool):
            return option.value
    return None


def tail(ev: Evaluator, node: Slice, lower: int | None, frame: Frame, of_list: bool) -> Tail | None:
    """What ``x[start:]`` keeps if it drops what is older; ``lower`` is the number that ``start`` is, if it is one.

    Of the elements of a list a place may also be looked for by a loop, and found by a function of the project.
    """
    if node.lower is None or node.step is not None:
        return None
    if not of_list:
        return counted(ev, node.lower, lower, frame)
    places = list(_places(ev, node.lower, frame))
    several = len(places) > 1
    for place, where in places:
        known = lower if place is node.lower else number(ev, place, where) if isinstance(place, Literal) else None
        found = _found(ev, place, known, where)
        if found is not None and not (several and found.keeps is not None and found.keeps <= 1):
            return found
    return None


def _places(ev: Evaluator, node: Expr, frame: Frame, depth: int = 0) -> Iterator[tuple[Expr, Frame]]:
    """The expressions that tell a place, of a function of the project those that it returns, with where they stand."""
    if isinstance(node, Either):
        for option in node.options:
            yield from _places(ev, option, frame, depth)
    elif targets := _called(ev, node, frame) if isinstance(node, Call) and depth < MAX_CALLS else ():
        for target in targets:
            for made in ev.summary(target.function).returns:
                yield from _places(ev, made, target, depth + 1)
    else:
        yield node, frame


def _called(ev: Evaluator, node: Call, frame: Frame) -> list[Frame]:
    """What a call runs of the project."""
    routines = [o for o in options(ev.resolve(node.func, frame)) if isinstance(o, Routine)]
    return [target for r in routines if (target := ev.activation(r, node, frame)) is not None]


def _found(ev: Evaluator, place: Expr, known: int | None, frame: Frame) -> Tail | None:
    if _turns_back(ev, place, frame):
        return Tail(None, False)
    return counted(ev, place, known, frame) or (Tail(None, False) if known is None and _looked_for(place) else None)


def counted(ev: Evaluator, place: Expr, known: int | None, frame: Frame) -> Tail | None:
    """Of a place that is told from the end by a number or by a length."""
    if known is not None:
        return Tail(-known, True) if known < 0 else None
    begun = _begun(place)
    return Tail(_kept(ev, begun, frame), True) if is_negative(begun) or _counts_length(begun) else None


def _kept(ev: Evaluator, begun: Expr, frame: Frame) -> int | None:
    inner = None
    if isinstance(begun, Test):
        inner = begun.parts[0]
    elif isinstance(begun, Binary) and not is_negative(begun):
        inner = begun.right
    elif isinstance(begun, Call):
        inner = next((a.right for a in begun.args if isinstance(a, Binary)), None)
    return number(ev, inner, frame)


def _begun(node: Expr) -> Expr:
    """Where a place in a list is looked for from: ``len(x) - n`` for one that a loop moves on to a whole turn."""
    phi = node.phi if isinstance(node, AfterLoop) else node
    return phi.before if isinstance(phi, Phi) and _counts_length(phi.before) else node


def _looked_for(node: Expr) -> bool:
    """Whether a place in a list is counted up or down to where the rest fits: by a loop that measures something."""
    phi = node.phi if isinstance(node, AfterLoop) else node
    if not isinstance(phi, Phi):
        return False
    state = phi.state
    counts = any(isinstance(s.right, Literal) for s in _sums(state.steps.get(phi.name)))
    adds_up = any(not isinstance(s.right, Literal) for n, v in state.steps.items() if n != phi.name for s in _sums(v))
    tests = [state.test, *(g.test for end in state.ends for g in end.guards)]
    return counts and (adds_up or any(_compares(t, phi.name) for t in tests))


def _turns_back(ev: Evaluator, node: Expr | None, frame: Frame) -> bool:
    """Whether a place in a list is that of the n-th turn from its end: counted from there by a loop, or listed."""
    if isinstance(node, Either):
        return any(_turns_back(ev, o, frame) for o in node.options)
    if isinstance(node, ItemOf) and isinstance(node.base, Comp):
        source = node.base.clauses[0][1]
        return any(calls(source, name) for name in _PLACES) and _is_from_end(node.key)
    if isinstance(node, ItemOf):  # for place, turn in reversed(list(enumerate(turns)))
        return isinstance(node.base, Element) and _turns_back(ev, node.base, frame)
    if isinstance(node, Element):
        state = ev.summary(frame.function).loops.get(node.loop)
        return state is not None and _counts_back(state)
    if isinstance(node, (AfterLoop, Phi)):
        phi = node.phi if isinstance(node, AfterLoop) else node
        return _counts_back(phi.state) and _turns_back(ev, phi.state.steps.get(phi.name), frame)
    return False


_PLACES = ("enumerate", "range")


def _counts_back(state: LoopState) -> bool:
    """Whether a loop runs from the end of a list and counts what it comes by until there are enough."""
    counted = any(isinstance(s.right, Literal) for step in state.steps.values() for s in _sums(step))
    return counted and runs_backwards(state.iterable)


def _is_from_end(key: Expr) -> bool:
    """Whether a place is told from the end, and is not the last one: ``[-5]``, ``[-n]``, ``[len(x) - n]``."""
    if isinstance(key, Literal):
        return isinstance(key.value, int) and key.value < -1
    return is_negative(key) or _counts_length(key)


def _sums(step: Expr | None) -> Iterator[Binary]:
    """The additions and subtractions by which a loop goes on with a number."""
    if isinstance(step, Either):
        for option in step.options:
            yield from _sums(option)
    elif isinstance(step, Binary) and step.op in "+-" and isinstance(step.left, Phi):
        yield step


def _compares(test: Expr | None, counter: str) -> bool:
    """Whether a test compares a size with a limit, rather than the counter with the length of the list."""
    if isinstance(test, Either):
        return any(_compares(t, counter) for t in (test.test, *test.options))
    if not isinstance(test, Test):
        return False
    if test.op == "not":
        return _compares(test.parts[0], counter)
    return test.op in ORDERS and not any(isinstance(p, Phi) and p.name == counter for p in test.parts)


def _counts_length(node: Expr, depth: int = 0) -> bool:
    if isinstance(node, Binary) and node.op == "-" and isinstance(node.left, Call):
        return calls(node.left, "len")
    if isinstance(node, Call) and calls(node, "max") and depth < 2:
        return any(_counts_length(a, depth + 1) for a in node.args)
    return False
