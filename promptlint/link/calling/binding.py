"""What a parameter gets: from a call, from its declaration, from those who call the function, or from outside."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    At,
    Binary,
    Call,
    Definition,
    Either,
    Expr,
    Free,
    Import,
    SeqOf,
    Star,
)
from promptlint.code.expression import Item as ExprItem
from promptlint.code.index import Class, Function, Module, Parameter, dotted
from promptlint.link import containers
from promptlint.link.calling import callers, runs
from promptlint.link.joining import join
from promptlint.link.values import (
    IMPORT,
    SESSION,
    Entry,
    External,
    Hole,
    Instance,
    Item,
    Map,
    One,
    Origin,
    Rest,
    Routine,
    Seq,
    Type,
    Value,
    options,
    union,
)
from promptlint.request import Axis, Carrier
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


MAX_JOINED_CALLERS = 6
MAX_ALIASES = 6
DICTS = frozenset(["typing.TypedDict", "typing_extensions.TypedDict", "TypedDict"])
STATES = frozenset(
    [
        *("langgraph.graph.MessagesState", "langgraph.graph.message.MessagesState"),
        *("langgraph.prebuilt.chat_agent_executor.AgentState", "langchain.agents.AgentState"),
    ]
)
"""Dicts of a graph that keep the turns: what else is there is mostly what the conversation is about."""


CARRIERS = {
    "pydantic_ai.RunContext": "deps",
    "pydantic_ai.tools.RunContext": "deps",
    "agents.RunContextWrapper": "context",
    "agents.run_context.RunContextWrapper": "context",
    "agents.tool_context.ToolContext": "context",
    "langgraph.runtime.Runtime": "context",
}
"""Classes of libraries that hand the program's own object to its functions, and the attribute that holds it."""


def receiver(ev: Evaluator, frame: Frame) -> Value | None:
    """``self`` (or ``cls``) of the method that ``frame`` runs."""
    function = frame.function
    if not function.is_method:
        return None
    return ev.parameter(frame, function.parameters[0].name)


def declaration(function: Function) -> Span:
    """Where a function starts, which stands for its parameters."""
    return function.module.span(At.start(function.node))


def unbound_parameter(ev: Evaluator, frame: Frame, name: str) -> Value:
    """A parameter of an activation that no known call made: by annotation, callers, default, or open."""
    function = frame.function
    parameter = function.parameter(name)
    span = function.module.span(At.start(function.node))
    if parameter is None:
        return Hole(name, span)
    if parameter.kind == "args":
        return Seq("tuple", (Rest(Hole(name, span, root=True), span),), span)
    if parameter.kind == "kwargs":
        return Map({}, span, (Hole(name, span, root=True),), open=(f"**{name}",))
    if ev.joining < 2 and declared_value(ev, parameter.annotation, function.module, span) is None:
        ev.joining += 1
        try:
            found = _from_callers(ev, function, name)
        finally:
            ev.joining -= 1
        if found is not None:
            return found
    return given_from_outside(ev, frame, parameter)


def given_from_outside(ev: Evaluator, frame: Frame, parameter: Parameter) -> Value:
    """A parameter that no call in the project fills in: by annotation, default, or open."""
    module, span = frame.module, declaration(frame.function)
    declared = declared_value(ev, parameter.annotation, module, span)
    if declared is not None:
        return declared
    if parameter.default is not None and not _is_none(parameter.default):
        if _USER.search(parameter.name) and _is_injected(ev, parameter.default, module):
            return entry_value(frame, parameter.name, span)
        return default_value(ev, frame.function, parameter.default, frame.parent)
    cls = ev.program.class_named(parameter.annotation, module) if parameter.annotation is not None else None
    if cls is not None and ev.program.foreign_bases(cls) & STATES:
        return runs.state_of_node(ev, frame.function, Hole(parameter.name, span, root=True))
    return runs.state_of_node(ev, frame.function, entry_value(frame, parameter.name, span))


_USER = re.compile(r"(^|_)(user|tenant|account|customer|member)(_|$)")


def _is_injected(ev: Evaluator, default: ast.expr, module: Module) -> bool:
    """Whether FastAPI fills in a parameter for each call (``= Depends(get_current_user)``): who calls, by its name."""
    called = ev.program.qualified(default.func, module) if isinstance(default, ast.Call) else None
    return called in ("fastapi.Depends", "fastapi.Security", "fastapi.param_functions.Depends")


def entry_value(frame: Frame, name: str, span: Span) -> Hole:
    """A parameter that the outside fills in."""
    return Hole(name, span, (handed_in(name, span, frame.level),), root=True)


def handed_in(name: str, span: Span, level: int) -> Origin:
    """The source that a parameter is which the outside fills in."""
    axes = frozenset({Axis.CALL})
    return Origin("input", f"the parameter {name}", span, level, axes, carrier=Carrier.PARAMETER, name=name)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def declared_value(ev: Evaluator, annotation: ast.expr | None, module: Module, span: Span) -> Value | None:
    """What an annotation says: an instance of a project class, or of a known client."""
    if annotation is None:
        return None
    cls = ev.program.class_named(annotation, module)
    if cls is not None:
        if _container_annotation(annotation):
            return None
        foreign = ev.program.foreign_bases(cls)
        if foreign & (DICTS | STATES) or any(f.endswith("Enum") for f in foreign):
            return None
        return Instance(cls, span, None, SESSION, exact=False)
    node = annotation
    if isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.Subscript):
        inner = node.slice
        held = CARRIERS.get(ev.program.qualified(node.value, module) or "")
        if held is not None:
            own = declared_value(ev, inner, module, span)
            return Map({held: Entry(own, span)}, span, (Hole("context", span),)) if own is not None else None
        if containers_name(node.value) != "Optional":
            return None
        node = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
    name = dotted(node)
    if name is None:
        return None
    qualified = ev.program.qualified(node, module)
    client = _client_type(ev, qualified) if qualified is not None else None
    if client is not None:
        return External(client, span, instance=True)
    found = {_type_name(v): v for v in _alias(ev, name, module, span)}
    return join(found.values()) if found else None


def _client_type(ev: Evaluator, qualified: str) -> str | None:
    """The type that rows speak of when an annotation names a client."""
    if qualified in ev.knowledge.clients:
        return ev.knowledge.clients[qualified][0].type
    return qualified if qualified in ev.client_types else None


def _alias(ev: Evaluator, name: str, module: Module, span: Span, depth: int = 0) -> Iterator[Instance | External]:
    """Instances of what a name stands for that a module binds to a type, or to a union of types."""
    head, _, rest = name.partition(".")
    bound = ev.summary(module.body).names.get(head)
    if isinstance(bound, Import):
        found = ev.program.resolve(f"{bound.dotted}.{rest}" if rest else bound.dotted, module)
        if found is not None and found[1] and depth < MAX_ALIASES:
            yield from _alias(ev, found[1], found[0], span, depth + 1)
    elif bound is not None and not rest:
        yield from _of_types(ev, bound, module, span, depth)


def _of_types(ev: Evaluator, node: Expr, module: Module, span: Span, depth: int) -> Iterator[Instance | External]:
    if depth >= MAX_ALIASES:
        return
    match node:
        case Binary(op="|", left=left, right=right):
            yield from _of_types(ev, left, module, span, depth + 1)
            yield from _of_types(ev, right, module, span, depth + 1)
        case Either(options=alternatives):
            for alternative in alternatives:
                yield from _of_types(ev, alternative, module, span, depth + 1)
        case ExprItem(base=Import(dotted=outer), key=key) if outer.rpartition(".")[2] in (
            "Union",
            "Optional",
            "Annotated",
        ):
            for member in key.items if isinstance(key, SeqOf) else (key,):
                yield from _of_types(ev, member, module, span, depth + 1)
        case Import(dotted=dotted_name):
            client = _client_type(ev, dotted_name)
            found = ev.program.resolve(dotted_name, module)
            cls = ev.program.class_of(found[1], found[0]) if found is not None and found[1] else None
            if client is not None:
                yield External(client, span, instance=True)
            elif cls is not None:
                yield Instance(cls, span, None, SESSION, exact=False)
        case Definition() if isinstance(defined := module.definitions.get(node.node), Class):
            yield Instance(defined, span, None, SESSION, exact=False)


def _type_name(value: Instance | External) -> str:
    """A name that tells declared types apart."""
    return f"{value.cls.module.name}.{value.cls.name}" if isinstance(value, Instance) else value.name


def containers_name(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _container_annotation(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return "[" in node.value and not node.value.startswith("Optional")
    return isinstance(node, ast.Subscript) and containers_name(node.value) not in ("Optional", "Annotated", "Union")


def _from_callers(ev: Evaluator, function: Function, name: str) -> Value | None:
    values: list[Value] = []
    found = callers.of(ev, function)
    if len(found) > MAX_JOINED_CALLERS:
        return None
    for caller in found:
        frame = ev.generic(caller.function)
        if frame.function is function:
            continue
        arguments = bind_arguments(ev, function, caller.routine, caller.call, frame)
        given = arguments.get(name)
        if given is None:
            return None
        values.append(ev.eval(*given) if isinstance(given, tuple) else given)
    return join(values) if values else None


def bind_arguments(
    ev: Evaluator, function: Function, routine: Routine, node: Call, frame: Frame
) -> dict[str, Value | tuple[Expr, Frame]]:
    """What each parameter gets from a call; defaults are filled in."""
    arguments: dict[str, Value | tuple[Expr, Frame]] = {}
    parameters = list(function.parameters)
    if function.is_method and (routine.this is not None or "classmethod" in function.decorator_names):
        first = parameters.pop(0)
        if routine.this is not None:
            arguments[first.name] = routine.this
        elif function.owner is not None:
            arguments[first.name] = Type(function.owner)
    positional: list[Value | tuple[Expr, Frame]] = list(routine.preset[0])
    unknown_rest: list[Value] = []
    for argument in node.args:
        if isinstance(argument, Star):
            spread = containers.as_seq(ev, ev.eval(argument.value, frame), ev.span(frame, argument))
            for item in spread.items:
                if isinstance(item, One):
                    positional.append(item.value)
                else:
                    unknown_rest.append(item.value)
        else:
            positional.append((argument, frame))
    keywords: dict[str, Value | tuple[Expr, Frame]] = dict(routine.preset[1])
    extra: list[Value] = []
    for name, expr in node.keywords:
        if name is not None:
            keywords[name] = (expr, frame)
            continue
        for option in options(ev.eval(expr, frame)):
            if isinstance(option, Map):
                keywords.update({k: e.value for k, e in option.entries.items()})
                extra.extend(option.rest)
            else:
                extra.append(option)
    span = ev.span(frame, node)
    for parameter in parameters:
        if parameter.kind == "args":
            items = tuple(_as_item(ev, v, span) for v in positional) + tuple(Rest(v, span) for v in unknown_rest)
            arguments[parameter.name] = Seq("tuple", items, span)
            positional = []
        elif parameter.kind == "kwargs":
            entries = {k: Entry(ev.eval(*v) if isinstance(v, tuple) else v, span) for k, v in keywords.items()}
            arguments[parameter.name] = Map(entries, span, tuple(extra), open=tuple(_names(extra)))
        elif parameter.kind == "positional" and positional:
            arguments[parameter.name] = positional.pop(0)
        elif parameter.name in keywords:
            arguments[parameter.name] = keywords.pop(parameter.name)
        elif unknown_rest and parameter.kind == "positional":
            arguments[parameter.name] = unknown_rest[0]
        elif extra:
            arguments[parameter.name] = Hole(parameter.name, span, union(*(e.origins() for e in extra)))
        elif parameter.default is not None:
            arguments[parameter.name] = default_value(ev, function, parameter.default, routine.frame)
    return arguments


def default_value(ev: Evaluator, function: Function, default: ast.expr, around: Frame | None) -> Value:
    """What a parameter is that nobody gives: a name there is one of the function around, ``lambda sent=turns: ...``."""
    around_it = function.parent
    if isinstance(default, ast.Name) and around_it is not None and not isinstance(around_it.node, ast.Module):
        node = Free(At.start(default), default.id)
        inside = ev.new_frame(function, IMPORT if around is None else around.level)
        inside.parent = around or inside.parent
        found = ev.eval(node, inside)
        if not (isinstance(found, Hole) and found.name == default.id and not found.deps):
            return found
    return ev.ast_value(default, function.module)


def _names(values: list[Value]) -> Iterator[str]:
    for value in values:
        yield f"**{value.name}" if isinstance(value, Hole) else "**…"


def _as_item(ev: Evaluator, value: Value | tuple[Expr, Frame], span: Span) -> Item:
    return One(ev.eval(*value) if isinstance(value, tuple) else value, span)
