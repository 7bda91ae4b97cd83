"""Functions that rebuild nested data as it was: what they return has the keys and the order of what they got.

Code that sends requests itself cleans its body that way just ahead of the call (surrogates, secrets, values that JSON
does not know). Step by step, such a recursion says nothing of the keys; as a whole, it hands the data on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from promptlint.code.index import Function, terminal


def argument(function: Function) -> int | None:
    """The parameter whose data a recursive function rebuilds, by position; ``None`` when it does not."""
    walked = {name for test in _type_tests(function.syntax) for name in test}
    for position, parameter in enumerate(function.parameters):
        if parameter.name in walked and _rebuilds(function.syntax, parameter.name, function.name):
            return position
    return None


def _calls(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and terminal(node.func) == name


def _type_tests(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The names that are asked whether they are a dict."""
    for test in ast.walk(node):
        if _calls(test, "isinstance") and len(test.args) == 2:
            kinds = {terminal(n) for n in ast.walk(test.args[1]) if isinstance(n, ast.expr)}
            if kinds & {"dict", "Mapping", "MutableMapping"} and isinstance(test.args[0], ast.Name):
                yield (test.args[0].id,)


def _rebuilds(node: ast.AST, data: str, name: str) -> bool:
    """Whether each key of ``data`` gets what the function makes of its value, with none left out for its name."""
    for part in ast.walk(node):
        match part:
            case ast.DictComp(
                generators=[ast.comprehension(target=ast.Tuple(elts=[key, value]), iter=items, ifs=tests)]
            ):
                stored = part.value
            case ast.For(
                target=ast.Tuple(elts=[key, value]), iter=items, body=[ast.Assign([ast.Subscript(), *_], made)]
            ):
                stored, tests = made, []
            case _:
                continue
        if _items_of(items, data) and _recurs(stored, value, name) and not any(_mentions(t, key) for t in tests):
            return True
    return False


def _items_of(node: ast.expr, data: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "items"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == data
    )


def _recurs(node: ast.expr, value: ast.expr, name: str) -> bool:
    """Whether a value is handed to the function itself."""
    return any(_calls(call, name) and any(_mentions(a, value) for a in call.args) for call in ast.walk(node))


def _mentions(node: ast.expr, name: ast.expr) -> bool:
    wanted = name.id if isinstance(name, ast.Name) else ""
    return any(isinstance(n, ast.Name) and n.id == wanted for n in ast.walk(node))
