"""What a graph of nodes (LangGraph) is run on: what no node changes in its state reaches each of them as given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, DictOf, Expr, Literal, Unknown, unchanged
from promptlint.code.index import Function
from promptlint.codebase.program import called_name
from promptlint.frozen import replace
from promptlint.link.callers import Caller, meant
from promptlint.link.values import External, Hole, Routine, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

RUN = "graph-run"
_RUNS = ("invoke", "ainvoke", "stream", "astream", "astream_events")


def nodes(ev: Evaluator, function: Function) -> Iterator[tuple[Function, Call]]:
    """The calls that make a node of a function, by its name or as what its maker returns, and where they stand."""
    near, maker = function.module, function.parent
    adding = list(ev.program.handed_over(function.name, near))
    if maker is not None and not isinstance(maker.node, ast.Module):
        makers = dict.fromkeys(
            f for f, _ in ev.program.calls_named(maker.name, near) if f.module.called.get("add_node")
        )
        adding += [(f, call) for f in makers for call in ev.summary(f).calls]
    for builder, call in adding:
        if called_name(call) == "add_node" and call.args and _node(ev, function, builder, call) is not None:
            yield builder, call


def _node(ev: Evaluator, function: Function, builder: Function, added: Call) -> Routine | None:
    return meant(ev, function, ev.resolve(added.args[-1], ev.generic(builder)))


def of_node(ev: Evaluator, function: Function) -> Iterator[Caller]:
    """The runs of the graphs that a function is a node of, as calls of it."""
    for builder, added in nodes(ev, function):
        routine, changed = _node(ev, function, builder, added), _changed(ev, builder)
        if routine is not None and changed is not None:
            yield from _runs(ev, builder, routine, changed)


def _runs(ev: Evaluator, builder: Function, routine: Routine, changed: set[str]) -> Iterator[Caller]:
    for name in _RUNS:
        for caller, run in ev.program.calls_named(name, builder.module):
            state = _state(run)
            if not state or not _is_run_of(ev, caller, run, builder):
                continue
            kept = tuple((k, v) for k, v in state if isinstance(k, Literal) and k.value not in changed)
            given = DictOf(run.at, ((None, Unknown(run.at, "state")), *kept))
            call = replace(run, args=(given,), keywords=())
            ev.keep(given)
            ev.keep(call)
            yield Caller(caller, call, routine, frozenset({RUN}))


def _state(run: Call) -> tuple[tuple[Expr | None, Expr], ...]:
    """The entries of the dict, or of the object, that a graph is run on, as it is written; none where it is not."""
    given = run.args[0] if run.args else next((v for k, v in run.keywords if k == "input"), None)
    given = unchanged(given) if given is not None else None
    if isinstance(given, Call):
        return tuple((Literal(given.at, key), value) for key, value in given.keywords if key)
    return given.items if isinstance(given, DictOf) else ()


def _is_run_of(ev: Evaluator, caller: Function, run: Call, builder: Function) -> bool:
    """Whether what is run was made in the function that adds the nodes, or of what that gives."""
    for made in options(ev.resolve(run.func.base, ev.generic(caller))) if isinstance(run.func, Attr) else ():
        maker = ev.program.function_at(made.span) if isinstance(made, Hole) else None
        if maker is builder:
            return True
        compiling = (c for c in ev.summary(maker).calls if called_name(c) == "compile") if maker is not None else ()
        for func in (c.func for c in compiling if isinstance(c.func, Attr)):
            graphs = options(ev.resolve(func.base, ev.generic(maker))) if maker is not None else ()
            if any(isinstance(g, (Hole, External)) and ev.program.function_at(g.span) is builder for g in graphs):
                return True
    return False


def _changed(ev: Evaluator, builder: Function) -> set[str] | None:
    """The keys that the nodes of a graph may set in its state; ``None`` when a node is not known."""
    keys: set[str] = set()
    for call in ev.summary(builder).calls:
        if called_name(call) == "add_node" and call.args:
            for node in options(ev.resolve(call.args[-1], ev.generic(builder))):
                if isinstance(node, Routine):
                    keys.update(_set_in(node.function))
                elif isinstance(node, External) and node.name.endswith(".ToolNode"):
                    keys.add("messages")
                else:
                    return None
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
