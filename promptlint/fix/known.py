"""What an expression is known to hold, by its own text and that of the names in it."""

from __future__ import annotations

from collections.abc import Callable, Set

import libcst as cst

from promptlint.fix.module import Module

Value = Callable[[cst.Name], "cst.BaseExpression | cst.Annotation | None"]
"""The only value that a name is given, or its annotation where it is a parameter; ``None`` when not known."""

DEPTH = 8
_COLLECT = frozenset(["set", "frozenset", "list", "tuple", "sorted", "reversed", "iter"])
SETS = frozenset(["set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"])
"""Names of sets in annotations."""
_ANNOTATED = SETS | {"list", "List", "Iterable", "Sequence"}
_ASKED = frozenset(["input", "str", "repr", "format"])
"""Built-in functions that give a string."""
_TEXT = frozenset(["lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "casefold", "join"])
_LEFT = frozenset(["difference", "intersection", "copy"])
_BOTH = frozenset(["union", "symmetric_difference"])


def called(node: cst.BaseExpression) -> str:
    """The plain or last name of what is called: ``set`` of ``set(x)``, ``.glob`` of ``path.glob("*")``."""
    if not isinstance(node, cst.Call):
        return ""
    if isinstance(node.func, cst.Name):
        return node.func.value
    return f".{node.func.attr.value}" if isinstance(node.func, cst.Attribute) else ""


def is_text(node: cst.BaseExpression) -> bool:
    """Whether the expression is a ``str``, whatever is in it."""
    if isinstance(node, cst.SimpleString):
        return "b" not in node.prefix
    if isinstance(node, cst.ConcatenatedString):
        return is_text(node.left)
    return isinstance(node, cst.FormattedString) or called(node) in ("str", *(f".{name}" for name in _TEXT))


def is_string(module: Module, node: cst.BaseExpression) -> bool:
    """Whether an expression is known to be a string and is no list of blocks."""
    if is_text(node):
        return True
    match node:
        case cst.Call(func=cst.Name(value=name)):
            return name in _ASKED and module.is_builtin(name, node)
        case cst.BinaryOperation(operator=cst.Add() | cst.Multiply() | cst.Modulo(), left=left, right=right):
            return is_string(module, left) or (isinstance(node.operator, cst.Add) and is_string(module, right))
        case cst.Name():
            value = module.value(node)
            if isinstance(value, cst.Annotation):
                return isinstance(value.annotation, cst.Name) and value.annotation.value == "str"
            return value is not None and is_string(module, value)
    return False


def holds_strings(node: cst.BaseExpression, value: Value, depth: int = DEPTH) -> bool:
    """Whether every element of a collection is known to be a ``str``."""
    if not depth:
        return False

    def also(other: cst.BaseExpression) -> bool:
        return holds_strings(other, value, depth - 1)

    match node:
        case cst.Set(elements=elements) | cst.List(elements=elements) | cst.Tuple(elements=elements):
            return all(also(e.value) if isinstance(e, cst.StarredElement) else is_text(e.value) for e in elements)
        case (
            cst.SetComp(elt=elt, for_in=loop)
            | cst.ListComp(elt=elt, for_in=loop)
            | cst.GeneratorExp(elt=elt, for_in=loop)
        ):
            if is_text(elt):
                return True
            same = isinstance(elt, cst.Name) and isinstance(loop.target, cst.Name) and elt.value == loop.target.value
            return same and loop.inner_for_in is None and also(loop.iter)
        case cst.BinaryOperation(operator=cst.Subtract() | cst.BitAnd()):
            return also(node.left)
        case cst.BinaryOperation(operator=cst.BitOr() | cst.BitXor()):
            return also(node.left) and also(node.right)
        case cst.Call(func=cst.Name(value=name), args=[argument]) if name in _COLLECT:
            return also(argument.value)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="split" | "splitlines"))):
            return True
        case cst.Call(func=cst.Attribute(value=left, attr=cst.Name(value=name))) if name in _LEFT:
            return also(left)
        case cst.Call(func=cst.Attribute(value=left, attr=cst.Name(value=name)), args=args) if name in _BOTH:
            return also(left) and all(also(argument.value) for argument in args)
        case cst.Name():
            found = value(node)
            if isinstance(found, cst.Annotation):
                return annotated(found.annotation)
            return found is not None and also(found)
    return False


def annotated(node: cst.BaseExpression, bases: Set[str] = _ANNOTATED) -> bool:
    """Whether an annotation says that there are strings in a collection: ``set[str]``, ``typing.Set[str]``."""
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return False
    base = node.value.attr if isinstance(node.value, cst.Attribute) else node.value
    inner = node.slice[0].slice
    of_strings = isinstance(inner, cst.Index) and isinstance(inner.value, cst.Name) and inner.value.value == "str"
    return of_strings and isinstance(base, cst.Name) and base.value in bases
