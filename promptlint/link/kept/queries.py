"""Queries to a database as they are put together by calls: in which order they give their rows."""

from __future__ import annotations

import re

from promptlint.code.expression import (
    Attr,
    Call,
    Expr,
    Free,
    Global,
    Import,
    Literal,
    Param,
    Test,
    called_name,
    unchanged,
    within,
)

_ORDERS = frozenset(("order_by", "sort", "order"))
_DESCENDING = re.compile(r"^-|\bdesc(ending)?\b", re.IGNORECASE)
MAX_ORDER = 40


def is_newest_first(query: Expr) -> bool | None:
    """Whether a query is put in an order that may be descending; ``None`` where it is put in none."""
    node = unchanged(query)
    while isinstance(node, Call) and isinstance(node.func, Attr):
        if called_name(node) in _ORDERS:
            return any(map(_may_descend, within((*node.args, *(v for _, v in node.keywords)), MAX_ORDER)))
        node = unchanged(node.func.base)
    return None


def _may_descend(part: Expr) -> bool:
    """Whether a part of what rows are ordered by may turn the order round."""
    match part:
        case Literal(value=str() as column):
            return _DESCENDING.search(column) is not None
        case Literal(value=value):
            return value == -1 or value is True
        case Attr(name=name) | Global(name=name) | Import(dotted=name):
            return "desc" in name.lower()
    return isinstance(part, (Param, Free, Test))
