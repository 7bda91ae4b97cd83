"""The expression DAG: what a function computes, with everything that needs another file left as an operator.

A node is made once per place in the code and compared by identity, so it can key memo tables. Nothing here knows of
files: ``at`` is turned into a ``Span`` by the module that owns it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from promptlint.frozen import record


class At(NamedTuple):
    """Where a node stands, as ``ast`` gives it: lines from 1, columns in UTF-8 bytes from 0."""

    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int

    @classmethod
    def start(cls, node: ast.AST) -> At:
        """Where a definition starts, without its extent; a module starts in its first line."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return cls(line, column, line, column)


NOWHERE = At(0, 0, 0, 0)


@record(frozen=True, slots=True, eq=False)
class Expr:
    """Base of all nodes."""

    at: At


@record(frozen=True, slots=True, eq=False)
class Literal(Expr):
    """A constant: text, number, bytes, ``None``, ``True`` ..."""

    value: object


@record(frozen=True, slots=True, eq=False)
class Unknown(Expr):
    """A construct that is not followed; ``parts`` are the operands whose variation it inherits."""

    what: str
    parts: tuple[Expr, ...] = ()


@record(frozen=True, slots=True, eq=False)
class Found(Expr):
    """What is known without looking at code: a value of the linker's."""

    value: object


@record(frozen=True, slots=True, eq=False)
class Param(Expr):
    """A parameter of the function, as it was on entry."""

    name: str


@record(frozen=True, slots=True, eq=False)
class Global(Expr):
    """A name that is neither local nor built in by assignment: module level, an import, or a builtin."""

    name: str


@record(frozen=True, slots=True, eq=False)
class Free(Expr):
    """A variable of the enclosing function, read by a nested one."""

    name: str


@record(frozen=True, slots=True, eq=False)
class Import(Expr):
    """An imported module or name, absolute."""

    dotted: str


@record(frozen=True, slots=True, eq=False)
class Definition(Expr):
    """A function, lambda or class defined in this body; ``node`` identifies it in the module's index."""

    node: ast.AST
    decorators: tuple[Expr, ...] = ()


@record(frozen=True, slots=True, eq=False)
class Attr(Expr):
    base: Expr
    name: str


@record(frozen=True, slots=True, eq=False)
class Item(Expr):
    base: Expr
    key: Expr


@record(frozen=True, slots=True, eq=False)
class Slice(Expr):
    base: Expr
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@record(frozen=True, slots=True, eq=False)
class Guard:
    """A test under which code runs; ``sense`` is false in the else branch. ``error`` marks an except clause."""

    test: Expr | None
    sense: bool = True
    error: bool = False


@record(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A call with the loops and guards around it, innermost last. ``None`` as a keyword stands for ``**``.

    ``facts`` are the tests ahead of it whose other way has left: ``if not self.is_full(): return``. ``rounds`` is the
    loop that ``pool.map(f, values)`` stands for.
    """

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]
    loops: tuple[int, ...] = ()
    guards: tuple[Guard, ...] = ()
    facts: tuple[Guard, ...] = ()
    rounds: int | None = None

    @property
    def tests(self) -> tuple[Guard, ...]:
        """All that has to hold for the call to be made, as far as tests of its body say so."""
        return (*self.facts, *self.guards)


@record(frozen=True, slots=True, eq=False)
class Field(Attr):
    """An attribute of what this body has just made with ``made``, after these calls of its methods and no others."""

    made: Call
    calls: tuple[Call, ...]


@record(frozen=True, slots=True, eq=False)
class Concat(Expr):
    """An f-string: pieces in order."""

    parts: tuple[Expr, ...]


@record(frozen=True, slots=True, eq=False)
class Formatted(Expr):
    """One ``{value:spec}`` of an f-string."""

    value: Expr
    spec: Expr | None


@record(frozen=True, slots=True, eq=False)
class Binary(Expr):
    op: str
    left: Expr
    right: Expr


@record(frozen=True, slots=True, eq=False)
class Test(Expr):
    """A comparison or negation: a truth value that depends on ``parts``; or one number with a "minus" ahead of it."""

    op: str
    parts: tuple[Expr, ...]


ORDERS = frozenset(("<", "<=", ">", ">="))
"""The operators of tests that compare sizes."""


@record(frozen=True, slots=True, eq=False)
class Either(Expr):
    """One of ``options``; ``test`` decides when it is known what decides. ``and``/``or``, branches, several returns."""

    test: Expr | None
    options: tuple[Expr, ...]


@record(frozen=True, slots=True, eq=False)
class DictOf(Expr):
    """A dict display; ``None`` as a key stands for ``**``."""

    items: tuple[tuple[Expr | None, Expr], ...]


@record(frozen=True, slots=True, eq=False)
class Star(Expr):
    """``*value`` inside a display or a call."""

    value: Expr


@record(frozen=True, slots=True, eq=False)
class SeqOf(Expr):
    """A list, tuple or set display."""

    kind: str
    items: tuple[Expr, ...]


@record(frozen=True, slots=True, eq=False)
class Element(Expr):
    """The loop variable ``loop`` iterates over ``of``."""

    of: Expr
    loop: int


Clause = tuple[int, Expr, tuple[Expr, ...]]
"""A loop of a comprehension: its id, what it runs over, and the conditions."""


@record(frozen=True, slots=True, eq=False)
class Comp(Expr):
    """A comprehension; the outermost clause comes first."""

    kind: str
    element: Expr
    value: Expr | None
    clauses: tuple[Clause, ...]


@record(frozen=True, slots=True, eq=False)
class Once(Expr):
    """A value that is stored where a test found nothing yet: in an object (``keeper``), or in the module (``None``).

    ``keyed``: under one of the keys of a dict, so that there is one for each of them.
    """

    value: Expr
    keeper: Expr | None
    keyed: bool = False


@record(frozen=True, slots=True, eq=False)
class Phi(Expr):
    """A variable at the head of loop ``loop``: ``before`` it, or what the last iteration left."""

    name: str
    loop: int
    before: Expr
    state: LoopState


@record(frozen=True, slots=True, eq=False)
class AfterLoop(Expr):
    """A variable after the loop that carries ``phi``."""

    phi: Phi


@record(frozen=True, slots=True)
class LoopEnd:
    """A ``break`` (``leaves``) or ``continue``: its guards, and whether a ``try`` block makes it uncertain."""

    guards: tuple[Guard, ...]
    leaves: bool
    uncertain: bool


@dataclass(slots=True, eq=False)
class LoopState:
    """A loop of a body, filled in when its end is reached: what one iteration makes of each carried variable."""

    id: int
    at: At
    iterable: Expr | None
    test: Expr | None = None
    before: dict[str, Expr] = field(default_factory=dict)
    steps: dict[str, Expr] = field(default_factory=dict)
    retry: bool = False
    """The normal path leaves the loop after its first iteration: only errors repeat it."""
    ends: list[LoopEnd] = field(default_factory=list)
    """Each ``break`` and ``continue``, in order."""
    around: tuple[int, ...] = ()
    """The loops that this one stands in, outermost first, and itself."""
    guards: tuple[Guard, ...] = ()
    """The tests under which it begins."""


@record(frozen=True, slots=True, eq=False)
class Mutate(Expr):
    """A container after an in-place operation ("append", "setitem", "insert", "pop", "edit", "setattr" ...)."""

    op: str
    base: Expr
    args: tuple[Expr, ...]
    guards: tuple[Guard, ...] = ()
    loops: tuple[int, ...] = ()


OUTER = "outer"
"""In the place of an argument: a name of the function around that a nested function changes."""


@record(frozen=True, slots=True, eq=False)
class After(Expr):
    """What ``before`` became when handed to ``call``: as argument ``argument``, or as the path below its receiver.

    With ``OUTER`` as the argument, ``path`` is a name of the body that calls, which what is called changes.
    """

    call: Call
    argument: int | str
    path: str
    before: Expr


@record(frozen=True, slots=True)
class Write:
    """``base.name = value`` anywhere in a body."""

    base: Expr
    name: str
    value: Expr
    at: At
    loops: tuple[int, ...] = ()
    guards: tuple[Guard, ...] = ()


@dataclass(slots=True, eq=False)
class Summary:
    """What one body does, knowing nothing of other files.

    ``exit`` maps each path that it changed (a parameter, ``self.x``, a global or free name) to its value at the end.
    """

    returns: list[Expr] = field(default_factory=list)
    yields: list[Expr] = field(default_factory=list)
    """What each ``yield`` gives, in order of the source."""
    yielded: Expr | None = None
    """All that a generator yields, as a list."""
    calls: list[Call] = field(default_factory=list)
    references: list[Attr] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    rebound: list[Write] = field(default_factory=list)
    """What a body binds anew to names of its module: ``global mode; mode = "plan"``."""
    filled: list[Write] = field(default_factory=list)
    """What attributes of other objects than ``self`` hold at the end that were changed in place."""
    passing: list[Mutate] = field(default_factory=list)
    """What became of the result of a call that no name holds: ``history_of(user).append(turn)``."""
    exit: dict[str, Expr] = field(default_factory=dict)
    loops: dict[int, LoopState] = field(default_factory=dict)
    names: dict[str, Expr] = field(default_factory=dict)
    """Last value of every local name (what closures and importers see)."""
    scopes: dict[ast.AST, dict[str, Expr]] = field(default_factory=dict)
    """What closures see that are defined on some of the ways only, by the identity of their ``ast`` node."""


def is_none(node: Expr) -> bool:
    """Whether a node is the constant ``None``."""
    return isinstance(node, Literal) and node.value is None


def children(node: Expr) -> tuple[Expr, ...]:
    """The operands of a node."""
    return _OPERANDS[node.__class__](node)


def _of_slice(node: Slice) -> tuple[Expr, ...]:
    return tuple(n for n in (node.base, node.lower, node.upper, node.step) if n is not None)


def _of_comp(node: Comp) -> tuple[Expr, ...]:
    inner = (node.element,) if node.value is None else (node.element, node.value)
    return (*inner, *(n for _, of, tests in node.clauses for n in (of, *tests)))


_OPERANDS: defaultdict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = defaultdict(
    lambda: lambda node: (),
    {
        Field: lambda node: (node.base, node.made, *node.calls),
        Attr: lambda node: (node.base,),
        Item: lambda node: (node.base, node.key),
        Slice: _of_slice,
        Call: lambda node: (node.func, *node.args, *(v for _, v in node.keywords)),
        Concat: lambda node: node.parts,
        Formatted: lambda node: (node.value,) if node.spec is None else (node.value, node.spec),
        Binary: lambda node: (node.left, node.right),
        Test: lambda node: node.parts,
        Unknown: lambda node: node.parts,
        Either: lambda node: node.options if node.test is None else (node.test, *node.options),
        DictOf: lambda node: tuple(n for pair in node.items for n in pair if n is not None),
        Star: lambda node: (node.value,),
        SeqOf: lambda node: node.items,
        Element: lambda node: (node.of,),
        Comp: _of_comp,
        Once: lambda node: (node.value,),
        Phi: lambda node: (node.before,),
        AfterLoop: lambda node: (node.phi.before,),
        Mutate: lambda node: (node.base, *node.args),
        After: lambda node: (node.call, node.before),
    },
)
"""By class of node: what its operands are; the others have none."""


def each_once(waiting: list[Expr]) -> Iterator[Expr]:
    """The nodes of a work list, the last one first, each once; also those that are added to it on the way."""
    seen: set[Expr] = set()  # holds them: one that is made on the way must not be taken for one that is gone
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node


def within(nodes: Iterable[Expr], most: int) -> Iterator[Expr]:
    """Nodes and all that they are made of, each once, and no more than so many."""
    waiting = list(nodes)
    for node in islice(each_once(waiting), most):
        yield node
        waiting.extend(children(node))


def called_name(call: Call) -> str:
    """The last name of what is called; empty for anything but an attribute, a builtin or a name of the module."""
    return call.func.name if isinstance(call.func, (Attr, Global)) else ""


def unchanged(node: Expr) -> Expr:
    """What a name meant before loops and calls that got it: they do not rename what they are handed."""
    while isinstance(node, (After, Phi, AfterLoop)):
        node = node.phi.before if isinstance(node, AfterLoop) else node.before
    return node


def earlier(node: Expr) -> tuple[Expr, ...]:
    """What a value may have been ahead of a change in place, a call that got it, a loop or a choice; else nothing."""
    if isinstance(node, Mutate):
        return (node.base,)
    if isinstance(node, (After, Phi)):
        return (node.before,)
    if isinstance(node, AfterLoop):
        return (node.phi.before,)
    return node.options if isinstance(node, Either) else ()


def begun_as(node: Expr) -> Iterator[Expr]:
    """What a value may have been ahead of all changes in place, calls that got it, loops and choices."""
    waiting = [node]
    for part in each_once(waiting):
        before = earlier(part)
        waiting.extend(before)
        if not before:
            yield part


def is_this(node: Expr, this: str) -> bool:
    """Whether a node is the object of the method whose first parameter has the name ``this``."""
    return isinstance(node, Param) and node.name == this


def cell(node: Expr) -> tuple[Expr, Expr] | None:
    """The dict and the key of ``d[k]``, ``d.get(k)`` and ``d.setdefault(k, ...)``."""
    if isinstance(node, Item):
        return node.base, node.key
    if isinstance(node, Call) and isinstance(node.func, Attr) and node.func.name in ("get", "setdefault") and node.args:
        return node.func.base, node.args[0]
    return None


def is_negative(node: Expr | None) -> bool:
    """Whether a number is written with a minus: ``-5``, ``-n``, ``-n * 2``, ``-n - 1``, ``-n if n else None``."""
    match node:
        case Literal(value=int() | float() as value):
            return value < 0
        case Test(op="minus"):
            return True
        case Binary(op="*"):
            return is_negative(node.left) != is_negative(node.right)
        case Binary(op="-"):
            return is_negative(node.left) and not is_negative(node.right)
        case Either():
            return any(map(is_negative, node.options))
    return False


_CONTAINERS = frozenset(("list", "dict", "set", "frozenset", "tuple", "str", "sorted", "bytearray"))
"""Builtins that make what has no method of the project."""


def is_container(node: Expr) -> bool:
    """Whether the function itself shows a list, dict, set or string, which has no method of the project."""
    waiting = [node]
    for node in each_once(waiting):
        before = earlier(node)
        waiting.extend(before)
        shown = isinstance(node, (SeqOf, DictOf, Comp, Literal, Concat, Formatted)) or makes_container(node)
        if not before and not shown:
            return False
    return True


def makes_container(node: Expr) -> bool:
    """Whether a node is a call of a builtin, or of ``collections``, that makes a list, dict, set or string."""
    func = node.func if isinstance(node, Call) else None
    if isinstance(func, Import):
        return func.dotted in ("collections.deque", "collections.defaultdict")
    return isinstance(func, Global) and func.name in _CONTAINERS
