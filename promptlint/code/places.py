"""What the names, attributes and elements of a body stand for while it is gone through, and how that is changed."""

from __future__ import annotations

import ast

from promptlint.code import merging, syntax
from promptlint.code.expression import (
    NOWHERE,
    After,
    AfterLoop,
    At,
    Attr,
    Call,
    Comp,
    DictOf,
    Either,
    Element,
    Expr,
    Free,
    Global,
    Guard,
    Import,
    Item,
    Literal,
    Mutate,
    Once,
    Param,
    Phi,
    SeqOf,
    Slice,
    Star,
    Summary,
    Unknown,
    Write,
    begun_as,
    cell,
    each_once,
    earlier,
    makes_container,
    unchanged,
)
from promptlint.code.index import Function
from promptlint.code.merging import End, Env, Place

_new = tuple.__new__


def at_of(node: ast.AST) -> At:
    if not isinstance(node, (ast.expr, ast.stmt, ast.ExceptHandler, ast.pattern)):
        return NOWHERE
    line, column, end_column = node.lineno, node.col_offset, node.end_col_offset
    # What the constructor of a named tuple does, which is one call more.
    return _new(At, (line, column, node.end_lineno or line, column if end_column is None else end_column))


class Places:
    """A body up to one of its statements."""

    def __init__(self, function: Function, package: str) -> None:
        self.function = function
        self.package = package
        self.summary = Summary()
        self.env: Env | None = {}
        self.loops: tuple[int, ...] = ()
        self.guards: tuple[Guard, ...] = ()
        self.facts: tuple[Guard, ...] = ()
        """Tests whose other way has left the block."""
        self.exits: list[End] = []
        self.stops: list[End] = []
        """Where the body stops without coming to an end: at a ``raise``, or in a loop that nothing leaves."""
        self.endless: list[End] = []
        """Those in loops."""
        self.returned: list[tuple[End, Expr]] = []
        self.iterations: list[tuple[Place, list[End]]] = []
        self.tries = 0
        self.handlers: list[ast.ExceptHandler] = []
        self.called_on: dict[Call, tuple[Call, ...]] = {}
        """The calls of methods of what a call has made, so far."""
        self.filled: dict[str, Attr] = {}
        """The attributes of other objects that the body changes in place, by path."""
        self.depth = 0
        node = function.node
        self.is_module = isinstance(node, ast.Module)
        self.globals: set[str] = set()
        self.local = frozenset[str]() if self.is_module else syntax.local_names(node)
        function.bound = self.local
        self.enclosing = syntax.enclosing_names(function)
        self.initial: Env = {}

    def expr(self, node: ast.expr) -> Expr:
        """What an expression of the body is."""
        raise NotImplementedError

    def _env(self) -> Env:
        assert self.env is not None
        return self.env

    def bind(self, path: str, value: Expr) -> None:
        env = self._env()
        below, taken = f"{path}.", f"[{path}]"
        for key in [k for k in env if k.startswith(below) or k.endswith(taken)]:
            del env[key]
        env[path] = value

    def assign(self, target: ast.expr, value: Expr) -> None:
        if isinstance(target, ast.Name):
            if target.id in self.globals and self._is_missing(target.id):
                value = Once(value.at, value, None)
            if target.id in self.globals:
                named = Global(at_of(target), target.id)
                self.summary.rebound.append(Write(named, target.id, value, named.at, self.loops, self.guards))
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
            for i, element in enumerate(target.elts):
                at = at_of(element)
                if isinstance(element, ast.Starred):
                    self.assign(element.value, Slice(at, value, Literal(at, i), None, None))
                elif starred is not None and i > starred:
                    self.assign(element, Item(at, value, Literal(at, i - len(target.elts))))
                else:
                    shown = isinstance(value, SeqOf) and not any(isinstance(p, Star) for p in value.items[: i + 1])
                    given = value.items[i : i + 1] if isinstance(value, SeqOf) and shown else ()
                    self.assign(element, given[0] if given else Item(at, value, Literal(at, i)))
        elif isinstance(target, ast.Attribute):
            base = self.expr(target.value)
            path = syntax.dotted_path(target)
            if path is not None and self._is_missing(path):
                value = Once(value.at, value, base)
            self.summary.writes.append(Write(base, target.attr, value, at_of(target), self.loops, self.guards))
            if path is not None:
                self.bind(path, value)
            elif isinstance(target.value, ast.Subscript):
                self.update(target.value, "setattr", (Literal(at_of(target), target.attr), value), at_of(target))
        elif isinstance(target, ast.Subscript):
            at = at_of(target)
            if (key := syntax.session_key(target)) is not None:
                self.assign(ast.copy_location(ast.Attribute(target.value, key, ast.Store()), target), value)
            elif isinstance(target.slice, ast.Slice):
                bounds = tuple(
                    self.expr(b) if b else Literal(at, None) for b in (target.slice.lower, target.slice.upper)
                )
                self.update(target.value, "setslice", (*bounds, value), at)
            else:
                asked = self.expr(target.slice)
                if self._has_no_key(target.value, asked):
                    value = self._kept(value, Once(value.at, value, None, keyed=True))
                self.update(target.value, "setitem", (asked, value), at)

    def _kept(self, value: Expr, once: Once) -> Once:
        """What is stored once, which is what other names of it mean from now on."""
        for name in [n for n, held in self._env().items() if held is value]:
            self._env()[name] = once
        return once

    def _has_no_key(self, target: ast.expr, key: Expr) -> bool:
        """Whether this place is only reached while a dict that outlives the call keeps nothing under a key."""
        path = syntax.dotted_path(target)
        root, _, rest = (path or "").partition(".")
        if path is None or (root in self.local and not (rest and self._is_self(root))):
            return False
        return any(merging.finds_no_key(guard, path, key) for guard in (*self.guards, *self.facts))

    def _is_missing(self, path: str) -> bool:
        """Whether this place is only reached while nothing is stored under ``path``."""
        root, dot, rest = path.partition(".")
        library = self._env().get(root)
        if isinstance(library, Import):
            path = f"{library.dotted}{dot}{rest}"
        return any(merging.finds_nothing(guard, path) for guard in (*self.guards, *self.facts))

    def update(self, target: ast.expr, op: str, args: tuple[Expr, ...], at: At) -> None:
        """An in-place change of what ``target`` names: the path, its aliases, and the container it is an element of."""
        place = self._place_in_element(target)
        old = self._env().get(place) or self.expr(target)
        new = Mutate(at, op, old, args, (*self.facts, *self.guards), self.loops)
        self._replace(target, old, new)
        if place:
            self._env()[place] = new
        root = where_filled(_first(old))
        if isinstance(root, Attr) and not (isinstance(root.base, Param) and self._is_self(root.base.name)):
            path = next((k for k, v in self._env().items() if v is new and "." in k), None)
            if path is not None:
                self.filled[path] = root

    def _place_in_element(self, target: ast.expr) -> str:
        """A name for a field of what is kept under a key (``self.chats[key].messages``), which is no path; else ""."""
        held = target.value if isinstance(target, ast.Attribute) else None
        if not isinstance(held, ast.Subscript) or isinstance(held.slice, ast.Slice):
            return ""
        root, _, rest = (syntax.dotted_path(held.value) or "").partition(".")
        kept = self._is_self(root) if rest else root not in self.local
        return f"[{ast.unparse(held)}].{target.attr}" if root and kept else ""  # type: ignore[attr-defined]

    def _is_self(self, name: str) -> bool:
        return self.function.is_method and self.function.parameters[0].name == name

    def _replace(self, target: ast.expr, old: Expr, new: Expr) -> None:
        env = self._env()
        path = syntax.dotted_path(target)
        for key, value in list(env.items()):
            if value is old and key != path:
                env[key] = new
        if path is not None:
            if path in env or "." in path:
                env[path] = new
            elif path not in self.local:
                env[path] = new
            self._edit_container(old, new)
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            self.update(target.value, "setitem", (self.expr(target.slice), new), new.at)
        elif (
            isinstance(target, ast.Call)
            and isinstance(target.func, ast.Attribute)
            and target.func.attr in ("setdefault", "get")
        ):
            item = self.expr(target.args[0]) if target.args else Literal(new.at, None)
            self.update(target.func.value, "setitem", (item, new), new.at)
        elif isinstance(new, Mutate):
            self._passing(new)

    def _passing(self, new: Mutate) -> None:
        """Notes a change of what a call gives, or of a cell in it, that no name holds."""
        while isinstance(new.base, Item):
            new = Mutate(new.at, "setitem", new.base.base, (new.base.key, new), new.guards, new.loops)
        if isinstance(new.base, Call):
            self.summary.passing.append(new)

    def _edit_container(self, old: Expr, new: Expr) -> None:
        """When a loop variable changes in place, the sequence it comes from holds the change."""
        root, seen = old, 0
        inside = False
        while seen < 20:
            seen += 1
            if isinstance(root, Element):
                inside, root = True, root.of
            elif isinstance(root, (Item, Attr, Mutate)):
                root = root.base
            elif isinstance(root, (Phi, After)):
                root = root.before
            elif (
                isinstance(root, Call)
                and isinstance(root.func, Global)
                and root.func.name in ("enumerate", "reversed", "list")
                and root.args
            ):
                root = root.args[0]
            elif (
                isinstance(root, Call) and isinstance(root.func, Attr) and root.func.name in ("get", "items", "values")
            ):
                root = root.func.base
            elif isinstance(root, Slice):
                root = root.base
            elif (held := where_filled(root)) is not root:
                root = held
            else:
                break
            if inside:
                picked: Expr | None = root
                while picked is not None and not self._edit_list(picked, new):
                    picked = _picked_from(picked)
                if picked is not None:
                    return
        if not inside:
            self._edit_cell(old, new)

    def _edit_list(self, root: Expr, new: Expr) -> bool:
        """Notes a change of an element where the list stands; whether there is no other list that holds it."""
        env = self._env()
        for key, value in list(env.items()):
            if value is root or (isinstance(value, Phi) and value.before is root):
                if not isinstance(value, Element):
                    env[key] = Mutate(new.at, "edit", value, (new,), self.guards, self.loops)
                    return _picked_from(root) is None and not _is_in_element(root)
        path = place_of(root)
        if path is not None:
            env[path] = Mutate(new.at, "edit", root, (new,), self.guards, self.loops)
        return path is not None

    def _edit_cell(self, old: Expr, new: Expr) -> None:
        """When a list that was taken out of a dict changes in place, the dict holds the change."""
        taken = set(begun_as(old))
        if len(taken) > 1:
            return  # on another way it is no cell, or one of another dict
        found = cell(taken.pop())
        if found is None:
            return
        container, key = found
        env = self._env()
        path = next((k for k, v in env.items() if v is container), None) or place_of(container)
        # The dict may have changed since: "setdefault" itself is a change.
        path = path or next((k for k, v in env.items() if rooted(v, container)), None)
        if path is not None:
            env[path] = Mutate(new.at, "setitem", env.get(path, container), (key, new), self.guards, self.loops)

    def name(self, name: str, at: At) -> Expr:
        value = self._env().get(name) if self.env is not None else None
        if value is not None:
            # In a loop of the module itself, a call may have changed what was put there ahead of it.
            return Global(at, name) if self.loops and self._is_shared(name, value) else value
        if self.is_module:
            return Global(at, name)
        if name in self.local:
            return Unknown(at, "unbound name")
        if name in self.enclosing:
            return Free(at, name)
        return Global(at, name)

    def _is_shared(self, name: str, value: Expr) -> bool:
        """Whether a list or dict of the module, as it was made, is one that functions of the module change."""
        if not self.is_module or name in self.function.edited:
            return False
        made = unchanged(value)
        if not (isinstance(made, (SeqOf, DictOf)) or makes_container(made)):
            return False
        functions = self.function.module.functions
        return any(f is not self.function and f.parameter(name) is None and f.stores(name) for f in functions)


def rooted(node: Expr, initial: Expr | None) -> bool:
    waiting = [node]
    for current in each_once(waiting):
        if current is initial:
            return True
        waiting.extend(earlier(current))
    return False


def where_filled(node: Expr) -> Expr:
    """The list of a choice between one and an empty one."""
    held = [o for o in node.options if not (isinstance(o, SeqOf) and not o.items)] if isinstance(node, Either) else []
    return held[0] if len(held) == 1 else node


def _is_in_element(node: Expr) -> bool:
    """Whether a list is part of an element of another one: ``blocks = message["content"]``."""
    while True:
        if isinstance(node, (Item, Attr, Mutate)):
            node = node.base
        elif isinstance(node, (Phi, After)):
            node = node.before
        elif isinstance(node, Call) and isinstance(node.func, Attr) and node.func.name == "get":
            node = node.func.base
        else:
            return isinstance(node, Element)


def _picked_from(node: Expr) -> Expr | None:
    """The list that a comprehension takes some elements of, as they are, or parts that its elements hold."""
    if isinstance(node, Call) and _is_cast(node.func) and len(node.args) == 2:
        node = node.args[1]
    if not isinstance(node, Comp) or node.kind != "list":
        return None
    held: Expr | None = node.element
    for loop, _, _ in reversed(node.clauses):
        if not isinstance(held, Element) or held.loop != loop:
            return None
        held = _holder(held.of)
    return node.clauses[0][1]


def _holder(part: Expr) -> Expr | None:
    """The message that a list of blocks is read from, also where there may be none."""
    part = where_filled(part)
    if isinstance(part, Call) and isinstance(part.func, Attr) and part.func.name == "get":
        part = part.func
    return unchanged(part.base) if isinstance(part, (Item, Attr)) else None


def _is_cast(func: Expr) -> bool:
    """``cast`` or ``typing.cast``, which gives what it is given."""
    return isinstance(func, (Attr, Global)) and func.name == "cast"


def _first(node: Expr) -> Expr:
    """What a container was before anything changed it in place."""
    while isinstance(node, (Mutate, After, Phi, AfterLoop)):
        node = unchanged(node)
        node = node.base if isinstance(node, Mutate) else node
    return node


def place_of(node: Expr) -> str | None:
    """The path of an attribute of a parameter or of an outer name, or of an outer name itself."""
    return None if isinstance(node, Param) else merging.place_read(node)
