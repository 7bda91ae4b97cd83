"""``sorted(...)`` where a collection without a fixed order becomes a list or text.

Offered only where nothing but the order can change: all elements are known to be strings or paths, everything that is
put in order comes from the unordered collection, and nothing takes only some of the elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import libcst as cst
from libcst import metadata as meta

from promptlint.fix.known import called, holds_strings, is_text
from promptlint.span import Span

LISTS = frozenset(["os.listdir", "glob.glob"])
"""Listings that are a list, by the name of their row in ``knowledge/sources.toml``."""
LISTINGS = LISTS | {"glob.iglob", "pathlib.Path.glob", "pathlib.Path.rglob", "pathlib.Path.iterdir"}

_ITERATE = frozenset(["list", "tuple", "enumerate", ".fromkeys", ".extend"])
_CHANGE = frozenset(["add", "update", "symmetric_difference_update", "append", "extend", "insert"])
_PICK = frozenset(["next", "islice", ".islice", ".choice", ".choices", ".sample", ".pop", ".popleft", "zip", ".index"])

_SET_OPERATORS = cst.Subtract | cst.BitOr | cst.BitAnd | cst.BitXor
_Scope = meta.Scope


@dataclass(frozen=True, slots=True)
class Disorder:
    """An unordered expression, where it is listed, and the knowledge row that says so ("os.listdir", "set")."""

    origin: Span
    uses: frozenset[Span]
    row: str


@dataclass(frozen=True)
class Module:
    """A parsed file. Raises ``libcst.ParserSyntaxError`` when its text is not what LibCST can read."""

    path: str
    text: str

    @cached_property
    def _wrapper(self) -> meta.MetadataWrapper:
        return meta.MetadataWrapper(cst.parse_module(self.text))

    def changed(self, transformer: cst.CSTTransformer) -> str:
        """The text after a transformation of the tree whose nodes the other methods give."""
        return self._wrapper.module.visit(transformer).code

    @cached_property
    def _places(self) -> Mapping[cst.CSTNode, object]:
        return self._wrapper.resolve(meta.PositionProvider)

    @cached_property
    def parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        """The node around each node."""
        return self._wrapper.resolve(meta.ParentNodeProvider)

    @cached_property
    def scopes(self) -> Mapping[cst.CSTNode, object]:
        """The scope of each node, where LibCST knows it."""
        return self._wrapper.resolve(meta.ScopeProvider)

    @cached_property
    def expressions(self) -> Mapping[tuple[int, int, int, int], cst.BaseExpression]:
        """The outermost expression at each place."""
        found: dict[tuple[int, int, int, int], cst.BaseExpression] = {}
        for node, place in self._places.items():
            if isinstance(node, cst.BaseExpression) and isinstance(place, meta.CodeRange):
                found.setdefault(_numbers(place), node)
        return found

    def at(self, span: Span) -> cst.BaseExpression | None:
        """The expression that a span of this file covers."""
        return self.expressions.get((span.line, span.column, span.end_line, span.end_column))

    def inside(self, span: Span) -> Iterator[cst.BaseExpression]:
        """The expressions within a span."""
        for (line, column, end_line, end_column), node in self.expressions.items():
            starts = (line, column) >= (span.line, span.column)
            if starts and (end_line, end_column) <= (span.end_line or span.line, span.end_column):
                yield node

    def around(self, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """Each node around one with its child on the way, innermost first."""
        while (above := self.parents.get(node)) is not None:
            yield above, node
            node = above

    def bindings(self, name: cst.Name) -> list[meta.BaseAssignment]:
        """What may have given a name its value."""
        scope = self.scopes.get(name)
        return list(scope[name.value]) if isinstance(scope, _Scope) else []

    def value(self, name: cst.Name) -> cst.BaseExpression | cst.Annotation | None:
        """The only value of a name that nothing is added to, or its annotation where it is a parameter."""
        bound = self.bindings(name)
        if len(bound) != 1 or not isinstance(bound[0], meta.Assignment):
            return None
        if isinstance(bound[0].node, cst.Param):
            return bound[0].node.annotation
        changed = any(
            isinstance(above := self.parents.get(access.node), cst.Attribute) and above.attr.value in _CHANGE
            for access in bound[0].references
        )
        return None if changed else self.assigned(bound[0])

    def assigned(self, bound: meta.BaseAssignment) -> cst.BaseExpression | None:
        """The value of an assignment to nothing but one name."""
        if not isinstance(bound, meta.Assignment) or not isinstance(bound.node, cst.Name):
            return None
        match self.parents.get(bound.node):
            case cst.AnnAssign(value=value):
                return value
            case cst.AssignTarget() as target:
                statement = self.parents[target]
                return statement.value if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
        return None


def _numbers(place: meta.CodeRange) -> tuple[int, int, int, int]:
    return place.start.line, place.start.column + 1, place.end.line, place.end.column + 1


def edits(disorder: Disorder, modules: Mapping[str, Module]) -> dict[str, list[cst.BaseExpression]] | None:
    """The expressions to sort, by file, so that an unordered collection is listed in a fixed order everywhere.

    ``None`` where it is not certain that this changes nothing but the order.
    """
    home = modules.get(disorder.origin.path)
    source = home.at(disorder.origin) if home else None
    if home is None or source is None:
        return None
    top = _whole(home, source)
    listing = disorder.row in LISTINGS and top is source
    source, name = top, _named(home, top)
    if _iterated(home, source) or (listing and disorder.row in LISTS and name is not None):
        found = [(home, source)]
    elif listing or name is None:
        return None
    else:
        found = []
        for use in disorder.uses:
            module = modules.get(use.path)
            here = [n for n in module.inside(use) if _refers(module, n, home, source, name.value)] if module else []
            listed = [(module, top) for n in here if module and _iterated(module, top := _whole(module, n))]
            if not listed:
                return None
            found += listed
    result: dict[str, list[cst.BaseExpression]] = {}
    for module, node in found:
        whole = _sortable(module, node, home, source, listing)
        if whole is None or not _may_sort(module, node):
            return None
        if whole not in result.setdefault(module.path, []):
            result[module.path].append(whole)
    return result


def _whole(module: Module, node: cst.BaseExpression) -> cst.BaseExpression:
    """The set that a set is made into, in whatever order: ``NAMES - {"door"}`` or ``{*NAMES, "door"}`` of ``NAMES``."""
    above = module.parents.get(node)
    if isinstance(above, cst.BinaryOperation) and isinstance(above.operator, _SET_OPERATORS):
        return _whole(module, above)
    if isinstance(above, cst.StarredElement) or (isinstance(above, cst.CompFor) and above.iter is node):
        made = module.parents.get(above)
        return _whole(module, made) if isinstance(made, cst.Set | cst.SetComp) else node
    call = module.parents.get(above) if isinstance(above, cst.Arg) else None
    if isinstance(call, cst.Call) and called(call) in ("set", "frozenset"):
        return _whole(module, call)
    return node


def _named(module: Module, node: cst.BaseExpression) -> cst.Name | None:
    """The name that a value is assigned to, when that is the only thing done with it and the name has no other."""
    above = module.parents.get(node)
    match above:
        case (
            cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]) | cst.AnnAssign(target=cst.Name() as name)
        ) if above.value is node:
            return name if len(module.bindings(name)) == 1 else None
    return None


def _refers(module: Module, node: cst.BaseExpression, home: Module, source: cst.BaseExpression, name: str) -> bool:
    """Whether a name stands for the collection and for nothing else, also when it was imported from its file."""
    if not isinstance(node, cst.Name):
        return False
    bound = module.bindings(node)
    if len(bound) != 1:
        return False
    if isinstance(bound[0], meta.ImportAssignment):
        names = bound[0].get_qualified_names_for(node.value)
        stem = home.path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
        return any(f".{q.name}".endswith(f".{stem}.{name}") for q in names)
    return module is home and home.assigned(bound[0]) is source


def _iterated(module: Module, node: cst.BaseExpression) -> bool:
    """Whether an expression stands where it is gone through from start to end."""
    match module.parents.get(node):
        case cst.CompFor(iter=iterated, asynchronous=None) | cst.For(iter=iterated, asynchronous=None):
            return iterated is node
        case cst.StarredElement():
            return True
        case cst.Arg(star="", keyword=None) as argument:
            call = module.parents[argument]
            return isinstance(call, cst.Call) and (
                (called(call) in _ITERATE and call.args[0] is argument) or _joins(call)
            )
    return False


def _joins(call: cst.CSTNode | None) -> bool:
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "join"
        and is_text(call.func.value)
        and len(call.args) == 1
    )


def _sortable(
    module: Module, node: cst.BaseExpression, home: Module, source: cst.BaseExpression, listing: bool
) -> cst.BaseExpression | None:
    """What to sort: the collection when its elements are known to be strings, else the text that is made of each."""
    above = module.parents[node]
    if listing or _joins(module.parents.get(above)):
        return node
    if module is home or not isinstance(node, cst.Name):
        known = holds_strings(node, module.value)
    else:
        name = _named(home, source)
        known = name is not None and holds_strings(name, home.value)
    if known:
        return node
    if isinstance(above, cst.CompFor) and above.inner_for_in is None:
        made = module.parents[above]
        call = module.parents.get(module.parents[made])
        if isinstance(made, cst.GeneratorExp | cst.ListComp) and _joins(call):
            return made
    return None


def _may_sort(module: Module, node: cst.BaseExpression) -> bool:
    """Whether all elements are used, and ``sorted`` is the built-in function here."""
    scope = module.scopes.get(node)
    if isinstance(scope, _Scope) and not all(isinstance(a, meta.BuiltinAssignment) for a in scope["sorted"]):
        return False
    statement: cst.CSTNode = node
    inner: cst.CSTNode = node
    for above, below in module.around(node):
        if _takes_part(above, below) or isinstance(above, cst.CompIf):
            return False
        if isinstance(above, cst.BaseStatement | cst.BaseSmallStatement):
            statement, inner = above, below
            break
    match statement:
        case cst.Assign(targets=targets):
            return not any(_picked(module, t.target) for t in targets)
        case cst.AnnAssign(target=target) | cst.AugAssign(target=target):
            return not _picked(module, target)
        case cst.For(iter=iterated, body=body) if iterated is inner:
            return _goes_through(module, body)
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=receiver))):
            return not _picked(module, receiver)
        case cst.For() | cst.While() | cst.If():
            return False
    return True


def _goes_through(module: Module, body: cst.BaseSuite) -> bool:
    """Whether a loop treats each element alike: it does not end early, count, or keep what is later cut."""
    reader = _Body()
    body.visit(reader)
    if reader.stops or reader.gathers == {"add"}:  # what only fills another set is sorted where that one is listed
        return False
    return not any(_picked(module, name) for name in reader.kept)


class _Body(cst.CSTVisitor):
    """What the body of a loop does: whether it can stop early, the names that it changes, and how."""

    def __init__(self) -> None:
        self.stops = False
        self.kept: list[cst.BaseExpression] = []
        self.gathers: set[str] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        match node:
            case cst.Break() | cst.Return() | cst.Yield() | cst.Call(func=cst.Name(value="len")):
                self.stops = True
            case cst.Comparison(left=left, comparisons=[*others]):
                sides = [left, *(other.comparator for other in others)]
                self.stops |= any(isinstance(side, cst.Integer) for side in sides)
            case cst.Call(func=cst.Attribute(value=receiver, attr=attr)):
                self.kept.append(receiver)
                self.gathers |= {attr.value} & _CHANGE
            case cst.AssignTarget(target=target) | cst.AugAssign(target=target):
                self.kept.append(target)
                self.gathers.add("=")
        return True


def _picked(module: Module, target: cst.BaseExpression) -> bool:
    """Whether a part of what a name holds is taken by its place; an attribute is not followed, and may be."""
    if not isinstance(target, cst.Name):
        return not isinstance(target, cst.Subscript | cst.SimpleString | cst.FormattedString | cst.Call)
    accesses = [access.node for bound in module.bindings(target) for access in bound.references]
    return any(_takes_part(above, below) for node in accesses for above, below in module.around(node))


def _takes_part(above: cst.CSTNode, below: cst.CSTNode) -> bool:
    """Whether some of what an expression holds, or of what it is part of, is taken by its place."""
    if isinstance(above, cst.Subscript):
        return above.value is below and not _by_key(above)
    return isinstance(above, cst.Call) and called(above) in _PICK


def _by_key(node: cst.Subscript) -> bool:
    inner = node.slice[0].slice
    return isinstance(inner, cst.Index) and is_text(inner.value)


class _Sort(cst.CSTTransformer):
    """Wraps expressions in ``sorted(...)``; a ``list(...)`` around one becomes it."""

    def __init__(self, module: Module, chosen: Iterable[cst.BaseExpression]) -> None:
        super().__init__()
        self.chosen = set(chosen)
        self.lists = {above for node in self.chosen if (above := _list_of(module, node)) is not None}

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> Any:
        """The node, wrapped where it was chosen."""
        if original_node in self.lists:
            return updated_node.with_changes(func=cst.Name("sorted"))
        if original_node in self.chosen and isinstance(updated_node, cst.BaseExpression):
            above = {call.args[0].value for call in self.lists}
            return updated_node if original_node in above else cst.Call(cst.Name("sorted"), [cst.Arg(updated_node)])
        return updated_node


def _list_of(module: Module, node: cst.BaseExpression) -> cst.Call | None:
    """The ``list(...)`` of just this expression."""
    call = module.parents.get(module.parents[node])
    return call if isinstance(call, cst.Call) and called(call) == "list" and len(call.args) == 1 else None


def applied(module: Module, chosen: Iterable[cst.BaseExpression]) -> str:
    """The text of the file with the expressions sorted."""
    return module.changed(_Sort(module, chosen))
