"""Cache markers in values: ``cache_control``, ``cachePoint`` and their like."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from math import inf

from promptlint.code.expression import (
    ORDERS,
    AfterLoop,
    Call,
    Element,
    Guard,
    Phi,
    Test,
    called_name,
    children,
    each_once,
)
from promptlint.code.index import Function, terminal
from promptlint.files.source import span
from promptlint.frozen import replace
from promptlint.link.joining import join
from promptlint.link.values import MARKERS, Const, History, Item, Map, Seq, Value, literal, options
from promptlint.request import (
    Breakpoint,
)
from promptlint.span import Span
from promptlint.tokens import Interval


def ttl_of(value: Value) -> str | None:
    for option in options(value):
        if isinstance(option, Map):
            entry = option.entries.get("ttl")
            if entry is None:
                return None if option.rest else "5m"
            return literal(entry.value)
    return None


def own_markers(value: Map) -> Iterator[Breakpoint]:
    for key in MARKERS & value.entries.keys():
        entry = value.entries[key]
        kept = [o for o in options(entry.value) if not (isinstance(o, Const) and o.value is None)]
        if kept:
            yield Breakpoint(
                entry.span,
                0,
                ttl_of(join(kept)),
                optional=entry.optional or len(kept) < len(options(entry.value)) or any(map(_may_be_none, kept)),
                key=key,
            )


def _may_be_none(marker: Value) -> bool:
    """Whether a marker came out of a join with nothing: all that it holds is there or not together."""
    return isinstance(marker, Map) and bool(marker.entries) and all(e.optional for e in marker.entries.values())


def markers_in(value: Value, depth: int = 0) -> Iterator[Breakpoint]:
    """The markers anywhere in a value."""
    if depth > 6:
        return
    for option in options(value):
        if isinstance(option, Map):
            yield from own_markers(option)
            for key, entry in option.entries.items():
                if key not in MARKERS:
                    yield from markers_in(entry.value, depth + 1)
        elif isinstance(option, Seq):
            for item in option.items:
                yield from markers_in(item.value, depth + 1)


def for_each(marker: Breakpoint, item: Item) -> Breakpoint:
    """A marker on the template of an unknown number of elements.

    Each of them carries it, unless it is put under a test that may be true for a few of them only: the newest two, the
    first four that a counter lets through.
    """
    carried = any if isinstance(item, History) else all  # of the messages that each turn adds, one is enough
    if not carried(_carries(option) for option in options(item.value)) or any(map(_may_pick_few, item.guards)):
        return replace(marker, optional=True)
    return replace(marker, count=Interval(1, inf), loop=item.span)


def _carries(value: Value) -> bool:
    """Whether an element certainly has a marker, itself or in its content."""
    if isinstance(value, Map):
        if any(not marker.optional for marker in own_markers(value)):
            return True
        return any(not e.optional and all(_carries(o) for o in options(e.value)) for e in value.entries.values())
    if isinstance(value, Seq):
        return any(not i.optional and all(_carries(o) for o in options(i.value)) for i in value.items)
    return False


_TAKES_OFF = re.compile(rf"(?:\.pop\(\s*[\"']|\bdel\s[^\n]*\[[\"'])(?:{'|'.join(sorted(MARKERS))})\b")
_LONG = 50
"""Characters, or more, that a marked text is asked to have: that is no number of markers."""


def is_put_on_each(function: Function, line: int, tested: bool) -> bool:
    """Whether code that marks what it stores does so again and again: none is taken off anywhere in the file."""
    return not function.module.matches(_TAKES_OFF) and is_not_counted(function, line, tested)


def is_not_counted(function: Function, line: int, tested: bool) -> bool:
    """Whether no test around a marker can count markers. ``tested``: there is one."""
    around = [n for n in ast.walk(function.syntax) if isinstance(n, (ast.If, ast.IfExp)) and _holds(n, line)]
    positions = {
        target.id
        for n in ast.walk(function.syntax)
        if isinstance(n, ast.Assign) and _is_last(n.value)
        for target in n.targets
        if isinstance(target, ast.Name)
    }
    return all(_counts_nothing(n.test, positions) for n in around) and (bool(around) or not tested)


def _holds(node: ast.If | ast.IfExp, line: int) -> bool:
    """Whether a line lies in what is done when a test is true."""
    body = node.body if isinstance(node.body, list) else [node.body]
    return body[0].lineno <= line <= (body[-1].end_lineno or 0)


def _is_last(node: ast.expr) -> bool:
    """``i == len(found) - 1``."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Eq)
        and isinstance(node.comparators[0], ast.BinOp)
        and isinstance(node.comparators[0].left, ast.Call)
        and terminal(node.comparators[0].left.func) == "len"
    )


def _counts_nothing(test: ast.expr, positions: Set[str]) -> bool:
    """Whether a test asks for the place in a list that is made now, for a long text, a kind or a type, and no more."""
    match test:
        case ast.BoolOp(values=parts):
            return all(_counts_nothing(p, positions) for p in parts)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as asked):
            return _counts_nothing(asked, positions)
        case ast.Name(id=name):
            return name in positions
        case ast.Compare(ops=[ast.Gt() | ast.GtE()], left=ast.Call(func=ast.Name(id="len")), comparators=[limit]):
            return isinstance(limit, ast.Constant) and isinstance(limit.value, int) and limit.value >= _LONG
        case ast.Compare(ops=[ast.Eq() | ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=str() | None)]):
            return True
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
    return _is_last(test)


def _may_pick_few(guard: Guard) -> bool:
    """Whether a test compares positions or sizes, or looks at what the loop itself carries along."""
    waiting = [guard.test] if guard.test is not None else []
    for node in each_once(waiting):
        if isinstance(node, (Phi, AfterLoop)) or (isinstance(node, Test) and node.op in ORDERS):
            return True
        if isinstance(node, Element):
            if isinstance(node.of, Call) and called_name(node.of) in ("enumerate", "range"):
                return True
            continue
        if isinstance(node, Call) and called_name(node) == "len":
            return True
        waiting.extend(children(node))
    return False


_WRITTEN = re.compile(r"(?m)^[^#\n]*(?:[\"'](?:{0})[\"']\s*[:\]]|\b(?:{0})\s*=(?!=))".format("|".join(sorted(MARKERS))))
"""A marker that is written down, as a key, a subscript or an argument."""


def may_be_set(
    functions: Iterable[Function], sends: Callable[[Function], bool], without: Collection[Function] = ()
) -> bool:
    """Whether one of the functions, or one of its file that it calls, sets a marker, in whatever way.

    What is called and sends a request itself marks its own. ``without``: functions whose markers are known to be lost.
    """
    on_the_way = dict.fromkeys(functions)
    for module in dict.fromkeys(f.module for f in on_the_way):
        if not module.matches(_WRITTEN):
            continue
        waiting = [f for f in module.functions if f.matches(_WRITTEN) and f not in without]
        seen: set[Function] = set()
        while waiting:
            function = waiting.pop()
            if function in on_the_way:
                return True
            if function not in seen and not sends(function):
                seen.add(function)
                waiting.extend(module.called.get(function.name, ()))
    return False


def taken_off_again(function: Function, line: int) -> Span | None:
    """The place that sets a marker which the code at ``line``, that takes all of them off, takes off again.

    ``None`` where behind it a marker is set, or a message added that keeps the one it has.
    """
    body = list(ast.walk(function.syntax))
    behind = [n for n in body if getattr(n, "lineno", 0) > line]
    if any(_sets_marker(n) or _adds_to_list(n) for n in behind):
        return None
    given = next((n for n in body if isinstance(n, ast.Assign) and _sets_marker(n) and n.lineno < line), None)
    return span(function.module.source, given) if given is not None else None


def _sets_marker(node: ast.AST) -> bool:
    """``block["cache_control"] = ...``, or a dict that is written down with one."""
    keys = node.keys if isinstance(node, ast.Dict) else []
    keys = [t.slice for t in node.targets if isinstance(t, ast.Subscript)] if isinstance(node, ast.Assign) else keys
    return any(isinstance(key, ast.Constant) and key.value in MARKERS for key in keys)


def _adds_to_list(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("append", "extend", "insert")
    return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)


def mentions_marker(value: Value) -> bool:
    return next(markers_in(value), None) is not None
