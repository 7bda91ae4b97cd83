"""Objects of the project: construction, attributes and what writes them, arguments, and calls that change them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from promptlint.expression import (
    After,
    At,
    Attr,
    Binary,
    Call,
    Definition,
    Either,
    Expr,
    Field,
    Global,
    Guard,
    Import,
    Param,
    Phi,
    SeqOf,
    Star,
    unchanged,
)
from promptlint.expression import Item as ExprItem
from promptlint.index import Class, Function, Module, Parameter, dotted
from promptlint.link import callers, containers, loops, switches
from promptlint.link.program import MAX_FAMILY, is_abstract
from promptlint.link.values import (
    CALL,
    IMPORT,
    SESSION,
    Const,
    Entry,
    External,
    FilePath,
    History,
    Hole,
    Instance,
    Item,
    Lazy,
    Map,
    One,
    Origin,
    Rest,
    Routine,
    Seq,
    Text,
    Type,
    Value,
    by_role,
    join,
    only,
    options,
    owner,
    text,
    union,
)
from promptlint.request import Axis
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator, Frame

MAX_STATE = 5_000
"""Nodes evaluated to find out what one attribute may hold."""
MAX_WRITERS = 24
MAX_JOINED_CALLERS = 6
MAX_ALIASES = 6
KEPT = "kept in "
"""How the step begins with which a state is read."""

SETUP = frozenset(
    [
        "__init__",
        "__post_init__",
        "__new__",
        "__enter__",
        "__aenter__",
        "setup",
        "start",
        "connect",
        "initialize",
        "initialise",
        "init",
        "configure",
        "reset",
        "clear",
        "create",
        "load",
        "open",
        "build",
        "restore",
        "reload",
        "new_session",
        "start_session",
        "on_mount",
        "on_load",
        "setUp",
        "model_post_init",
        "on_chat_start",
        "on_chat_resume",
        "on_settings_update",
    ]
)
"""Methods, and decorators of functions, that begin a session or set it up rather than take a turn."""
RECORDS = frozenset(
    [
        "pydantic.BaseModel",
        "pydantic.main.BaseModel",
        "pydantic_settings.BaseSettings",
        "sqlmodel.SQLModel",
        "typing.NamedTuple",
        "msgspec.Struct",
        "NamedTuple",
        "BaseModel",
    ]
)
MODELS = frozenset(n for n in RECORDS if n.endswith(("BaseModel", "BaseSettings", "SQLModel")))
"""The records whose constructor turns what it is given into the types of its fields."""
PATHS = frozenset(["pathlib.Path", "pathlib.PurePath", "pydantic.FilePath", "pydantic.types.FilePath"])
DICTS = frozenset(["typing.TypedDict", "typing_extensions.TypedDict", "TypedDict"])
COMMON = frozenset(
    [
        "get",
        "set",
        "add",
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "update",
        "items",
        "keys",
        "values",
        "copy",
        "index",
        "count",
        "sort",
        "join",
        "split",
        "strip",
        "format",
        "encode",
        "decode",
        "read",
        "write",
        "close",
        "open",
        "send",
        "run",
        "start",
        "stop",
        "execute",
        "fetch",
        "fetchall",
        "fetchone",
        "commit",
        "query",
        "filter",
        "all",
        "first",
        "save",
        "delete",
        "create",
        "print",
        "info",
        "debug",
        "warning",
        "error",
        "exception",
        "put",
        "exists",
        "find",
        "search",
        "match",
        "group",
        "sub",
        "lower",
        "upper",
        "replace",
        "render",
        "load",
        "loads",
        "dump",
        "dumps",
        "name",
        "id",
        "text",
        "content",
        "result",
        "done",
        "cancel",
        "wait",
        "submit",
        "map",
        "reduce",
        "next",
        "invoke",
        "ainvoke",
        "stream",
        "astream",
        "process",
        "handle",
        "main",
        "init",
        "setup",
        "reset",
    ]
)
"""Method names that say nothing about the class: a receiver of unknown type is not resolved by them."""


# -- parameters ----------------------------------------------------------------------------------------------------


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
        return ev.ast_value(parameter.default, module)
    return entry_value(frame, parameter.name, span)


def entry_value(frame: Frame, name: str, span: Span) -> Hole:
    """A parameter that the outside fills in."""
    origin = Origin("input", f"the parameter {name}", span, frame.level, frozenset({Axis.CALL}))
    return Hole(name, span, (origin,), root=True)


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
        if foreign & DICTS or any(f.endswith("Enum") for f in foreign):
            return None
        return Instance(cls, span, None, SESSION, exact=False)
    node = annotation
    if isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.Subscript):
        inner = node.slice
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


def as_declared(ev: Evaluator, made: Value, function: Function, span: Span) -> Value:
    """What a function returns; the client that it says it returns, where it was not found out which one it is."""
    found = list(options(made))
    if not isinstance(function.node, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.node.returns is None:
        return made
    if not any(isinstance(o, Hole) for o in found) or any(isinstance(o, (External, Instance)) for o in found):
        return made
    declared = declared_value(ev, function.node.returns, function.module, span)
    return declared if isinstance(declared, External) else made


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
            arguments[parameter.name] = ev.ast_value(parameter.default, function.module)
    return arguments


def _names(values: list[Value]) -> Iterator[str]:
    for value in values:
        yield f"**{value.name}" if isinstance(value, Hole) else "**…"


def _as_item(ev: Evaluator, value: Value | tuple[Expr, Frame], span: Span) -> Item:
    return One(ev.eval(*value) if isinstance(value, tuple) else value, span)


# -- construction --------------------------------------------------------------------------------------------------


def is_record(ev: Evaluator, cls: Class) -> bool:
    """A class whose constructor takes its fields (dataclass, pydantic model, NamedTuple ...)."""
    if any(c.decorator_names & {"dataclass", "define", "frozen", "attrs", "s"} for c in ev.program.mro(cls)):
        return True
    return bool(ev.program.foreign_bases(cls) & RECORDS)


def _fields(ev: Evaluator, cls: Class) -> dict[str, tuple[Class, ast.expr | None]]:
    """Annotated fields in constructor order, base classes first, with their defaults."""
    found: dict[str, tuple[Class, ast.expr | None]] = {}
    for c in reversed(ev.program.mro(cls)):
        for name, (annotation, value) in c.fields.items():
            if annotation is not None:
                found[name] = (c, value)
    return found


def construct(ev: Evaluator, cls: Class, node: Call, frame: Frame) -> Value:
    """``cls(...)``."""
    span = ev.span(frame, node)
    level = frame.level_at(node.loops)
    foreign = ev.program.foreign_bases(cls)
    init = ev.program.method(cls, "__init__")
    if foreign & DICTS:
        result: Map = Map({}, span)
        for name, expr in node.keywords:
            if name is None:
                result = containers.update(result, ev.eval(expr, frame), span)
            else:
                result = containers.set_key(result, text(name, span), ev.eval(expr, frame), span)
        return result
    instance = Instance(cls, span, None, level)
    if init is not None:
        target = ev.activation(Routine(init, None, instance), node, frame)
        if target is not None:
            target.level = level
            return replace(instance, init=target)
        return instance
    if is_record(ev, cls):
        overrides: dict[str, Value | Lazy] = {}
        names = list(_fields(ev, cls))
        for position, argument in enumerate(node.args):
            if position < len(names) and not isinstance(argument, Star):
                overrides[names[position]] = ev.eval(argument, frame)
        for name, expr in node.keywords:
            if name is not None:
                overrides[name] = ev.eval(expr, frame)
            else:
                overrides |= _spread(ev.eval(expr, frame))
        return _record(ev, instance, overrides, frame)
    return instance


def _spread(value: Value) -> dict[str, Value | Lazy]:
    """The keywords that ``**value`` gives, by all dicts that it may be."""
    maps = [o for o in options(value) if isinstance(o, Map)]
    if len(maps) == 1:
        return {k: e.held for k, e in maps[0].entries.items()}
    names = dict.fromkeys(k for m in maps for k in m.entries)
    return {k: join(m.entries[k].value for m in maps if k in m.entries) for k in names}


def validated(ev: Evaluator, cls: Class, data: Map, span: Span, level: int) -> Value | None:
    """What a pydantic model makes of a dict; ``None`` for another class, and for data that is not all known."""
    if data.rest or data.base is not None or not ev.program.foreign_bases(cls) & MODELS:
        return None
    if ev.program.method(cls, "__init__") is not None:
        return None
    return _record(ev, Instance(cls, span, None, level), {k: e.held for k, e in data.entries.items()}, None)


def _record(ev: Evaluator, made: Instance, given: dict[str, Value | Lazy], maker: Frame | None) -> Instance:
    """A record with the fields that its constructor was given, and its defaults for the others."""
    cls, overrides = made.cls, dict(given)
    if given and ev.program.foreign_bases(cls) & MODELS:
        overrides |= _paths(ev, cls, given)
    for name, (base, default) in _fields(ev, cls).items():
        if name not in overrides and default is not None:
            overrides[name] = field_default(ev, base, default, made.level)
    return replace(
        made,
        overrides={k: v for k, v in overrides.items() if not _written_later(ev, cls, k)},
        init=_kept(ev, cls, overrides, made.level, maker),
    )


def _paths(ev: Evaluator, cls: Class, given: dict[str, Value | Lazy]) -> dict[str, Value]:
    """The fields of a model that are declared as paths and given as text, which validation turns into paths."""
    found: dict[str, Value] = {}
    for c in ev.program.mro(cls):
        for name, (annotation, _) in c.fields.items():
            if name in given and annotation is not None and name not in found and _is_path(ev, annotation, c.module):
                held = given[name]
                value = held.get() if isinstance(held, Lazy) else held
                found[name] = join(_as_path(o) for o in options(value))
    return found


def _as_path(value: Value) -> Value:
    known = value.literal if isinstance(value, Text) else None
    return FilePath(Path(known), value.pieces[0].span) if isinstance(value, Text) and known else value


def _is_path(ev: Evaluator, annotation: ast.expr, module: Module) -> bool:
    """Whether text that is given for a field becomes a path: one of its types is one, and none is a text."""
    names = {ev.program.qualified(n, module) for n in ast.walk(annotation) if isinstance(n, (ast.Name, ast.Attribute))}
    return bool(names & PATHS) and "str" not in names and not _container_annotation(annotation)


def _written_later(ev: Evaluator, cls: Class, name: str) -> bool:
    """Whether a method (or code outside) changes a field after construction."""
    key = (cls, name)
    known = ev.written_later.get(key)
    if known is None:
        ev.written_later[key] = False  # while it is looked for
        own = any(name in m.stores for c in ev.program.mro(cls) for m in c.methods.values())
        outside = (True for _ in _steps(ev, Instance(cls, Span("", 0), None), name))
        known = ev.written_later[key] = own or next(outside, False)
    return known


def _kept(ev: Evaluator, cls: Class, values: dict[str, Value | Lazy], level: int, maker: Frame | None) -> Frame | None:
    """A frame that remembers the constructor's field values, and who called it, for fields that are changed later."""
    body = cls.body
    if body is None:
        return None
    frame = ev.new_frame(body, level)
    frame.arguments = {k: v.get() if isinstance(v, Lazy) else v for k, v in values.items()}
    frame.maker = maker
    return frame


def field_default(ev: Evaluator, owner: Class, default: ast.expr, level: int) -> Value:
    """The default of a dataclass or pydantic field, with its ``default_factory`` run at ``level``."""
    if isinstance(default, ast.Call):
        for keyword in default.keywords:
            if keyword.arg in ("default_factory", "factory"):
                call = ast.Call(keyword.value, [], [])
                ast.copy_location(call, keyword.value)
                return ev.ast_value(call, owner.module, level)
            if keyword.arg == "default":
                return ev.ast_value(keyword.value, owner.module)
        name = containers_name(default.func)
        if name in ("Field", "field", "Column", "mapped_column", "ib", "attrib"):
            if default.args and not (isinstance(default.args[0], ast.Constant) and default.args[0].value is ...):
                return ev.ast_value(default.args[0], owner.module)
            return Hole(name or "field", owner.module.span(At.start(default)))
    return ev.ast_value(default, owner.module)


# -- attributes ----------------------------------------------------------------------------------------------------


def class_attribute(ev: Evaluator, base: Type, name: str, span: Span) -> Value:
    """``Class.name``."""
    cls = base.cls
    method = ev.program.method(cls, name)
    if method is not None:
        if "classmethod" in method.decorator_names:
            return Routine(method, None, base)
        return Routine(method, None, None)
    for c in ev.program.mro(cls):
        if name in c.fields and c.fields[name][1] is not None:
            value = c.fields[name][1]
            assert value is not None
            inner = ev.ast_value(value, c.module)
            if any(f.endswith("Enum") for f in ev.program.foreign_bases(cls)):
                return Instance(cls, span, None, IMPORT, {"value": inner, "name": text(name, span)})
            return inner
    return Hole(f"{cls.name}.{name}", span)


def attribute(ev: Evaluator, base: Instance, name: str, span: Span, frame: Frame) -> Value:
    """``instance.name``: overrides, methods and properties, then the state that code writes."""
    given = base.given(name)
    if given is not None:
        return given
    program = ev.program
    if name == "__class__":
        return Type(base.cls)
    methods = program.overrides(base.cls, name) if not base.exact else []
    if not methods:
        own = program.method(base.cls, name)
        methods = [own] if own is not None else []
    if methods:
        return join(_method(ev, base, m, span, frame) for m in methods)
    if base.init is None and not base.exact and _is_given(ev, base.cls, name, span):
        origin = Origin("input", f"the parameter {name}", base.span, CALL, frozenset({Axis.CALL}))
        return Hole(name, span, (origin,), root=True)
    if ev.filling and (old := ev.filling.get((base.cls, name))) is not None:
        return old
    key = (base.cls, id(base.init), name, base.exact, base.level)
    cached = ev.attribute_cache.get(key)
    if cached is not None:
        return cached
    if ("state", *key) in ev.attributes_active:
        return Hole(f"self.{name}", span)
    ev.attributes_active.add(("state", *key))
    try:
        value = ev.within(MAX_STATE, lambda: state(ev, base, name, span))
    finally:
        ev.attributes_active.discard(("state", *key))
    if not ev.exhausted:
        ev.attribute_cache[key] = value
    return value


def _is_given(ev: Evaluator, cls: Class, name: str, span: Span) -> bool:
    """Whether a field of a record holds nothing but what the outside put into it."""
    owner = next((c for c in ev.program.mro(cls) if name in c.fields), None)
    if owner is None or not is_record(ev, cls) or _written_later(ev, cls, name):
        return False
    annotation, default = owner.fields[name]
    return default is None and declared_value(ev, annotation, owner.module, span) is None


def _method(ev: Evaluator, base: Instance, method: Function, span: Span, frame: Frame) -> Value:
    names = method.decorator_names
    if names & {"property", "cached_property", "computed_field"}:
        level = min(base.level, SESSION) if "cached_property" in names else level_of_line(ev, frame, span)
        target = ev.new_frame(method, level, this=base, depth=len(ev.running))
        if ev.running.count(method) >= 2:
            return Hole(method.name, span)
        result = as_declared(ev, ev.result(target, method, span), method, span)
        step = Step(span, f"read from the property {method.name}")
        return result.along(step)
    if "staticmethod" in names:
        return Routine(method, None, None)
    return Routine(method, None, base)


def level_of_line(ev: Evaluator, frame: Frame, span: Span) -> int:
    """How often the code at ``span`` of an activation runs; without a place, it reads what a loop carries."""
    loops = ev.summary(frame.function).loops if frame.path_loops else {}
    around = [n for n, s in loops.items() if span.line <= 0 or s.at.lineno <= span.line <= s.at.end_lineno]
    return frame.level_at(around)


def state(ev: Evaluator, base: Instance, name: str, span: Span) -> Value:
    """What an attribute may hold when a request is sent: its first value, and what methods and others make of it."""
    before = _initial(ev, base, name, span)
    written = list(_steps(ev, base, name))
    result: Value = loops.as_list(ev, before, span) if before is not None else Const(None, span)
    if before is None and not written:
        return Hole(f"self.{name}", span)
    for write in written[:MAX_WRITERS]:
        before, result = result, _apply_step(ev, base, name, result, write)
        if result is not before:
            result = _switched(ev, name, before, result, write)
    result = _one_history(result)
    if result.origins():
        step = Step(span, f"{KEPT}{base.cls.name}.{name}")
        result = result.along(step)
    return result


def _switched(ev: Evaluator, name: str, before: Value, after: Value, step: _Written) -> Value:
    """The state after a step, which depends on whether the step was taken where it may be taken between two turns."""
    function, where = step.function, step.where
    if writer_level(ev, function) != CALL or (
        isinstance(after, Seq) and any(isinstance(i, History) for i in after.items)
    ):
        return after
    own = function.parameters[0].name if where is None else None
    for write in ev.summary(function).writes:
        mine = isinstance(write.base, Param) and write.base.name == own if where is None else write.value is step.expr
        if write.name == name and mine:
            return switches.switched(ev, name, function, write, before, after)
    return after


def _initial(ev: Evaluator, base: Instance, name: str, span: Span) -> Value | None:
    program = ev.program
    if base.init is not None and base.init.function is base.cls.body:
        given = base.init.arguments.get(name)
        if isinstance(given, Value):
            return given
    frame = base.init
    for c in program.mro(base.cls):
        for special in ("__init__", "__post_init__", "model_post_init", "__new__"):
            init = c.methods.get(special)
            if init is None or name not in init.stores:
                continue
            summary = ev.summary(init)
            if not init.parameters:
                continue
            expr = summary.exit.get(f"{init.parameters[0].name}.{name}")
            if expr is None:
                continue
            target = frame if frame is not None and frame.function is init else _base_init(ev, base, init)
            return ev.eval(expr, target)
    for c in program.mro(base.cls):
        if name in c.fields:
            annotation, value = c.fields[name]
            if value is not None:
                return field_default(ev, c, value, base.level if is_record(ev, c) else IMPORT)
            declared = declared_value(ev, annotation, c.module, span)
            if declared is not None:
                return declared
            if is_record(ev, base.cls):
                return Hole(name, span, root=True)
    return None


def _base_init(ev: Evaluator, base: Instance, init: Function) -> Frame:
    """The activation of a base class's constructor, through the ``super().__init__`` call where it can be seen."""
    level = base.level if base.level < CALL else SESSION if base.init is None else base.level
    outer = base.init
    if outer is not None and outer.function is not init:
        for call in ev.summary(outer.function).calls:
            func = call.func
            if isinstance(func, Attr) and func.name == "__init__" and isinstance(func.base, Call):
                target = ev.activation(Routine(init, None, base), call, outer)
                if target is not None:
                    return target
    generic = ev.generic(init, base.cls)
    frame = ev.new_frame(init, level, this=base)
    frame.arguments = {k: v for k, v in generic.arguments.items() if k != init.parameters[0].name}
    return frame


class _Written(NamedTuple):
    """A function that writes an attribute, and what it leaves there.

    ``where`` is what code outside the class calls the object; ``inside``: that code changes what the attribute holds.
    """

    function: Function
    expr: Expr
    where: Expr | None = None
    inside: bool = False


def _steps(ev: Evaluator, base: Instance, name: str) -> Iterator[_Written]:
    """The methods (and functions outside) that write the attribute."""
    program = ev.program
    classes = list(program.mro(base.cls))
    if not base.exact:
        classes += program.subclasses(base.cls)
    for c in classes:
        for method in c.methods.values():
            if method.name in ("__init__", "__post_init__", "__new__", "model_post_init") or name not in method.stores:
                continue
            if not method.parameters or "staticmethod" in method.decorator_names:
                continue
            path = method.parameters[0].name
            expr = ev.summary(method).exit.get(f"{path}.{name}")
            if expr is not None:
                yield _Written(method, expr)
    owners = {m for c in classes for m in c.methods.values()}
    seen = 0
    for function in program.storing(name, base.cls.module):
        if function in owners or seen > MAX_WRITERS:
            continue
        seen += 1
        summary = ev.summary(function)
        for write in (*summary.writes, *summary.filled):
            if write.name == name and _is_instance_of(ev, write.base, function, base.cls):
                yield _Written(function, write.value, write.base, write in summary.filled)


def writers(ev: Evaluator, root: object) -> Iterator[Function]:
    """The functions that change the attribute or the module-level name which is the root of a history."""
    match owner(root):
        case (Class() as cls, str(name)):
            yield from (step.function for step in _steps(ev, Instance(cls, Span("", 0), None), name))
        case ("global", Module() as module, str(name)):
            yield from (f for f in module.functions if name in f.stores and f.parameter(name) is None)


def name_of(root: object) -> str:
    """How the code calls the list that a history grows in."""
    match owner(root):
        case (Class(), str(name)) | ("global", Module(), str(name)) | Phi(name=name):
            return name.rpartition(".")[2]
        case _:
            return ""


def _is_instance_of(ev: Evaluator, node: Expr, function: Function, cls: Class) -> bool:
    made = unchanged(node)
    if isinstance(made, Call) and (ev.joining <= 2 or isinstance(made.func, (Definition, Global, Import))):
        # The class that is called tells enough; the object itself may be asked for right now.
        types = options(ev.resolve(made.func, ev.generic(function)))
        known = [o.cls for o in types if isinstance(o, Type)]
        if known:
            return any(k is cls or cls in ev.program.mro(k) or k in ev.program.mro(cls) for k in known)
    if ev.joining > 2:
        return False
    ev.joining += 1
    try:
        value = ev.resolve(node, ev.generic(function))
    finally:
        ev.joining -= 1
    return any(
        isinstance(o, Instance) and (o.cls is cls or cls in ev.program.mro(o.cls) or o.cls in ev.program.mro(cls))
        for o in options(value)
    )


def _apply_step(ev: Evaluator, base: Instance, name: str, before: Value, step: _Written) -> Value:
    function, expr, where, inside = step
    level = writer_level(ev, function) if base.level >= SESSION else base.level
    made = where is not None and isinstance(unchanged(where), Call)
    if made:
        level = max(level, base.level)
    root = (base.cls, name)
    key = ("step", function, name, base.cls)
    if key in ev.attributes_active:
        return before
    ev.attributes_active.add(key)
    try:
        marker = loops.base_marker(before, root)
        this = replace(base, overrides={**base.overrides, name: marker})
        if where is None:
            frame = ev.new_frame(function, level, this=this, depth=len(ev.running))
        else:
            frame = _seen_from(ev, function, where, this, level)
        if where is not None:
            ev.filling[root] = marker
        value = ev.eval(expr, frame)
    finally:
        ev.attributes_active.discard(key)
        ev.filling.pop(root, None)
    if inside and not any(loops.holds_base(o, root) for o in options(value)):
        return before  # emptied: another conversation begins
    before = _placed(before, value)
    # What is filled where it is made is new each time: it keeps nothing.
    result = loops.grown(ev, before, value, root, function.module.span(expr.at), level, history=not made)
    if where is None:
        result = containers.under(result, before, _always_under(ev, function))
    return containers.commanded(result, before) if switches.only_on_command(ev, function) else result


def _placed(before: Value, value: Value) -> Value:
    """``before`` without the paths that ``value`` says what they are relative to."""
    places = [o.path.parts for o in options(value) if isinstance(o, FilePath)]
    if not places:
        return before

    def is_placed(option: Value) -> bool:
        below = option.path.parts if isinstance(option, FilePath) else ()
        return bool(below) and any(p[-len(below) :] == below for p in places)

    kept = [o for o in options(before) if not is_placed(o)]
    return join(kept) if kept else value


def _always_under(ev: Evaluator, function: Function) -> tuple[Guard, ...]:
    """The tests under which a method is called, when every call of it has some."""
    found = callers.of(ev, function)
    return found[0].call.guards if found and all(c.call.guards for c in found) else ()


def _seen_from(ev: Evaluator, function: Function, where: Expr, this: Instance, level: int) -> Frame:
    """An activation of a function outside the class in which ``where``, a parameter or ``self.x``, is the object."""
    generic = ev.generic(function)
    frame = ev.new_frame(function, level, this=generic.this, depth=len(ev.running))
    if isinstance(where, Param):
        frame.arguments[where.name] = this
    elif isinstance(where, Attr) and isinstance(where.base, Param) and isinstance(generic.this, Instance):
        frame.this = replace(generic.this, overrides={**generic.this.overrides, where.name: this})
    elif isinstance(made := unchanged(where), Call):
        maker = this.init.maker if this.init is not None else None
        if maker is None or maker.function is not function or ev.span(maker, made) != this.span:
            return generic
        # The call that made the object changes it before it hands it out.
        frame.arguments, frame.this, frame.parent = maker.arguments, maker.this, maker.parent
        frame.path_loops, frame.bindings = maker.path_loops, maker.bindings
        frame.memo[id(made)] = this
    else:
        return generic
    return frame


def makes_objects(function: Function) -> bool:
    """Whether a function stands in for a constructor: a static or class method that says so by its name."""
    return function.name in SETUP and bool(function.decorator_names & {"staticmethod", "classmethod"})


def writer_level(ev: Evaluator, function: Function) -> int:
    """How often a method that writes state runs: once a session when only set-up code calls it."""
    known = ev.writer_levels.get(function)
    if known is not None:
        return known
    ev.writer_levels[function] = CALL
    level = CALL
    if (
        function.name in SETUP
        or SETUP & function.decorator_names
        or function.name.startswith(("load_", "init_", "_init", "setup_", "_setup", "reset_", "clear_", "_load"))
    ):
        level = SESSION
    else:
        found = [f for f, _ in ev.program.calls_named(function.name, function.module) if f is not function]
        if found and all(
            f.owner is not None and f.owner is function.owner and writer_level(ev, f) == SESSION for f in found
        ):
            level = SESSION
    ev.writer_levels[function] = level
    return level


def _one_history(value: Value) -> Value:
    """Several writers of one list make one history."""
    if not isinstance(value, Seq):
        return value
    kept = [i for i in value.items if isinstance(i, History)]
    if len(kept) < 2:
        return value
    values = Lazy(lambda: by_role(k.value for k in kept))
    merged = replace(kept[0], held=values, edits=tuple(dict.fromkeys(e for k in kept for e in k.edits)))
    items: list[Item] = []
    for item in value.items:
        if item is kept[0]:
            items.append(merged)
        elif item not in kept:
            items.append(item)
    return replace(value, items=tuple(items))


def global_state(ev: Evaluator, module: Module, name: str, expr: Expr, frame: Frame) -> Value:
    """A module-level name: its value after import, and what functions make of it later."""
    before = ev.eval(expr, frame)
    if isinstance(before, (Routine, Type)) or (isinstance(before, External) and not before.instance):
        return before
    key = ("global", module, name)
    cached = ev.attribute_cache.get(key)
    if cached is not None:
        return cached
    if key in ev.attributes_active:
        return before
    changing = list(writers(ev, key))
    if not changing:
        return before
    ev.attributes_active.add(key)
    result = before
    try:
        for function in changing[:MAX_WRITERS]:
            step = ev.summary(function).exit.get(name)
            if step is None:
                continue
            marker = loops.base_marker(before, key)
            ev.global_overrides[(module, name)] = marker
            try:
                target = ev.new_frame(function, writer_level(ev, function), depth=len(ev.running))
                value = ev.eval(step, target)
            finally:
                del ev.global_overrides[(module, name)]
            level = writer_level(ev, function)
            result = loops.grown(ev, result, value, key, function.module.span(step.at), level, history=True)
    finally:
        ev.attributes_active.discard(key)
    result = _one_history(result)
    ev.attribute_cache[key] = result
    return result


def session_value(ev: Evaluator, store: str, name: str, frame: Frame, span: Span) -> Value:
    """What a user's session keeps under a name, by everything that writes it."""
    key = (store, name)
    override = ev.session_overrides.get(key)
    if override is not None:
        return override
    cached = ev.attribute_cache.get(("session", *key, frame.module))
    if cached is not None:
        return cached
    root = ("session", *key)
    before = Seq("list", (), span)
    grows: Value = before
    stored: list[Value] = []
    ev.session_overrides[key] = loops.base_marker(before, root)
    try:
        for function, expr in _session_writers(ev, store, name, frame.module):
            target = ev.new_frame(function, CALL, this=ev.generic(function).this, depth=len(ev.running))
            value = ev.eval(expr, target)
            lists = [
                o for o in options(value) if isinstance(o, Seq) and any(loops.contains_base(i, root) for i in o.items)
            ]
            if lists and writer_level(ev, function) < CALL:
                continue  # what is done to the turns so far where a session is set up begins another conversation
            grows = (
                loops.grown(ev, grows, join(lists), root, function.module.span(expr.at), CALL, history=True)
                if lists
                else grows
            )
            stored += [o for o in options(value) if o not in lists and not (isinstance(o, Seq) and not o.items)]
    finally:
        del ev.session_overrides[key]
    grows = _one_history(grows)
    if isinstance(grows, Seq) and any(isinstance(i, History) for i in grows.items):
        stored = [o for o in stored if not isinstance(o, Const)]
        first = [o for o in stored if isinstance(o, Seq)]
        grows = replace(grows, items=(*(join(first).items if first else ()), *grows.items))  # type: ignore[attr-defined]
        result: Value = grows
    else:
        result = join(stored) if stored else Hole(f"{store.rpartition('.')[2]}.{name}", span)
    ev.attribute_cache["session", *key, frame.module] = result
    return result


def _session_writers(ev: Evaluator, store: str, name: str, reader: Module) -> Iterator[tuple[Function, Expr]]:
    """The bodies that leave something in a session store under ``name``, in the program that ``reader`` is part of."""
    count = 0
    near = _imported(ev, reader)
    for module in list(ev.program.mentioning(name)):
        if module is not reader and not near & {module, *_imported(ev, module)} and reader not in _imported(ev, module):
            continue
        for function in (module.body, *module.functions):
            for path, expr in ev.summary(function).exit.items():
                prefix, _, last = path.rpartition(".")
                head, _, rest = prefix.partition(".")
                if last != name or not head or count >= MAX_WRITERS:
                    continue
                target = ev.program.imported(head, module) or head
                if (f"{target}.{rest}" if rest else target) == store:
                    count += 1
                    yield function, expr


def _imported(ev: Evaluator, module: Module) -> frozenset[Module]:
    """The modules of the project that a module imports."""
    names = ev.summary(module.body).names.values()
    found = (ev.program.resolve(v.dotted, module) for v in names if isinstance(v, Import))
    return frozenset(f[0] for f in found if f is not None)


# -- calls that change what they are handed -------------------------------------------------------------------------


def after(ev: Evaluator, node: After, frame: Frame) -> Value:
    """What a call leaves in one of its arguments, or in an attribute of its receiver."""
    before = ev.eval(node.before, frame)
    if isinstance(before, (Text, Const, Routine, Type, External)) and node.argument != "self":
        return before
    func = ev.eval(node.call.func, frame)
    results: list[Value] = []
    for option in options(func):
        if isinstance(option, Routine):
            results.append(_after_routine(ev, option, node, before, frame))
    return join(results) if results else before


def _after_routine(ev: Evaluator, routine: Routine, node: After, before: Value, frame: Frame) -> Value:
    function = routine.function
    if function.module.body is function or len(ev.running) > 10 or function in ev.running:
        return before
    summary = ev.summary(function)
    parameters = list(function.parameters)
    bound = function.is_method and routine.this is not None
    if node.argument == "self":
        if not bound or "." in node.path:
            return before
        expr = summary.exit.get(f"{parameters[0].name}.{node.path}")
        if expr is None:
            return before
        target = ev.activation(routine, node.call, frame)
        if target is None:
            return before
        this = routine.this
        if isinstance(this, Instance):
            target.this = replace(this, overrides={**this.overrides, node.path: before})
            target.arguments[parameters[0].name] = target.this
        return _run(ev, function, expr, target)
    if bound:
        parameters = parameters[1:]
    name: str | None
    if isinstance(node.argument, int):
        name = parameters[node.argument].name if node.argument < len(parameters) else None
    else:
        name = node.argument
    if name is None:
        return before
    expr = summary.exit.get(name)
    fields = {k[len(name) + 1 :]: e for k, e in summary.exit.items() if k.startswith(name + ".") and k.count(".") == 1}
    if expr is None and not fields:
        return before
    target = ev.activation(routine, node.call, frame)
    if target is None:
        return before
    target.arguments[name] = before
    result = _run(ev, function, expr, target) if expr is not None else before
    if fields and isinstance(result, Instance) and len(fields) <= 6:
        # What a field holds then is looked at when somebody reads it.
        left = {k: Lazy(lambda e=e: _run(ev, function, e, target)) for k, e in fields.items()}  # type: ignore[misc]
        result = replace(result, overrides={**result.overrides, **left})
    return result


def after_calls(ev: Evaluator, base: Instance, node: Field, frame: Frame) -> Value | None:
    """A member of a new object after some calls of its methods; ``None`` where more than these may change it."""
    if not base.exact or len(ev.running) > 10:
        return None
    if base.init is not None and not _keeps_to_itself(ev, base.init.function):
        return None
    method = ev.program.method(base.cls, node.name)
    if method is None:
        return _after_calls(ev, base, node.name, node, frame)
    fields = {f for c in ev.program.mro(base.cls) for m in c.methods.values() for f in m.stores}
    if not node.calls or not fields or _made_by(ev, node, frame) is None:
        return None

    def held(name: str) -> Lazy:
        span = ev.span(frame, node)
        return Lazy(lambda: _after_calls(ev, base, name, node, frame) or attribute(ev, base, name, span, frame))

    filled = replace(base, overrides={**base.overrides, **{name: held(name) for name in sorted(fields)}})
    return _method(ev, filled, method, ev.span(frame, node), frame)


def _made_by(ev: Evaluator, node: Field, frame: Frame) -> list[tuple[Routine, Call]] | None:
    """The methods that the calls of a ``Field`` run; ``None`` where one is not known, or may hand the object on."""
    found = []
    for call in node.calls:
        routine = only(ev.eval(call.func, frame), Routine)
        if routine is None or routine.function in ev.running or not routine.function.is_method:
            return None
        if not _keeps_to_itself(ev, routine.function):
            return None
        found.append((routine, call))
    return found


def _after_calls(ev: Evaluator, base: Instance, name: str, node: Field, frame: Frame) -> Value | None:
    """An attribute after the calls of a ``Field``: under its guards, a call may have been made or not."""
    if _set_by_maker(ev, base, name):
        return None
    value = base.given(name) or _initial(ev, base, name, base.span)
    for routine, call in _made_by(ev, node, frame) or ():
        this = routine.function.parameters[0].name
        expr = ev.summary(routine.function).exit.get(f"{this}.{name}")
        target = ev.activation(routine, call, frame) if expr is not None else None
        if expr is None:
            continue
        if target is None or value is None:
            return None
        target.this = replace(base, overrides={**base.overrides, name: value})
        target.arguments[this] = target.this
        result = _run(ev, routine.function, expr, target)
        for guard in reversed(call.guards[len(node.made.guards) :]):
            result = ev.under(guard, result, value, frame)
        value = result
    return value


def _set_by_maker(ev: Evaluator, base: Instance, name: str) -> bool:
    """Whether the function that makes an object writes the attribute before it hands the object out."""
    maker = ev.program.function_at(base.span)
    if maker is None or name not in maker.stores:
        return False
    made = (unchanged(w.base) for w in ev.summary(maker).writes if w.name == name)
    return any(isinstance(m, Call) and maker.module.span(m.at) == base.span for m in made)


def _keeps_to_itself(ev: Evaluator, function: Function) -> bool:
    """Whether a method neither calls other methods of its object nor hands the object on."""
    if not function.is_method:
        return True
    this = function.parameters[0].name

    def is_this(node: Expr) -> bool:
        return isinstance(node, Param) and node.name == this

    return not any(
        (isinstance(c.func, Attr) and is_this(c.func.base))
        or any(is_this(a) for a in (*c.args, *(v for _, v in c.keywords)))
        for c in ev.summary(function).calls
    )


def _run(ev: Evaluator, function: Function, expr: Expr, target: Frame) -> Value:
    ev.running.append(function)
    try:
        return ev.eval(expr, target)
    finally:
        ev.running.pop()


# -- receivers of unknown type --------------------------------------------------------------------------------------


def by_name(ev: Evaluator, node: Call) -> list[Function]:
    """The methods that a call on a receiver of unknown class may mean: one family with a fitting signature."""
    func = node.func
    if not isinstance(func, Attr) or func.name in COMMON or func.name.startswith("__"):
        return []
    known = ev.by_name_cache.get(func.name)
    if known is None:
        found = [f for f in ev.program.methods_named(func.name) if "property" not in f.decorator_names]
        families = {id(ev.program.root_class(f)) for f in found}
        known = found if len(families) == 1 else []
        ev.by_name_cache[func.name] = known
    fitting = [f for f in known if fits(f, node)]
    concrete = [f for f in fitting if not is_abstract(f)]
    return (concrete or fitting)[:MAX_FAMILY]


def fits(function: Function, node: Call) -> bool:
    """Whether a call could be a call of this function, by the number and names of its arguments."""
    kinds = {p.kind for p in function.parameters}
    names = {p.name for p in function.parameters}
    positional = sum(1 for p in function.parameters if p.kind == "positional")
    if function.is_method:
        positional -= 1
    given = [a for a in node.args if not isinstance(a, Star)]
    if "args" not in kinds and len(given) > positional:
        return False
    return "kwargs" in kinds or all(k is None or k in names for k, _ in node.keywords)
