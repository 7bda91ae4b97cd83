"""Context variables and queues: what one function sets or puts there, and another one reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call
from promptlint.codebase.program import reference_name
from promptlint.frozen import replace
from promptlint.link.calling.given import Given
from promptlint.link.joining import join
from promptlint.link.values import CALL, External, Instance, Value, kept_in, options
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

TYPE = "contextvars.ContextVar"
QUEUES = frozenset(
    f"{module}.{name}"
    for module in ("asyncio", "asyncio.queues", "queue", "multiprocessing")
    for name in ("Queue", "SimpleQueue", "LifoQueue", "PriorityQueue", "JoinableQueue")
)
MAX_SETTERS = 6


def value_of(ev: Evaluator, variable: External, node: Call, span: Span) -> Value | None:
    """The text, list or dict that ``variable.get()`` gives; ``None`` when the program sets nothing, or too many things.

    An object that is handed around so is found better by what its methods are called: see ``objects.by_name``.
    """
    name = reference_name(node.func.base) if isinstance(node.func, Attr) else None
    key = ("context", variable.span)
    if name is None or key in ev.attributes_active:
        return None
    known = _known(ev, key, lambda: _set(ev, variable, name))
    return known.along(kept_in(name, span)) if known is not None and known.origins() else known


def taken(ev: Evaluator, queue: External, args: Given) -> Value | None:
    """What ``queue.get()`` gives, another one each time; ``None`` when what is put there is not seen."""
    key = ("queue", queue.span)
    known = _known(ev, key, lambda: _put(ev, queue)) if key not in ev.attributes_active else None
    if known is None:
        return None
    step, level = Step(args.span, "taken from a queue"), args.level
    return known.change(lambda o: replace(o.via(step), level=max(o.level, level)) if o.level >= CALL else o)


def _known(ev: Evaluator, key: tuple[object, ...], find: Callable[[], Iterator[Value]]) -> Value | None:
    """The few values that are found to have been set, which are looked for once."""
    known = ev.attribute_cache.get(key)
    if known is None:
        ev.attributes_active.add(key)
        try:
            found = list(islice(find(), MAX_SETTERS + 1))
        finally:
            ev.attributes_active.discard(key)
        if not 0 < len(found) <= MAX_SETTERS or any(isinstance(o, Instance) for v in found for o in options(v)):
            return None
        known = ev.attribute_cache[key] = join(found)
    return known


def _put(ev: Evaluator, queue: External) -> Iterator[Value]:
    """The values that are put into this queue."""
    for name in ("put", "put_nowait"):
        for module in ev.program.mentioning(name, rf"\.{name}\("):
            for function in module.called.get(name, ()):
                for call in ev.summary(function).calls:
                    if isinstance(call.func, Attr) and call.func.name == name and call.args:
                        own = ev.generic(function)
                        if _is(queue, ev.eval(call.func.base, own)):
                            yield ev.eval(call.args[0], own)


def _is(made: External, value: Value) -> bool:
    return any(isinstance(o, External) and o.span == made.span for o in options(value))


def _set(ev: Evaluator, variable: External, name: str) -> Iterator[Value]:
    """The values that calls of ``set`` on this variable are given."""
    for module in ev.program.mentioning(name, rf"{name}\.set\("):
        for function in module.called.get("set", ()):
            for call in ev.summary(function).calls:
                func = call.func
                if not (isinstance(func, Attr) and func.name == "set" and reference_name(func.base) == name):
                    continue
                own = ev.generic(function)
                if len(call.args) == 1 and _is(variable, ev.eval(func.base, own)):
                    yield ev.eval(call.args[0], own)
