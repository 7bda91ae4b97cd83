"""Tests: which come out one way for certain, and which can be looked at without following calls."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import islice

from promptlint.code.expression import (
    Attr,
    Binary,
    Call,
    Comp,
    Either,
    Element,
    Expr,
    Free,
    Global,
    Import,
    Literal,
    Param,
    Phi,
    SeqOf,
    Star,
    Test,
    children,
    each_once,
    within,
)
from promptlint.code.expression import Item as ItemOf
from promptlint.link.values import Const, Instance, Map, Routine, Seq, Text, Type, Value, possible_texts, truth

_LOOKING = frozenset(
    (
        "isinstance",
        "len",
        "bool",
        "str",
        "getattr",
        "hasattr",
        "callable",
        "input",
        "any",
        "all",
        "sum",
        "min",
        "max",
        "set",
    )
)
"""Functions that tell something about what they are given."""
_ASKING = frozenset(
    [
        "get",
        "lower",
        "upper",
        "casefold",
        "strip",
        "split",
        "partition",
        "replace",
        "startswith",
        "endswith",
        "count",
        "find",
        "isdigit",
        "isupper",
        "isalpha",
        "isspace",
    ]
)
"""Methods that do the same for what they belong to."""
_MATCHING = frozenset(("search", "match", "fullmatch", "findall"))
"""Functions of ``re``, and methods of a compiled pattern."""
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def outcome(op: str, values: list[Value]) -> bool | None:
    """The outcome of a test when it is certain."""
    if op == "not":
        certain = truth(values[0])
        return None if certain is None else not certain
    if len(values) != 2:
        return None
    a, b = values
    if op in ("is", "is not") and isinstance(b, Const) and b.value is None:
        if isinstance(a, Const):
            return (a.value is None) == (op == "is")
        if isinstance(a, (Instance, Routine, Type, Map, Seq)) or (
            isinstance(a, Text) and any(not p.optional for p in a.pieces)
        ):
            return op == "is not"
        return None
    if op in ("==", "!="):
        x, y = plain(a), plain(b)
        if x is not None and y is not None:
            return (x == y) == (op == "==")
        if isinstance(a, Text) and isinstance(b, Text):
            one, other = possible_texts(a), possible_texts(b)
            if one is not None and other is not None and not one & other:
                return op == "!="
    if op in _ORDERS and isinstance(a, Const) and isinstance(b, Const):
        if isinstance(a.value, (int, float)) and isinstance(b.value, (int, float)):
            return _ORDERS[op](a.value, b.value)
    if op in ("in", "not in") and isinstance(b, Seq) and b.known:
        x = plain(a)
        members = [plain(i.value) for i in b.items]
        if x is not None and all(m is not None for m in members):
            return (x in members) == (op == "in")
    return None


MAX_PICKED = 120
"""Nodes of a test, and of what stands on its ways, that are looked at for the variable of a loop."""


def picked_ways(node: Either) -> frozenset[int]:
    """The ways of a test on which an element of a loop is taken that the test is about: ``if n in text: found = n``.

    A test for equality is left out: it finds an element by its name, which seldom differs from turn to turn.
    """
    if node.test is None or len(node.options) != 2:
        return frozenset()
    asked = list(within((node.test,), MAX_PICKED))
    inside = {loop for n in asked if isinstance(n, Comp) for loop, _, _ in n.clauses}  # nobody else sees their elements
    loops = {n.loop for n in asked if isinstance(n, Element)} - inside
    if not loops or any(isinstance(n, Test) and n.op in ("==", "is") for n in asked):
        return frozenset()
    taken = [[_is_of(end, loops) for end in _ends(option)] for option in node.options]
    every = all(all(ends) for ends in taken)
    return frozenset() if every else frozenset(way for way, ends in enumerate(taken) if ends[0])


def _is_of(node: Expr, loops: set[int]) -> bool:
    """Whether a value is made of the variable of one of the loops."""
    return any(isinstance(n, Element) and n.loop in loops for n in within((node,), MAX_PICKED))


def _ends(node: Expr) -> Iterator[Expr]:
    """What a value may be in the end, whatever the tests in it say."""
    waiting = [node]
    for current in islice(each_once(waiting), MAX_PICKED):
        if isinstance(current, Either):
            waiting += reversed(current.options)
        else:
            yield current


def is_cheap(node: Expr, depth: int = 0, bound: frozenset[int] = frozenset()) -> bool:
    """Whether a value is found without looking into calls; of the loops ``bound`` one element is looked at."""
    if depth > 8:
        return False
    if isinstance(node, Element) and node.loop in bound:
        return True
    if isinstance(node, (Literal, Param, Global, Free, Import)):
        return True
    if isinstance(node, Attr):
        return is_cheap(node.base, depth + 1, bound)
    if isinstance(node, (Test, Either)):
        return all(is_cheap(c, depth + 1, bound) for c in children(node))
    if isinstance(node, ItemOf):
        return is_cheap(node.base, depth + 1, bound) and isinstance(node.key, Literal)
    if isinstance(node, Call):
        func = node.func
        plain = isinstance(func, Global) and func.name in _LOOKING
        method = isinstance(func, Attr) and func.name in _ASKING and is_cheap(func.base, depth + 1, bound)
        matched = isinstance(func, Attr) and func.name in _MATCHING and _is_re(func.base)
        return (plain or method or matched) and all(is_cheap(a, depth + 1, bound) for a in node.args)
    if isinstance(node, Comp):
        bound = bound | {loop for loop, _, _ in node.clauses}
        looked_at = (part for _, source, tests in node.clauses for part in (source, *tests))
        return all(is_cheap(part, depth + 1, bound) for part in (*looked_at, node.element))
    if isinstance(node, (SeqOf, Star)):
        return all(is_cheap(c, depth + 1, bound) for c in children(node))
    return (
        isinstance(node, (Element, Binary)) and depth < 3 and all(is_cheap(c, depth + 1, bound) for c in children(node))
    )


def looks_for_a_round(test: Test) -> bool:
    """Whether a test compares the counter of a loop with something that it reaches once."""
    return test.op in (*_ORDERS, "==", "!=") and any(isinstance(part, (Attr, Element, Phi)) for part in test.parts)


def is_telling(test: Expr) -> bool:
    """Whether a test is worth evaluating for what its outcome depends on: a clock, a counter, a length."""
    return asks_the_hour(test) or (isinstance(test, Test) and (looks_for_a_round(test) or _measures(test)))


def _measures(test: Test) -> bool:
    """Whether a test compares the length of something with a number: ``len(messages) > 10``."""
    if test.op not in (*_ORDERS, "==", "!="):
        return False
    calls = (p for p in test.parts if isinstance(p, Call) and isinstance(p.func, Global) and p.func.name == "len")
    return any(True for _ in calls) and any(isinstance(p, Literal) for p in test.parts)


def asks_the_hour(node: Expr, depth: int = 0) -> bool:
    """Whether a test compares the hour of a clock, or its day of the week: ``datetime.now().hour < 12``."""
    if isinstance(node, (Test, Either)) and depth < 4:
        return any(asks_the_hour(part, depth + 1) for part in children(node))
    named = node.func if isinstance(node, Call) and not node.args else node
    return depth > 0 and isinstance(named, Attr) and named.name in ("hour", "tm_hour", "tm_wday", "weekday")


def _is_re(node: Expr) -> bool:
    """Whether a node is the module ``re``, or a constant of the module: a pattern that it compiled."""
    if isinstance(node, Import):
        return node.dotted == "re"
    return isinstance(node, Global) and (node.name == "re" or node.name.isupper())


def plain(value: Value) -> object | None:
    if isinstance(value, Const):
        return ("const", value.value)
    if isinstance(value, Text) and value.literal is not None:
        return ("text", value.literal)
    return None
