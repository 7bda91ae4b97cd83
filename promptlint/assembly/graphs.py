"""Graphs of nodes that hand a state on (LangGraph): which nodes run again on what they have added to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Call, Definition, DictOf, Either, Expr, Literal, SeqOf
from promptlint.code.index import Function, Module, terminal
from promptlint.codebase.program import called_name, reference_name
from promptlint.link import containers
from promptlint.link.calling import runs
from promptlint.link.calling.callers import meant
from promptlint.link.loops import Binding
from promptlint.link.values import Map, Seq, Value, literal

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

_TO_TOOLS = {"tools_condition": ("tools",)}
"""Prebuilt routing functions, with the nodes that they lead to."""


def runs_again(ev: Evaluator, function: Function) -> bool:
    """Whether a function is a node that the edges of its graph lead back to, or of a graph that keeps its state."""
    for around, call in runs.nodes(ev, function):
        steps = list(_steps(ev, around.module))
        edges = dict.fromkeys(e for step in steps for e in _edges(ev, around.module, *step))
        for frame in _frames(ev, around, call):
            if meant(ev, function, ev.eval(call.args[-1], frame)) is not None:
                name = literal(ev.eval(call.args[0], frame)) or function.name
                if _leads(name, name, edges, set()):
                    return True
        if any(runs.keeps(c) for _, c in steps):
            return True
    return False


def _steps(ev: Evaluator, module: Module) -> Iterator[tuple[Frame, Call]]:
    """The calls that build graphs, each time that a loop makes them."""
    names = ("add_node", "add_edge", "add_conditional_edges", "compile")
    for function in dict.fromkeys(f for n in names for f in module.called.get(n, ())):
        for call in ev.summary(function).calls:
            if called_name(call) in names:
                yield from ((frame, call) for frame in _frames(ev, function, call))


def _frames(ev: Evaluator, function: Function, call: Call) -> Iterator[Frame]:
    """A frame for each element of the list that the loop around a call goes through."""
    frame = ev.generic(function)
    loop = ev.summary(function).loops.get(call.loops[-1]) if call.loops else None
    if loop is None or loop.iterable is None:
        yield frame
        return
    for item in containers.as_seq(ev, ev.eval(loop.iterable, frame), ev.span(frame, call)).items:
        yield frame.bind(loop.id, Binding(item.value))


def _edges(ev: Evaluator, module: Module, frame: Frame, call: Call) -> Iterator[tuple[str, str]]:
    given = [*call.args, *(v for _, v in call.keywords)]
    match called_name(call), given:
        case "add_edge", [start, end, *_]:
            ends = list(_named(ev.eval(end, frame)))
            yield from ((source, e) for source in _named(ev.eval(start, frame)) for e in ends)
        case "add_conditional_edges", [start, path, *ways]:
            ends = list(_named(ev.eval(ways[0], frame)) if ways else _chosen(ev, module, path))
            yield from ((source, e) for source in _named(ev.eval(start, frame)) for e in ends)
        case "add_node", [first, *rest]:
            name = literal(ev.eval(first, frame)) or reference_name(first)
            yield from ((name, end) for end in _chosen(ev, module, rest[0] if rest else first) if name)


def _named(value: Value) -> Iterator[str]:
    """The nodes that a text, a list of texts or a dict with texts names."""
    if (name := literal(value)) is not None:
        yield name
    elif isinstance(value, Seq):
        yield from (name for item in value.items if (name := literal(item.value)) is not None)
    elif isinstance(value, Map):
        yield from (name for entry in value.entries.values() if (name := literal(entry.value)) is not None)


def _chosen(ev: Evaluator, module: Module, node: Expr) -> Iterator[str]:
    """The nodes that a function names as the next one: in its annotation, or in what it returns."""
    name = reference_name(node) or ""
    yield from _TO_TOOLS.get(name, ())
    found = [f for m in ev.program.mentioning(name) for f in m.functions if f.name == name] if name else []
    if isinstance(node, Definition) and isinstance(here := module.definitions.get(node.node), Function):
        found = [here]
    for function in found:
        yield from _annotated(getattr(function.node, "returns", None))
        for returned in ev.summary(function).returns:
            yield from _texts(returned)


def _annotated(node: ast.expr | None) -> Iterator[str]:
    """``Literal["a", "b"]``, also in ``Command[...]``."""
    for inner in ast.walk(node) if node is not None else ():
        if isinstance(inner, ast.Subscript) and terminal(inner.value) == "Literal":
            values = inner.slice.elts if isinstance(inner.slice, ast.Tuple) else [inner.slice]
            yield from (v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str))


def _texts(node: Expr, depth: int = 0) -> Iterator[str]:
    """The texts that a value may be, or names: ``"a" if x else "b"``, ``{True: "a"}``, ``Command(goto="a")``."""
    if depth > 8:
        return
    match node:
        case Literal(value=str(value)):
            yield value
        case Either(options=ways) | SeqOf(items=ways):
            for way in ways:
                yield from _texts(way, depth + 1)
        case DictOf(items=pairs):
            for _, target in pairs:
                yield from _texts(target, depth + 1)
        case Call(keywords=keywords) if called_name(node) == "Command":
            for key, target in keywords:
                if key == "goto":
                    yield from _texts(target, depth + 1)


def _leads(start: str, end: str, edges: dict[tuple[str, str], None], seen: set[str]) -> bool:
    """Whether a way leads from one node to another."""
    for one, other in edges:
        if one == start and other not in seen:
            seen.add(other)
            if other == end or _leads(other, end, edges, seen):
                return True
    return False
