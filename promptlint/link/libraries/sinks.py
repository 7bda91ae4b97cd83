"""Which calls send a request: by the qualified name of what is called, or by its shape when that is not known."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from promptlint.code.expression import At, Attr, Call, Definition, Expr, Free, Global, Import, unchanged
from promptlint.code.index import MUTATORS, Function, Module, terminal
from promptlint.frozen import replace
from promptlint.knowledge.rows import Knowledge, SinkRow
from promptlint.link.classes import derived
from promptlint.link.kept import elements
from promptlint.link.libraries import own
from promptlint.link.values import Const, External, Hole, Instance, Map, Routine, Seq, Type, Value, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame

STRUCTURAL = SinkRow(
    id="structural",
    provider="unknown",
    types=(),
    call="",
    parts={
        "model": "model",
        "messages": "messages",
        "system": "system",
        "system_prompt": "system",
        "tools": "tools",
        "instructions": "system",
    },
    nested={},
    positional=(),
    requires=(),
    distinctive=False,
    confidence="medium",
    stateful=False,
    because="a call that leaves the project with messages",
)
"""A call of an unknown library with ``messages`` and ``model``, ``system`` or ``tools``."""


@dataclass(frozen=True, slots=True, eq=False)
class Sink:
    """A call in the code that sends a request."""

    function: Function
    call: Call
    row: SinkRow
    receiver: Value | None = None
    preset: External | None = None
    """The ``functools.partial`` that is called, with the arguments that it holds."""
    fallback: bool = False
    """Whether it sends in place of an earlier call of the same name that failed."""


@lru_cache(maxsize=4)
def _names(knowledge: _Key) -> dict[str, SinkRow]:
    table: dict[str, SinkRow] = {}
    for row in knowledge.rows.sinks:
        for name in [f"{t}.{row.call}" for t in row.types] if row.types else [row.call]:
            table.setdefault(name, row)
    return table


class _Key:
    """A knowledge base as a key by identity."""

    __slots__ = ("rows",)

    def __init__(self, rows: Knowledge) -> None:
        self.rows = rows

    def __hash__(self) -> int:
        return id(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.rows is self.rows


_OF_CONTAINERS = MUTATORS | {"get", "items", "keys", "values", "encode", "decode", "strip", "lstrip", "rstrip"}
"""Methods of containers and text: nobody keeps an object that sends requests when it is called under such a name."""
_CONTENTS = frozenset(["messages", "input", "contents"])
"""What a call may be given by name that is the prompt of a request."""


def row_for_name(knowledge: Knowledge, name: str) -> SinkRow | None:
    """The row of a qualified call."""
    return _names(_Key(knowledge)).get(name)


def chain(node: Expr) -> list[str]:
    """The attribute names of an expression, the last one first."""
    names: list[str] = []
    node = unchanged(node)
    while isinstance(node, Attr):
        names.append(node.name)
        node = unchanged(node.base)
    if isinstance(node, (Global, Free)):
        names.append(node.name)
    elif isinstance(node, Import):
        names.extend(reversed(node.dotted.split(".")))
    return names


def _root(node: Expr) -> Expr:
    """What the attributes of an expression hang on."""
    node = unchanged(node)
    while isinstance(node, Attr):
        node = unchanged(node.base)
    return node


def row_for_reference(knowledge: Knowledge, node: Expr) -> SinkRow | None:
    """The row whose distinctive suffix an attribute has (``client.chat.completions.create``)."""
    names = chain(node)
    if not names:
        return None
    made = not isinstance(_root(node), (Global, Free, Import))
    for row in knowledge.sinks_by_suffix.get(names[0], ()):
        wanted = row.call.split(".")[::-1]
        if (
            row.distinctive
            and len(wanted) > 1
            and names[: len(wanted)] == wanted
            and (len(names) > len(wanted) or made)
        ):
            return row
    return None


def row_for_shape(knowledge: Knowledge, node: Call) -> SinkRow | None:
    """The row that a call on a receiver of unknown class matches: its suffix, and an argument that tells."""
    names = chain(node.func)
    if len(names) < 1:
        return None
    given = {k for k, _ in node.keywords}
    for row in knowledge.sinks_by_suffix.get(names[0], ()):
        if not row.by_shape:
            continue
        wanted = row.call.split(".")[::-1]
        if names[: len(wanted)] != wanted:
            continue
        if (
            not row.requires
            or None in given
            or given & set(row.requires)
            or (len(node.args) and row.positional and set(row.positional[: len(node.args)]) & set(row.requires))
        ):
            return row
    return None


def _row_for_messages(ev: Evaluator, call: Call, frame: Frame) -> SinkRow | None:
    """The row that a call on a receiver of unknown class matches by the messages of a library that it is given."""
    rows = [row for row in ev.knowledge.sinks_by_suffix[chain(call.func)[0]] if row.takes]
    if not rows or not call.args:
        return None
    given = (o for o in options(ev.eval(call.args[0], frame)) if isinstance(o, Seq))
    types = {o.type for seq in given for item in seq.items for o in options(item.value) if isinstance(o, Map)}
    return next((replace(row, confidence="medium") for row in rows if not types.isdisjoint(row.takes)), None)


def in_function(ev: Evaluator, function: Function) -> Iterator[Sink]:
    """The sinks among the calls of one function; the same call once more after an error is no other one."""
    summary = ev.summary(function)
    frame = ev.generic(function)
    sent: dict[tuple[str, ...], list[Call]] = {}
    for call in summary.calls:
        earlier = sent.setdefault(tuple(chain(call.func)), [])
        fallback = bool(earlier) and any(guard.error for guard in call.guards)
        if fallback and _again(function, call, earlier) is not None:
            continue
        sink = _classify(ev, function, call)
        if sink is not None:
            sink = _continued(ev, sink, frame) if sink.row.continues else sink
            earlier.append(call)
            sink = _of_decorated(ev, sink) if sink.row.decorates else sink
            if sink is not None:
                yield replace(sink, fallback=True) if fallback else sink
            continue
        for position, handed_over in enumerate(call.args):
            argument = unchanged(handed_over)
            if isinstance(argument, Attr):
                row = row_for_reference(ev.knowledge, argument)
                if row is not None:
                    rest = call.args[position + 1 :]
                    handed = replace(call, func=argument, args=rest)
                    yield Sink(function, handed, row, ev.eval(argument.base, frame))
                    break


def _continued(ev: Evaluator, sink: Sink, frame: Frame) -> Sink:
    """The sink as one of a conversation that the provider keeps, when an argument says which one goes on."""
    for name, expr in sink.call.keywords:
        if name is not None and name not in sink.row.continues:
            continue
        for given in options(ev.eval(expr, frame)):
            if name is None and isinstance(given, Map):
                known = not given.entries.keys().isdisjoint(sink.row.continues)
            else:
                known = name is not None and not (isinstance(given, Const) and given.value is None)
            if known:
                return replace(sink, row=replace(sink.row, stateful=True))
    return sink


def _again(function: Function, call: Call, earlier: Sequence[Call]) -> Call | None:
    """The earlier call that is written alike, unless it takes arguments from a dict, which may have changed since."""
    if any(name is None for name, _ in call.keywords):
        return None
    lines = function.module.source.lines
    return next((first for first in earlier if _code(lines, call.at) == _code(lines, first.at)), None)


def _code(lines: Sequence[str], at: At) -> str:
    """The source of a call, however it is broken into lines."""
    encoded = [line.encode() for line in lines[at.lineno - 1 : at.end_lineno]]
    encoded[-1] = encoded[-1][: at.end_col_offset]
    encoded[0] = encoded[0][at.col_offset :]
    return b"".join(b"".join(encoded).split()).decode(errors="replace")


def _of_decorated(ev: Evaluator, sink: Sink) -> Sink | None:
    """The sink that the function below a decorator is: what it returns is sent when it is called."""
    for made in ev.summary(sink.function).names.values():
        if isinstance(made, Definition) and sink.call in made.decorators:
            function = sink.function.module.definitions[made.node]
            return replace(sink, function=function) if isinstance(function, Function) else None
    return None


def sends_result(ev: Evaluator, function: Function) -> bool:
    """Whether a decorator of a library sends what the function returns, and returns the reply in its place."""
    for node in function.decorators:
        called = node.func if isinstance(node, ast.Call) else node
        rows = ev.knowledge.sinks_by_suffix.get(terminal(called) or "", ())
        if any(row.decorates for row in rows):
            row = row_for_name(ev.knowledge, ev.program.qualified(called, function.module) or "")
            if row is not None and row.decorates:
                return True
    return False


def _classify(ev: Evaluator, function: Function, call: Call) -> Sink | None:
    knowledge = ev.knowledge
    last = chain(call.func)[:1]
    keywords = {k for k, _ in call.keywords}
    if keywords & _CONTENTS and (not last or last[0] not in knowledge.sink_suffixes):
        partial = _partial(ev, function, call)
        if partial is not None:
            return partial
    if not (last and last[0] in knowledge.sink_suffixes) and _uses_callables(ev, function.module):
        called = _called_object(ev, function, call)
        if called is not None:
            return called
    if not last:
        return None
    if not any(_plausible(ev, row, call, function.module) for row in knowledge.sinks_by_suffix.get(last[0], ())):
        return _structural(ev, function, call)
    if not knowledge.own_sinks and _calls_method(ev, function, call):
        return None
    frame = ev.generic(function)
    value = ev.resolve(call.func, frame)
    row = own_row(ev, value, call)
    if row is not None:
        return Sink(function, call, row, _receiver(ev, call, frame))
    unknown = False
    for option in options(value):
        if isinstance(option, External):
            row = row_for_name(knowledge, option.name)
            if row is not None:
                return Sink(function, call, row, _receiver(ev, call, frame))
            unknown = unknown or option.instance or option.this is not None
        elif isinstance(option, Hole):
            unknown = True
    if any(isinstance(option, Routine) for option in options(value)):
        return None
    shaped = row_for_shape(knowledge, call) or (_row_for_messages(ev, call, frame) if unknown else None)
    if shaped is not None and (unknown or _foreign_is_plausible(value)):
        return Sink(function, call, shaped, _receiver(ev, call, frame))
    return _structural(ev, function, call)


def _calls_method(ev: Evaluator, function: Function, call: Call) -> bool:
    """Whether a call runs a method of the project, going by how it is written: which one need not be found out."""
    if not isinstance(call.func, Attr):
        return False
    cls = elements.class_of_object(ev, unchanged(call.func.base), function)
    return cls is not None and ev.program.method(cls, call.func.name) is not None


def own_row(ev: Evaluator, value: Value, call: Call) -> SinkRow | None:
    """The user's row for what is called, wherever that is defined; by position arguments are those of the function."""
    rows = ev.knowledge.own_sinks
    if not rows:
        return None
    called = ".".join(reversed(chain(call.func)))
    for option in options(value):
        if isinstance(option, Routine):
            row = own.row_for(rows, ev.program, option.function, called)
            if row is not None and not row.positional:
                names = [p.name for p in option.function.parameters if p.kind == "positional"]
                return replace(row, positional=tuple(names[option.function.is_method and option.this is not None :]))
            if row is not None:
                return row
    last = chain(call.func)[:1]
    found = rows.get(f"*.{last[0]}") if last else None
    return found if found is not None and isinstance(call.func, Attr) else None


def _plausible(ev: Evaluator, row: SinkRow, call: Call, near: Module) -> bool:
    """Whether it is worth asking what a call calls: path or arguments fit, and the module may use the library."""
    if row.own:
        return True
    keywords = {k for k, _ in call.keywords}
    told = bool(keywords & {*row.requires, *row.parts}) or None in keywords or len(call.args) > 1
    names, wanted = chain(call.func), row.call.split(".")[::-1]
    if len(wanted) > 1 and names[: len(wanted)] != wanted and not (told and keywords & set(row.requires)):
        imported = not row.types and len(names) < len(wanted) and isinstance(_root(call.func), (Global, Free, Import))
        # A function is mostly imported by its last names: "from agents import Runner".
        return (imported and ev.program.knows(wanted[-1])) or (None in keywords and not isinstance(call.func, Attr))
    if len(wanted) == 1 and row.requires and not told:
        return False
    return row.by_shape or any(ev.program.may_use(name, near) for name in _libraries(row.types or (row.call,)))


@lru_cache(maxsize=256)
def _libraries(names: tuple[str, ...]) -> tuple[str, ...]:
    """The packages of qualified names."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in names))


def _partial(ev: Evaluator, function: Function, call: Call) -> Sink | None:
    """A call of ``functools.partial(client.messages.create, ...)`` under whatever name."""
    for option in options(ev.resolve(call.func, ev.generic(function))):
        if isinstance(option, External) and option.name == "functools.partial" and option.arguments:
            target = option.arguments[0]
            row = row_for_name(ev.knowledge, target.name) if isinstance(target, External) else None
            if row is not None:
                return Sink(function, call, row, target, option)
    return None


def why_none(ev: Evaluator, function: Function, call: Call) -> str:
    """Why a call is no sink, in words: what it calls, or what it lacks."""
    names = chain(call.func)
    shown = ev.snippet(ev.generic(function), call.func.at)
    alike = [other for other in ev.summary(function).calls if other.at < call.at and chain(other.func) == names]
    first = _again(function, call, alike) if any(guard.error for guard in call.guards) else None
    if names and first is not None and _classify(ev, function, first) is not None:
        return f"{shown} sends once more, after an error, what is sent on line {first.at.lineno}"
    if not names:
        return f"{shown} has no name by which a call that sends a request could be known"
    for option in options(ev.resolve(call.func, ev.generic(function))):
        if isinstance(option, Routine):
            place = f"{option.function.module.path}:{getattr(option.function.node, 'lineno', 1)}"
            return (
                f"{shown} is the project's own {option.function.qualname}() ({place}): look at the requests made there"
            )
        if isinstance(option, (Type, Instance)):
            return f"{shown} is {option.cls.qualname} of this project, which sends nothing by itself"
        if isinstance(option, External) and not option.name.startswith("."):
            return (
                f"{shown} is {option.name}, which no row of what promptlint knows names as a call that sends a request"
            )
    if names[0] in ev.knowledge.sink_suffixes:
        wanted = sorted({part for row in ev.knowledge.sinks_by_suffix.get(names[0], ()) for part in row.requires})
        needed = f", and none of its arguments tells ({', '.join(wanted)})" if wanted else ""
        return f"the receiver of {shown} is not known{needed}"
    return (
        f"no known call that sends a request ends in {names[0]}, and it does not pass messages= together with model=, "
        "system= or tools="
    )


def _uses_callables(ev: Evaluator, module: Module) -> bool:
    """Whether a file names a class whose objects are called themselves to send a request, and its library."""
    known = ev.uses_callables.get(module)
    if known is None:
        types = frozenset(t for row in ev.knowledge.sinks_by_suffix.get("__call__", ()) for t in row.types)
        known = any(module.holds(t.partition(".")[0]) and module.holds(t.rpartition(".")[2]) for t in types)
        known = known or any(map(module.holds, derived.called_directly(ev, types)))
        ev.uses_callables[module] = known
    return known


def _called_object(ev: Evaluator, function: Function, call: Call) -> Sink | None:
    """``agent(question)`` on an object of a library whose ``__call__`` sends a request."""
    if isinstance(call.func, Attr) and call.func.name in _OF_CONTAINERS:
        return None
    for found in options(ev.resolve(call.func, ev.generic(function))):
        option = derived.client_of(ev, found) if isinstance(found, Instance) else found
        if isinstance(option, External) and option.instance:
            row = row_for_name(ev.knowledge, f"{option.name}.__call__")
            if row is not None:
                return Sink(function, call, row, option)
    return None


def _receiver(ev: Evaluator, call: Call, frame: Frame) -> Value | None:
    return ev.eval(call.func.base, frame) if isinstance(call.func, Attr) else None


def _foreign_is_plausible(value: Value) -> bool:
    return not any(isinstance(o, (Routine, Instance)) for o in options(value))


_MEASURES = re.compile(
    r"(calculate|count|estimate|num)_?(\w*_)?tokens?|tokens?_?(count|estimat)|(calculate|estimate)_?(\w*_)?cost|_cost$"
    r"|^(trim|truncate)_messages$",
    re.IGNORECASE,
)
"""What says by its name that it measures or cuts the messages of a request, with the model that they are for."""


def _structural(ev: Evaluator, function: Function, call: Call) -> Sink | None:
    """A call that leaves the project with messages and what goes with them."""
    given = {name for name, _ in call.keywords}
    if "messages" not in given or not given & {"model", "system", "tools", "system_prompt"}:
        return None
    value = ev.resolve(call.func, ev.generic(function))
    for option in options(value):
        if (
            isinstance(option, External)
            and not option.name.startswith("builtins.")
            and not _MEASURES.search(option.name.rpartition(".")[2])
            and option.name not in ev.knowledge.clients  # it makes what sends
        ):
            return Sink(function, call, STRUCTURAL)
    return None


def candidates(ev: Evaluator, module: Module) -> Iterator[Function]:
    """The functions of a file that may hold a sink, by the names they call or hand over."""
    seen: set[int] = set()
    for function in module.called.among(_telling(_Key(ev.knowledge))):
        if id(function) not in seen:
            seen.add(id(function))
            yield function
    callables = _uses_callables(ev, module)
    for function in (module.body, *module.functions):
        if id(function) not in seen and (callables or module.passes_messages(function)):
            seen.add(id(function))
            yield function


@lru_cache(maxsize=4)
def _telling(knowledge: _Key) -> frozenset[str]:
    """What a function calls or hands over that may hold a sink."""
    names = knowledge.rows.sink_suffixes
    return names | {f"&{name}" for name in names} | {"&messages"}
