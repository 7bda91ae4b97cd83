"""``sorted(...)`` where a collection without a fixed order becomes a list or text.

Offered only where nothing but the order can change: all elements are known to be strings or paths, everything that is
put in order comes from the unordered collection, and nothing takes only some of the elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst
from libcst import metadata as meta

from promptlint.finding import Edit
from promptlint.fix import tools
from promptlint.fix.edits import put_in
from promptlint.fix.known import SETS, annotated, called, holds_strings, is_text
from promptlint.fix.module import CHANGE, Module
from promptlint.span import Span

LISTS = frozenset(["os.listdir", "glob.glob"])
"""Listings that are a list, by the name of their row in ``knowledge/sources.toml``."""
LISTINGS = LISTS | {"glob.iglob", "pathlib.Path.glob", "pathlib.Path.rglob", "pathlib.Path.iterdir"}

_ITERATE = frozenset(["list", "tuple", "enumerate", ".fromkeys", ".extend"])
_PICK = frozenset(["next", "islice", ".islice", ".choice", ".choices", ".sample", ".pop", ".popleft", "zip", ".index"])

_SET_OPERATORS = cst.Subtract | cst.BitOr | cst.BitAnd | cst.BitXor


@dataclass(frozen=True, slots=True)
class Disorder:
    """An unordered expression, where it is listed, and the knowledge row that says so ("os.listdir", "set")."""

    origin: Span
    uses: frozenset[Span]
    row: str
    tools: bool = False
    """Whether all that comes of it are tools."""


def edits(disorder: Disorder, modules: Mapping[str, Module]) -> tuple[Edit, ...]:
    """What sorts an unordered collection wherever it is listed; nothing where that may change more than the order."""
    home = modules.get(disorder.origin.path)
    source = home.at(disorder.origin) if home else None
    if home is None or source is None:
        return ()
    top = _whole(home, source)
    listing = disorder.row in LISTINGS and top is source
    source, name = top, _named(home, top)
    if _iterated(home, source) or (listing and disorder.row in LISTS and name is not None):
        found = [(home, source)]
    elif listing or name is None:
        return ()
    else:
        found = []
        for use in disorder.uses:
            module = modules.get(use.path)
            here = [n for n in module.inside(use) if _refers(module, n, home, source, name.value)] if module else []
            listed = [(module, top) for n in here if module and _iterated(module, top := _whole(module, n))]
            if not listed:
                return ()
            found += listed
    result: dict[Edit, None] = {}
    for module, node in found:
        sortable = _sortable(module, node, home, source, listing)
        if sortable is None and disorder.tools:
            sortable = tools.sortable(module, node)
        if sortable is None or not _may_sort(module, node):
            return ()
        result |= dict.fromkeys(_sorting(module, *sortable))
    return tuple(result)


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
    """Whether a name stands for the collection and for nothing else, also when it was imported from its file.

    A field that is annotated as a set of strings may hold another one, which is sorted as well.
    """
    if isinstance(node, cst.Attribute):
        return node.attr.value == name and _is_field(home, source)
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


def _is_field(home: Module, source: cst.BaseExpression) -> bool:
    """Whether a collection is the default of a field that holds a set of strings: ``names: set[str] = {"a", "b"}``."""
    field = home.parents.get(source)
    line = home.parents.get(field) if isinstance(field, cst.AnnAssign) else None
    block = home.parents.get(line) if line is not None else None
    in_class = block is not None and isinstance(home.parents.get(block), cst.ClassDef)
    return in_class and isinstance(field, cst.AnnAssign) and annotated(field.annotation.annotation, SETS)


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
) -> tuple[cst.BaseExpression, str] | None:
    """What to sort: the collection when its elements are known to be strings, else the text that is made of each."""
    above = module.parents[node]
    if listing or _joins(module.parents.get(above)):
        return node, ""
    if isinstance(node, cst.Attribute):
        known = _is_field(home, source)
    elif module is home or not isinstance(node, cst.Name):
        known = holds_strings(node, module.value)
    else:
        name = _named(home, source)
        known = name is not None and holds_strings(name, home.value)
    if known:
        return node, ""
    if isinstance(above, cst.CompFor) and above.inner_for_in is None:
        made = module.parents[above]
        call = module.parents.get(module.parents[made])
        if isinstance(made, cst.GeneratorExp | cst.ListComp) and _joins(call):
            return made, ""
    return None


def _may_sort(module: Module, node: cst.BaseExpression) -> bool:
    """Whether all elements are used, and ``sorted`` is the built-in function here."""
    if not module.is_builtin("sorted", node):
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
                self.gathers |= {attr.value} & CHANGE
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


def _sorting(module: Module, node: cst.BaseExpression, key: str) -> tuple[Edit, ...]:
    """``sorted(...)`` around an expression; a ``list(...)`` of just this expression becomes it."""
    call = module.parents.get(module.parents[node])
    if isinstance(call, cst.Call) and called(call) == "list" and len(call.args) == 1:
        end = module.outer(node)
        behind = (put_in(module.path, end.end_line, end.end_column, key),) if key else ()
        return (module.replaced(call.func, "sorted"), *behind)
    return module.wrapped(node, "sorted(", f"{key})")
