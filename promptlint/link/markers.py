"""Cache markers in values: ``cache_control``, ``cachePoint`` and their like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from math import inf

from promptlint.expression import AfterLoop, Call, Element, Guard, Phi, Test, called_name, children, each_once
from promptlint.frozen import replace
from promptlint.index import Function
from promptlint.link.values import (
    MARKERS,
    Const,
    History,
    Item,
    Map,
    Seq,
    Value,
    join,
    literal,
    options,
)
from promptlint.request import (
    Breakpoint,
)
from promptlint.tokens import Interval


def ttl_of(value: Value) -> str | None:
    for option in options(value):
        if isinstance(option, Map):
            entry = option.entries.get("ttl")
            if entry is None:
                return None if option.rest else "5m"
            return literal(entry.value)
    return None


def is_marked(value: Map) -> bool:
    return bool(value.entries.keys() & MARKERS)


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


def _may_pick_few(guard: Guard) -> bool:
    """Whether a test compares positions or sizes, or looks at what the loop itself carries along."""
    waiting = [guard.test] if guard.test is not None else []
    for node in each_once(waiting):
        if isinstance(node, (Phi, AfterLoop)) or (isinstance(node, Test) and node.op in ("<", "<=", ">", ">=")):
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


def may_be_set(functions: Iterable[Function], sends: Callable[[Function], bool]) -> bool:
    """Whether one of the functions, or one of its file that it calls, sets a marker, in whatever way.

    What is called and sends a request itself marks its own.
    """
    on_the_way = set(functions)
    for module in {f.module for f in on_the_way}:
        if not module.matches(_WRITTEN):
            continue
        waiting = [f for f in module.functions if f.matches(_WRITTEN)]
        seen: set[Function] = set()
        while waiting:
            function = waiting.pop()
            if function in on_the_way:
                return True
            if function not in seen and not sends(function):
                seen.add(function)
                waiting.extend(module.called.get(function.name, ()))
    return False


def mentions_marker(value: Value) -> bool:
    return next(markers_in(value), None) is not None
