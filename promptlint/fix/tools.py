"""Lists of tools in an order that is not fixed: sorted by the names of the tools, which are strings and differ."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from promptlint.fix.known import is_text
from promptlint.fix.module import Module

_AROUND_NAME = ("function", "toolSpec")
"""Fields that hold the definition of a tool with its name (OpenAI, Bedrock); elsewhere the tool does itself."""


def sortable(module: Module, node: cst.BaseExpression) -> tuple[cst.BaseExpression, str] | None:
    """What to sort, and the ``key`` argument for it, where tools are made of each element of a collection."""
    match module.parents.get(node):
        case cst.CompFor(target=cst.Name(value=element), inner_for_in=None) as loop:
            made = module.parents[loop]
            if not isinstance(made, cst.ListComp | cst.GeneratorExp):
                return None
            if _looked_up(module, made.elt, element):
                return node, ""
            key = _key(made.elt, element)
            if key is not None:
                return node, key
            if isinstance(made, cst.ListComp) and isinstance(made.elt, cst.Dict):
                return next(((made, _by(path)) for path, _ in _names(made.elt)), None)
            return None
        case cst.For(target=cst.Name(value=element), body=body):
            reader = _Dicts()
            body.visit(reader)
            keys = {key for tool in reader.found if (key := _key(tool, element)) is not None}
            return (node, keys.pop()) if len(keys) == 1 else None
    return None


def _key(made: cst.BaseExpression, element: str) -> str | None:
    """How to order elements of which tools are made: by what becomes the name of the tool."""
    for _, value in _names(made) if isinstance(made, cst.Dict) else ():
        match value:
            case cst.Name(value=name) if name == element:
                return ""
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=field)) if name == element:
                return _by(f".{field}")
            case cst.Subscript(value=cst.Name(value=name), slice=[cst.SubscriptElement(slice=cst.Index(value=field))]):
                if name == element and isinstance(field, cst.SimpleString):
                    return _by(f"[{field.value}]")
    return None


def _looked_up(module: Module, made: cst.BaseExpression, element: str) -> bool:
    """Whether the tool is an element of a dict whose keys are strings: ``TOOLS[name]``."""
    match made:
        case cst.Subscript(
            value=cst.Name() as name, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(value=key)))]
        ) if key == element:
            table = module.value(name)
            parts = table.elements if isinstance(table, cst.Dict) else ()
            return bool(parts) and all(isinstance(p, cst.DictElement) and is_text(p.key) for p in parts)
    return False


def _by(path: str) -> str:
    return f", key=lambda tool: tool{path}"


def _names(tool: cst.Dict) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Where in a tool its name stands, as code, and the expression for it."""
    for part in tool.elements:
        if not isinstance(part, cst.DictElement) or not is_text(part.key) or not isinstance(part.key, cst.SimpleString):
            continue
        field = part.key.evaluated_value
        if field == "name":
            yield f"[{part.key.value}]", part.value
        elif field in _AROUND_NAME and isinstance(part.value, cst.Dict):
            yield from ((f"[{part.key.value}]{path}", value) for path, value in _names(part.value))


class _Dicts(cst.CSTVisitor):
    """The outermost dict displays in the body of a loop."""

    def __init__(self) -> None:
        self.found: list[cst.Dict] = []

    def visit_Dict(self, node: cst.Dict) -> bool:
        self.found.append(node)
        return False
