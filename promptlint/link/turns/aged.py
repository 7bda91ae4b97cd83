"""Turns that are sent in another form once they are old: a rebuilt list that looks at how far from its end each stands.

Every turn moves that border on, so that each request changes what the one before it sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from promptlint.code.expression import (
    ORDERS,
    After,
    AfterLoop,
    Attr,
    Binary,
    Call,
    Comp,
    Concat,
    DictOf,
    Either,
    Element,
    Expr,
    Global,
    Item,
    Literal,
    LoopState,
    Mutate,
    Phi,
    SeqOf,
    Slice,
    Star,
    Test,
    children,
    each_once,
    is_negative,
    within,
)
from promptlint.link.turns.alike import calls, index_of, is_part, runs_backwards
from promptlint.link.values import MARKERS

MAX_NODES = 120
_CONTENT = frozenset(("content", "text", "parts", "output"))
_COPIES = frozenset(("dict", "copy", "deepcopy"))
_MAKES = _COPIES | {"replace", "model_copy", "_replace", "evolve"}
"""Functions and methods that make a changed copy of what they are given, the changes by name."""
_MARKS = re.compile(r"cach|mark|breakpoint|ephemeral", re.IGNORECASE)
_READS = frozenset(("str", "list", "dict", "dumps", "strip", "get", "join", "copy", "deepcopy", "tuple", "getattr"))
"""Calls that say in another form what they are given."""
_MEMBERS = frozenset(("in", "not in"))
Way = tuple[tuple[Test, ...], Expr]
"""What an iteration adds to a list, under which tests."""


def by_age(made: Iterable[Way], over: Expr, loop: int, state: LoopState | None = None) -> Expr | None:
    """The changed form in which a loop over ``over`` adds turns that are some way from the end; ``None`` without one.

    Other turns have to be added as they are: what is done to each turn looks the same at the next send.
    """
    ways = list(islice(made, MAX_NODES))
    changed = [(tests, leaf) for tests, leaf in ways if _is_changed(leaf, loop)]
    if not changed or len(changed) == len(ways):
        return None
    return next((leaf for tests, leaf in changed if any(_asks_age(t, over, loop, state) for t in tests)), None)


def of_comprehension(node: Comp) -> Expr | None:
    """The same for a comprehension with one clause."""
    if len(node.clauses) != 1 or node.value is not None or not isinstance(node.element, Either):
        return None
    loop, over, _ = node.clauses[0]
    return by_age(_leaves(node.element, ()), over, loop)


def of_older(made: Expr) -> Expr | None:
    """The changed form of the turns ahead of the newest (``x[:-n]``): ``made`` is a list of one for each of them."""
    if not isinstance(made, Comp) or len(made.clauses) != 1 or made.value is not None or made.kind != "list":
        return None
    loop, over, tests = made.clauses[0]
    ahead = isinstance(over, Slice) and over.upper is not None and over.lower is None and over.step is None
    return made.element if ahead and not tests and _is_changed(made.element, loop) else None


def of_loop(phi: Phi) -> Expr | None:
    """The same for a loop that fills the list, or adds to the text, ``phi``."""
    state = phi.state
    step = state.steps.get(phi.name)
    if state.iterable is None or not isinstance(step, (Either, Mutate, Binary)):
        return None
    return by_age(_added(step, ()), state.iterable, state.id, state)


def _added(step: Expr, tests: tuple[Test, ...]) -> Iterator[Way]:
    if isinstance(step, Either):
        for option in step.options:
            yield from _added(option, _with(tests, step.test))
    elif isinstance(step, After):
        yield from _added(step.before, tests)
    elif isinstance(step, Mutate):
        if step.op in ("append", "insert", "appendleft") and step.args:
            yield from _leaves(step.args[-1], tests)
        yield from _added(step.base, tests)
    elif isinstance(step, Binary) and step.op == "+":
        yield from _added(step.left, tests)
        yield from _leaves(step.right, tests)


def _leaves(node: Expr, tests: tuple[Test, ...]) -> Iterator[Way]:
    """What may be added; a message with a choice of texts is a choice of messages."""
    if isinstance(node, Either):
        for option in node.options:
            yield from _leaves(option, _with(tests, node.test))
        return
    items = node.items if isinstance(node, DictOf) else ()
    text = next((v for k, v in items if _key(k) in _CONTENT and isinstance(v, Either)), None)
    if not isinstance(node, DictOf) or not isinstance(text, Either):
        yield tests, node
        return
    for option in text.options:
        told = DictOf(node.at, tuple((k, option if v is text else v) for k, v in items))
        yield from _leaves(told, _with(tests, text.test))


def _with(tests: tuple[Test, ...], test: Expr | None) -> tuple[Test, ...]:
    """The tests on a way, with those that one more is put together from."""
    found: list[Test] = []
    waiting = [test] if test is not None else []
    for node in islice(each_once(waiting), MAX_NODES):
        if isinstance(node, Either):
            waiting += [n for n in (node.test, *node.options) if n is not None]
        elif isinstance(node, Test) and node.op == "not":
            waiting.append(node.parts[0])
        elif isinstance(node, Test):
            found.append(node)
    return (*tests, *found)


# --- what is changed -------------------------------------------------------------------------------------------------


def _is_whole(node: Expr, loop: int) -> bool:
    """The turn itself, or a copy of it."""
    while True:
        if isinstance(node, Call) and _name(node) in _COPIES and not node.keywords:
            node = node.args[0] if node.args else node.func.base if isinstance(node.func, Attr) else node.func
        elif isinstance(node, Item) and index_of(node.key) is not None:
            return _of_loop(node.key, loop)
        elif isinstance(node, Mutate) and _key(node.args[0] if node.args else None) not in _CONTENT:
            node = node.base
        else:
            return is_part(node) and _of_loop(node, loop) and _key_read(node) is None


def _key_read(node: Expr) -> str | None:
    """``"content"`` of ``m["content"]``, ``m.content`` and ``m.get("content")``; ``None`` for anything else."""
    if isinstance(node, Attr):
        return node.name
    if isinstance(node, Item):
        return _key(node.key)
    if isinstance(node, Call) and _name(node) in ("get", "getattr"):
        return _key(node.args[0] if _name(node) == "get" else node.args[1]) if node.args[1:] or node.args else None
    return None


def _of_loop(node: Expr, loop: int) -> bool:
    """Whether a value is made of the turn that a loop looks at."""
    return any(isinstance(part, Element) and part.loop == loop for part in within((node,), MAX_NODES))


def _is_changed(leaf: Expr, loop: int) -> bool:
    """Whether a leaf is a turn of the loop whose text is another one, or a text that tells a part of it."""
    if isinstance(leaf, (Slice, Concat, Binary)) and _tells_a_part(leaf, loop):
        return True
    if isinstance(leaf, DictOf):
        copied = any(key is None and _is_whole(value, loop) for key, value in leaf.items)
        spoken = any(_key(key) == "role" for key, _ in leaf.items) and any(_of_loop(v, loop) for _, v in leaf.items)
        return (copied or spoken) and any(_key(k) in _CONTENT and _is_cut(v, loop) for k, v in leaf.items)
    if isinstance(leaf, Binary) and leaf.op == "|" and isinstance(leaf.right, DictOf):
        texts = [v for k, v in leaf.right.items if _key(k) in _CONTENT]
        return _is_whole(leaf.left, loop) and any(_is_cut(v, loop) for v in texts)
    if isinstance(leaf, Mutate):
        name, value = _key(leaf.args[0] if leaf.args else None), leaf.args[-1] if leaf.args else None
        if leaf.op in ("setitem", "setattr") and name in _CONTENT and value is not None and _is_cut(value, loop):
            return _of_loop(leaf.base, loop)
        return _is_changed(leaf.base, loop)
    if isinstance(leaf, Call):
        texts = [v for k, v in leaf.keywords if k in _CONTENT]
        rest = [v for k, v in leaf.keywords if k not in _CONTENT]
        for key, value in leaf.keywords:
            if key == "update" and isinstance(value, DictOf):
                texts += [v for k, v in value.items if _key(k) in _CONTENT]
        if texts:
            copied = _name(leaf) in _MAKES and any(_of_loop(n, loop) for n in (leaf.func, *leaf.args))
            return (copied or any(is_part(v) and _of_loop(v, loop) for v in rest)) and any(
                _is_cut(v, loop) for v in texts
            )
        named = _name(leaf)
        handed = any(_is_whole(a, loop) for a in leaf.args if not isinstance(a, Star))
        return handed and bool(named) and named not in _READS | _MAKES and not _MARKS.search(named)
    return False


def _tells_a_part(text: Expr, loop: int) -> bool:
    """Whether a text is made of the beginning or end of what a turn said."""
    parts = (n for n in within((text,), MAX_NODES) if isinstance(n, Slice) and (n.lower is None) != (n.upper is None))
    return any(_of_loop(part.base, loop) and not _is_whole(part, loop) for part in parts)


def _is_cut(value: Expr, loop: int, depth: int = 0) -> bool:
    """Whether a text is not what the turn said: cut, replaced, or put through a function."""
    if depth > 6:
        return False
    if isinstance(value, Literal):
        return isinstance(value.value, str)
    if isinstance(value, Slice):
        return _of_loop(value.base, loop)
    if isinstance(value, (Concat, Binary)):
        return any(not isinstance(p, Literal) or bool(p.value) for p in children(value)) and not all(
            is_part(p) for p in children(value)
        )
    if isinstance(value, Either):
        return any(_is_cut(o, loop, depth + 1) for o in value.options)
    if isinstance(value, Comp):
        part = value.clauses[-1][0]
        changed = any(_is_changed(leaf, part) for _, leaf in _leaves(value.element, ()))
        return (changed or any(tests for _, _, tests in value.clauses)) and not _holds_marker(value)
    if isinstance(value, (SeqOf, DictOf)):
        if _holds_marker(value):
            return False
        inner = value.items if isinstance(value, SeqOf) else [v for k, v in value.items if _key(k) in _CONTENT]
        return any(_is_cut(i, loop, depth + 1) for i in inner if isinstance(i, Expr))
    if isinstance(value, Call):
        named = _name(value)
        return bool(named) and named not in _READS and not _MARKS.search(named) and _of_loop(value, loop)
    return isinstance(value, Global)


def _holds_marker(value: Expr) -> bool:
    return any(isinstance(part, Literal) and part.value in MARKERS for part in within((value,), MAX_NODES))


# --- how old it is ---------------------------------------------------------------------------------------------------


def _asks_age(test: Test, over: Expr, loop: int, state: LoopState | None) -> bool:
    """Whether a test compares the place of a turn with one that is told from the end of the list."""
    if test.op not in ORDERS | _MEMBERS or len(test.parts) != 2:
        return False
    for place, bound in (test.parts, test.parts[::-1]) if test.op in ORDERS else (test.parts,):
        if isinstance(place, Binary) and place.op == "-" and _is_place(place.right, loop, state):
            newest = isinstance(bound, Literal) and bound.value in (0, 1)
            return _told_from_end(place.left, loop, state) and not newest
        if not _is_place(place, loop, state):
            continue
        if test.op in ORDERS and runs_backwards(over):
            return True
        if _told_from_end(bound, loop, state) and not _is_newest(bound):
            return True
    return False


def _is_place(node: Expr, loop: int, state: LoopState | None) -> bool:
    """The index of a turn, what it is told by (``id(m)``), or how many were counted so far."""
    if isinstance(node, Binary) and node.op in "+-":
        return _is_place(node.left, loop, state)
    if index_of(node) is not None:
        return _of_loop(node, loop)
    if calls(node, "id") and isinstance(node, Call):
        return any(_is_whole(a, loop) for a in node.args)
    steps = state.steps if state is not None else {}
    waiting = [node]
    for part in islice(each_once(waiting), MAX_NODES):
        if isinstance(part, Either):
            waiting += part.options
        elif isinstance(part, Binary) and part.op == "+" and isinstance(part.right, Literal):
            waiting.append(part.left)
        elif isinstance(part, Phi) and part.state is state and part.name in steps:
            return isinstance(part.before, Literal) and isinstance(part.before.value, int)
    return False


def _is_newest(bound: Expr) -> bool:
    """``i < len(x) - 1``: all but the newest, which changes no turn but that one."""
    if not (isinstance(bound, Binary) and bound.op == "-" and isinstance(bound.right, Literal)):
        return calls(bound, "len")
    return isinstance(bound.right.value, int) and bound.right.value <= 1


def _told_from_end(bound: Expr, loop: int, state: LoopState | None) -> bool:
    """Whether a value moves on as turns are added: it is made of their number, or of where the last ones stand."""
    waiting = [bound]
    for node in islice(each_once(waiting), MAX_NODES):
        if isinstance(node, Element) and node.loop == loop:
            continue
        if isinstance(node, Phi) and node.state is state:
            continue
        if any(calls(node, name) for name in ("len", "max", "sum")):
            return not any(isinstance(part, Literal) and part.value == "system" for part in within((node,), MAX_NODES))
        if isinstance(node, Slice) and any(map(is_negative, (node.lower, node.upper))):
            return True
        if isinstance(node, Item) and is_negative(node.key):
            return True
        if isinstance(node, AfterLoop):
            found = node.phi.state
            leaves = any(end.leaves for end in found.ends)
            return found.iterable is not None and (not leaves or runs_backwards(found.iterable))
        waiting.extend(children(node))
    return False


def _key(node: Expr | None) -> str | None:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else None


def _name(node: Call) -> str:
    func = node.func
    if isinstance(func, (Attr, Global)):
        return func.name
    return getattr(func, "dotted", "").rpartition(".")[2] or getattr(func, "name", "")
