"""What a constructor of the project makes: instances, records and models with their fields."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from promptlint.code.expression import (
    At,
    Call,
    Star,
)
from promptlint.code.index import Class, Module
from promptlint.frozen import replace
from promptlint.link import containers
from promptlint.link.calling import binding
from promptlint.link.calling.binding import DICTS
from promptlint.link.classes import derived
from promptlint.link.joining import join
from promptlint.link.kept import state
from promptlint.link.values import Const, FilePath, Hole, Instance, Lazy, Map, Routine, Text, Value, options, text
from promptlint.span import Span

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.frame import Frame


RECORDS = frozenset(
    [
        "pydantic.BaseModel",
        "pydantic.main.BaseModel",
        "pydantic_settings.BaseSettings",
        "pydantic.BaseSettings",
        "sqlmodel.SQLModel",
        "typing.NamedTuple",
        "msgspec.Struct",
        "NamedTuple",
        "BaseModel",
    ]
)
MODELS = frozenset(n for n in RECORDS if n.endswith(("BaseModel", "BaseSettings", "SQLModel")))
"""The records whose constructor turns what it is given into the types of its fields."""
SETTINGS = frozenset(n for n in RECORDS if n.endswith("BaseSettings"))
"""The records that fill their fields from the environment."""
_BUILTIN_DICTS = frozenset(["builtins.dict", "dict", "collections.UserDict", "collections.OrderedDict"])
PATHS = frozenset(["pathlib.Path", "pathlib.PurePath", "pydantic.FilePath", "pydantic.types.FilePath"])


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


def _only_fills_in(ev: Evaluator, cls: Class) -> bool:
    """Whether a kind of dict differs from the built-in one only in what it says of keys that it does not have."""
    return all(c.methods.keys() <= {"__missing__"} for c in ev.program.mro(cls))


def construct(ev: Evaluator, cls: Class, node: Call, frame: Frame) -> Value:
    """``cls(...)``."""
    span = ev.span(frame, node)
    level = frame.level_at(node.loops)
    foreign = ev.program.foreign_bases(cls)
    init = ev.program.method(cls, "__init__")
    if foreign & DICTS or (foreign & _BUILTIN_DICTS and _only_fills_in(ev, cls)):
        result: Map = Map({}, span)
        for argument in node.args[:1]:
            result = containers.update(result, ev.eval(argument, frame), span)
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
            target.maker = frame
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
                value = ev.eval(expr, frame)
                overrides |= _looked_up(ev, cls, value, span, ev.snippet(frame, expr.at)) | _spread(value)
        return _record(ev, instance, overrides, frame)
    kind = derived.client_type(ev, cls)
    return replace(instance, client=derived.constructed(ev, kind, node, frame)) if kind is not None else instance


def _spread(value: Value) -> dict[str, Value | Lazy]:
    """The keywords that ``**value`` gives, by all dicts that it may be."""
    maps = [o for o in options(value) if isinstance(o, Map)]
    if len(maps) == 1:
        return {k: e.held for k, e in maps[0].entries.items()}
    names = dict.fromkeys(k for m in maps for k in m.entries)
    return {k: join(m.entries[k].value for m in maps if k in m.entries) for k in names}


def _looked_up(ev: Evaluator, cls: Class, value: Value, span: Span, shown: str) -> dict[str, Value | Lazy]:
    """The fields that a record finds in ``**value`` where not all that this holds is known.

    A field with a default may not be in there: it is left as it is.
    """
    unknown = [o for o in options(value) if o.origins() and (isinstance(o, Hole) or (isinstance(o, Map) and o.rest))]
    needed = [name for name, (_, default) in _fields(ev, cls).items() if default is None] if unknown else ()
    return {name: containers.item(join(unknown), text(name, span), span, shown) for name in needed}


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
        overrides |= paths_given(ev, cls, given)
    for name, (base, default) in _fields(ev, cls).items():
        if name not in overrides and default is not None:
            overrides[name] = field_default(ev, base, default, made.level)
    return replace(
        made,
        overrides={k: v for k, v in overrides.items() if not state.written_later(ev, cls, k)},
        init=_kept(ev, cls, overrides, made.level, maker),
    )


def paths_given(ev: Evaluator, cls: Class, given: dict[str, Value | Lazy]) -> dict[str, Value]:
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
    return bool(names & PATHS) and "str" not in names and not binding._container_annotation(annotation)


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
    """The default of a dataclass or pydantic field, with its ``default_factory`` run at ``level``.

    A field of settings that has none, or an empty text, is filled in from the environment.
    """
    value = _default(ev, owner, default, level)
    unset = (isinstance(value, Const) and value.value is None) or (isinstance(value, Text) and not value.pieces)
    if unset and ev.program.foreign_bases(owner) & SETTINGS:
        return Hole("a setting", owner.module.span(At.start(default)), persistent=True)
    return value


def _default(ev: Evaluator, owner: Class, default: ast.expr, level: int) -> Value:
    if isinstance(default, ast.Call):
        for keyword in default.keywords:
            if keyword.arg in ("default_factory", "factory"):
                call = ast.Call(keyword.value, [], [])
                ast.copy_location(call, keyword.value)
                return ev.ast_value(call, owner.module, level)
            if keyword.arg == "default":
                return ev.ast_value(keyword.value, owner.module)
        name = binding.containers_name(default.func)
        if name in ("Field", "field", "Column", "mapped_column", "ib", "attrib"):
            if default.args and not (isinstance(default.args[0], ast.Constant) and default.args[0].value is ...):
                return ev.ast_value(default.args[0], owner.module)
            return Hole(name or "field", owner.module.span(At.start(default)))
    return ev.ast_value(default, owner.module)
