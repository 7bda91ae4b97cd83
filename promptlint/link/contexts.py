"""Context variables: what one function sets and another one, below it in the same task, reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call
from promptlint.codebase.program import reference_name
from promptlint.link.values import KEPT, External, Instance, Value, join, options
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

TYPE = "contextvars.ContextVar"
MAX_SETTERS = 6


def value_of(ev: Evaluator, variable: External, node: Call, span: Span) -> Value | None:
    """The text, list or dict that ``variable.get()`` gives; ``None`` when the program sets nothing, or too many things.

    An object that is handed around so is found better by what its methods are called: see ``objects.by_name``.
    """
    name = reference_name(node.func.base) if isinstance(node.func, Attr) else None
    key = ("context", variable.span)
    if name is None or key in ev.attributes_active:
        return None
    known = ev.attribute_cache.get(key)
    if known is None:
        ev.attributes_active.add(key)
        try:
            found = list(_set(ev, variable, name))
        finally:
            ev.attributes_active.discard(key)
        if not found or len(found) > MAX_SETTERS or any(isinstance(o, Instance) for v in found for o in options(v)):
            return None
        known = ev.attribute_cache[key] = join(found)
    return known.along(Step(span, f"{KEPT}in {name}")) if known.origins() else known


def _set(ev: Evaluator, variable: External, name: str) -> Iterator[Value]:
    """The values that calls of ``set`` on this variable are given."""
    for module in ev.program.mentioning(name, rf"{name}\.set\("):
        for function in module.called.get("set", ()):
            for call in ev.summary(function).calls:
                func = call.func
                if not (isinstance(func, Attr) and func.name == "set" and reference_name(func.base) == name):
                    continue
                own = ev.generic(function)
                same = any(
                    isinstance(o, External) and o.span == variable.span for o in options(ev.eval(func.base, own))
                )
                if same and len(call.args) == 1:
                    yield ev.eval(call.args[0], own)
