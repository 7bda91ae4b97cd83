"""Which class the elements of a dict have: records of a session, a chat or a user, found by a key."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Expr, Global, Item, Param, each_once, earlier
from promptlint.code.index import Class, Function, Module, terminal

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator


def class_of(ev: Evaluator, node: Expr, function: Function) -> Class | None:
    """The class of ``self.chats[key]`` or ``CHATS[key]``, by what is declared of the dict or put into it.

    To evaluate it would be to ask what the dict holds, and so for the very fields that are being looked for.
    """
    if not isinstance(node, Item):
        return None
    for base in _ways(node.base):
        place: Class | Module | None = None
        if isinstance(base, Attr) and isinstance(base.base, Param) and function.is_method:
            place = function.owner if base.base.name == function.parameters[0].name else None
        elif isinstance(base, Global):
            place = function.module
        if place is not None and isinstance(base, (Attr, Global)):
            key = (place, base.name)
            if key not in ev.element_classes:
                ev.element_classes[key] = next(_put_into(ev, place, base.name), None)
            if ev.element_classes[key] is not None:
                return ev.element_classes[key]
    return None


def _ways(node: Expr) -> Iterator[Expr]:
    """What a dict may have been before this body filled it."""
    waiting = [node]
    for part in each_once(waiting):
        before = earlier(part)
        waiting.extend(before)
        if not before:
            yield part


def _put_into(ev: Evaluator, place: Class | Module, name: str) -> Iterator[Class]:
    """The classes of the elements of an attribute or of a name of a module."""
    program = ev.program
    bodies: list[tuple[Module, ast.AST]] = []
    if isinstance(place, Class):
        bodies += [(c.module, m.syntax) for c in program.mro(place) for m in c.methods.values() if m.stores(name)]
        for c in program.mro(place):
            if name in c.fields:
                yield from _of_elements(ev, c.fields[name][0], c.module)
    else:
        bodies.append((place, place.tree))
    for module, body in bodies:
        for part in ast.walk(body):
            if isinstance(part, ast.AnnAssign) and terminal(part.target) == name:
                yield from _of_elements(ev, part.annotation, module)
            elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
                if terminal(part.targets[0].value) == name:
                    value = _assigned(body, part.value) if isinstance(part.value, ast.Name) else part.value
                    made = program.class_named(value.func, module) if isinstance(value, ast.Call) else None
                    if made is not None:
                        yield made


def _assigned(body: ast.AST, name: ast.Name) -> ast.expr:
    """What a name is given in a body, when that is said once."""
    given = [
        n.value
        for n in ast.walk(body)
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and n.targets[0].id == name.id
    ]
    return given[0] if len(given) == 1 else name


def _of_elements(ev: Evaluator, annotation: ast.expr | None, module: Module) -> Iterator[Class]:
    """The class that ``dict[str, X]`` names last."""
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice.elts[-1] if isinstance(annotation.slice, ast.Tuple) else annotation.slice
        found = ev.program.class_named(inner, module)
        if found is not None:
            yield found
