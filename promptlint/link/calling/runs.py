"""Graphs of nodes (LangGraph), and the state that each node is given.

What no node changes there reaches all of them as the run was given it; what one of them returns under a key is what the
others read there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, DictOf, Expr, Found, Literal, SeqOf, Star, is_none, unchanged
from promptlint.code.index import Function, Module, terminal
from promptlint.codebase.program import called_name
from promptlint.frozen import replace
from promptlint.link import containers
from promptlint.link.calling.callers import Caller, meant
from promptlint.link.joining import join
from promptlint.link.values import (
    CALL,
    Entry,
    External,
    History,
    Hole,
    Lazy,
    Map,
    Origin,
    Routine,
    Seq,
    Value,
    options,
    text,
)
from promptlint.request import Axis
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator

RUN = "graph-run"
MESSAGES = "messages"
"""The key under which a state keeps the turns, where its class does not say: what nodes return is added to them."""
_EACH_RUN = 9
"""As often as the graph is run: the level of more loops than stand around any run."""
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
        if _adds(call) and _node(ev, function, builder, call) is not None:
            yield builder, call


def _adds(call: Call) -> bool:
    """``add_node(node)`` or ``add_node("name", node)``."""
    return called_name(call) == "add_node" and bool(call.args)


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
            entries = _run_on(run)
            if not entries or not _is_run_of(ev, caller, run, builder):
                continue
            kept = [(k, v) for k, v in entries if isinstance(k, Literal) and k.value not in changed]
            turns = turns_key(ev, routine.function)
            state = Hole(_state_name(routine.function) or "state", caller.module.span(run.at))
            seen = with_turns(state.name, state.span, _EACH_RUN, turns)
            for key, value in kept:
                seen.entries[str(key.value)] = Entry(Lazy(partial(_each_time, ev, caller, value)), state.span)
            if changed & {turns, MESSAGES} and not _goes_on(ev, builder.module):
                said = ((k, v) for k, v in entries if isinstance(k, Literal) and k.value == turns)
                kept += [
                    (k, _and_more(v, state, turns)) for k, v in said if _keeps_turns(ev.eval(v, ev.generic(caller)))
                ]
            given = DictOf(run.at, ((None, Found(run.at, _state(ev, builder, state, seen, turns))), *kept))
            call = replace(run, args=(given,), keywords=())
            yield Caller(caller, call, routine, frozenset({RUN}))


def _goes_on(ev: Evaluator, module: Module) -> bool:
    """Whether a graph of a module keeps its state from run to run."""
    return any(keeps(call) for f in (module.body, *module.functions) for call in ev.summary(f).calls)


def _keeps_turns(value: Value) -> bool:
    """Whether a list holds turns of earlier runs; else the conversation is no longer than one run."""
    lists = (o for o in options(value) if isinstance(o, Seq))
    return any(isinstance(item, History) for s in lists for item in s.items)


def turns_key(ev: Evaluator, node: Function) -> str:
    """The key under which the state of a graph keeps the turns: that of the field to which messages are added."""
    first = next(iter(node.parameters[node.is_method :]), None)
    annotation = first.annotation if first is not None else None
    state = ev.program.class_named(annotation, node.module) if annotation is not None else None
    for cls in ev.program.mro(state) if state is not None else ():
        for name, (declared, _) in cls.fields.items():
            parts = ast.walk(declared) if declared is not None else ()
            if any(isinstance(part, ast.expr) and terminal(part) == "add_messages" for part in parts):
                return name
    return MESSAGES


def _and_more(given: Expr, state: Hole, turns: str) -> Expr:
    """The messages that a run is given, and those that the nodes add to them."""
    added = Hole(f'{state.name}["{turns}"]', state.span, root=True)
    return SeqOf(given.at, "list", (Star(given.at, given), Star(given.at, Found(given.at, added))))


def keeps(call: Call) -> bool:
    """``compile(checkpointer=...)``."""
    given = [value for key, value in call.keywords if key == "checkpointer"] if called_name(call) == "compile" else []
    return any(not is_none(value) for value in given)


def _run_on(run: Call) -> tuple[tuple[Expr | None, Expr], ...]:
    """The entries of the dict, or of the object, that a graph is run on, as it is written; none where it is not."""
    given = run.args[0] if run.args else next((v for k, v in run.keywords if k == "input"), None)
    given = unchanged(given) if given is not None else None
    if isinstance(given, Call):
        return tuple((Literal(given.at, key), value) for key, value in given.keywords if key)
    return given.items if isinstance(given, DictOf) else ()


def _is_run_of(ev: Evaluator, caller: Function, run: Call, builder: Function) -> bool:
    """Whether what is run was made in the function that adds the nodes, or of what that gives."""
    for made in options(ev.resolve(run.func.base, ev.generic(caller))) if isinstance(run.func, Attr) else ():
        maker = ev.program.body_at(made.span) if isinstance(made, (Hole, External)) else None
        if maker is builder:
            return True
        compiling = (c for c in ev.summary(maker).calls if called_name(c) == "compile") if maker is not None else ()
        for func in (c.func for c in compiling if isinstance(c.func, Attr)):
            graphs = options(ev.resolve(func.base, ev.generic(maker))) if maker is not None else ()
            if any(isinstance(g, (Hole, External)) and ev.program.body_at(g.span) is builder for g in graphs):
                return True
    return False


def _changed(ev: Evaluator, builder: Function) -> set[str] | None:
    """The keys that the nodes of a graph may set in its state; ``None`` when a node is not known."""
    keys: set[str] = set()
    for node in _added(ev, builder):
        if isinstance(node, Routine):
            keys.update(_keys_set_by(node.function))
        elif isinstance(node, External) and node.name.endswith(".ToolNode"):
            keys.add(MESSAGES)
        else:
            return None
    return keys


def _added(ev: Evaluator, builder: Function) -> Iterator[Value]:
    """What a function adds to graphs as their nodes."""
    for call in filter(_adds, ev.summary(builder).calls):
        yield from options(ev.resolve(call.args[-1], ev.generic(builder)))


def _keys_set_by(node: Function) -> Iterator[str]:
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


# -- what the nodes hand on ----------------------------------------------------------------------------------------


def state_of_node(ev: Evaluator, function: Function, given: Hole) -> Value:
    """What a function is ``given`` as its first parameter, with what nodes put there where it is a node itself."""
    if given.name != _state_name(function) or not _is_dict(ev, function, given.name):
        return given
    builder = next((builder for builder, _ in nodes(ev, function)), None)
    turns = turns_key(ev, function)
    seen = with_turns(given.name, given.span, _EACH_RUN, turns)
    return _state(ev, builder, given, seen, turns) if builder is not None else given


def with_turns(name: str, span: Span, level: int, key: str = MESSAGES) -> Map:
    """A state of which nothing is known but that it keeps the turns, of which one is added at ``level``."""
    turns = Origin("history", f'{name}["{key}"]', span, level, frozenset({Axis.TURN, Axis.CALL}))
    return Map({key: Entry(Hole(key, span, (turns,)), span)}, span, rest=(Hole(name, span),))


def _each_time(ev: Evaluator, caller: Function, node: Expr) -> Value:
    """What a run is given anew."""

    def how(origin: Origin) -> Origin:
        return replace(origin, level=_EACH_RUN) if origin.level >= CALL else origin

    return ev.eval(node, ev.generic(caller)).change(how)


def _state(ev: Evaluator, builder: Function, given: Hole, seen: Map, turns: str) -> Value:
    """The state of the graphs that ``builder`` makes: ``given``, but for the keys that their nodes set.

    ``seen`` is what the nodes are given that set them; ``turns`` is the key under which they add to the turns.
    """
    written: dict[str, Entry] = {}
    routines = tuple(dict.fromkeys(o.function for o in _added(ev, builder) if isinstance(o, Routine)))
    for key in sorted({key for node in routines for key in _keys_set_by(node)} - {turns}):
        written[key] = Entry(Lazy(partial(_under, ev, routines, key, given, seen)), given.span)
    return Map(written, given.span, rest=(given,)) if written else given


def _under(ev: Evaluator, routines: tuple[Function, ...], key: str, given: Hole, seen: Map) -> Value:
    """What nodes return under a key of the state."""
    active = ("state", routines, key)
    before = containers.item(given, text(key, given.span), given.span, f'{given.name}["{key}"]')
    if active in ev.attributes_active:
        return before
    ev.attributes_active.add(active)
    try:
        found = [value for node in routines for value in _returned(ev, node, key, seen)]
    finally:
        ev.attributes_active.discard(active)
    return join(found) if any(value.origins() for value in found) else join((*found, before))


def _returned(ev: Evaluator, node: Function, key: str, seen: Map) -> Iterator[Value]:
    """What one node returns under a key, when it is given a state."""
    frame = ev.new_frame(node, _EACH_RUN, this=ev.generic(node).this)
    frame.arguments[_state_name(node) or ""] = seen
    for returned in ev.summary(node).returns:
        for option in options(ev.eval(returned, frame)):
            if isinstance(option, Map) and key in option.entries:
                yield option.entries[key].value


def _state_name(node: Function) -> str | None:
    first = next(iter(node.parameters[node.is_method :]), None)
    return first.name if first is not None else None


def _is_dict(ev: Evaluator, function: Function, name: str) -> bool:
    """Whether a function looks for keys in a parameter; the state may also be a list of messages, or an object."""
    known = ev.keyed.get((function, name))
    if known is None:
        known = ev.keyed[function, name] = _looks_for_keys(function, name)
    return known


def _looks_for_keys(function: Function, name: str) -> bool:
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
