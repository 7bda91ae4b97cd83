"""Summaries: one forward, flow-sensitive pass over a body that knows nothing of other files."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from itertools import count

from promptlint.code import merging, syntax
from promptlint.code.expression import (
    NOWHERE,
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
    Free,
    Global,
    Guard,
    Import,
    Item,
    Literal,
    LoopEnd,
    LoopState,
    Mutate,
    Once,
    Param,
    Phi,
    SeqOf,
    Slice,
    Star,
    Summary,
    Test,
    Unknown,
    Write,
    begun_as,
    cell,
    each_once,
    earlier,
    is_none,
    makes_container,
    unchanged,
)
from promptlint.code.index import MAPS, MUTATORS, Function, terminal
from promptlint.code.merging import End, Env, Place
from promptlint.code.syntax import YIELDED
from promptlint.frozen import replace

_loop_ids = count(1)
_OPERATORS = {
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
_PURE = frozenset(
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


def summarise(function: Function, package: str) -> Summary:
    """The summary of ``function``; ``package`` is what relative imports of its module start from."""
    return _Summariser(function, package).run()


_new = tuple.__new__


def _at(node: ast.AST) -> At:
    if not isinstance(node, (ast.expr, ast.stmt, ast.ExceptHandler, ast.pattern)):
        return NOWHERE
    line, column, end_column = node.lineno, node.col_offset, node.end_col_offset
    # What the constructor of a named tuple does, which is one call more.
    return _new(At, (line, column, node.end_lineno or line, column if end_column is None else end_column))


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


def _is_made(node: Expr) -> bool:
    """Whether a call gives a value, and not what a dict holds."""
    return isinstance(node, Call) and cell(node) is None


def _is_buffer(value: Expr | None) -> bool:
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


BEGIN = Place(0, 0, 0)


class _Summariser:
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

    def run(self) -> Summary:
        node = self.function.node
        env: Env = {}
        for parameter in self.function.parameters:
            env[parameter.name] = Param(_at(node), parameter.name)
        self.initial = dict(env)
        may_yield = self.function.module.yields and not self.is_module
        if may_yield and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in syntax.own_nodes(node)):
            env[YIELDED] = SeqOf(_at(node), "iterator", ())
        self.env = env
        if isinstance(node, ast.Lambda):
            self.summary.returns.append(self.expr(node.body))
        else:
            self.block(node.body)
        if self.env is not None:
            end = self._end(BEGIN)
            self.exits.append(end)
            if self.returned and self.returned[-1][0].guards and not self.returned[-1][0].uncertain:
                self.returned.append((end, Literal(_at(node), None)))
        if self.returned:
            self.summary.returns.append(merging.first_reached(self.returned))
        self._finish()
        return self.summary

    def _finish(self) -> None:
        # What a script does in the end is go on: functions see the names of its module as they are then.
        ends = [*(self.endless if self.is_module else ()), *self.exits] or self.stops
        for node in {
            id(n): n for end in ends for v in end.env.values() if isinstance(v, Definition) and (n := v.node)
        }.values():
            there = [e for e in ends if any(isinstance(v, Definition) and v.node is node for v in e.env.values())]
            if len(there) < len(ends):
                self.summary.scopes[node] = merging.merge_ends(there)
        merged = merging.merge_ends(ends)
        self.summary.yielded = merged.pop(YIELDED, None)
        self.summary.filled = [
            Write(root.base, root.name, merged[path], merged[path].at)
            for path, root in self.filled.items()
            if path in merged and not isinstance(merged[path], Attr)
            # A loop around an object that is made here is one of turns, which the body's own names tell.
            if not (_is_made(unchanged(root.base)) and isinstance(merged[path], (Phi, AfterLoop)))
        ]
        parameters = {p.name for p in self.function.parameters}
        for path, value in merged.items():
            root, _, rest = path.partition(".")
            if not rest:
                self.summary.names[path] = value
            if value is self.initial.get(path) or merging.place_read(value) == path:
                continue
            is_outer = root in self.globals or (root not in self.local and root not in parameters)
            if (rest and root in parameters) or is_outer:
                self.summary.exit[path] = value
            elif root in parameters and is_mutated(value, initial := self.initial[root]):
                self.summary.exit[path] = _left_in(value, initial)

    # -- statements ---------------------------------------------------------------------------------------------

    def block(self, body: Iterable[ast.stmt]) -> None:
        known = self.facts
        for statement in body:
            if self.env is None:
                break
            self.statement(statement)
        self.facts = known

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, "_" + type(node).__name__, None)
        if method is not None:
            method(node)

    def _Expr(self, node: ast.Expr) -> None:
        self.expr(node.value)

    def _Return(self, node: ast.Return) -> None:
        value = self.expr(node.value) if node.value is not None else Literal(_at(node), None)
        end = self._end(BEGIN)
        self.returned.append((end, value))
        self.exits.append(end)
        self.env = None

    def _Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.expr(node.exc)
        self.stops.append(self._end(BEGIN))
        self.env = None

    def _Break(self, node: ast.Break) -> None:
        self._end_iteration(leaves=True)

    def _Continue(self, node: ast.Continue) -> None:
        self._end_iteration(leaves=False)

    def _end_iteration(self, leaves: bool) -> None:
        if self.iterations:
            start, ends = self.iterations[-1]
            end = self._end(start)
            self.summary.loops[self.loops[-1]].ends.append(LoopEnd(end.guards, leaves, end.uncertain))
            ends.append(end)
        self.env = None

    def _place(self) -> Place:
        return Place(len(self.guards), len(self.loops), self.tries)

    def _end(self, start: Place) -> End:
        """The way out that control takes here, as seen from ``start``."""
        uncertain = len(self.loops) > start.loops or self.tries > start.tries
        return End(self.guards[start.guards :], uncertain, self._env())

    def _Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.bind(alias.asname, Import(_at(node), alias.name))
            else:
                top = alias.name.split(".")[0]
                self.bind(top, Import(_at(node), top))

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            parts = self.package.split(".") if self.package else []
            parts = parts[: len(parts) - (node.level - 1)] if node.level > 1 else parts
            base = ".".join([*parts, *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name != "*":
                self.bind(alias.asname or alias.name, Import(_at(node), f"{base}.{alias.name}" if base else alias.name))

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = tuple(self.expr(d) for d in node.decorator_list)
        self.bind(node.name, Definition(_at(node), node, decorators))

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, Definition(_at(node), node))

    def _Assign(self, node: ast.Assign) -> None:
        value = self.expr(node.value)
        for target in node.targets:
            self.assign(target, value)
            if isinstance(target, ast.Name) and target.id in self.function.edited:
                self._alias(node.value, value)

    def _alias(self, node: ast.expr, value: Expr) -> None:
        """What a name changes in place changes under the path, too, that it was bound to."""
        path = syntax.dotted_path(node) if isinstance(value, (Attr, Global, Free)) else None
        if path is not None:
            self._env().setdefault(path, value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.expr(node.value))

    def _AugAssign(self, node: ast.AugAssign) -> None:
        old = self.expr(node.target)
        value = self.expr(node.value)
        self.assign(node.target, Binary(_at(node), _OPERATORS.get(type(node.op), "?"), old, value))

    def _Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                op, args = self._deletion(target)
                self.update(target.value, op, args, _at(node))

    def _deletion(self, target: ast.Subscript) -> tuple[str, tuple[Expr, ...]]:
        if isinstance(target.slice, ast.Slice):
            bounds = [
                self.expr(b) if b else Literal(_at(target), None) for b in (target.slice.lower, target.slice.upper)
            ]
            return "delslice", tuple(bounds)
        return "delitem", (self.expr(target.slice),)

    def _If(self, node: ast.If) -> None:
        test = self.expr(node.test)
        before = self._env()
        outer = self.guards
        self.guards = (*outer, Guard(test, error=self._tells_of_error(test)))
        self.env = dict(before)
        self.block(node.body)
        yes = self.env
        self.guards = (*outer, Guard(test, sense=False))
        self.env = dict(before)
        self.block(node.orelse)
        no = self.env
        self.guards = outer
        if yes is None or no is None:
            # The rest of the block runs on one of the ways only.
            self.facts = (*self.facts, Guard(test, sense=no is None))
        self.env = merging.merge(test, yes, no)

    def _tells_of_error(self, test: Expr) -> bool:
        """Whether a test holds only where an except clause, which is over, has run: ``if failed:``."""
        if isinstance(test, Test) and test.op == "is not" and is_none(test.parts[1]):
            test = test.parts[0]
        values = test.options if isinstance(test, Either) else (test,)
        true = [v.at.lineno for v in values if not (isinstance(v, Literal) and not v.value)]
        return bool(true) and all(any(h.lineno <= n <= (h.end_lineno or 0) for h in self.handlers) for n in true)

    def _Match(self, node: ast.Match) -> None:
        subject = self.expr(node.subject)
        before, outer = self._env(), self.guards
        ends: list[Env] = []
        for case in node.cases:
            self.env = dict(before)
            self.guards = (*outer, Guard(Test(_at(case.pattern), "match", (subject,))))
            for name in syntax.pattern_names(case.pattern):
                self.bind(name, Unknown(_at(case.pattern), "match", (subject,)))
            self.block(case.body)
            if self.env is not None:
                ends.append(self.env)
        self.guards = outer
        ends.append(before)
        self.env = merging.merge_all(ends, Test(_at(node), "match", (subject,)))

    def _Try(self, node: ast.Try | ast.TryStar) -> None:
        before = dict(self._env())
        self.tries += bool(node.handlers)
        self.block(node.body)
        after = self.env
        self.block(node.orelse)
        self.tries -= bool(node.handlers)
        ends = [self.env] if self.env is not None else []
        outer = self.guards
        for handler in node.handlers:
            self.guards = (*outer, Guard(None, error=True))
            self.env = dict(merging.merge(None, before, after) or before)
            if handler.name:
                self.bind(handler.name, Unknown(_at(handler), "exception"))
            self.block(handler.body)
            if self.env is not None:
                ends.append(self.env)
        self.handlers += node.handlers
        self.guards = outer
        # What the normal path leaves comes first: an error path only adds alternatives.
        self.env = merging.merge_all(ends) if ends else None
        if node.finalbody:
            saved = self.env
            self.env = dict(saved if saved is not None else before)
            self.block(node.finalbody)
            if saved is None:
                self.env = None

    _TryStar = _Try

    def _With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.expr(item.context_expr)
            if item.optional_vars is not None:
                enter = "__aenter__" if isinstance(node, ast.AsyncWith) else "__enter__"
                entered = Call(value.at, Attr(value.at, value, enter), (), (), self.loops, self.guards)
                self.assign(item.optional_vars, entered)
        self.block(node.body)

    _AsyncWith = _With

    def _For(self, node: ast.For | ast.AsyncFor) -> None:
        target, over = node.target, node.iter
        if (walked := syntax.walked(node)) is not None:
            taken, element = walked
            over = ast.copy_location(ast.Call(ast.Name("enumerate", ast.Load()), [taken], []), over)
            target = ast.copy_location(ast.Tuple([target, element], ast.Store()), target)
            ast.fix_missing_locations(over)
        loop = LoopState(next(_loop_ids), _at(node), self.expr(over))
        self._loop(loop, target, node.body, node.orelse)

    _AsyncFor = _For

    def _While(self, node: ast.While) -> None:
        taken, element = syntax.walked(node) or (None, None)
        if element is not None and not self._starts_at_front(element.id):
            taken = element = None
        loop = LoopState(next(_loop_ids), _at(node), self.expr(taken) if taken is not None else None)
        self._loop(loop, element, node.body, node.orelse, node.test)

    def _starts_at_front(self, element: str) -> bool:
        """Whether a loop that takes ``element`` by an index leaves nothing out, as one within another does not."""
        over, _, index = element.rstrip("]").rpartition("[")
        return isinstance(self._env().get(index), Literal) or any(name.startswith(f"{over}[") for name in self._env())

    def _loop(
        self,
        loop: LoopState,
        target: ast.expr | None,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        test: ast.expr | None = None,
    ) -> None:
        self.summary.loops[loop.id] = loop
        loop.around = (*self.loops, loop.id)
        loop.guards = (*self.facts, *self.guards)
        loop.retry = syntax.is_retry(body, target)
        env = self._env()
        before = dict(env)
        phis: dict[str, Phi] = {}
        changed = syntax.changed_paths(body)
        if buffers := {name for name, v in env.items() if not isinstance(v, Param) and _is_buffer(v)}:
            changed |= buffers & syntax.written_to(body)
        for path in list(env):
            if path in changed or path.split(".")[0] in changed:
                phis[path] = Phi(env[path].at, path, loop.id, env[path], loop)
        for path in changed:
            if path not in env and "." in path and path.split(".")[0] in env:
                phis[path] = Phi(NOWHERE, path, loop.id, self._entry_value(path), loop)
        for name in self.function.edited & phis.keys():
            phis |= {path: phis[name] for path, value in before.items() if value is before.get(name)}
        env.update(phis)
        self.loops = (*self.loops, loop.id)
        start = self._place()
        self.iterations.append((start, []))
        if target is not None and loop.iterable is not None:
            self.assign(target, Element(_at(target), loop.iterable, loop.id))
        if test is not None:
            loop.test = self.expr(test)
        self.block(body)
        _, ends = self.iterations.pop()
        if self.env is not None:
            ends.append(self._end(start))
        self.loops = self.loops[:-1]
        end = merging.merge_ends(ends)
        for path, phi in phis.items():
            step = end.get(path)
            if step is None:
                root = path.split(".")[0]
                made = "." in path and root in end and end[root] is not phis.get(root, end[root])
                # When the object itself was replaced: the path below the one that took its place.
                step = merging.older_value(path, end[root].at, (end,)) if made else phi
            if step is not None and step is not phi:
                loop.before[path] = phi.before
                loop.steps[path] = step
        after: Env = {}
        for path, value in {**before, **end}.items():
            if path in phis:
                after[path] = AfterLoop(phis[path].at, phis[path]) if path in loop.steps else phis[path].before
            else:
                after[path] = value
        self.env = after
        infinite = isinstance(test, ast.Constant) and bool(test.value) and not syntax.has_break(body)
        if infinite:
            self.endless.append(self._end(BEGIN))
            self.stops.append(self.endless[-1])
            self.env = None
        else:
            self.block(orelse)

    def _entry_value(self, path: str) -> Expr:
        parts = path.split(".")
        value: Expr = self._env().get(parts[0]) or self.name(parts[0], NOWHERE)
        for part in parts[1:]:
            value = Attr(NOWHERE, value, part)
        return value

    def _Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)
        self.local = self.local.difference(node.names)

    def _Nonlocal(self, node: ast.Nonlocal) -> None:
        self.local = self.local.difference(node.names)

    def _Assert(self, node: ast.Assert) -> None:
        self.expr(node.test)

    # -- environment --------------------------------------------------------------------------------------------

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
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
            for i, element in enumerate(target.elts):
                at = _at(element)
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
            self.summary.writes.append(Write(base, target.attr, value, _at(target), self.loops, self.guards))
            if path is not None:
                self.bind(path, value)
            elif isinstance(target.value, ast.Subscript):
                self.update(target.value, "setattr", (Literal(_at(target), target.attr), value), _at(target))
        elif isinstance(target, ast.Subscript):
            at = _at(target)
            if (key := syntax.session_key(target)) is not None:
                self.assign(ast.copy_location(ast.Attribute(target.value, key, ast.Store()), target), value)
            elif isinstance(target.slice, ast.Slice):
                bounds = tuple(
                    self.expr(b) if b else Literal(at, None) for b in (target.slice.lower, target.slice.upper)
                )
                self.update(target.value, "setslice", (*bounds, value), at)
            else:
                self.update(target.value, "setitem", (self.expr(target.slice), value), at)

    def _is_missing(self, path: str) -> bool:
        """Whether this place is only reached while nothing is stored under ``path``."""
        return any(merging.finds_nothing(guard, path) for guard in (*self.guards, *self.facts))

    def update(self, target: ast.expr, op: str, args: tuple[Expr, ...], at: At) -> None:
        """An in-place change of what ``target`` names: the path, its aliases, and the container it is an element of."""
        place = self._place_in_element(target)
        old = self._env().get(place) or self.expr(target)
        new = Mutate(at, op, old, args, (*self.facts, *self.guards), self.loops)
        self._replace(target, old, new)
        if place:
            self._env()[place] = new
        root = _where_filled(_first(old))
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
            elif (held := _where_filled(root)) is not root:
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
        path = path or next((k for k, v in env.items() if _rooted(v, container)), None)
        if path is not None:
            env[path] = Mutate(new.at, "setitem", env.get(path, container), (key, new), self.guards, self.loops)

    # -- expressions --------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Expr:
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return Unknown(_at(node), "deeply nested expression")
            method = getattr(self, "_x_" + type(node).__name__, None)
            if method is None:
                return Unknown(_at(node), type(node).__name__)
            result = method(node)
            assert isinstance(result, Expr)
            return result
        finally:
            self.depth -= 1

    def _x_Constant(self, node: ast.Constant) -> Expr:
        return Literal(_at(node), node.value)

    def _x_Name(self, node: ast.Name) -> Expr:
        return self.name(node.id, _at(node))

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

    def _x_Attribute(self, node: ast.Attribute) -> Expr:
        path = syntax.dotted_path(node)
        if path is not None:
            known = self._env().get(path)
            if known is not None:
                return known
        base = self.expr(node.value)
        result = Attr(_at(node), base, node.attr)
        made = self._made_below(node.value)
        if made is not None:
            calls = self.called_on.get(made, ())
            around = [(self.loops, self.guards), *((c.loops[: len(made.loops)], c.guards) for c in calls)]
            if all((ls, gs[: len(made.guards)]) == (made.loops, made.guards) for ls, gs in around):
                result = Field(_at(node), base, node.attr, made, calls)
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
            return Slice(_at(node), base, lower, upper, step)
        return Item(_at(node), base, self.expr(node.slice))

    def _x_Call(self, node: ast.Call) -> Expr:
        at = _at(node)
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
        elif not (isinstance(func, Global) and func.name in _PURE):
            if isinstance(func, Attr) and func.name in MUTATORS and isinstance(func.base, (Call, Item)):
                self._passing(Mutate(at, func.name, func.base, args, (*self.facts, *self.guards), self.loops))
            self._after(node, call)
        return call

    def _rounds(self, node: ast.Call, args: tuple[Expr, ...]) -> int | None:
        """The loop over the second argument of a call that runs its first one for each element of it."""
        if terminal(node.func) not in MAPS or len(args) < 2 or not isinstance(node.args[0], (ast.Name, ast.Attribute)):
            return None
        loop = LoopState(next(_loop_ids), _at(node), args[1])
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
        return target if _is_buffer(self._env().get(target.id)) else None

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
            self._yielded("append", value, _at(node))
        return Unknown(_at(node), "sent value")

    def _yielded(self, op: str, value: Expr, at: At) -> None:
        env = self._env()
        if YIELDED in env:
            env[YIELDED] = Mutate(at, op, env[YIELDED], (value,), self.guards, self.loops)

    def _x_YieldFrom(self, node: ast.YieldFrom) -> Expr:
        value = self.expr(node.value)
        self._yielded("extend", value, _at(node))
        return Unknown(_at(node), "yield from", (value,))

    def _x_JoinedStr(self, node: ast.JoinedStr) -> Expr:
        return Concat(_at(node), tuple(self.expr(v) for v in node.values))

    def _x_FormattedValue(self, node: ast.FormattedValue) -> Expr:
        spec = self.expr(node.format_spec) if node.format_spec else None
        # The place of the field itself is wrong before Python 3.12; that of the value in it is right.
        return Formatted(_at(node.value), self.expr(node.value), spec)

    def _x_BinOp(self, node: ast.BinOp) -> Expr:
        # Long sums of strings lean left: walk down the spine instead of recursing.
        spine: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            spine.append(left)
            left = left.left
        result = self.expr(left)
        for step in reversed(spine):
            result = Binary(_at(step), _OPERATORS.get(type(step.op), "?"), result, self.expr(step.right))
        return result

    def _x_BoolOp(self, node: ast.BoolOp) -> Expr:
        values = tuple(self.expr(v) for v in node.values)
        if isinstance(node.op, ast.Or):
            return Either(_at(node), None, values)
        result = values[-1]
        for value in reversed(values[:-1]):
            result = Either(_at(node), value, (result, Literal(_at(node), None)))
        return result

    def _x_UnaryOp(self, node: ast.UnaryOp) -> Expr:
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(operand, Literal) and isinstance(operand.value, (int, float)):
            return Literal(_at(node), -operand.value)
        if isinstance(node.op, ast.UAdd):
            return operand
        return Test(_at(node), _UNARY[type(node.op)], (operand,))

    def _x_Compare(self, node: ast.Compare) -> Expr:
        parts = (self.expr(node.left), *(self.expr(c) for c in node.comparators))
        return Test(_at(node), _COMPARISONS.get(type(node.ops[0]), "?"), parts)

    def _x_IfExp(self, node: ast.IfExp) -> Expr:
        test, outer = self.expr(node.test), self.guards
        self.guards = (*outer, Guard(test))
        yes = self.expr(node.body)
        self.guards = (*outer, Guard(test, sense=False))
        no = self.expr(node.orelse)
        self.guards = outer
        return Either(_at(node), test, (yes, no))

    def _x_Dict(self, node: ast.Dict) -> Expr:
        return DictOf(
            _at(node),
            tuple(
                (self.expr(k) if k else None, self.expr(v))
                for k, v in zip(node.keys[:MAX_ELEMENTS], node.values[:MAX_ELEMENTS], strict=True)
            ),
        )

    def _x_List(self, node: ast.List | ast.Tuple | ast.Set) -> Expr:
        return SeqOf(_at(node), type(node).__name__.lower(), tuple(self.expr(e) for e in node.elts[:MAX_ELEMENTS]))

    _x_Tuple = _x_List
    _x_Set = _x_List

    def _x_Starred(self, node: ast.Starred) -> Expr:
        return Star(_at(node), self.expr(node.value))

    def _x_Lambda(self, node: ast.Lambda) -> Expr:
        return Definition(_at(node), node)

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
            loop = LoopState(next(_loop_ids), _at(node), iterable)
            self.summary.loops[loop.id] = loop
            self.loops = loop.around = (*self.loops, loop.id)
            self.assign(generator.target, Element(_at(generator.target), iterable, loop.id))
            clauses.append((loop.id, iterable, tuple(self.expr(c) for c in generator.ifs)))
        result = Comp(
            _at(node), kind, self.expr(element), self.expr(value) if value is not None else None, tuple(clauses)
        )
        self.env, self.loops = saved, outer
        return result


def is_mutated(value: Expr, initial: Expr | None) -> bool:
    """Whether ``value`` is the parameter's own object after in-place changes (and not another value in its name)."""
    stack = [value]
    for node in each_once(stack):
        if node is initial:
            continue
        before = earlier(node)
        if isinstance(node, (Mutate, After)):
            if any(_rooted(one, initial) for one in before):
                return True
            continue
        stack.extend(before)
        if isinstance(node, AfterLoop) and node.phi.name in node.phi.state.steps:
            stack.append(node.phi.state.steps[node.phi.name])
    return False


def _left_in(value: Expr, initial: Expr) -> Expr:
    """What is left in the object a parameter was given; where its name has come to mean another value, nothing new."""
    changes: list[Mutate | After] = []
    node = value
    while isinstance(node, (Mutate, After)):
        changes.append(node)
        node = node.base if isinstance(node, Mutate) else node.before
    if not isinstance(node, Either) or all(_rooted(option, initial) for option in node.options):
        return value
    left = []
    for option in node.options:
        own = _rooted(option, initial)
        made = _left_in(option, initial) if own else initial
        for change in reversed(changes) if own else ():
            made = replace(change, base=made) if isinstance(change, Mutate) else replace(change, before=made)
        left.append(made)
    return replace(node, options=tuple(left))


def _rooted(node: Expr, initial: Expr | None) -> bool:
    waiting = [node]
    for current in each_once(waiting):
        if current is initial:
            return True
        waiting.extend(earlier(current))
    return False


def _where_filled(node: Expr) -> Expr:
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
    part = _where_filled(part)
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
