"""The tests around a change: does it happen always, above a threshold, on a command, or after an error."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    ORDERS,
    Binary,
    Comp,
    Either,
    Expr,
    Guard,
    Literal,
    Param,
    Phi,
    Star,
    Test,
    called_name,
    is_none,
    within,
)
from promptlint.code.expression import Attr as AttrNode
from promptlint.code.expression import Call as CallNode
from promptlint.code.expression import Global as GlobalNode
from promptlint.code.expression import Item as ItemOf
from promptlint.frozen import replace
from promptlint.link.calling import callers
from promptlint.link.kept.switches import asks_for_command, on_command
from promptlint.link.turns.messages import SYSTEM_ROLES
from promptlint.link.values import ELAPSED, Const, options

if TYPE_CHECKING:
    from promptlint.code.index import Function
    from promptlint.link.evaluate import Evaluator

LARGE_MESSAGES, LARGE_TOKENS = 40, 32_000
"""A threshold above which a rewrite counts as rare, in messages and in tokens."""
NEAR_THE_WINDOW = 100_000
"""Tokens, or characters, above which few conversations come."""
ANYTHING = 2
"""A test for more than that many is one for whether there is anything at all."""
SIZE_NAMES = re.compile(
    r"(len|count|token|size|num|total|length|chars|usage|budget|utili[sz]ation|context_ratio|fill|estimat)",
    re.IGNORECASE,
)
ROOM_NAMES = re.compile(
    r"(should|needs?|must|is_time)_?\w*(compact|compress|condens|prune?|shrink|summari|trim|truncat)|exceed|over(flow|_)"
    r"|(too|is|gets?)_(big|full|large|long)|(near|at|over|above)(_\w+)?_(limit|capacity|budget|threshold)"
    r"|(limit|budget|threshold)_(hit|reached|exceeded)",
    re.IGNORECASE,
)
_SHARE_NAMES = re.compile(r"(context|token|window|budget|usage)s?_(\w+_)?(ratio|share|fraction|percent)", re.IGNORECASE)
COMPACTS = re.compile(r"compact|compress|condense|summari[sz]e", re.IGNORECASE)
"""Names of functions that put something shorter in the place of many turns."""
TELLS_BRIEFLY = re.compile(
    r"^_*(summari[sz]e|recap|digest|condense|compress|compact)"
    r"|^_*(ask_for|build|create|generate|get|make|produce|save|update|write)_(and_(save|store|update)_)?"
    r"((an?|the|new|story|chat|channel|conversation|history|session|thread)_)*(summary|recap|digest)$",
    re.IGNORECASE,
)
"""Names of functions that ask for a summary, and for nothing else."""
_SECONDS = "total_seconds"
MAX_DEPTH = 4
"""Calls that are followed upwards to the test that decides about a change."""
MAX_PARTS = 120
"""Nodes of a test that are looked at."""


def guard_of(ev: Evaluator, guards: tuple[Guard, ...], function: Function) -> tuple[str, float | None]:
    """The kind of guard around a change in ``function``, and the number that a threshold compares with.

    Of several thresholds the highest counts; ``inf`` stands for a test that says by its name that it looks at a size,
    and for one that some time has gone by.
    """
    limits: list[float | None] = []
    for guard in reversed([part for whole in guards for part in _each(_unforced(whole, function))]):
        if guard.error:
            return "error", None
        test = guard.test
        if isinstance(test, Test) and test.op in ORDERS and len(test.parts) == 2:
            left, right = test.parts
            if _measures_one(left) or _measures_one(right):
                if guard.sense is (_measures_one(left) is (test.op in (">", ">="))) and _is_huge(ev, test, function):
                    limits.append(inf)  # hardly any message is as long as that
                continue
            on_left = _counts(left) or (not _counts(right) and _is_large(ev, right, function))
            if on_left or _counts(right) or _is_large(ev, left, function):
                if guard.sense is not (on_left is (test.op in (">", ">="))):
                    continue  # only while there is little
                size, bound = (left, right) if on_left else (right, left)
                limit = inf if _is_share(left) or _is_share(right) else _limit(ev, size, bound, function)
                if limit is None or limit > ANYTHING:
                    limits.append(limit)
                continue
            if guard.sense and any(_is_elapsed(ev, part, function) for part in (left, right)):
                limits.append(inf)  # a pause: what was cached is gone by then, or nearly
                continue
        if asks_for_command(guard) and not limits:
            return "command", None
        sense = guard.sense
        while isinstance(test, Test) and test.op == "not":
            test, sense = test.parts[0], not sense
        if sense and (_asks_for_room(test) or (isinstance(test, CallNode) and _names_size(test))):
            limits.append(inf)
    known = [limit for limit in limits if limit is not None]
    return ("threshold", max(known, default=None)) if limits else ("always", None)


LARGE_NUMBER = 10_000
"""From here on a number that something is compared with is one of tokens or characters, whatever its name says."""


def _is_large(ev: Evaluator, bound: Expr, function: Function) -> bool:
    if not isinstance(bound, (Literal, GlobalNode, AttrNode)):
        return False
    values = options(ev.eval(bound, ev.generic(function)))
    return all(isinstance(v, Const) and isinstance(v.value, int) and v.value >= LARGE_NUMBER for v in values)


def after_a_pause(ev: Evaluator, guards: tuple[Guard, ...], function: Function) -> bool:
    """Whether code runs only when some time has gone by."""
    sizes = (g.test for g in guards if g.sense and isinstance(g.test, Test) and g.test.op in ORDERS)
    return any(_is_elapsed(ev, part, function) for test in sizes for part in test.parts)


def _each(guard: Guard) -> Iterator[Guard]:
    """The tests that hold where a guard does: those of ``a and b``, and of ``a or b`` where that is false."""
    test = guard.test
    parts: tuple[Expr, ...] = ()
    if isinstance(test, Either) and guard.sense and test.test is not None and is_none(test.options[-1]):
        parts = (test.test, *test.options[:-1])
    elif isinstance(test, Either) and not guard.sense and test.test is None:
        parts = test.options
    for part in parts:
        yield from _each(replace(guard, test=part))
    if not parts:
        yield guard


def _unforced(guard: Guard, function: Function) -> Guard:
    """What is asked where a switch is off, as it is by default: ``not force and few``, ``force or many``."""
    test = guard.test
    if not isinstance(test, Either):
        return guard
    either, both = test.test is None, test.test is not None and is_none(test.options[-1])
    if either and guard.sense:
        rest = [part for part in test.options if not _is_off(part, function)]
    elif both and not guard.sense:
        parts = [part for part in (test.test, *test.options[:-1]) if part is not None]
        rest = [p for p in parts if not (isinstance(p, Test) and p.op == "not" and _is_off(p.parts[0], function))]
    else:
        return guard
    return replace(guard, test=rest[0]) if len(rest) == 1 else guard


def _is_off(part: Expr, function: Function) -> bool:
    parameter = function.parameter(part.name) if isinstance(part, Param) else None
    default = parameter.default if parameter is not None else None
    return isinstance(default, ast.Constant) and default.value is False


def _is_elapsed(ev: Evaluator, node: Expr, function: Function) -> bool:
    if isinstance(node, CallNode) and called_name(node) == _SECONDS:
        return True
    return any(o.what == ELAPSED for o in ev.eval(node, ev.generic(function)).origins())


def _limit(ev: Evaluator, size: Expr, bound: Expr, function: Function) -> float | None:
    """What a size is compared with, in messages; ``None`` when not known, ``inf`` for a share of the context.

    A size begins at nought, which is no bound.
    """
    frame = ev.generic(function)
    bounds, sizes = ([o.value for o in options(ev.eval(p, frame)) if isinstance(o, Const)] for p in (bound, size))
    sides = (bounds, [v for v in sizes if v != 0])
    numbers = next(filter(None, ([v for v in side if isinstance(v, (int, float))] for side in sides)), [])
    # Nought is what a caller asks with who wants it done at once: a command of the user, mostly.
    limit = next((v for v in numbers if v > 0), numbers[0] if numbers else None)
    if limit is None:
        return None
    if isinstance(limit, float) and 0 <= limit <= 1:
        return inf
    return limit * LARGE_MESSAGES / LARGE_TOKENS if _tokens(size) or _tokens(bound) else float(limit)


def asks_of_first(tests: Iterable[Expr]) -> bool:
    """Whether a change depends on what the first message is, and on no size: a list that has to begin with a user.

    What such a change drops is the head of what was cut or loaded elsewhere.
    """
    parts = [part for test in tests for part in parts_of(test)]
    return any(map(_asks_who_begins, parts)) and not any(map(_compares_size, parts))


def asks_of_system(guards: Iterable[Guard]) -> bool:
    """Whether a change is made to the message that says it is the system text: ``message["role"] == "system"``."""
    each = (part for guard in guards for part in _each(guard))
    tests = [g.test for g in each if g.sense and isinstance(g.test, Test) and g.test.op == "=="]
    return any(isinstance(p, Literal) and p.value in SYSTEM_ROLES for test in tests for p in test.parts)


_IDS = re.compile(r"(^|_)(id|uuid)$", re.IGNORECASE)


def asks_for_one(guards: Iterable[Guard]) -> bool:
    """Whether a change looks for one message by its id: what stood in for it until it was there is replaced."""
    return any(
        isinstance(part, Test) and part.op == "==" and guard.sense and _is_id_of(part)
        for guard in guards
        if guard.test is not None
        for part in parts_of(guard.test)
    )


def asks_for_partners(guards: Iterable[Guard]) -> bool:
    """Whether a change looks for ids among others: for the calls of tools, say, that were not answered."""
    return any(
        isinstance(part, Test) and part.op in ("in", "not in") and _is_id(part.parts[0])
        for guard in guards
        if guard.test is not None
        for part in parts_of(guard.test)
    )


def _is_id(node: Expr) -> bool:
    return _IDS.search(node.name if isinstance(node, AttrNode) else _key_of(node)) is not None


_LOOKS_UP = frozenset(("get", "getattr", "hasattr", "isinstance", "len", "bool", "any", "all"))


def texts_asked(test: Expr | None) -> Iterator[Expr]:
    """What a test looks into, itself or by a function that gets it: an option that is set or not is nothing of that."""
    for part in parts_of(test) if test is not None else ():
        if isinstance(part, Test) and part.op in ("in", "not in") and isinstance(part.parts[0], Literal):
            yield part.parts[1]
        elif isinstance(part, CallNode) and called_name(part) not in _LOOKS_UP:
            yield from (a for a in part.args if not isinstance(a, Star))


def _is_id_of(test: Test) -> bool:
    named = [p.name if isinstance(p, AttrNode) else _key_of(p) for p in test.parts]
    return any(map(_IDS.search, named)) and not any(isinstance(p, Literal) for p in test.parts)


def _key_of(node: Expr) -> str:
    """``"id"`` of ``message["id"]`` and ``message.get("id")``."""
    if isinstance(node, CallNode) and isinstance(node.func, AttrNode) and node.func.name == "get":
        key = node.args[0] if node.args else None
    else:
        key = node.key if isinstance(node, ItemOf) else None
    return key.value if isinstance(key, Literal) and isinstance(key.value, str) else ""


def parts_of(node: Expr) -> Iterator[Expr]:
    """A test and what it is made of."""
    return within((node,), MAX_PARTS)


def _is_first(node: Expr) -> bool:
    return isinstance(node, ItemOf) and isinstance(node.key, Literal) and node.key.value == 0


_WHO = frozenset(("role", "type"))


def _asks_who_begins(node: Expr) -> bool:
    """Whether a node asks what the first element is: ``m[0]["role"]``, ``m[0].type``, ``f(m[0])``, ``m[0] == x``.

    The first of the values that a call gives back, which a tuple of names takes apart, is no message.
    """
    if isinstance(node, CallNode):
        return any(map(_is_first_kept, node.args)) or (
            _key_of(node) in _WHO and isinstance(node.func, AttrNode) and _is_first(node.func.base)
        )
    if isinstance(node, Test):
        return node.op in ("==", "!=", "is", "is not") and any(map(_is_first_kept, node.parts))
    if isinstance(node, AttrNode):
        return node.name in _WHO and _is_first(node.base)
    return (
        isinstance(node, ItemOf) and isinstance(node.key, Literal) and node.key.value in _WHO and _is_first(node.base)
    )


def _is_first_kept(node: Expr) -> bool:
    return isinstance(node, ItemOf) and _is_first(node) and not isinstance(node.base, CallNode)


def _compares_size(node: Expr) -> bool:
    return isinstance(node, Test) and node.op in ORDERS and any(map(_counts, node.parts))


def _counts(node: Expr) -> bool:
    if isinstance(node, CallNode):
        if isinstance(node.func, GlobalNode) and node.func.name == "len":
            return True
        return _names_size(node) or _summed(node) is not None
    if isinstance(node, (AttrNode, GlobalNode, Param, Phi)):
        return bool(SIZE_NAMES.search(node.name))
    if isinstance(node, Binary):
        return _counts(node.left) or _counts(node.right)
    return isinstance(node, Either) and all(map(_counts, node.options))


_CONTENT = frozenset(("content", "text", "output", "arguments"))


def _measures_one(node: Expr) -> bool:
    """Whether a test asks how long one message is, ``len(message["content"])``: this says nothing about the history."""
    if not isinstance(node, CallNode) or not isinstance(node.func, GlobalNode) or not node.args:
        return False
    if node.func.name == "str":
        return _is_content(node.args[0])
    return node.func.name == "len" and (_is_content(node.args[0]) or _measures_one(node.args[0]))


def _is_content(node: Expr) -> bool:
    if isinstance(node, Either):
        return any(map(_is_content, node.options))
    return _key_of(node) in _CONTENT or (isinstance(node, AttrNode) and node.name in _CONTENT)


def _tokens(node: Expr) -> bool:
    """Whether what is compared is a number of tokens or characters, and no number of messages."""
    if isinstance(node, CallNode):
        summed = _summed(node)
        return _tokens(node.func) or (summed is not None and not isinstance(summed, Literal))
    return isinstance(node, (AttrNode, GlobalNode, Phi)) and bool(re.search(r"token|char", node.name, re.IGNORECASE))


def _summed(node: CallNode) -> Expr | None:
    """What ``sum(len(m) for m in messages)`` adds up, or a number when it counts."""
    terms = node.args[0] if isinstance(node.func, GlobalNode) and node.func.name == "sum" and node.args else None
    element = terms.element if isinstance(terms, Comp) else None
    return element if element is not None and (isinstance(element, Literal) or _counts(element)) else None


def near_the_window(ev: Evaluator, guards: tuple[Guard, ...], function: Function) -> bool:
    """Whether a change is made only where the history comes near the size of a context, in tokens or characters."""
    return any(
        isinstance(test, Test) and test.op in ORDERS and any(map(_tokens, test.parts)) and _is_huge(ev, test, function)
        for test in (part.test for whole in guards for part in _each(whole))
    )


def _is_huge(ev: Evaluator, test: Test, function: Function) -> bool:
    """Whether a test compares with a number that is near the size of a context."""
    frame = ev.generic(function)
    values = [o.value for p in test.parts for o in options(ev.eval(p, frame)) if isinstance(o, Const)]
    return any(isinstance(v, (int, float)) and v >= NEAR_THE_WINDOW for v in values)


def _names_size(node: CallNode) -> bool:
    return called_name(node) != _SECONDS and SIZE_NAMES.search(called_name(node)) is not None


def _asks_for_room(test: Expr | None) -> bool:
    """Whether a call or a property says by its name that it looks whether the history has grown too long."""
    return ROOM_NAMES.search(_name(test)) is not None


def _is_share(node: Expr) -> bool:
    """Whether what is compared says by its name that it is a share of the context."""
    return _SHARE_NAMES.search(_name(node)) is not None


def _name(node: Expr | None) -> str:
    return called_name(node) if isinstance(node, CallNode) else node.name if isinstance(node, AttrNode) else ""


def limit_of_calls(
    ev: Evaluator, function: Function | None, unknown: float, way: frozenset[Function], depth: int = 0
) -> float | None:
    """The lowest threshold under which a function, or what calls it, is called, but for commands of the user.

    ``unknown`` stands for one that compares with what is not known, ``way`` holds the functions on the way to the
    sink. ``None`` when some call is under none.
    """
    if function is None or depth == MAX_DEPTH:
        return None
    found: list[float] = []
    for caller in callers.of(ev, function):
        if caller.function is function or _answers_command(ev, caller, way):
            continue
        guard, limit = guard_of(ev, caller.call.tests, caller.function)
        own = (unknown if limit is None else limit) if guard == "threshold" else 0
        if own <= LARGE_MESSAGES:
            own = max(own, limit_of_calls(ev, caller.function, unknown, way, depth + 1) or 0)
        if not own:
            return None
        found.append(own)
    return min(found, default=None)


def _answers_command(ev: Evaluator, caller: callers.Caller, way: frozenset[Function]) -> bool:
    """Whether a call answers a command of the user, and is no step of the way to the sink."""
    commanded = any(map(asks_for_command, caller.call.tests))
    return commanded or (caller.function not in way and on_command(ev, caller.function))
