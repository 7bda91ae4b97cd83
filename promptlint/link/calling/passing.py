"""Requests as objects of the program: what is put into one that is made for one call is gone with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.index import Class, terminal
from promptlint.link.classes import construction

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator
    from promptlint.link.values import Instance

_REQUESTS = re.compile(r"(Request|Payload|Body|Params|Parameters|Input)$")
_STORING = frozenset(("append", "add", "setdefault", "put", "insert"))


def is_passing(ev: Evaluator, made: Instance) -> bool:
    """Whether an object is a request by its name that is local to the call which makes it, and to no loop in there."""
    if not _REQUESTS.search(made.cls.name) or not construction.is_record(ev, made.cls):
        return False
    if made.init is None:
        return _is_never_stored(ev, made.cls)
    function = ev.program.function_at(made.span)
    body = function.module.syntax(function) if function is not None else None
    if not isinstance(body, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    places = (n for n in ast.walk(body) if isinstance(n, ast.Call) and n.lineno == made.span.line)
    call = next((n for n in places if terminal(n.func) == made.cls.name), None)
    return call is not None and _stays(body, call, loops=True)


def _is_never_stored(ev: Evaluator, cls: Class) -> bool:
    """Whether no function of the project that makes such an object keeps it for another call."""
    known = ev.passing.get(cls)
    if known is None:
        bodies = [f.module.syntax(f) for m in ev.program.mentioning(cls.name, near=cls.module) for f in m.functions]
        made = [(b, n) for b in bodies for n in ast.walk(b) if isinstance(n, ast.Call) and terminal(n.func) == cls.name]
        known = ev.passing[cls] = bool(made) and all(_stays(body, call, loops=False) for body, call in made)
    return known


def _stays(body: ast.AST, made: ast.AST, loops: bool) -> bool:
    """Whether an object goes by a local name that is neither stored nor used in a loop behind it, or is handed on.

    In which loops it is used matters only where ``loops`` says so.
    """
    for node in ast.walk(body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is made:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return all(isinstance(t, ast.Name) and not _is_kept(body, t.id, node, loops) for t in targets)
        if isinstance(node, (ast.Dict, ast.List, ast.Tuple, ast.Set)) and made in ast.iter_child_nodes(node):
            return False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and made in node.args:
            return node.func.attr not in _STORING
    return True


def _is_kept(body: ast.AST, name: str, made: ast.AST, loops: bool) -> bool:
    """Whether a local name is stored somewhere, or read in the body of a loop that does not make the object."""
    for node in ast.walk(body):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return True
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            return True
        if loops and isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            inside = list(_inside(node))
            if made not in inside and any(isinstance(n, ast.Name) and n.id == name for n in inside):
                return True
    return False


def _inside(loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[ast.AST]:
    return (node for statement in loop.body for node in ast.walk(statement))
