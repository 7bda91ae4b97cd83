"""Cache markers in values: ``cache_control``, ``cachePoint`` and their like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from promptlint.link import containers
from promptlint.link.values import (
    Const,
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
from promptlint.span import Span
from promptlint.tokens import Interval

if TYPE_CHECKING:
    pass


def ttl_of(value: Value) -> str | None:
    for option in options(value):
        if isinstance(option, Map):
            entry = option.entries.get("ttl")
            if entry is None:
                return None if option.rest else "5m"
            return literal(entry.value)
    return None


def is_marked(value: Map) -> bool:
    return bool(value.entries.keys() & containers.MARKERS)


def own_markers(value: Map) -> Iterator[Breakpoint]:
    for key in containers.MARKERS & value.entries.keys():
        entry = value.entries[key]
        kept = [o for o in options(entry.value) if not (isinstance(o, Const) and o.value is None)]
        if kept:
            yield Breakpoint(
                entry.span,
                0,
                ttl_of(join(kept)),
                optional=entry.optional or len(kept) < len(list(options(entry.value))),
                key=key,
            )


def markers_in(value: Value, depth: int = 0) -> Iterator[Breakpoint]:
    """The markers anywhere in a value."""
    if depth > 6:
        return
    for option in options(value):
        if isinstance(option, Map):
            yield from own_markers(option)
            for key, entry in option.entries.items():
                if key not in containers.MARKERS:
                    yield from markers_in(entry.value, depth + 1)
        elif isinstance(option, Seq):
            for item in option.items:
                yield from markers_in(item.value, depth + 1)


def for_each(marker: Breakpoint, loop: Span) -> Breakpoint:
    """A marker that every one of an unknown number of elements carries."""
    return replace(marker, count=Interval(1, inf), loop=loop)


def mentions_marker(value: Value) -> bool:
    return next(markers_in(value), None) is not None
