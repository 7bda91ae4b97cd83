"""The index of one parsed file: definitions, imports, and which names are called or written where."""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from promptlint.code.expression import At
from promptlint.files.source import Source, parse, span
from promptlint.span import Span

FunctionStatement = ast.FunctionDef | ast.AsyncFunctionDef
FunctionNode = FunctionStatement | ast.Lambda | ast.Module


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function; ``kind`` is "positional", "keyword", "args" or "kwargs"."""

    name: str
    kind: str
    default: ast.expr | None
    annotation: ast.expr | None


EVERY = "*"
"""Stands among the names that were asked for when all names were."""
MESSAGES = "messages="
"""Stands among them when it was asked which functions pass ``messages=``."""


@dataclass(slots=True)
class Asked:
    """What was asked of one parsed file, so that an edit which changes none of the answers changes no finding."""

    names: set[str] = field(default_factory=set)
    """The names of which it was asked who calls, hands over or stores them."""
    words: set[str] = field(default_factory=set)
    """The words that were looked for in the text of functions."""
    patterns: set[re.Pattern[str]] = field(default_factory=set)
    """The patterns that were looked for in the text of the file and of its functions."""
    texts: dict[str, bool] = field(default_factory=dict)
    """The texts that were looked for in the whole file, and whether they are there."""
    judged: set[Function] = field(default_factory=set)
    """The functions of which it was asked what their body looks like as a whole (``Function.is_lending`` ...)."""
    documented: set[Function | Class] = field(default_factory=set)
    """The definitions whose docstring was read."""
    whole: bool = False
    """All of the code was looked at."""


class Mentions:
    """The functions in which a name is called, or as "&name" handed over; which ones are asked for is noted."""

    __slots__ = ("_asked", "listed")

    def __init__(self, asked: Asked) -> None:
        self.listed: dict[str, list[Function]] = {}
        self._asked = asked

    def __contains__(self, name: str) -> bool:
        self._asked.names.add(name)
        return name in self.listed

    def get(self, name: str, default: Sequence[Function] = ()) -> Sequence[Function]:
        self._asked.names.add(name)
        return self.listed.get(name, default)

    def among(self, names: Set[str]) -> Iterator[Function]:
        """The functions listed under any of some names, in the order of the code; one may come again."""
        self._asked.names.update(names)
        return (function for name, functions in self.listed.items() if name in names for function in functions)


@dataclass(slots=True, eq=False)
class Function:
    """A function, lambda, or the body of a module; compared by identity."""

    module: Module
    name: str
    qualname: str
    node: FunctionNode
    owner: Class | None
    parent: Function | None
    parameters: tuple[Parameter, ...] = ()
    decorators: tuple[ast.expr, ...] = ()
    stored: frozenset[str] = frozenset()
    """What ``stores`` and ``all_stored`` answer from."""
    edited: frozenset[str] = frozenset()
    """Local names whose inside the body changes."""
    bound: frozenset[str] | None = None
    """Names that are local to it, once it was summarised."""
    hands_out: bool = False
    """What ``is_lending`` answers."""
    declares: bool = False
    """What ``is_declaration`` answers."""
    stripped: bool = False
    """The body was given up before anybody asked for it; ``Module.restore`` brings it back."""
    seen: bool = False
    """Somebody has asked what is in the body."""

    def __repr__(self) -> str:
        return f"<{self.module.name}:{self.qualname}>"

    def stores(self, name: str) -> bool:
        """Whether the body may change an attribute or global of this name (a superset, from a plain walk)."""
        self.module.asked.names.add(name)
        return name in self.stored

    def all_stored(self) -> frozenset[str]:
        """All names that ``stores`` is true for."""
        self.module.asked.names.add(EVERY)
        return self.stored

    @property
    def is_lending(self) -> bool:
        """It returns something that may be kept elsewhere: what a name, an attribute or a cell holds."""
        self.module.asked.judged.add(self)
        return self.hands_out

    @property
    def is_declaration(self) -> bool:
        """The body only declares: ``...``, ``pass``, a docstring, or ``raise NotImplementedError``."""
        self.module.asked.judged.add(self)
        return self.declares

    @property
    def is_editing(self) -> bool:
        """The body changes the inside of something that has a local name."""
        self.module.asked.judged.add(self)
        return bool(self.edited)

    def says(self, word: str) -> bool:
        """Whether a word occurs anywhere in the source of the function."""
        self.module.asked.words.add(word)
        return is_said(word, self)

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is found in the source of the function; in the body of a module it is not looked for."""
        self.module.asked.patterns.add(pattern)
        known = self.module.matched.get((pattern, self))
        if known is None:
            known = self.module.matched[pattern, self] = is_matched(pattern, self)
        return known

    @property
    def syntax(self) -> FunctionNode:
        """The node, for who looks at its body."""
        self.seen = True
        return self.node

    @property
    def docstring(self) -> str:
        """The docstring, empty without one."""
        return _docstring(self)

    @property
    def is_method(self) -> bool:
        """Whether the first parameter is the instance or the class."""
        return self.owner is not None and bool(self.parameters) and "staticmethod" not in self.decorator_names

    @property
    def decorator_names(self) -> frozenset[str]:
        """Last parts of the decorators' names, for those that need no resolving (property, staticmethod ...)."""
        if not self.decorators:
            return frozenset()
        return frozenset(terminal(d.func if isinstance(d, ast.Call) else d) or "" for d in self.decorators)

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)


@dataclass(slots=True, eq=False)
class Class:
    """A class statement; compared by identity."""

    module: Module
    name: str
    qualname: str
    node: ast.ClassDef
    bases: tuple[ast.expr, ...]
    methods: dict[str, Function] = field(default_factory=dict)
    parent: Function | None = None
    fields: dict[str, tuple[ast.expr | None, ast.expr | None]] = field(default_factory=dict)
    """Names assigned or annotated in the class body: (annotation, value)."""
    body: Function | None = None

    def __repr__(self) -> str:
        return f"<class {self.module.name}:{self.qualname}>"

    @property
    def docstring(self) -> str:
        """The docstring, empty without one."""
        return _docstring(self)

    @property
    def decorator_names(self) -> frozenset[str]:
        return frozenset(terminal(d.func if isinstance(d, ast.Call) else d) or "" for d in self.node.decorator_list)


def _docstring(definition: Function | Class) -> str:
    definition.module.asked.documented.add(definition)
    node = definition.node
    return "" if isinstance(node, ast.Lambda) else ast.get_docstring(node) or ""


def is_said(word: str, function: Function) -> bool:
    """What ``Function.says`` answers, without a note that it was asked."""
    first, last = getattr(function.node, "lineno", 1), getattr(function.node, "end_lineno", None) or 0
    lines = _lines_saying(function.module, word)
    nearest = bisect_left(lines, first)
    return nearest < len(lines) and lines[nearest] <= last


def is_matched(pattern: re.Pattern[str], function: Function) -> bool:
    """What ``Function.matches`` answers, without a note that it was asked."""
    node = function.node
    if isinstance(node, ast.Module):
        return False
    return pattern.search("\n".join(function.module.source.lines[node.lineno - 1 : node.end_lineno])) is not None


@lru_cache(maxsize=16)  # asked for each function of a module in turn
def _lines_saying(module: Module, word: str) -> tuple[int, ...]:
    """The lines of a file in which a word stands, from 1."""
    text = module.source.text
    if word not in text:
        return ()
    text = "\n".join(module.source.lines) if "\r" in text else text
    stands = re.compile(rf"\b{re.escape(word)}\b").match
    lines: list[int] = []
    line, counted, place = 1, 0, text.find(word)
    while place >= 0:
        end = place + 1
        if stands(text, place):
            line += text.count("\n", counted, place)
            lines.append(line)
            counted, end = place, text.find("\n", place)
        place = text.find(word, end) if end >= 0 else -1
    return tuple(lines)


class Module:
    """A parsed file with its definitions; everything else about it is found on demand."""

    def __init__(self, source: Source, name: str, is_package: bool, tree: ast.Module) -> None:
        self.source = source
        self.name = name
        self.is_package = is_package
        self._tree: ast.Module | None = tree
        self.functions: list[Function] = []
        self.classes: dict[str, Class] = {}
        self.definitions: dict[ast.AST, Function | Class] = {}
        self.asked = Asked()
        self.called = Mentions(self.asked)
        self.attribute_stores: dict[str, list[Function]] = {}
        self.keyword_messages: set[Function] = set()
        """Functions with a call that passes ``messages=``."""
        self.body = Function(self, "<module>", "<module>", tree, None, None)
        self.stars: list[tuple[int, str | None]] = []
        self.spans: dict[At, Span] = {}
        """The places that were asked for."""
        self.matched: dict[tuple[re.Pattern[str], Function | None], bool] = {}
        """Which patterns were found in the text of a function, or in that of the file."""
        self.yields = b"yield" in source.data
        """Whether any of the functions may be a generator."""
        _Indexer(self, tree).run()

    def __repr__(self) -> str:
        return f"<module {self.name}>"

    @property
    def tree(self) -> ast.Module:
        """The whole syntax tree; parsed again where parts of it were given up."""
        self.asked.whole = True
        return self._tree if self._tree is not None else _parsed_again(self)

    def syntax(self, function: Function) -> ast.AST:
        """The node of one of the functions with its whole body."""
        function.seen = True
        if self._tree is not None:
            return function.node
        kind, place = type(function.node), At.start(function.node)
        same = (n for n in ast.walk(self.tree) if isinstance(n, kind) and At.start(n) == place)
        return next(same, function.node)

    def passes_messages(self, function: Function) -> bool:
        """Whether a function has a call that passes ``messages=``."""
        self.asked.names.add(MESSAGES)
        return function in self.keyword_messages

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is found in the text of the file."""
        self.asked.patterns.add(pattern)
        known = self.matched.get((pattern, None))
        if known is None:
            known = self.matched[pattern, None] = pattern.search(self.source.text) is not None
        return known

    def holds(self, text: str) -> bool:
        """Whether a text occurs anywhere in the file."""
        known = self.asked.texts.get(text)
        if known is None:
            known = self.asked.texts[text] = text in self.source.text
        return known

    def strip(self) -> None:
        """Gives up the bodies of functions: most files are parsed for what they define, and trees are large."""
        for function in self.functions:
            if isinstance(function.node, FunctionStatement) and _emptied(function):
                function.stripped = True
        self._tree = None

    def restore(self, function: Function) -> None:
        """Brings back the body of a function, with all that is defined in it and around it in the same function."""
        top = above = function
        while above.parent is not None:
            above = above.parent
            if isinstance(above.node, FunctionStatement):
                top = above
        node = _segment(self.source, top.node)
        inside = [own for own in self.definitions.values() if _is_inside(own, top)]
        if len(inside) > 1:
            self._replace(inside, node)
        assert isinstance(top.node, FunctionStatement)
        top.node.body[:], top.stripped = node.body, False

    def _replace(self, inside: list[Function | Class], node: FunctionStatement) -> None:
        """Gives what is defined in a function the nodes of its statement as it was parsed again."""
        again = Module(self.source, self.name, self.is_package, ast.Module([node], []))
        found = [(n, own) for n, own in again.definitions.items() if _is_inside(own, again.functions[0])]
        for (new, _), own in zip(found[1:], inside[1:], strict=True):
            self.definitions[new] = own
            if isinstance(own, Class):
                assert isinstance(new, ast.ClassDef)
                own.node = new
            else:
                assert isinstance(new, FunctionNode)
                own.node, own.stripped = new, False

    def shed(self, function: Function) -> None:
        """Gives up the body of a function that was summarised."""
        if _emptied(function):
            self._tree = None

    @property
    def path(self) -> str:
        return self.source.path

    def span(self, at: At) -> Span:
        known = self.spans.get(at)
        if known is None:
            known = self.spans[at] = span(self.source, at)
        return known


@lru_cache(maxsize=6)  # the rare questions that a whole tree answers come one after the other
def _parsed_again(module: Module) -> ast.Module:
    return _whole(module.source)


def _whole(source: Source) -> ast.Module:
    """The tree of a source that was parsed before."""
    tree = parse(source)
    assert isinstance(tree, ast.Module)
    return tree


def _segment(source: Source, node: ast.AST) -> FunctionStatement:
    """The statement of a function, parsed again from its own lines, or from the whole file where that fails."""
    assert isinstance(node, FunctionStatement)
    first, last = node.lineno, node.end_lineno or node.lineno
    lines = "\n".join(source.lines[first - 1 : last])
    ahead = "\n" * (first - 2) + "if 1:\n" if node.col_offset else "\n" * (first - 1)
    with contextlib.suppress(SyntaxError, ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: ast.AST = ast.parse(ahead + lines).body[0]
        made = made.body[0] if isinstance(made, ast.If) else made
        if isinstance(made, FunctionStatement) and At.start(made) == At.start(node):
            return made
    for made in ast.walk(_whole(source)):
        if isinstance(made, FunctionStatement) and At.start(made) == At.start(node):
            return made
    raise AssertionError("a function is where it was when the file was parsed first")


def _is_inside(own: Function | Class, top: Function) -> bool:
    at: Function | None = own if isinstance(own, Function) else own.parent
    while at is not None and at is not top:
        at = at.parent
    return at is top


def _emptied(function: Function) -> bool:
    """Takes all but the docstring out of a body; lambdas are let alone."""
    body = function.node.body
    if not isinstance(body, list):
        return False
    documented = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    del body[documented:]
    return True


def _declares(body: list[ast.stmt]) -> bool:
    statements = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if not statements:
        return True
    if len(statements) > 1:
        return False
    last = statements[0]
    if isinstance(last, ast.Raise) and last.exc is not None:
        exc = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
        return terminal(exc) == "NotImplementedError"
    return isinstance(last, ast.Pass)


def terminal(node: ast.expr) -> str | None:
    """The last name of a dotted expression: ``a.b.c`` gives "c"."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return None


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` as text, or ``None`` when it is not a plain dotted name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


CONSTRUCTORS = ("__init__", "__post_init__", "__new__", "model_post_init")
"""The methods that run while an object is made."""
MUTATORS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "pop",
        "popleft",
        "appendleft",
        "extendleft",
        "remove",
        "clear",
        "update",
        "setdefault",
        "sort",
        "reverse",
        "add",
        "discard",
    ]
)


MAPS = frozenset(
    ("map", "imap", "imap_unordered", "starmap", "map_async", "starmap_async", "thread_map", "process_map")
)
"""Functions, and methods of pools, that run a function once for each element."""


ATOMS = frozenset(
    [str, bytes, int, bool, float, complex, type(None), type(...), ast.Constant]
    + [
        made
        for kind in (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
        for made in kind.__subclasses__()
    ]
)
"""Classes of what stands in a tree and has nothing in it."""
_LEAVES = ATOMS | {ast.Name}
"""Those that say nothing to the index by themselves; most nodes of a tree are such."""


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _container(iterable: ast.expr) -> ast.expr:
    """What a loop over ``iterable`` takes its elements from: ``x`` in ``enumerate(x[:-1])`` and ``x.values()``."""
    while True:
        if isinstance(iterable, (ast.Subscript, ast.Starred)):
            iterable = iterable.value
        elif (
            isinstance(iterable, ast.Call)
            and terminal(iterable.func) in ("enumerate", "reversed", "list")
            and iterable.args
        ):
            iterable = iterable.args[0]
        elif isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute):
            iterable = iterable.func.value
        else:
            return iterable


def _aliased(value: ast.expr | None) -> ast.expr | None:
    """The place that a name changes when what it was bound to changes: ``x`` for ``x``, ``x[key]``, ``x.get(key)``."""
    while True:
        if isinstance(value, ast.BoolOp):
            value = value.values[0]
        elif isinstance(value, ast.Subscript):
            value = value.value
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr not in ("get", "setdefault"):
                return None
            value = value.func.value
        else:
            return value if isinstance(value, (ast.Attribute, ast.Name)) else None


_NO_NODES = frozenset(
    ["arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "op", "ops", "simple"]
)
"""Fields that hold text, numbers and leaves in every class of node."""
_INNER: dict[type, tuple[str, ...]] = {}
"""By class of node: the fields that may hold nodes."""


def push_children(node: ast.AST, stack: list[ast.AST], without: frozenset[type] = _LEAVES) -> None:
    """As ``stack.extend(ast.iter_child_nodes(node))``, without leaves and in a fraction of the time."""
    cls = node.__class__
    inner = _INNER.get(cls)
    if inner is None:
        inner = _INNER[cls] = tuple(name for name in node._fields if name not in _NO_NODES)
    for name in inner:
        value: Any = getattr(node, name, None)
        if value.__class__ is list:
            stack.extend([v for v in value if v.__class__ not in without])
        elif value.__class__ not in without:
            stack.append(value)


_NOTED = (
    ast.Call,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Delete,
    ast.For,
    ast.AsyncFor,
    ast.ImportFrom,
    ast.Return,
    ast.Global,
)


class _Indexer:
    """One walk over a tree, without recursion on expressions deeper than the statement level."""

    def __init__(self, module: Module, tree: ast.Module) -> None:
        self.module = module
        self.tree = tree
        self.stores: dict[Function, set[str]] = {}
        self.edited: dict[Function, set[str]] = {}
        """Local names whose inside a function changes."""
        self.loops: list[tuple[Function, ast.expr, ast.expr]] = []
        self.aliases: list[tuple[Function, str, ast.expr]] = []

    def run(self) -> None:
        self._body(self.tree.body, self.module.body, None, "")
        # A change inside a loop variable is a change to what the loop runs over; inner loops stand behind outer ones.
        for function, target, iterable in reversed(self.loops):
            if _names(target) & self.edited.get(function, set()):
                self._store(_container(iterable), function, inside=True)
        for function, name, place in self.aliases:
            if name in self.edited.get(function, ()):
                self._store(place, function, inside=True)
        for function, names in self.stores.items():
            function.stored = frozenset(names)
        for function, names in self.edited.items():
            function.edited = frozenset(names)

    def _body(self, body: list[ast.stmt], function: Function, owner: Class | None, prefix: str) -> None:
        stack: list[ast.AST] = list(reversed(body))
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(node, node.name, function, owner, prefix)
                stack.extend(node.decorator_list)
                stack.extend(d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
                continue
            if isinstance(node, ast.Lambda):
                self._function(node, "<lambda>", function, None, prefix)
                continue
            if isinstance(node, ast.ClassDef):
                self._class(node, function, prefix)
                continue
            if isinstance(node, _NOTED):
                self._note(node, function)
            push_children(node, stack)

    def _note(self, node: ast.AST, function: Function) -> None:
        module = self.module
        if isinstance(node, ast.Call):
            name = terminal(node.func)
            if name:
                called = module.called.listed.setdefault(name, [])
                if not called or called[-1] is not function:
                    called.append(function)
                if name in MUTATORS and isinstance(node.func, ast.Attribute):
                    self._store(node.func.value, function, inside=True)
            if any(k.arg == "messages" for k in node.keywords):
                module.keyword_messages.add(function)
            for argument in [*node.args, *(k.value for k in node.keywords)]:
                reference = terminal(argument)
                if reference:
                    listed = module.called.listed.setdefault("&" + reference, [])
                    if not listed or listed[-1] is not function:
                        listed.append(function)
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.For, ast.AsyncFor)):
            targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
            for target in targets:
                self._store(target, function)
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and (place := _aliased(node.value)) is not None:
                self.aliases += [(function, t.id, place) for t in targets if isinstance(t, ast.Name)]
            if isinstance(node, (ast.For, ast.AsyncFor)):
                self.loops.append((function, node.target, node.iter))
        elif isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            module.stars.append((node.level, node.module))
        elif isinstance(node, ast.Return):
            function.hands_out = function.hands_out or isinstance(
                node.value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BoolOp)
            )
        elif isinstance(node, ast.Global):
            self.stores.setdefault(function, set()).update(node.names)

    def _store(self, target: ast.expr, function: Function, inside: bool = False) -> None:
        """Notes what a target names as changed; ``inside``: the object it names, not the name."""
        stack = [target]
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.Tuple, ast.List)):
                stack.extend(node.elts)
            elif isinstance(node, (ast.Subscript, ast.Starred)):
                stack.append(node.value)
                inside = inside or isinstance(node, ast.Subscript)
            elif isinstance(node, ast.Attribute):
                if isinstance(node.value, ast.Name):
                    self.edited.setdefault(function, set()).add(node.value.id)
                self.stores.setdefault(function, set()).add(node.attr)
                listed = self.module.attribute_stores.setdefault(node.attr, [])
                if not listed or listed[-1] is not function:
                    listed.append(function)
                if isinstance(node.value, ast.Attribute):
                    stack.append(node.value)
            elif isinstance(node, ast.Name):
                self.stores.setdefault(function, set()).add(node.id)
                if inside:
                    self.edited.setdefault(function, set()).add(node.id)

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        name: str,
        parent: Function,
        owner: Class | None,
        prefix: str,
    ) -> None:
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + list(
            arguments.defaults
        )
        parameters = [
            Parameter(a.arg, "positional", d, a.annotation) for a, d in zip(positional, defaults, strict=True)
        ]
        if arguments.vararg:
            parameters.append(Parameter(arguments.vararg.arg, "args", None, arguments.vararg.annotation))
        parameters += [
            Parameter(a.arg, "keyword", d, a.annotation)
            for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ]
        if arguments.kwarg:
            parameters.append(Parameter(arguments.kwarg.arg, "kwargs", None, arguments.kwarg.annotation))
        decorators = () if isinstance(node, ast.Lambda) else tuple(node.decorator_list)
        function = Function(self.module, name, prefix + name, node, owner, parent, tuple(parameters), decorators)
        self.module.functions.append(function)
        self.module.definitions[node] = function
        if owner is not None and name not in ("<lambda>",):
            # A property setter or an overload repeats the name: the first full definition is the getter.
            if name not in owner.methods or "setter" not in function.decorator_names:
                owner.methods.setdefault(name, function)
                if "overload" in owner.methods[name].decorator_names:
                    owner.methods[name] = function
        body: list[ast.stmt] = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
        function.declares = not isinstance(node, ast.Lambda) and _declares(node.body)
        self._body(body, function, None, f"{prefix}{name}.")

    def _class(self, node: ast.ClassDef, parent: Function, prefix: str) -> None:
        cls = Class(self.module, node.name, prefix + node.name, node, tuple(node.bases), parent=parent)
        self.module.classes.setdefault(cls.qualname, cls)
        self.module.definitions[node] = cls
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                cls.fields[statement.target.id] = (statement.annotation, statement.value)
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        cls.fields[target.id] = (None, statement.value)
        cls.body = Function(self.module, node.name, prefix + node.name, ast.Module(node.body, []), cls, parent)
        self.module.definitions[cls.body.node] = cls.body
        self._body(node.body, cls.body, cls, f"{prefix}{node.name}.")
