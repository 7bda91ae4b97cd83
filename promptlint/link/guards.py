"""The tests around a change: does it happen always, above a threshold, on a command, or after an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptlint.expression import Attr as AttrNode
from promptlint.expression import Binary, Expr, Guard, Test
from promptlint.expression import Call as CallNode
from promptlint.expression import Global as GlobalNode
from promptlint.link.switches import asks_for_command
from promptlint.link.values import (
    Const,
    options,
)

if TYPE_CHECKING:
    from promptlint.index import Function
    from promptlint.link.evaluate import Evaluator

LARGE_MESSAGES, LARGE_TOKENS = 40, 32_000
"""A threshold above which a rewrite counts as rare, in messages and in tokens."""
SIZE_NAMES = re.compile(
    r"(len|count|token|size|num|total|length|chars|usage|budget|utili[sz]ation|context_ratio|fill)", re.IGNORECASE
)


def guard_of(ev: Evaluator, guards: tuple[Guard, ...], function: Function) -> tuple[str, float | None]:
    """The kind of guard around a change in ``function``, and the number that a threshold compares with."""
    for guard in reversed(guards):
        if guard.error:
            return "error", None
        test = guard.test
        if isinstance(test, Test) and test.op in (">", ">=", "<", "<=") and len(test.parts) == 2:
            left, right = test.parts
            if _counts(left) or _counts(right):
                limit = next(
                    (
                        v.value
                        for p in (right, left)
                        for o in options(ev.eval(p, ev.generic(function)))
                        if isinstance(v := o, Const) and isinstance(v.value, (int, float))
                    ),
                    None,
                )
                # A share of the context is no number of messages.
                if limit is None or (isinstance(limit, float) and 0 <= limit <= 1):
                    return "threshold", None
                return "threshold", limit * LARGE_MESSAGES / LARGE_TOKENS if _tokens(left) or _tokens(right) else float(
                    limit
                )
        if asks_for_command(guard):
            return "command", None
        if not guard.sense:
            continue
        if isinstance(test, CallNode) and _names_size(test):
            return "threshold", None
    return "always", None


def _counts(node: Expr) -> bool:
    if isinstance(node, CallNode):
        if isinstance(node.func, GlobalNode) and node.func.name == "len":
            return True
        return _names_size(node)
    if isinstance(node, (AttrNode, GlobalNode)):
        return bool(SIZE_NAMES.search(node.name))
    if isinstance(node, Binary):
        return _counts(node.left) or _counts(node.right)
    return False


def _tokens(node: Expr) -> bool:
    """Whether what is compared is a number of tokens or characters, and no number of messages."""
    if isinstance(node, CallNode):
        return _tokens(node.func)
    return isinstance(node, (AttrNode, GlobalNode)) and bool(re.search(r"token|char", node.name, re.IGNORECASE))


def _names_size(node: CallNode) -> bool:
    func = node.func
    name = func.name if isinstance(func, (AttrNode, GlobalNode)) else ""
    return bool(SIZE_NAMES.search(name) or re.search(r"(should|needs?|over|exceed|too_)", name))
