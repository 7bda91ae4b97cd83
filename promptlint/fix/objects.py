"""Requests that name a Gemini cache object: what belongs into the object is taken out of the request."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst import metadata as meta

from promptlint.finding import Edit
from promptlint.fix.known import called, is_text
from promptlint.fix.module import Module, Part
from promptlint.span import Span

FIELDS = ("system_instruction", "tools", "tool_config")
"""What the API refuses beside ``cached_content``."""
_Fields = dict[str, tuple[cst.CSTNode, cst.BaseExpression]]


def fields(module: Module, site: Span) -> tuple[tuple[Edit, ...], bool]:
    """The edits that take the refused fields out of a request, and whether the cache object then says all of them.

    A field that the one cache object of the file lacks is moved into it where its value is the same at both places.
    """
    config = next((c for c in _configs(module, site) if "cached_content" in _named(c)), None)
    if config is None:
        return (), False
    given, parts = _named(config), _parts(config)
    refused = [name for name in FIELDS if name in given]
    if len(refused) >= len(parts):
        return (), False
    made = [call for call in module.expressions.values() if _creates(call)]
    inner = next(iter(_created(made[0])), None) if len(made) == 1 else None
    held = _named(inner) if inner is not None else {}
    edits, complete = [*module.without(parts, *(given[name][0] for name in refused))], True
    for name in refused:
        value = given[name][1]
        if name in held:
            complete &= module.source(held[name][1]) == module.source(value)
        elif inner is not None and held and _fixed(module, value, inner):
            edits += module.added(_parts(inner), _spelt(inner, name, module.source(value)))
        else:
            complete = False
    return tuple(edits), complete


def _configs(module: Module, site: Span) -> Iterator[cst.Call | cst.Dict]:
    """The calls and dict displays in a call that sends a request."""
    return (node for node in module.inside(site) if isinstance(node, cst.Call | cst.Dict))


def _parts(config: cst.Call | cst.Dict) -> tuple[Part, ...]:
    return tuple(config.args) if isinstance(config, cst.Call) else tuple(config.elements)


def _named(config: cst.Call | cst.Dict) -> _Fields:
    found: _Fields = {}
    for part in _parts(config):
        match part:
            case cst.Arg(keyword=cst.Name(value=name), value=value):
                found[name] = (part, value)
            case cst.DictElement(key=cst.SimpleString() as key, value=value):
                found[str(key.evaluated_value)] = (part, value)
    return found


def _spelt(config: cst.Call | cst.Dict, name: str, value: str) -> str:
    return f"{name}={value}" if isinstance(config, cst.Call) else f'"{name}": {value}'


def _creates(call: cst.BaseExpression) -> bool:
    """Whether a call makes a cache object: ``client.caches.create(...)``."""
    return (
        called(call) == ".create"
        and isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and isinstance(call.func.value, cst.Attribute)
        and call.func.value.attr.value == "caches"
    )


def _created(call: cst.BaseExpression) -> Iterator[cst.Call | cst.Dict]:
    """What a cache object is made of: the ``config`` of the call."""
    assert isinstance(call, cst.Call)
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "config" and isinstance(arg.value, cst.Call | cst.Dict):
            yield arg.value


def _fixed(module: Module, value: cst.BaseExpression, place: cst.CSTNode) -> bool:
    """Whether an expression is the same at another place of the file, and known there."""
    if isinstance(value, cst.SimpleString | cst.ConcatenatedString):
        return is_text(value)
    if isinstance(value, cst.BinaryOperation):
        right = value.right
        return _fixed(module, value.left, place) and (isinstance(right, cst.Integer) or _fixed(module, right, place))
    if isinstance(value, cst.Name):
        bound = module.bindings(value)
        node = bound[0].node if len(bound) == 1 and isinstance(bound[0], meta.Assignment) else None
        return node is not None and isinstance(bound[0].scope, meta.GlobalScope) and module.is_above(node, place)
    return False
