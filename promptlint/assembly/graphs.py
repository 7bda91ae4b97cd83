"""Graphs of nodes that hand a state on (LangGraph): which nodes run again on what they have added to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, Definition, DictOf, Either, Expr, Literal, SeqOf, is_none
from promptlint.code.index import Function, Module, terminal
from promptlint.codebase.program import called_name, reference_name

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

_TO_TOOLS = {"tools_condition": ("tools",)}
"""Prebuilt routing functions, with the nodes that they lead to."""


def runs_again(ev: Evaluator, function: Function) -> bool:
    """Whether a function is a node that the edges of its graph lead back to, or of a graph that keeps its state."""
    for around, call in ev.program.handed_over(function.name, function.module):
        if called_name(call) != "add_node" or not isinstance(call.func, Attr):
            continue
        name = _text(call.args[0]) or function.name
        calls = list(_calls(ev, around.module))
        edges = dict.fromkeys(_edges(ev, around.module, calls))
        if _leads(name, name, edges, set()) or any(called_name(c) == "compile" and _keeps(c) for c in calls):
            return True
    return False


def _calls(ev: Evaluator, module: Module) -> Iterator[Call]:
    names = ("add_node", "add_edge", "add_conditional_edges", "compile")
    for function in dict.fromkeys(f for n in names for f in module.called.get(n, ())):
        yield from (c for c in ev.summary(function).calls if called_name(c) in names)


def _keeps(call: Call) -> bool:
    """``compile(checkpointer=...)``."""
    return any(key == "checkpointer" and not is_none(value) for key, value in call.keywords)


def _edges(ev: Evaluator, module: Module, calls: list[Call]) -> Iterator[tuple[str, str]]:
    for call in calls:
        given = [*call.args, *(v for _, v in call.keywords)]
        match called_name(call), given:
            case "add_edge", [start, end, *_]:
                starts = start.items if isinstance(start, SeqOf) else (start,)
                yield from ((s, e) for n in starts if (s := _text(n)) and (e := _text(end)))
            case "add_conditional_edges", [start, path, *ways]:
                source = _text(start)
                ends = list(_texts(ways[0])) if ways else list(_chosen(ev, module, path))
                yield from ((source, end) for end in ends if source)
            case "add_node", [first, *rest]:
                routine = rest[0] if rest else first
                name = _text(first) or reference_name(first)
                yield from ((name, end) for end in _chosen(ev, module, routine) if name)


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


def _text(node: Expr) -> str:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else ""


def _leads(start: str, end: str, edges: dict[tuple[str, str], None], seen: set[str]) -> bool:
    """Whether a way leads from one node to another."""
    for one, other in edges:
        if one == start and other not in seen:
            seen.add(other)
            if other == end or _leads(other, end, edges, seen):
                return True
    return False
