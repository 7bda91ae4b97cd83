"""Attributes of the project's classes: methods, properties, and what the code keeps in an instance."""

from __future__ import annotations

import ast
from itertools import islice
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    Attr,
    Call,
    Star,
)
from promptlint.code.index import Class, Function
from promptlint.codebase.program import MAX_FAMILY, is_abstract
from promptlint.frozen import replace
from promptlint.link.calling import binding
from promptlint.link.classes import construction, derived
from promptlint.link.joining import join
from promptlint.link.kept import state
from promptlint.link.texts import strings
from promptlint.link.values import CALL, IMPORT, SESSION, External, Hole, Instance, Routine, Type, Value, options, text
from promptlint.span import Span, Step

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


MAX_STATE = 5_000
"""Nodes evaluated to find out what one attribute may hold."""
MAX_NAMESAKES = 8
"""Calls of what is named like a record that are looked at for those which make it."""
MAX_MAKERS = 3
"""Calls that make a record of which more leave open what one of them holds."""
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


def as_declared(ev: Evaluator, made: Value, function: Function, span: Span) -> Value:
    """What a function returns; what it says it returns, where it was not found out which one it is: a client of a
    library, or an object of one of the classes below one that leaves methods to them."""
    found = options(made)
    if not isinstance(function.node, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.node.returns is None:
        return made
    if not any(isinstance(o, Hole) for o in found) or any(isinstance(o, (External, Instance)) for o in found):
        return made
    declared = binding.declared_value(ev, function.node.returns, function.module, span)
    if isinstance(declared, Instance):
        return declared if _is_base(ev, declared.cls) else made
    return declared if isinstance(declared, External) else made


def _is_base(ev: Evaluator, cls: Class) -> bool:
    """Whether a class leaves methods to the classes below it."""
    return any(map(is_abstract, cls.methods.values())) and any(ev.program.subclasses(cls))


def class_attribute(ev: Evaluator, base: Type, name: str, span: Span) -> Value:
    """``Class.name``."""
    cls = base.cls
    if name == "__doc__" and "__doc__" not in cls.fields:
        return text(cls.docstring, span)
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
    if name == "__doc__" and "__doc__" not in base.cls.fields:
        return text(base.cls.docstring, span)
    methods = program.overrides(base.cls, name) if not base.exact else []
    if not methods:
        own = program.method(base.cls, name)
        methods = [own] if own is not None else []
    if methods:
        return join(method(ev, base, m, span, frame) for m in methods)
    if (inherited := _of_client(ev, base, name, span)) is not None:
        return inherited
    if hasattr(str, name) and (member := strings.member_text(ev, base)) is not None:
        return ev.attribute(member, name, span, frame)
    if (read := getter(ev, base, name)) is not None:
        return _read(ev, base, read, level_of_line(ev, frame, span), span)
    if base.init is None and not base.exact and _is_given(ev, base.cls, name, span):
        if (made := _given_where_made(ev, base.cls, name, span)) is not None:
            return made
        return Hole(name, span, (binding.handed_in(name, base.span, CALL),), root=True)
    if ev.filling and (old := ev.filling.get((base.cls, name))) is not None:
        return old
    key = (base.cls, base.init, name, base.exact, base.level)
    cached = ev.attribute_cache.get(key)
    if cached is not None:
        return cached
    if ("state", *key) in ev.attributes_active:
        ev.cycles += 1
        return Hole(f"self.{name}", span)
    ev.attributes_active.add(("state", *key))
    try:
        value = ev.within(MAX_STATE, lambda: state.state(ev, base, name, span))
    finally:
        ev.attributes_active.discard(("state", *key))
    if not ev.exhausted:
        ev.attribute_cache[key] = value
    return value


def _of_client(ev: Evaluator, base: Instance, name: str, span: Span) -> External | None:
    """A member that an object has of a client of a library, of which its class is made."""
    kind = derived.client_type(ev, base.cls)
    if kind is None or any(
        name in c.fields or any(m.stores(name) for m in c.methods.values()) for c in ev.program.mro(base.cls)
    ):
        return None
    return External(f"{kind}.{name}", span, instance=True, this=base)


def _is_given(ev: Evaluator, cls: Class, name: str, span: Span) -> bool:
    """Whether a field of a record holds nothing but what the outside put into it."""
    owner = next((c for c in ev.program.mro(cls) if name in c.fields), None)
    if owner is None or not construction.is_record(ev, cls) or state.written_later(ev, cls, name):
        return False
    annotation, default = owner.fields[name]
    return default is None and binding.declared_value(ev, annotation, owner.module, span) is None


def _given_where_made(ev: Evaluator, cls: Class, name: str, span: Span) -> Value | None:
    """What the few calls that make such a record put into a field, once for each of them; copies leave it as it is."""
    key = ("made", cls, name)
    known = ev.attribute_cache.get(key)
    if known is not None:
        return known
    same = Hole(f"self.{name}", span)
    if key in ev.attributes_active:
        return same
    calls = ev.program.calls_named(cls.name, cls.module)
    making = [(f, c) for f, c in islice(calls, MAX_NAMESAKES) if _makes(ev, cls, f, c)]
    given = [(v, f) for f, c in making for k, v in c.keywords if k == name]
    if not 0 < len(given) == len(making) <= MAX_MAKERS:
        return None
    ev.attributes_active.add(key)
    try:
        values = [ev.eval(expr, ev.generic(function)) for expr, function in given]
    finally:
        ev.attributes_active.discard(key)
    values = [v for v in values if not (isinstance(v, Hole) and v.name == same.name and not v.deps)]
    if not values:
        return None
    value = join(values).change(lambda o: replace(o, level=min(o.level, SESSION)))
    if not ev.exhausted:
        ev.attribute_cache[key] = value
    return value


def _makes(ev: Evaluator, cls: Class, function: Function, call: Call) -> bool:
    found = options(ev.resolve(call.func, ev.generic(function)))
    return any(isinstance(o, Type) and o.cls is cls for o in found)


def method(ev: Evaluator, base: Instance, method: Function, span: Span, frame: Frame) -> Value:
    names = method.decorator_names
    base = _running(ev, base, method)
    if names & {"property", "cached_property", "computed_field"}:
        level = min(base.level, SESSION) if "cached_property" in names else level_of_line(ev, frame, span)
        return _read(ev, base, method, level, span)
    if "staticmethod" in names:
        return Routine(method, None, None)
    return Routine(method, None, base)


def _read(ev: Evaluator, base: Instance, read: Function, level: int, span: Span) -> Value:
    """What a property gives whose getter this is."""
    if ev.running.count(read) >= 2:
        return Hole(read.name, span)
    target = ev.new_frame(read, level, this=base, depth=len(ev.running))
    if not read.is_method and read.parameters:
        target.arguments[read.parameters[0].name] = base  # a lambda
    result = as_declared(ev, ev.result(target, read, span), read, span)
    name = f"the property {read.name}" if read.name != "<lambda>" else "a property"
    return result.along(Step(span, f"read from {name}"))


def getter(ev: Evaluator, base: Instance, name: str) -> Function | None:
    """The function that ``name = property(function)`` in the body of a class reads with."""
    made = next((c.fields[name][1] for c in ev.program.mro(base.cls) if name in c.fields), None)
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name) or made.func.id != "property":
        return None
    read = made.args[0] if made.args else next((k.value for k in made.keywords if k.arg == "fget"), None)
    if isinstance(read, ast.Name):
        return ev.program.method(base.cls, read.id)
    found = base.cls.module.definitions.get(read) if isinstance(read, ast.Lambda) else None
    return found if isinstance(found, Function) else None


def _running(ev: Evaluator, base: Instance, method: Function) -> Instance:
    """The object as one that has this method: of a class below the declared one, or that fulfils it as a protocol.

    So what that method calls on it is its own, and not what the other classes of the family have in that place.
    """
    owner = method.owner
    if base.exact or owner is None or owner in ev.program.mro(base.cls):
        return base
    return replace(base, cls=owner)


def level_of_line(ev: Evaluator, frame: Frame, span: Span) -> int:
    """How often the code at ``span`` of an activation runs; without a place, it reads what a loop carries."""
    loops = ev.summary(frame.function).loops if frame.path_loops else {}
    around = [n for n, s in loops.items() if span.line <= 0 or s.at.lineno <= span.line <= s.at.end_lineno]
    return frame.level_at(around)


def by_name(ev: Evaluator, node: Call) -> list[Function]:
    """The methods that a call on a receiver of unknown class may mean: one family with a fitting signature."""
    func = node.func
    if not isinstance(func, Attr) or func.name in COMMON or func.name.startswith("__"):
        return []
    known = ev.by_name_cache.get(func.name)
    if known is None:
        known = ev.by_name_cache[func.name] = _one_family(ev, func.name)
    fitting = [f for f in known if fits(f, node)]
    concrete = [f for f in fitting if not is_abstract(f)]
    return (concrete or fitting)[:MAX_FAMILY]


def _one_family(ev: Evaluator, name: str) -> list[Function]:
    """The methods of a name when all of them are of one family, else none: the second family ends the search."""
    found: list[Function] = []
    family: Class | None = None
    for method in ev.program.methods_named(name):
        if "property" in method.decorator_names:
            continue
        root = ev.program.root_class(method)
        if found and root is not family:
            return []
        found.append(method)
        family = root
    return found


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
