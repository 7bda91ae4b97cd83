"""Which class an attribute holds, or the elements of a dict: records of a session, a chat or a user, found by a key."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.code.expression import Attr, Call, Either, Expr, Global, Import, Param, begun_as, cell, is_this
from promptlint.code.index import Class, Function, Module, terminal
from promptlint.code.merging import place_read
from promptlint.link.values import Type, options

if TYPE_CHECKING:
    from promptlint.link.evaluate import Evaluator


def class_of(ev: Evaluator, node: Expr, function: Function) -> Class | None:
    """The class of ``self.session`` as its constructor makes it, or of ``self.chats[key]`` and ``CHATS[key]``, by what
    is declared of the dict or put into it.

    To evaluate it would be to ask what it holds, and so for the very fields that are being looked for.
    """
    if isinstance(node, Attr):
        holder = class_of_object(ev, node.base, function)
        return _of_attribute(ev, holder, node.name) if holder is not None else None
    if isinstance(node, Either):
        classes = {class_of(ev, way, function) for way in begun_as(node)}
        return classes.pop() if len(classes) == 1 else None
    found = cell(node)
    if found is None:
        return None
    if isinstance(node, Call) and (made := _made_for_missing(ev, node, function)) is not None:
        return made
    for base in begun_as(found[0]):
        key = _place(ev, base, function)
        if key is None:
            continue
        if key not in ev.element_classes:
            ev.element_classes[key] = next(_put_into(ev, *key), None)
        if ev.element_classes[key] is not None:
            return ev.element_classes[key]
    return None


def _place(ev: Evaluator, node: Expr, function: Function) -> tuple[Class | Module, str] | None:
    """The class or module that a dict belongs to, and its name there."""
    if isinstance(node, Attr) and isinstance(node.base, Param):
        holder = class_of_object(ev, node.base, function)
        return (holder, node.name) if holder is not None else None
    if isinstance(node, Import):
        return ev.program.resolve(node.dotted, function.module)
    path = place_read(node) if isinstance(node, (Attr, Global)) else None
    if path is None:
        return None
    head, _, rest = path.partition(".")
    target = ev.program.imported(head, function.module)
    if target is not None:
        return ev.program.resolve(f"{target}.{rest}" if rest else target, function.module)
    return (function.module, head) if not rest else None


def _made_for_missing(ev: Evaluator, node: Call, function: Function) -> Class | None:
    """The class of what ``setdefault`` puts in where there is nothing."""
    new = node.args[1] if len(node.args) == 2 else None
    if not isinstance(new, Call):
        return None
    kinds = [o.cls for o in options(ev.resolve(new.func, ev.generic(function))) if isinstance(o, Type)]
    return kinds[0] if len(kinds) == 1 else None


def class_of_object(ev: Evaluator, node: Expr, function: Function) -> Class | None:
    """The class of ``self``, or of what ``class_of`` finds."""
    if isinstance(node, Param):
        own = function.is_method and is_this(node, function.parameters[0].name)
        return function.owner if own else None
    return class_of(ev, node, function) if isinstance(node, Attr) else None


def _of_attribute(ev: Evaluator, cls: Class, name: str) -> Class | None:
    """The one class that constructors, or else the declaration of the field, say that an attribute has."""
    key = (cls, name)
    if key not in ev.attribute_classes:
        classes = list(ev.program.mro(cls))
        made = {
            ev.program.class_named(value.func, c.module) if isinstance(value, ast.Call) else None
            for c in classes
            for method in c.methods.values()
            if method.is_method and method.stores(name)
            for value in _set_in(method, name)
        }
        fields = (c.fields[name][0] for c in classes if name in c.fields)
        declared = next(fields, None)
        found = made or {ev.program.class_named(declared, cls.module) if declared is not None else None}
        ev.attribute_classes[key] = found.pop() if len(found) == 1 else None
    return ev.attribute_classes[key]


def _set_in(method: Function, name: str) -> Iterator[ast.expr | None]:
    """What a method sets an attribute of its object to."""
    own = method.parameters[0].name
    for part in ast.walk(method.syntax):
        if not isinstance(part, (ast.Assign, ast.AnnAssign)):
            continue
        targets = part.targets if isinstance(part, ast.Assign) else [part.target]
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr == name and terminal(target.value) == own:
                yield part.value


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
            elif isinstance(part, ast.Assign) and terminal(part.targets[0]) == name:
                yield from _of_factory(ev, part.value, module)
            elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
                if terminal(part.targets[0].value) == name:
                    value = _assigned(body, part.value) if isinstance(part.value, ast.Name) else part.value
                    made = program.class_named(value.func, module) if isinstance(value, ast.Call) else None
                    if made is not None:
                        yield made


def _of_factory(ev: Evaluator, value: ast.expr, module: Module) -> Iterator[Class]:
    """The class that ``defaultdict(X)`` and ``defaultdict(lambda: X())`` make elements of."""
    factory = (
        value.args[0] if isinstance(value, ast.Call) and terminal(value.func) == "defaultdict" and value.args else None
    )
    if isinstance(factory, ast.Lambda):
        factory = factory.body.func if isinstance(factory.body, ast.Call) else None
    found = ev.program.class_named(factory, module) if factory is not None else None
    if found is not None:
        yield found


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
