"""What the expressions of a body are, as nodes of its graph, and what they leave in the places that they name."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import count

from promptlint.code import syntax
from promptlint.code.expression import (
    OUTER,
    After,
    AfterLoop,
    At,
    Attr,
    Binary,
    Call,
    Comp,
    Concat,
    Definition,
    DictOf,
    Either,
    Element,
    Expr,
    Field,
    Formatted,
    Global,
    Guard,
    Import,
    Item,
    Literal,
    LoopState,
    Mutate,
    Param,
    Phi,
    SeqOf,
    Slice,
    Star,
    Test,
    Unknown,
    each_once,
)
from promptlint.code.index import MAPS, MUTATORS, terminal
from promptlint.code.places import Places, at_of
from promptlint.code.syntax import YIELDED

loop_ids = count(1)
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
_COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.Not: "not", ast.USub: "minus", ast.Invert: "invert"}
PURE = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "callable",
        "dict",
        "enumerate",
        "filter",
        "float",
        "format",
        "frozenset",
        "getattr",
        "hasattr",
        "hash",
        "id",
        "int",
        "isinstance",
        "issubclass",
        "len",
        "list",
        "map",
        "max",
        "min",
        "print",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
)
"""Builtins that change nothing they are handed."""
_IN_PLACE = frozenset(("shuffle",))
"""Functions of libraries that change what they are handed, also where that is a name of the module."""
MAX_DEPTH = 150
"""Nesting of expressions that is followed; deeper ones become ``Unknown``."""
MAX_ELEMENTS = 2_000
"""Elements of a display that are looked at: longer ones are tables of data."""


class Translator(Places):
    """Puts expressions into the graph of a body."""

    def expr(self, node: ast.expr) -> Expr:
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return Unknown(at_of(node), "deeply nested expression")
            method = getattr(self, "_x_" + type(node).__name__, None)
            if method is None:
                return Unknown(at_of(node), type(node).__name__)
            result = method(node)
            assert isinstance(result, Expr)
            return result
        finally:
            self.depth -= 1

    def _x_Constant(self, node: ast.Constant) -> Expr:
        return Literal(at_of(node), node.value)

    def _x_Name(self, node: ast.Name) -> Expr:
        return self.name(node.id, at_of(node))

    def _x_Attribute(self, node: ast.Attribute) -> Expr:
        path = syntax.dotted_path(node)
        if path is not None:
            known = self._env().get(path)
            if known is not None:
                return known
        base = self.expr(node.value)
        result = Attr(at_of(node), base, node.attr)
        made = self._made_below(node.value)
        if made is not None:
            calls = self.called_on.get(made, ())
            around = [(self.loops, self.guards), *((c.loops[: len(made.loops)], c.guards) for c in calls)]
            if all((ls, gs[: len(made.guards)]) == (made.loops, made.guards) for ls, gs in around):
                result = Field(at_of(node), base, node.attr, made, calls)
        self.summary.references.append(result)
        return result

    def _x_Subscript(self, node: ast.Subscript) -> Expr:
        if (key := syntax.session_key(node)) is not None:
            return self._x_Attribute(ast.copy_location(ast.Attribute(node.value, key, ast.Load()), node))
        if (known := (self.env or {}).get(syntax.element_name(node))) is not None:
            return known
        base = self.expr(node.value)
        if isinstance(node.slice, ast.Slice):
            lower, upper, step = (
                self.expr(b) if b else None for b in (node.slice.lower, node.slice.upper, node.slice.step)
            )
            return Slice(at_of(node), base, lower, upper, step)
        return Item(at_of(node), base, self.expr(node.slice))

    def _x_Call(self, node: ast.Call) -> Expr:
        at = at_of(node)
        place = syntax.session_call(node)
        if place is not None and isinstance(node.func, ast.Attribute):
            if node.func.attr == "get":
                return self._x_Attribute(place)
            if len(node.args) == 2:
                self.assign(place, self.expr(node.args[1]))
                return Literal(at, None)
        func = self.expr(node.func)
        args = tuple(self.expr(a) for a in node.args)
        keywords = tuple((k.arg, self.expr(k.value)) for k in node.keywords)
        if isinstance(func, Global) and func.name == "dict" and not args:
            return DictOf(at, tuple((Literal(at, k) if k is not None else None, v) for k, v in keywords))
        rounds = self._rounds(node, args)
        call = Call(at, func, args, keywords, self.loops, self.guards, self.facts, rounds)
        self.summary.calls.append(call)
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS and syntax.is_place(node.func.value):
            # A module or a client also has `append` or `update`; only containers react to it in the linker.
            named: tuple[Expr, ...] = tuple(v for _, v in keywords)
            if node.func.attr == "update" and keywords:
                named = (DictOf(at, tuple((Literal(at, k) if k is not None else None, v) for k, v in keywords)),)
            self.update(node.func.value, node.func.attr, (*args, *named), at)
            self._called_on(node, call)
        elif (buffer := self._written_to(node)) is not None:
            op = "extend" if isinstance(func, Attr) and func.name == "writelines" else "append"
            written = args if isinstance(func, Attr) else (_printed(at, args, dict(keywords)),)
            self.update(buffer, op, written, at)
        elif not (isinstance(func, Global) and func.name in PURE):
            if isinstance(func, Attr) and func.name in MUTATORS and isinstance(func.base, (Call, Item)):
                self._passing(Mutate(at, func.name, func.base, args, (*self.facts, *self.guards), self.loops))
            self._after(node, call)
        return call

    def _rounds(self, node: ast.Call, args: tuple[Expr, ...]) -> int | None:
        """The loop over the second argument of a call that runs its first one for each element of it."""
        if terminal(node.func) not in MAPS or len(args) < 2 or not isinstance(node.args[0], (ast.Name, ast.Attribute)):
            return None
        loop = LoopState(next(loop_ids), at_of(node), args[1])
        loop.around, loop.guards = (*self.loops, loop.id), (*self.facts, *self.guards)
        self.summary.loops[loop.id] = loop
        return loop.id

    def _written_to(self, node: ast.Call) -> ast.Name | None:
        """The name of a buffer of text that a call adds to: ``buffer.write(text)``, ``print(text, file=buffer)``."""
        func = node.func
        if isinstance(func, ast.Attribute):
            target = func.value if func.attr in ("write", "writelines") and len(node.args) == 1 else None
        elif isinstance(func, ast.Name) and func.id == "print":
            target = next((k.value for k in node.keywords if k.arg == "file"), None)
        else:
            target = None
        if not isinstance(target, ast.Name):
            return None
        return target if is_buffer(self._env().get(target.id)) else None

    def _called_on(self, node: ast.Call, call: Call) -> None:
        """Notes a call of a method of what a name stands for, or of what such a call returns."""
        made = self._made_below(node)
        if made is not None:
            self.called_on[made] = (*self.called_on.get(made, ()), call)

    def _made_below(self, target: ast.expr) -> Call | None:
        """The call that made what a name stands for, below calls of its methods one after the other."""
        while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
            target = target.func.value
        value = self._env().get(target.id) if isinstance(target, ast.Name) else None
        return _made_with(value) if value is not None else None

    def _after(self, node: ast.Call, call: Call) -> None:
        env = self._env()
        self._called_on(node, call)
        if isinstance(node.func, ast.Attribute):
            root = syntax.dotted_path(node.func.value)
            if root is not None:
                prefix = root + "."
                for key in [k for k in env if k.startswith(prefix)]:
                    if not isinstance(env[key], Literal):
                        self._swap(key, After(call.at, call, "self", key[len(prefix) :], env[key]))
        in_place = terminal(node.func) in _IN_PLACE
        for position, argument in enumerate([*node.args, *(k.value for k in node.keywords)]):
            path = syntax.dotted_path(argument)
            if path is None or (path not in env and "." not in path and not in_place):
                continue
            value = env.get(path)
            if value is None:
                if not isinstance(argument, ast.Attribute) and not in_place:
                    continue
                value = self.expr(argument)
            if isinstance(value, (Literal, Concat, Import, Definition)):
                continue
            name: int | str = (
                position if position < len(node.args) else node.keywords[position - len(node.args)].arg or ""
            )
            self._swap(path, After(call.at, call, name, "", value))
        for name in self._changed_by(node):
            self._swap(name, After(call.at, call, OUTER, name, env[name]))

    def _changed_by(self, node: ast.Call) -> list[str]:
        """The names of this body that a function changes which is nested in it and called here."""
        nested = self._env().get(node.func.id) if isinstance(node.func, ast.Name) and not self.is_module else None
        if not isinstance(nested, Definition) or not isinstance(nested.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return []
        return sorted(syntax.changed_outside(nested.node) & self._env().keys())

    def _swap(self, path: str, new: Expr) -> None:
        """Puts ``new`` under ``path``, and under the names that stand for the same and are used to change it."""
        env = self._env()
        old = env.get(path)
        for name in self.function.edited:
            if old is not None and (env.get(name) is old or name == path):
                for other in [k for k, v in env.items() if v is old]:
                    env[other] = new
        env[path] = new

    def _x_Await(self, node: ast.Await) -> Expr:
        return self.expr(node.value)

    def _x_Yield(self, node: ast.Yield) -> Expr:
        if node.value is not None:
            value = self.expr(node.value)
            self.summary.yields.append(value)
            self._yielded("append", value, at_of(node))
        return Unknown(at_of(node), "sent value")

    def _yielded(self, op: str, value: Expr, at: At) -> None:
        env = self._env()
        if YIELDED in env:
            env[YIELDED] = Mutate(at, op, env[YIELDED], (value,), self.guards, self.loops)

    def _x_YieldFrom(self, node: ast.YieldFrom) -> Expr:
        value = self.expr(node.value)
        self._yielded("extend", value, at_of(node))
        return Unknown(at_of(node), "yield from", (value,))

    def _x_JoinedStr(self, node: ast.JoinedStr) -> Expr:
        return Concat(at_of(node), tuple(self.expr(v) for v in node.values))

    def _x_FormattedValue(self, node: ast.FormattedValue) -> Expr:
        spec = self.expr(node.format_spec) if node.format_spec else None
        # The place of the field itself is wrong before Python 3.12; that of the value in it is right.
        return Formatted(at_of(node.value), self.expr(node.value), spec)

    def _x_BinOp(self, node: ast.BinOp) -> Expr:
        # Long sums of strings lean left: walk down the spine instead of recursing.
        spine: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            spine.append(left)
            left = left.left
        result = self.expr(left)
        for step in reversed(spine):
            result = Binary(at_of(step), OPERATORS.get(type(step.op), "?"), result, self.expr(step.right))
        return result

    def _x_BoolOp(self, node: ast.BoolOp) -> Expr:
        values = tuple(self.expr(v) for v in node.values)
        if isinstance(node.op, ast.Or):
            return Either(at_of(node), None, values)
        result = values[-1]
        for value in reversed(values[:-1]):
            result = Either(at_of(node), value, (result, Literal(at_of(node), None)))
        return result

    def _x_UnaryOp(self, node: ast.UnaryOp) -> Expr:
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(operand, Literal) and isinstance(operand.value, (int, float)):
            return Literal(at_of(node), -operand.value)
        if isinstance(node.op, ast.UAdd):
            return operand
        return Test(at_of(node), _UNARY[type(node.op)], (operand,))

    def _x_Compare(self, node: ast.Compare) -> Expr:
        parts = (self.expr(node.left), *(self.expr(c) for c in node.comparators))
        return Test(at_of(node), _COMPARISONS.get(type(node.ops[0]), "?"), parts)

    def _x_IfExp(self, node: ast.IfExp) -> Expr:
        test, outer = self.expr(node.test), self.guards
        self.guards = (*outer, Guard(test))
        yes = self.expr(node.body)
        self.guards = (*outer, Guard(test, sense=False))
        no = self.expr(node.orelse)
        self.guards = outer
        return Either(at_of(node), test, (yes, no))

    def _x_Dict(self, node: ast.Dict) -> Expr:
        return DictOf(
            at_of(node),
            tuple(
                (self.expr(k) if k else None, self.expr(v))
                for k, v in zip(node.keys[:MAX_ELEMENTS], node.values[:MAX_ELEMENTS], strict=True)
            ),
        )

    def _x_List(self, node: ast.List | ast.Tuple | ast.Set) -> Expr:
        return SeqOf(at_of(node), type(node).__name__.lower(), tuple(self.expr(e) for e in node.elts[:MAX_ELEMENTS]))

    _x_Tuple = _x_List

    _x_Set = _x_List

    def _x_Starred(self, node: ast.Starred) -> Expr:
        return Star(at_of(node), self.expr(node.value))

    def _x_Lambda(self, node: ast.Lambda) -> Expr:
        return Definition(at_of(node), node)

    def _x_NamedExpr(self, node: ast.NamedExpr) -> Expr:
        value = self.expr(node.value)
        self.assign(node.target, value)
        return value

    def _x_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Expr:
        kind = {"ListComp": "list", "SetComp": "set", "GeneratorExp": "iterator"}[type(node).__name__]
        return self._comprehension(node, kind, node.elt, None, node.generators)

    _x_SetComp = _x_ListComp

    _x_GeneratorExp = _x_ListComp

    def _x_DictComp(self, node: ast.DictComp) -> Expr:
        return self._comprehension(node, "dict", node.key, node.value, node.generators)

    def _comprehension(
        self,
        node: ast.expr,
        kind: str,
        element: ast.expr,
        value: ast.expr | None,
        generators: Sequence[ast.comprehension],
    ) -> Expr:
        saved, outer = self._env(), self.loops
        self.env = dict(saved)
        clauses = []
        for generator in generators:
            iterable = self.expr(generator.iter)
            loop = LoopState(next(loop_ids), at_of(node), iterable)
            self.summary.loops[loop.id] = loop
            self.loops = loop.around = (*self.loops, loop.id)
            self.assign(generator.target, Element(at_of(generator.target), iterable, loop.id))
            clauses.append((loop.id, iterable, tuple(self.expr(c) for c in generator.ifs)))
        result = Comp(
            at_of(node), kind, self.expr(element), self.expr(value) if value is not None else None, tuple(clauses)
        )
        self.env, self.loops = saved, outer
        return result


def _made_with(node: Expr) -> Call | None:
    """The call that made what a name stands for, whatever its methods did to it since.

    Methods of the project may be called like those that change a container. Each node of the graph is looked at once.
    """
    waiting, found = [node], set[Call]()
    for current in each_once(waiting):
        if isinstance(current, Call):
            found.add(current)
        elif isinstance(current, Mutate) and current.op in MUTATORS:
            waiting.append(current.base)
        elif isinstance(current, Either):
            waiting.extend(current.options)
        elif isinstance(current, Phi):
            waiting.append(current.before)
        elif isinstance(current, AfterLoop):
            waiting += [current.phi.before, current.phi.state.steps.get(current.phi.name, current.phi)]
        else:
            return None
    return found.pop() if len(found) == 1 else None


def is_buffer(value: Expr | None) -> bool:
    """Whether text that is written to a value is kept in it, so far as one function tells: it may be a parameter."""
    while isinstance(value, (Mutate, Phi)):
        value = value.base if isinstance(value, Mutate) else value.before
    if isinstance(value, Call) and isinstance(value.func, Attr) and value.func.name == "__enter__":
        value = value.func.base
    if not isinstance(value, Call):
        return isinstance(value, Param)
    match value.func:
        case Attr(name=name) | Global(name=name) | Import(dotted=name):
            return name.endswith("StringIO")
    return False


def _printed(at: At, args: tuple[Expr, ...], keywords: dict[str | None, Expr]) -> Concat:
    """The text that ``print`` makes of its arguments."""
    between, last = keywords.get("sep", Literal(at, " ")), keywords.get("end", Literal(at, "\n"))
    parts = [part for arg in args for part in (between, arg)][1:]
    return Concat(at, (*parts, last))
