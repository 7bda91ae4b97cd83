"""Tests by which a comprehension takes the newest of the kept turns: by their age, or by their place in the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlint.code.expression import ORDERS, Attr, Call, Element, Expr, Test
from promptlint.code.expression import Item as ItemOf
from promptlint.link.turns import starts
from promptlint.link.turns.alike import index_of
from promptlint.link.values import Edit

if TYPE_CHECKING:
    from promptlint.code.expression import Clause
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


def cut(ev: Evaluator, clause: Clause, frame: Frame) -> Edit | None:
    """The cut of a list of which a loop takes only what is new enough: its elements grow too old one by one."""
    loop, _, tests = clause
    for test in tests:
        if not isinstance(test, Test) or test.op not in ORDERS or len(test.parts) != 2:
            continue
        less, more = test.parts if test.op in ("<", "<=") else test.parts[::-1]
        place = index_of(more)
        tail = starts.counted(ev, less, None, frame) if place is not None and place.loop == loop else None
        if tail is not None or _is_of_now(ev, less, frame):
            keeps = tail.keeps if tail is not None else None
            return Edit("window", ev.span(frame, test), f"if {ev.snippet(frame, test.at)}", keeps=keeps)
    return None


def _is_of_now(ev: Evaluator, less: Expr, frame: Frame) -> bool:
    """Whether what has to be less is made of the present time: ``now - turn.at < HOUR``, ``turn.at > now - HOUR``."""
    return not _is_read(less) and any(o.kind == "time" for o in ev.eval(less, frame).origins())


def _is_read(node: Expr) -> bool:
    """Whether an expression only reads something of an element, which holds the time at which it was made."""
    while isinstance(node, (Attr, ItemOf, Call)):
        node = node.func if isinstance(node, Call) else node.base
    return isinstance(node, Element)
