"""The state of a graph (LangGraph): what one node puts under a key is what the others read there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from promptlint.code.expression import Call, DictOf, Expr, Literal, Mutate, called_name, each_once, earlier
from promptlint.code.index import Function
from promptlint.link.values import CALL, Entry, Hole, Lazy, Map, Origin, Routine, Value, join, options
from promptlint.request import Axis
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

MESSAGES = "messages"
"""The key under which the state keeps the turns: what nodes return there is added to them."""


def state_of_graph(ev: Evaluator, function: Function, given: Hole) -> Value:
    """What a node is given: ``given``, with what the nodes of its graph put under keys of the state."""
    if given.name != _state_name(function) or not _is_dict(function, given.name):
        return given
    nodes = tuple(_nodes(ev, function))
    keys = {key for node in nodes for returned in ev.summary(node).returns for key in _keys(returned)}
    written = {key: Entry(Lazy(partial(_under, ev, nodes, key, given)), given.span) for key in sorted(keys)}
    return Map(written, given.span, rest=(given,)) if written else given


def with_turns(name: str, span: Span, level: int = CALL) -> Map:
    """A state of which nothing is known but that it keeps the turns, of which one is added at ``level``."""
    turns = Origin("history", f'{name}["{MESSAGES}"]', span, level, frozenset({Axis.TURN, Axis.CALL}))
    return Map({MESSAGES: Entry(Hole(MESSAGES, span, (turns,)), span)}, span, rest=(Hole(name, span),))


def _state_name(function: Function) -> str | None:
    """The first parameter of a node."""
    first = next(iter(function.parameters[function.is_method :]), None)
    return first.name if first is not None else None


def _is_dict(function: Function, name: str) -> bool:
    """Whether a function looks for keys in a parameter; the state may also be a list of messages, or an object."""
    for node in ast.walk(function.syntax):
        match node:
            case ast.Subscript(value=ast.Name(id=used), slice=ast.Constant(value=str())):
                found = used == name
            case ast.Attribute(value=ast.Name(id=used), attr="get"):
                found = used == name
            case _:
                continue
        if found:
            return True
    return False


def _nodes(ev: Evaluator, function: Function) -> Iterator[Function]:
    """The nodes of the graphs that a function is added to."""
    adding = (around for around, call in ev.program.handed_over(function.name, function.module) if _adds(call))
    for module in dict.fromkeys(around.module for around in adding):
        for around in module.called.get("add_node", ()):
            for call in filter(_adds, ev.summary(around).calls):
                for option in options(ev.resolve(call.args[-1], ev.generic(around))):
                    if isinstance(option, Routine):
                        yield option.function


def _adds(call: Call) -> bool:
    """``add_node(node)`` or ``add_node("name", node)``."""
    return called_name(call) == "add_node" and bool(call.args)


def _keys(returned: Expr) -> Iterator[str]:
    """The keys of the state that a node returns, or sets in what it returns."""
    waiting = [returned]
    for node in each_once(waiting):
        waiting.extend(earlier(node))
        if isinstance(node, Call) and called_name(node) == "Command":
            waiting.extend(value for name, value in node.keywords if name == "update")
        named = [k for k, _ in node.items] if isinstance(node, DictOf) else []
        named += node.args[:1] if isinstance(node, Mutate) and node.op == "setitem" else []
        texts = (k.value for k in named if isinstance(k, Literal))
        yield from (key for key in texts if isinstance(key, str) and key != MESSAGES)


def _under(ev: Evaluator, nodes: tuple[Function, ...], key: str, given: Hole) -> Value:
    """What the nodes put under a key; it changes with the turns so far where they look at these."""
    active = ("channel", nodes, key)
    shown = f'{given.name}["{key}"]'
    if active in ev.attributes_active:
        return Hole(shown, given.span)
    seen = with_turns(given.name, given.span)
    found: list[Value] = []
    ev.attributes_active.add(active)
    try:
        for node in dict.fromkeys(nodes):
            frame = ev.new_frame(node, CALL, this=ev.generic(node).this)
            frame.arguments[_state_name(node) or ""] = seen
            returned = (o for r in ev.summary(node).returns for o in options(ev.eval(r, frame)))
            found += [o.entries[key].value for o in returned if isinstance(o, Map) and key in o.entries]
    finally:
        ev.attributes_active.discard(active)
    if not any(value.origins() for value in found):
        found.append(Hole(shown, given.span))
    return join(found)
