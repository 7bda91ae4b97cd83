"""What a graph of nodes (LangGraph) is run on: what no node changes in its state reaches each of them as given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, DictOf, Literal, Unknown, unchanged
from promptlint.code.index import Function
from promptlint.codebase.program import called_name
from promptlint.frozen import replace
from promptlint.link.callers import Caller, meant
from promptlint.link.values import Hole, Routine, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

RUN = "graph-run"
_RUNS = ("invoke", "ainvoke", "stream", "astream", "astream_events")


def of_node(ev: Evaluator, function: Function, builder: Function, added: Call) -> Iterator[Caller]:
    """The runs of the graph that ``builder`` makes a node of a function in, as calls of the function."""
    if called_name(added) != "add_node" or not added.args:
        return
    routine = meant(ev, function, ev.resolve(added.args[-1], ev.generic(builder)))
    changed = _changed(ev, builder) if routine is not None else None
    if routine is None or changed is None:
        return
    for name in _RUNS:
        for caller, run in ev.program.calls_named(name, builder.module):
            state = _state(run)
            if state is None or not _is_run_of(ev, caller, run, builder):
                continue
            kept = tuple((k, v) for k, v in state.items if isinstance(k, Literal) and k.value not in changed)
            given = DictOf(state.at, ((None, Unknown(state.at, "state")), *kept))
            call = replace(run, args=(given,), keywords=())
            ev.keep(given)
            ev.keep(call)
            yield Caller(caller, call, routine, frozenset({RUN}))


def _state(run: Call) -> DictOf | None:
    """The dict that a graph is run on, as it is written."""
    given = run.args[0] if run.args else next((v for k, v in run.keywords if k == "input"), None)
    given = unchanged(given) if given is not None else None
    return given if isinstance(given, DictOf) else None


def _is_run_of(ev: Evaluator, caller: Function, run: Call, builder: Function) -> bool:
    """Whether what is run was made in the function that adds the nodes."""
    if not isinstance(run.func, Attr):
        return False
    made = options(ev.resolve(run.func.base, ev.generic(caller)))
    return any(isinstance(o, Hole) and ev.program.function_at(o.span) is builder for o in made)


def _changed(ev: Evaluator, builder: Function) -> set[str] | None:
    """The keys that the nodes of a graph may set in its state; ``None`` when a node is not known."""
    keys: set[str] = set()
    for call in ev.summary(builder).calls:
        if called_name(call) == "add_node" and call.args:
            nodes = [o for o in options(ev.resolve(call.args[-1], ev.generic(builder))) if isinstance(o, Routine)]
            if not nodes:
                return None
            keys.update(key for node in nodes for key in _set_in(node.function))
    return keys


def _set_in(node: Function) -> Iterator[str]:
    """The constant keys that a function writes, or that stand in a dict or in a state that it makes."""
    for inner in ast.walk(node.node):
        match inner:
            case ast.Subscript(slice=ast.Constant(value=str() as key), ctx=ast.Store()):
                yield key
            case ast.Dict(keys=keys):
                yield from (k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str))
            case (
                ast.Return(value=ast.Call(keywords=given)) | ast.Call(func=ast.Attribute(attr="update"), keywords=given)
            ):
                yield from (k.arg for k in given if k.arg is not None)
